"""Files crafted to look like sessions: nothing hangs or is written, and errors name the problem."""

import functools
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.mutants import session_pages
from tests.mutants.samples import session_files
from tests.support.examples import sample
from tests.support.session_files import UNENDED, crafted, filled, opened
from tests.support.texts import raises_id
from tfvis_nb.session.commands import execute_command
from tfvis_nb.session.file.connection import opened as opened_for
from tfvis_nb.session.file.errors import DamagedSessionError, damage_named
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state

WITHOUT_END = "WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more)"

CRAFTED = {
    "a trigger": (
        UNENDED,
        (
            "CREATE TRIGGER grow AFTER UPDATE ON writers BEGIN"
            " INSERT INTO traces SELECT NULL, 1, 1, 1, 1, 1, 'xspace', 0, 9, '', zeroblob(100000000); END"
        ),
    ),
    "a view without end": (
        "DROP TABLE writers",
        (
            f"CREATE VIEW writers AS {WITHOUT_END}"
            " SELECT n AS id, '' AS host, 1 AS pid, 1 AS started_ns, NULL AS ended_ns FROM more"
        ),
    ),
    "another table": ("CREATE TABLE more(id)",),
    "an index": ("CREATE INDEX more ON rules(abs(value))",),
    "another column": ("ALTER TABLE rules ADD COLUMN more AS (signature + 1)",),
    "a virtual table": (  # as a row: not every SQLite has the module
        "PRAGMA writable_schema = ON",
        (
            "INSERT INTO sqlite_schema VALUES"
            " ('table', 'more', 'more', 0, 'CREATE VIRTUAL TABLE more USING fts3(words)')"
        ),
    ),
    "no table": ("DROP TABLE rules",),
    "a name that is no text": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET name = CAST(x'72e5' AS TEXT), sql = 'CREATE' WHERE name = 'rules'",
    ),
    "a statement that is none": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE rules(' WHERE name = 'rules'",
    ),
}

LARGER_THAN_OURS = [
    "SELECT 1" + " " * 10_000,
    "SELECT 1 UNION SELECT 2 UNION SELECT 3",
    f"SELECT {', '.join('1' * 101)}",
]
"""Statements beyond the limits of a session's connection."""


@pytest.mark.parametrize("what", sample(CRAFTED, [*CRAFTED][::3]))
def test_a_file_with_other_tables_is_refused_and_not_written(path: Path, what: str) -> None:
    content = crafted(path, *CRAFTED[what])
    assert opened(path) == "DamagedSessionError"
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ["run.tfvis"]


def test_connections_run_no_code_of_unchecked_files(path: Path) -> None:
    crafted(path, *CRAFTED["a trigger"], "CREATE VIEW more AS SELECT abs(id) FROM traces")
    with closing(opened_for(path, "rw", 1.0)) as connection:
        before = connection.execute("SELECT count(*) FROM traces").fetchone()
        with suppress(sqlite3.DatabaseError):
            connection.execute("UPDATE writers SET pid = pid + 1")
        assert connection.execute("SELECT count(*) FROM traces").fetchone() == before
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("SELECT * FROM more").fetchall()
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("DROP TABLE rules")
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        for beyond in LARGER_THAN_OURS:
            with pytest.raises(sqlite3.Error):
                connection.execute(beyond)
        if sys.version_info >= (3, 12):
            assert connection.getconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)


def test_tables_that_change_later_are_refused(path: Path) -> None:
    filled(path, traces=1)
    writer = Writer(path, keep=None)
    with tv.open_session(path) as session:
        assert len(session.traces) == 1
        database = sqlite3.connect(path, isolation_level=None)
        for statement in CRAFTED["a view without end"]:
            database.execute(statement)
        database.close()
        with pytest.raises(DamagedSessionError):
            assert session.processes is None
        with pytest.raises(DamagedSessionError):
            writer.orders()
    writer.abandon()


def test_a_pipe_is_no_session(path: Path) -> None:
    os.mkfifo(path)
    assert opened(path) == "TraceFormatError"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO rules(signature, kind, value) VALUES (0, 'every', 'x')",
        "INSERT INTO rules(signature, kind, value) VALUES (0, 'no such', 1)",
        "INSERT INTO rules(signature, kind, value) VALUES (0, 'every', 9e999)",
        "UPDATE writers SET host = x'00'",
        "UPDATE writers SET started_ns = 'x'",
        "UPDATE writers SET pid = 'x', ended_ns = NULL",
        "UPDATE counts SET runs = 'many'",
        "UPDATE counts SET first_ns = -9223372036854775808",
        "UPDATE signatures SET fetches = x'ff'",
        "UPDATE traces SET start_ns = 'x'",
        "UPDATE traces SET format = 'other'",
    ],
)
def test_rows_of_wrong_types_are_damage(path: Path, statement: str) -> None:
    crafted(path, statement)
    with (
        raises_id(DamagedSessionError, "session_damaged"),
        tv.open_session(path) as session,
    ):
        assert session.signatures is session.traces is session.processes is None


@pytest.mark.parametrize(
    ("size", "key"), [(1 << 30, "unpacks_beyond_ratio"), (1 << 31, "trace_of_wrong_size")]
)
def test_a_trace_that_would_unpack_to_gigabytes_is_refused(path: Path, size: int, key: str) -> None:
    crafted(path, f"UPDATE traces SET size = {size}")
    with tv.open_session(path) as session, raises_id(tv.TraceFormatError, key):
        session.read(1)


def test_a_trace_that_is_listed_and_not_found_is_damage(path: Path) -> None:
    crafted(path, "DELETE FROM signatures")
    with tv.open_session(path) as session, raises_id(DamagedSessionError, "session_damaged"):
        session.read(1)


def test_a_query_without_end_is_stopped(path: Path) -> None:
    filled(path, traces=1)
    with tv.open_session(path) as session, session.connected() as connection:
        connection.allow(0.2)
        tables = ", ".join(f"sqlite_schema AS t{number}" for number in range(12))
        with pytest.raises(DamagedSessionError), damage_named(path):
            connection.execute(f"SELECT count(*) FROM {tables}").fetchall()


NAMED = (tv.TraceFormatError, OSError, KeyError, sqlite3.OperationalError)

"""The errors allowed for a damaged file: damaged, cannot be opened, trace missing."""


COMMANDS: tuple[dict[str, object], ...] = (
    {"do": "trace_next"},
    {"do": "trace_every", "n": 3, "signature": 1},
    {"do": "delete", "traces": [1]},
    {"do": "stop_tracing"},
)


def unnamed_errors(path: Path) -> list[str]:
    """Read everything of a session despite errors; return the errors that do not name the fault."""
    session = tv.SavedSession(path)
    asked: dict[str, Callable[[], object]] = {
        **{name: functools.partial(getattr, session, name) for name in ("signatures", "processes", "traces")},
        **{f"trace {number}": functools.partial(session.read, number) for number in range(6)},
        "state": functools.partial(session_state, session),
        **{str(command): functools.partial(execute_command, session, command) for command in COMMANDS},
        "copy": functools.partial(session.save, path.with_name("copy.tfvis")),
    }
    unnamed = []
    for what, ask in asked.items():
        try:
            ask()
        except NAMED:
            pass
        except ValueError as error:
            if what not in map(str, COMMANDS):
                unnamed.append(f"{what}: {error!r}")
        except Exception as error:  # noqa: BLE001 - any error is wanted
            unnamed.append(f"{what}: {error!r}")
    session.close()
    return unnamed


@pytest.mark.parametrize("seed", sample(range(50), range(12)))
def test_damaged_files(path: Path, seed: int) -> None:
    for name, data in session_files().items():
        path.with_name(path.name + name).write_bytes(data)
    session_pages.damaged(path, b"", random.Random(seed))
    start = time.monotonic()
    assert unnamed_errors(path) == []
    assert time.monotonic() - start < 60
