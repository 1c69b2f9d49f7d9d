"""Sessions in a folder that cannot be written."""

import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.session_files import filled, killed, names
from tests.support.texts import raises_id
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import SessionWatch, session_state


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take away the right to write in a folder, from root as well."""
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


COUNTED = (
    "writer = Writer(path, None)\n"
    "number, slot = writer.add_signature(Signature('session', 'train'))\n"
    "writer.count(slot, Counts(41, 1, 410, 20, 5, 6))"
)


def test_a_session_is_read_in_a_read_only_folder(folder: Path) -> None:
    filled(folder / "run.tfvis")
    with read_only(folder):
        with tv.open_session(folder / "run.tfvis") as session:
            assert session.signatures["runs"].tolist() == [3]
            assert len(session.read(2).events)
        assert names(folder) == ["run.tfvis"]


def test_nothing_is_recorded_in_a_read_only_folder(folder: Path) -> None:
    filled(folder / "run.tfvis")
    with read_only(folder):
        for name in ("run.tfvis", "new.tfvis"):
            with pytest.raises((sqlite3.Error, OSError)):
                Writer(folder / name, None)


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
    Writer(path, None).close({})  # and here it can
    assert names(folder) == ["run.tfvis"]
    with tv.open_session(path) as session:
        assert session.processes["end"].iloc[0] == pd.Timestamp(6)
        assert session.signatures[["runs", "failed"]].iloc[0].tolist() == [41, 1]


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


def test_a_file_that_is_read_only(folder: Path) -> None:
    path = folder / "run.tfvis"
    Writer(path, None).close({})
    assert session_state(tv.SavedSession(path))["controllable"]
    with read_only(folder):
        state = session_state(tv.SavedSession(path))
    assert (state["controllable"], state["problem"], state["waiting"]) == (False, "", "")
