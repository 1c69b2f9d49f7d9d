"""Creating a session file: by several processes, by a killed one, next to leftovers of a deleted one."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.session_files import filled, killed, names
from tests.support.texts import raises_id
from tfvis_nb.session.file.creation import making_files
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer


def test_a_new_session_is_whole_from_the_first_moment(tmp_path: Path) -> None:
    paths = [tmp_path / f"run{number}.tfvis" for number in range(30)]

    def make() -> None:
        for path in paths:
            Writer(path, None).close({})

    making = threading.Thread(target=make)
    making.start()
    for path in paths:
        while not path.exists():
            pass
        with tv.open_session(path) as session:
            assert len(session.processes) <= 1
    making.join()
    # Of two connections that end at the same time neither is the last one, and SQLite leaves its log.
    for path in paths:
        tv.open_session(path).close()
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@pytest.mark.thorough
def test_several_processes_begin_a_session_at_once(path: Path) -> None:
    code = "import sys; from pathlib import Path; from tfvis_nb.session.file.writer import Writer\n"
    code += "sys.stdin.readline(); Writer(Path(sys.argv[1]), None).close({})"
    command = [sys.executable, "-c", code, str(path)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0] * 4
    with tv.open_session(path) as session:
        assert len(session.processes) == 4


def test_a_session_is_made_where_files_cannot_be_linked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not permitted")

    monkeypatch.setattr("os.link", refuse)
    filled(path)
    with tv.open_session(path) as session:
        assert session.traces["run"].tolist() == [1, 2, 3]
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("then", "left"),
    [
        ("os.link = end\nWriter(path, None)", "run.tfvis.new-"),
        ("Path.rename = end\nWriter(path, None)", "run.tfvis-counts1.new"),
    ],
    ids=["session", "ledger"],
)
def test_unfinished_files_of_killed_processes_are_removed(path: Path, then: str, left: str) -> None:
    killed(path, then)
    assert any(name.startswith(left) for name in names(path.parent))
    other = path.with_name("run.tfvis.new")  # somebody's
    other.touch()
    filled(path)
    assert names(path.parent) == ["run.tfvis", "run.tfvis.new"]
    with tv.open_session(path) as session:
        assert session.traces["run"].tolist() == [1, 2, 3]


def test_unfinished_files_of_live_processes_stay(path: Path) -> None:
    filled(path)
    making = path.with_name("run.tfvis.new-" + "0" * 32)
    code = (
        "import sys; from pathlib import Path; from tfvis_nb.session.file.creation import making_files\n"
        "with making_files(Path(sys.argv[1])):\n"
        "    Path(sys.argv[2]).touch(); print('making', flush=True); sys.stdin.readline()\n"
        "    print(Path(sys.argv[2]).exists())"
    )
    command = [sys.executable, "-c", code, str(path), str(making)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "making\n"
        waiting = subprocess.Popen([sys.executable, "-c", OPENING, str(path)])
        time.sleep(0.5)
        assert making.exists()
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "True\n"
        assert waiting.wait(60) == 0
    assert names(path.parent) == ["run.tfvis"]


OPENING = (
    "import sys; from pathlib import Path; from tfvis_nb.session.file.writer import Writer\n"
    "Writer(Path(sys.argv[1]), None).close({})"
)


def test_nobody_waits_for_ever_for_who_is_making_a_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfvis_nb.core.folder_lock.PATIENCE_S", 0.05)
    with making_files(path):
        filled(path)
    with tv.open_session(path) as session:
        assert len(session.traces) == 3


def test_files_of_a_deleted_session_are_not_reused(path: Path) -> None:
    old = Writer(path, keep=None)
    for label in ("old", "older"):
        old.add_signature(Signature("session", label, label))
    path.unlink()
    assert path.with_name("run.tfvis-wal").stat().st_size > 0
    with raises_id(FileExistsError, "in_the_way"):
        Writer(path, keep=None)
    with raises_id(FileNotFoundError, "session_deleted"):
        old.orders()
    old.abandon()
    new = Writer(path, keep=None)
    new.add_signature(Signature("session", "new", "new"))
    new.close({})
    with tv.open_session(path) as session:
        assert session.signatures["label"].tolist() == ["new"]
    assert names(path.parent) == ["run.tfvis"]


def test_nothing_is_left_of_a_deleted_session(path: Path) -> None:
    writer = Writer(path, keep=None)
    path.unlink()
    with raises_id(FileNotFoundError, "session_deleted"):
        writer.close({})
    assert names(path.parent) == []
