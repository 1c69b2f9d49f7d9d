"""The session of a killed job: reading changes none of its files, and a writer takes them in."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.session.test_read_only_folders import read_only
from tests.support.session_files import filled, killed, names
from tests.support.texts import raises_id
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import SessionWatch, session_state

LEAVES = (
    "from tests.support.session_files import recording\n"
    "writer = Writer(path, None)\n"
    "number, slot = writer.add_signature(Signature('session', 'train'))\n"
    "writer.add_trace(number, recording(), None)\n"
    "writer.count(slot, Counts(41, 1, 410, 20, 5, 6))"
)


def files(folder: Path) -> dict[str, tuple[int, str]]:
    """Name, time and content of everything in a folder, and of itself."""
    found = {file.name: (file.stat().st_mtime_ns, digest(file)) for file in folder.iterdir()}
    return found | {".": (folder.stat().st_mtime_ns, "")}


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def read_all(path: Path) -> None:
    with tv.open_session(path) as session:
        assert session.signatures[["runs", "failed"]].iloc[0].tolist() == [41, 1]
        assert session.processes["end"].notna().all()
        assert len(session.jobs) == 1
        for trace in session.traces.index:
            assert len(session.read(trace).events)
        assert session_state(session)["runs_total"] == 41


def test_reading_leaves_the_files_of_a_killed_job(path: Path) -> None:
    killed(path, LEAVES)
    before = files(path.parent)
    assert {"run.tfvis", "run.tfvis-wal", "run.tfvis-counts1"} <= set(before)
    read_all(path)
    assert files(path.parent) == before


def test_reading_leaves_the_files_in_a_read_only_folder(folder: Path) -> None:
    path = folder / "run.tfvis"
    killed(path, LEAVES)
    with read_only(folder):
        before = files(folder)
        read_all(path)
        assert files(folder) == before


def test_command_and_save_leave_the_files(path: Path, folder: Path) -> None:
    killed(path, LEAVES)
    before = files(path.parent)
    command = [sys.executable, "-m", "tfvis_nb", "info", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    with tv.open_session(path) as session:
        copy = session.save(folder / "copy.tfvis")
    read_all(copy)
    assert files(path.parent) == before


def test_job_killed_while_it_is_read_leaves_its_files(path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from tfvis_nb.session.file.writer import *\n"
        f"path = Path(sys.argv[1])\n{LEAVES}\nprint(flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
        assert job.stdout is not None
        job.stdout.readline()
        session = tv.open_session(path)
        watch = SessionWatch(session)
        state = watch.changed()
        assert state is not None
        assert [process["end_ms"] for process in state["processes"]] == [None]
        job.kill()
        job.wait()
        before = files(path.parent)
        state = watch.changed()
        assert state is not None
        assert [process["end_ms"] for process in state["processes"]] == [6e-6]
        read_all(path)
        session.close()
    assert files(path.parent) == before


def test_forgotten_reader_leaves_the_files(path: Path) -> None:
    code = (
        "import os, signal, subprocess, sys, tfvis_nb as tv\n"
        "job = subprocess.Popen([sys.executable, '-c', sys.argv[2], sys.argv[1]], stdout=subprocess.PIPE)\n"
        "job.stdout.readline()\n"
        "session = tv.open_session(sys.argv[1])\n"
        "assert len(session.traces) == 1\n"
        "job.kill(); job.wait()"
    )
    job = (
        "import sys, time; from pathlib import Path; from tfvis_nb.session.file.writer import *\n"
        f"path = Path(sys.argv[1])\n{LEAVES}\nprint(flush=True); time.sleep(60)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), job], check=True)
    assert names(path.parent) == ["run.tfvis", "run.tfvis-counts1", "run.tfvis-shm", "run.tfvis-wal"]


def test_private_copy_has_no_name(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    killed(path, LEAVES)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with tv.open_session(path) as session:
        assert names(temporary) == []
        assert len(session.traces) == 1


def test_private_copy_keeps_holes(path: Path) -> None:
    killed(path, LEAVES)
    os.truncate(f"{path}-wal", 1 << 42)
    with tv.open_session(path) as session:
        assert len(session.traces) == 1


def test_no_room_for_the_private_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(path, LEAVES)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tfvis_nb.session.file.left_files._copy", full)
    with raises_id(OSError, "no_room_for_copy"):
        tv.open_session(path)


def test_job_takes_in_the_files_of_a_killed_one(path: Path) -> None:
    killed(path, LEAVES)
    with tv.open_session(path) as session:
        writer = Writer(path, None)
        assert "run.tfvis-counts1" not in names(path.parent)
        assert session.processes["end"].isna().tolist() == [False, True]
        number, _ = writer.add_signature(Signature("session", "train"))
        assert session.signatures.loc[number, "runs"] == 41
        writer.close({})
        # The reader has the file open, and all data is in it.
        assert path.with_name("run.tfvis-wal").stat().st_size == 0
    assert names(path.parent) == ["run.tfvis"]
    read_all_but_jobs = tv.open_session(path)
    assert read_all_but_jobs.signatures["runs"].tolist() == [41]


def test_request_takes_in_the_files_of_a_killed_job(path: Path) -> None:
    killed(path, LEAVES)
    with tv.open_session(path) as session:
        session.trace_every(5)
        assert names(path.parent) == ["run.tfvis"]
        assert session.signatures[["runs", "rule"]].iloc[0].tolist() == [41, "every 5"]


def test_counts_of_somebody_else_stay(path: Path) -> None:
    filled(path)
    users = path.with_name("run.tfvis-counts2")
    users.write_text("somebody's")
    with pytest.raises(FileExistsError):
        Writer(path, None)
    with tv.open_session(path) as session:
        session.trace_all()
    assert users.read_text() == "somebody's"
