"""Files made to look like sessions, and what lies beside them: nothing hangs, nothing is written."""

import functools
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.mutants import session_pages
from tests.mutants.samples import session_files
from tests.support.stored_writer import METADATA
from tests.support.texts import raises_id
from tfvis_nb.session.commands import execute_command
from tfvis_nb.session.file import write_ahead_log
from tfvis_nb.session.file import writer as writers
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.errors import DamagedSessionError, damage_named
from tfvis_nb.session.file.write_ahead_log import HeldError
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tfvis"


def recording(run: int = 1) -> Recording:
    return Recording("run_metadata", METADATA, run, 1_700_000_000_000_000_000, 5_000)


def filled(path: Path) -> None:
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(), None)
    writer.close({number: Counts(1, 0, 5_000, 5_000, 1, 2)})


def crafted(path: Path, *statements: str) -> bytes:
    filled(path)
    database = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        database.execute(statement)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    database.close()
    return path.read_bytes()


UNENDED = "UPDATE writers SET ended_ns = NULL, started_ns = 1"
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

OPEN = """
import resource, sys, tfvis_nb as tv
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, 10_000_000))
try:
    with tv.open_session(sys.argv[1]) as session: session.signatures
    print("opened")
except tv.TraceFormatError as error:
    print(type(error).__name__)
"""


def opened(path: Path) -> str:
    """Open a session in a process of its own, which may take a minute at most, and return what came of it."""
    command = [sys.executable, "-c", OPEN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.parametrize("what", CRAFTED)
def test_a_file_with_other_tables_is_refused_and_not_written(path: Path, what: str) -> None:
    content = crafted(path, *CRAFTED[what])
    assert opened(path) == "DamagedSessionError"
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ["run.tfvis"]


def test_tables_that_change_later_are_refused(path: Path) -> None:
    filled(path)
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


@pytest.mark.parametrize("beside", ["-counts1", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_plain_file_is_not_opened(path: Path, beside: str, kind: str) -> None:
    crafted(path, UNENDED)
    file = path.with_name(path.name + beside)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "link":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    assert opened(path) == "DamagedSessionError"
    assert os.path.lexists(file)


def test_a_pipe_is_no_session(path: Path) -> None:
    os.mkfifo(path)
    assert opened(path) == "TraceFormatError"


def test_a_journal_is_not_played_back(path: Path) -> None:
    filled(path)
    victim = path.with_name("victim")
    victim.write_text("somebody's")
    path.with_name("run.tfvis-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    before = path.read_bytes()
    assert opened(path) == "DamagedSessionError"
    assert (path.read_bytes(), victim.read_text()) == (before, "somebody's")


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


def test_a_query_without_end_is_stopped(path: Path) -> None:
    filled(path)
    with tv.open_session(path) as session, session.connected() as connection:
        connection.allow(0.2)
        tables = ", ".join(f"sqlite_schema AS t{number}" for number in range(12))
        with pytest.raises(DamagedSessionError), damage_named(path):
            connection.execute(f"SELECT count(*) FROM {tables}").fetchall()


def test_files_of_somebody_else_stay(tmp_path: Path) -> None:
    path = tmp_path / "model"
    users = [
        "model.new-weights.h5",
        "model-counts-per-class.new",
        "model-counts9.new",
        "model.new-" + "0" * 32,
    ]
    for name in users:
        (tmp_path / name).write_text("somebody's")
    filled(path)
    path.unlink()
    (tmp_path / "model-counts7").write_text("somebody's")
    filled(path)
    for name in (*users, "model-counts7"):
        assert (tmp_path / name).read_text() == "somebody's"


@pytest.mark.parametrize(
    ("beside", "key"), [("-wal", "in_the_way"), ("-shm", "in_the_way"), ("-counts1", "counts_in_the_way")]
)
def test_files_of_somebody_else_are_not_written(path: Path, beside: str, key: str) -> None:
    users = path.with_name(path.name + beside)
    users.write_text("somebody's")
    with raises_id(FileExistsError, key):
        Writer(path, None)
    assert users.read_text() == "somebody's"


def test_only_the_owner_may_read(path: Path) -> None:
    before = os.umask(0)
    try:
        writer = Writer(path, keep=None)
        writer.add_signature(Signature("session", "train"))
        with tv.open_session(path) as session:
            session.save(path.with_name("copy.tfvis"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        writer.close({})
    finally:
        os.umask(before)
    beside = ("", "-wal", "-shm", "-counts1")
    assert modes == {**{f"run.tfvis{name}": 0o600 for name in beside}, "copy.tfvis": 0o600}


CUT = """
import os, sys
from pathlib import Path
from tfvis_nb.session.file.writer import *
path = Path(sys.argv[1])
writer = Writer(path, None)
number, slot = writer.add_signature(Signature("session", "train"))
for run in range(1, 4):
    writer.count(slot, Counts(run, 0, run, 1, 1, 1))
    os.truncate(f"{path}-counts1", 0)
writer.count(slot, Counts(4, 0, 4, 1, 1, 1))
writer.close({number: Counts(4, 0, 4, 1, 1, 1)})
"""


def test_a_counts_file_that_is_cut_short_does_not_end_the_job(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CUT, str(path)], check=False)
    assert done.returncode == 0
    with tv.open_session(path) as session:
        assert session.signatures["runs"].tolist() == [4]


def test_a_reader_without_end_does_not_let_the_log_grow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "MOST_WAL", 1_000_000)
    monkeypatch.setattr(write_ahead_log, "CHECKPOINT_NS", 0)
    writer = Writer(path, keep=10)
    number, _ = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(), None)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM traces").fetchone()
    log = path.with_name("run.tfvis-wal")

    def add_some() -> None:
        for run in range(2, 500):
            writer.add_trace(number, recording(run), None)
            assert log.stat().st_size < 1_500_000

    with pytest.raises(HeldError):
        add_some()
    reader.close()
    add_some()
    writer.close({})


def test_short_readers_that_overlap_are_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "MOST_WAL", 1_000_000)
    writer = Writer(path, keep=10)
    number, _ = writer.add_signature(Signature("session", "train"))
    ended = threading.Event()

    def read() -> None:
        first, second = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
        first.execute("BEGIN")
        while not ended.is_set():  # at every moment one of them reads
            first.execute("SELECT count(*) FROM traces").fetchone()
            second.execute("BEGIN")
            second.execute("SELECT count(*) FROM traces").fetchone()
            first.execute("COMMIT")
            first, second = second, first
        first.close()
        second.close()

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        kept = held = 0
        try:
            while kept < 1_000 and held < 100:
                try:
                    writer.add_trace(number, recording(kept), None)
                    kept += 1
                except HeldError:
                    held += 1
        finally:
            ended.set()
        reading.result()
    writer.close({})
    assert kept == 1_000


def test_no_more_than_some_are_kept_at_any_moment(path: Path) -> None:
    writer = Writer(path, keep=10)
    number, _ = writer.add_signature(Signature("session", "train"))
    reader = sqlite3.connect(path, isolation_level=None)
    most = 0
    for run in range(1, 400):
        writer.add_trace(number, recording(run), None)
        most = max(most, reader.execute("SELECT count(*) FROM traces").fetchone()[0])
    assert 10 <= most < 10 + 2 * writers.DELETE_TRACES
    reader.close()
    writer.close({})


NAMED = (tv.TraceFormatError, OSError, KeyError, sqlite3.OperationalError)
"""What a damaged file may raise: that it is damaged, that it cannot be opened, that a trace is not there."""

COMMANDS: tuple[dict[str, object], ...] = (
    {"do": "trace_next"},
    {"do": "trace_every", "n": 3, "signature": 1},
    {"do": "delete", "traces": [1]},
    {"do": "stop_tracing"},
)


def unnamed_errors(path: Path) -> list[str]:
    """Ask a session for everything, whatever fails; return the errors that do not say what is wrong."""
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
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            unnamed.append(f"{what}: {error!r}")
    session.close()
    return unnamed


@pytest.mark.parametrize("seed", range(50))
def test_damaged_files(path: Path, seed: int) -> None:
    for name, data in session_files().items():
        path.with_name(path.name + name).write_bytes(data)
    session_pages.damaged(path, b"", random.Random(seed))
    start = time.monotonic()
    assert unnamed_errors(path) == []
    assert time.monotonic() - start < 60
