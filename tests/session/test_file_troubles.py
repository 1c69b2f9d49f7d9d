"""The file of a session where something is wrong with it or beside it: what is said, and what is left."""

import errno
import math
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.stored_writer import METADATA
from tests.support.texts import raises_id
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.creation import making_files
from tfvis_nb.session.file.database import Transaction
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.errors import DamagedSessionError, in_words
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import SessionWatch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tfvis"


def recording(run: int = 1) -> Recording:
    return Recording("run_metadata", METADATA, run, 1_700_000_000_000_000_000, 5_000)


def filled(path: Path, traces: int = 3) -> None:
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train"))
    for run in range(1, traces + 1):
        writer.add_trace(number, recording(run), None)
    writer.close({number: Counts(traces, 0, traces * 5_000, 5_000, 1, 2)})


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def killed(path: Path, then: str) -> None:
    """Run a process that records, does `then` and is killed by it, or at its end."""
    code = (
        "import os, signal, sys; from pathlib import Path; from tfvis_nb.session.file.writer import *\n"
        "path, end = Path(sys.argv[1]), lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n" + then + "\nend()"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False, capture_output=True)
    assert done.returncode == -9, done.stderr.decode()


COUNTED = (
    "writer = Writer(path, None)\n"
    "number, slot = writer.add_signature(Signature('session', 'train'))\n"
    "writer.count(slot, Counts(41, 1, 410, 20, 5, 6))"
)


@pytest.mark.parametrize(
    ("then", "left"),
    [
        ("os.link = end\nWriter(path, None)", "run.tfvis.new-"),
        ("Path.rename = end\nWriter(path, None)", "run.tfvis-counts1.new"),
    ],
    ids=["session", "ledger"],
)
def test_what_a_process_that_was_killed_left_unfinished_goes(path: Path, then: str, left: str) -> None:
    killed(path, then)
    assert any(name.startswith(left) for name in names(path.parent))
    other = path.with_name("run.tfvis.new")  # somebody's
    other.touch()
    filled(path)
    assert names(path.parent) == ["run.tfvis", "run.tfvis.new"]
    with tv.open_session(path) as session:
        assert session.traces["run"].tolist() == [1, 2, 3]


def test_what_a_living_process_is_making_stays(path: Path) -> None:
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
    monkeypatch.setattr("tfvis_nb.session.file.creation.PATIENCE_S", 0.05)
    with making_files(path):
        filled(path)
    with tv.open_session(path) as session:
        assert len(session.traces) == 3


def test_what_a_deleted_session_left_is_not_taken_for_the_new_ones(path: Path) -> None:
    old = Writer(path, keep=None)
    for label in ("old", "older"):
        old.add_signature(Signature("session", label, label))
    path.unlink()
    assert path.with_name("run.tfvis-wal").stat().st_size > 0
    new = Writer(path, keep=None)
    new.add_signature(Signature("session", "new", "new"))
    with raises_id(FileNotFoundError, "session_deleted"):
        old.orders()
    old.abandon()
    assert "run.tfvis-counts1" in names(path.parent)  # the new one's
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


def test_a_folder_an_empty_file_and_a_damaged_one(path: Path) -> None:
    with raises_id(IsADirectoryError, "session_is_folder"):
        tv.open_session(path.parent)
    path.touch()
    with raises_id(tv.TraceFormatError, "session_empty"):
        tv.open_session(path)
    filled(path, traces=20)
    content = path.read_bytes()
    for damaged in (content[:16] + bytes(len(content) - 16), content[:-5000], zeroed(content, 1)):
        path.write_bytes(damaged)
        with raises_id(DamagedSessionError, "session_damaged"):
            read_all(path)
        assert path.read_bytes() == damaged


def read_all(path: Path) -> None:
    with tv.open_session(path) as session:
        for trace in session.traces.index:
            session.read(trace)


def zeroed(content: bytes, page: int) -> bytes:
    return content[: page * 4096] + bytes(4096 * 9) + content[(page + 9) * 4096 :]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take away the right to write in a folder, from root, too."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others may enter."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("host", [socket.gethostname(), "what this machine was called then"])
def test_a_killed_process_has_ended_where_that_cannot_be_written(folder: Path, host: str) -> None:
    path = folder / "run.tfvis"
    killed(path, COUNTED)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("UPDATE writers SET host = ?", (host,))
    database.close()
    with read_only(folder):
        with tv.open_session(path) as session:
            assert session.processes["end"].tolist() == [pd.Timestamp(6)]
            assert session.signatures[["runs", "failed"]].iloc[0].tolist() == [41, 1]
            state = SessionWatch(session).changed()
        assert state is not None
        assert [process["end_ms"] for process in state["processes"]] == [6e-6]
    with tv.open_session(path) as session:  # and here it can
        assert session.processes["end"].notna().all()
    assert names(folder) == ["run.tfvis"]


def test_a_process_that_ran_nothing_ended_when_it_began(path: Path) -> None:
    killed(path, "Writer(path, None)")
    writer = Writer(path, None)
    with tv.open_session(path) as session:
        rows = session.processes
        assert rows["end"].isna().tolist() == [False, True]
        assert rows["end"].iloc[0] == rows["start"].iloc[0]
        with tv.open_session(session.save(path.with_name("copy.tfvis"))) as copy:
            assert copy.processes["end"].tolist() == rows["start"].tolist()
    writer.close({})


def test_orders_where_nothing_can_be_written(folder: Path) -> None:
    path = folder / "run.tfvis"
    filled(path)
    with read_only(folder), tv.open_session(path) as session:
        orders: list[Callable[[], None]] = [
            session.trace_next,
            session.stop_tracing,
            lambda: session.delete(1),
        ]
        for order in orders:
            with raises_id(OSError, "session_unwritable"):
                order()
        assert len(session.traces) == 3


def test_a_living_process_runs_where_nothing_can_be_written(folder: Path) -> None:
    path = folder / "run.tfvis"
    writer = Writer(path, None)
    writer.add_signature(Signature("session", "train"))
    with read_only(folder), tv.open_session(path) as session:
        assert session.processes["end"].isna().all()
    writer.close({})


@pytest.mark.parametrize(
    ("change", "has_ended"),
    [
        ({}, False),
        ({"pid": 2**22 + 1}, True),  # more than Linux has
        ({"started_ns": 10**18}, True),  # before this process, which has its number now
        ({"pid": 2**22 + 1, "host": "elsewhere"}, False),
    ],
    ids=["itself", "no process", "a later process", "another machine"],
)
def test_without_a_ledger_the_process_tells(path: Path, change: dict[str, Any], has_ended: bool) -> None:
    writer = Writer(path, keep=None)
    path.with_name("run.tfvis-counts1").rename(path.with_name("moved"))
    row = {"host": socket.gethostname(), "pid": os.getpid(), "started_ns": time.time_ns(), **change}
    with tv.open_session(path) as session:
        with session.connected() as connection, Transaction(connection):
            connection.execute("UPDATE writers SET host = :host, pid = :pid, started_ns = :started_ns", row)
        assert session.processes["end"].notna().tolist() == [has_ended]
    writer.close({})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda session: session.trace_every("a"),
            TypeError,
            "not_from_one",
        ),
        (lambda session: session.trace_every(2.5), TypeError, "not_from_one"),
        (lambda session: session.trace_every(True), TypeError, "not_from_one"),
        (lambda session: session.trace_every(-1), ValueError, "not_from_one"),
        (lambda session: session.trace_slow(factor=math.inf), ValueError, "not_a_factor"),
        (lambda session: session.trace_slow(factor=math.nan), ValueError, "not_a_factor"),
        (lambda session: session.trace_slow(factor="3"), TypeError, "not_a_factor"),
        (lambda session: session.trace_next(True), TypeError, "signature_of_other_type"),
        (lambda session: session.trace_all(1.5), TypeError, "signature_of_other_type"),
        (lambda session: session.stop_tracing(["train"]), TypeError, "signature_of_other_type"),
        (lambda session: session.trace_next(2**70), ValueError, "no_such_signature"),
        (lambda session: session.read("a"), TypeError, "trace_number_of_other_type"),
        (lambda session: session.read(2**70), KeyError, "no_such_trace"),
        (lambda session: session.delete([1, 77]), ValueError, "no_such_trace"),
        (lambda session: session.delete("12"), TypeError, "trace_number_of_other_type"),
        (lambda session: session.delete([1, "2"]), TypeError, "trace_number_of_other_type"),
        (lambda session: session.save("/nonexist/x"), FileNotFoundError, "no_folder_to_write_to"),
    ],
)
def test_mistakes_are_said(
    path: Path, call: Callable[[tv.SavedSession], Any], error: type[Exception], message: str
) -> None:
    filled(path)
    with tv.open_session(path) as session:
        with raises_id(error, message):
            call(session)
        assert session.signatures[["rule", "requested"]].to_numpy().tolist() == [["", 0]]
        assert session.traces.index.tolist() == [1, 2, 3]


def test_what_is_no_path() -> None:
    with raises_id(TypeError, "path_no_path", value=3):
        tv.open_session(3)  # type: ignore[arg-type]
    with raises_id(ValueError, "path_no_path"):
        tv.TraceSession("")
    with raises_id(IsADirectoryError, "session_is_folder"):
        tv.TraceSession(".")


def test_the_signatures_that_took_longest_are_named_first(path: Path) -> None:
    writer = Writer(path, keep=None)
    for label in ("init", "init_1", "init_2", "train"):
        number, _ = writer.add_signature(Signature("session", label, label))
    writer.close({number: Counts(9, 0, 9_000, 1_000, 1, 2)})
    said = "no_such_signature"
    with tv.open_session(path) as session, raises_id(ValueError, said):
        session.trace_next("nix")


def test_numbers_of_numpy_are_numbers(path: Path) -> None:
    filled(path)
    one, seven, two = np.int64(1), np.int64(7), np.float32(2)
    with tv.open_session(path) as session:
        session.trace_every(seven, one)  # type: ignore[arg-type] # NumPy's are no int to mypy
        session.trace_slow(factor=two)  # type: ignore[arg-type]
        assert session.signatures["rule"].tolist() == ["every 7"]
        session.delete(session.traces.index[:2])
        session.delete(one)  # type: ignore[arg-type]
        assert len(session.read(session.traces.index[0]).events)


def test_a_copy_that_cannot_be_written_is_not_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("tfvis_nb.session.file.copy.Transaction.__enter__", fail)
    with tv.open_session(path) as session, pytest.raises(sqlite3.OperationalError):
        session.save(path.with_name("copy.tfvis"))
    assert names(path.parent) == ["run.tfvis"]


def test_options_are_listed_without_self() -> None:
    with raises_id(TypeError, "unknown_option") as raised:
        tv.TraceSession(colour=1)  # type: ignore[call-arg]
    assert "self" not in str(raised.value)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "is full: free some space"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be written (permission denied): allow"),
        (OSError(errno.EIO, "Input/output error"), "input/output error"),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), "cannot operate on a closed"),
        (DamagedSessionError("it is damaged"), "it is damaged"),
    ],
    ids=["full", "permission", "disk", "sqlite", "damaged"],
)
def test_every_error_names_the_file(path: Path, error: Exception, words: str) -> None:
    said = in_words(error, path)
    assert words in said
    assert "run.tfvis" in said
