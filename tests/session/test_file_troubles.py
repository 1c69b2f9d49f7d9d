"""Files of sessions that are damaged, whose process or ledger is gone, or that cannot be copied."""

import errno
import os
import socket
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.support.session_files import filled, killed, names
from tests.support.texts import raises_id
from tfvis_nb.session.file.database import Transaction
from tfvis_nb.session.file.errors import DamagedSessionError, in_words
from tfvis_nb.session.file.writer import Writer


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
        with session.writing() as connection, Transaction(connection):
            connection.execute("UPDATE writers SET host = :host, pid = :pid, started_ns = :started_ns", row)
        assert session.processes["end"].notna().tolist() == [has_ended]
    writer.close({})


def test_a_copy_that_cannot_be_written_is_not_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("tfvis_nb.session.file.copy.Transaction.__enter__", fail)
    with tv.open_session(path) as session, pytest.raises(sqlite3.OperationalError):
        session.save(path.with_name("copy.tfvis"))
    assert names(path.parent) == ["run.tfvis"]


@pytest.mark.parametrize(
    ("error", "key", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full", None),
        (PermissionError(errno.EACCES, "Permission denied"), "session_unwritable", "permission denied"),
        (OSError(errno.EIO, "Input/output error"), "session_failed", "input/output error"),
        (sqlite3.ProgrammingError("A closed database."), "session_failed", "a closed database."),
        (DamagedSessionError("odd"), "session_failed", "odd"),
    ],
    ids=["full", "permission", "disk", "sqlite", "damaged"],
)
def test_every_error_names_the_file(path: Path, error: Exception, key: str, reason: str | None) -> None:
    said = in_words(error, path)
    assert (said.id, said.figures.get("reason")) == (key, reason)
    assert "run.tfvis" in said
