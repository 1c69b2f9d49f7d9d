"""A file that cannot be written, or goes, costs the recording and nothing else: no order raises."""

import logging
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.recording.work import fit
from tests.support.texts import pattern_of, raises_id, says
from tfvis_nb.recording.live import requests as orders
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import RUN_S, Writer
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow


def every_order(recorded: tv.TraceSession) -> None:
    recorded.trace_every(2)
    recorded.trace_next()
    recorded.trace_next("train")
    recorded.trace_all(7)
    recorded.trace_slow(factor=3)
    recorded.stop_tracing()
    recorded.delete([1, 2])


def tables(session: tv.SavedSession) -> list[Any]:
    return [session.signatures, session.traces, session.processes]


def check_stopped(
    recorded: tv.TraceSession, caplog: pytest.LogCaptureFixture, key: str, **figures: str
) -> None:
    """Everything goes on, and it was said once why nothing is recorded."""
    every_order(recorded)
    shown = tables(recorded)
    assert [len(table) for table in shown] == [0, 0, 0]
    assert not recorded.recording
    (warning,) = (
        record for record in caplog.records if record.name == "tfvis_nb" and record.levelno >= logging.WARNING
    )
    assert says(recorded.problem, key, **figures)
    why = [Text(each, reason=recorded.problem) for each in ("recording_stopped", "recording_not_ended")]
    assert warning.getMessage() in why
    with raises_id(TypeError, "not_from_one"):
        recorded.trace_every("a")  # type: ignore[arg-type]
    with raises_id(ValueError, "not_a_factor", name="factor"):
        recorded.trace_slow(factor=float("inf"))


def test_a_folder_that_is_not_there(session: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    missing = tmp_path / "none"
    recorded = tv.TraceSession(missing / "run.tfvis")
    every_order(recorded)
    with recorded:
        assert session.run("loss:0") == pytest.approx(32)
    check_stopped(recorded, caplog, "folder_missing", folder=str(missing), name="run.tfvis")
    with pytest.raises(FileNotFoundError):
        recorded.read(1)
    with pytest.raises(FileNotFoundError):
        recorded.save(tmp_path / "copy.tfvis")
    recorded.close()


def test_tables_have_the_same_columns_without_a_file(session: Any, tmp_path: Path) -> None:
    recorded = tv.TraceSession(tmp_path / "run.tfvis")
    before = tables(recorded)  # when there is none yet
    assert not recorded.problem
    assert not recorded.path.exists()
    with recorded:
        session.run("loss:0")
        recorded.trace_next()
        session.run("loss:0")
    for empty, full in zip(before, tables(recorded), strict=True):
        assert len(empty) == 0
        assert len(full) == 1
        assert empty.columns.tolist() == full.columns.tolist()
        assert empty.index.name == full.index.name
        assert empty["start" if "start" in empty else "first"].dtype.kind == "M"
    recorded.close()


def test_an_empty_file_becomes_the_session(
    session: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "run.tfvis"
    path.touch()
    recorded = tv.TraceSession(path)
    assert [len(table) for table in tables(recorded)] == [0, 0, 0]
    recorded.trace_every(2)
    with recorded:
        for _ in range(2):
            session.run("loss:0")
    assert recorded.traces["run"].tolist() == [2]
    assert caplog.records == []
    recorded.close()


def test_a_file_of_something_else_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    path.write_text("something else")
    recorded = tv.TraceSession(path)
    for use in (lambda: recorded.trace_every(2), lambda: recorded.signatures, recorded.start):
        with raises_id(tv.TraceFormatError, "no_session"):
            use()
    assert path.read_text() == "something else"


def test_a_folder_that_is_read_only(session: Any, caplog: pytest.LogCaptureFixture) -> None:
    recorded = tv.TraceSession("/proc/run.tfvis")
    every_order(recorded)
    with recorded:
        assert session.run("loss:0") == pytest.approx(32)
    check_stopped(recorded, caplog, "session_deleted", path="/proc/run.tfvis")
    recorded.close()


@pytest.mark.parametrize("at", ["run", "order", "table", "trace", "end"])
def test_a_file_that_is_deleted(
    session: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    at: str,
) -> None:
    monkeypatch.setattr(orders, "LOOK_NS", 0)
    folder = tmp_path / "job"
    folder.mkdir()
    recorded = tv.TraceSession(folder / "run.tfvis")
    with recorded:
        session.run("loss:0")
        if at == "trace":
            recorded.trace_all()
        recorded.path.unlink()
        if at in ("run", "trace"):
            for _ in range(3):
                assert session.run("loss:0") == pytest.approx(32)
            assert not recorded.recording
        elif at == "order":
            recorded.trace_next()
            assert not recorded.recording
        elif at == "table":
            assert len(recorded.signatures) == 0
            assert not recorded.recording
    check_stopped(recorded, caplog, "session_deleted", path=str(recorded.path))
    recorded.close()
    assert list(folder.iterdir()) == []  # not even what lay next to it
    again = tv.TraceSession(recorded.path)
    with again:
        session.run("loss:0")
    assert again.signatures["runs"].tolist() == [1]
    again.close()


@pytest.mark.parametrize("at", ["run", "end"])
def test_a_file_that_is_moved_has_all_that_ran_until_then(
    session: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.setattr(orders, "LOOK_NS", 0)
    recorded = tv.TraceSession(tmp_path / "run.tfvis")
    moved = tmp_path / "old" / "was.tfvis"
    moved.parent.mkdir()
    with recorded:
        recorded.trace_all()
        for _ in range(5):
            session.run("loss:0")
        recorded.path.rename(moved)
        if at == "run":
            session.run("loss:0")
            assert not recorded.recording
    check_stopped(recorded, caplog, "session_deleted", path=str(recorded.path))
    recorded.close()
    with tv.open_session(moved) as session_read:
        (runs,) = session_read.signatures["runs"].tolist()
        assert runs in ((5,) if at == "end" else (5, 6))  # the run that noticed it may be counted
        assert session_read.traces["run"].tolist()[:5] == [1, 2, 3, 4, 5]
        assert session_read.processes["end"].notna().all()
        assert len(session_read.read(1).events)
    assert not list(tmp_path.glob("run.tfvis*"))


def test_a_file_that_is_emptied(
    session: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "LOOK_NS", 0)
    recorded = tv.TraceSession(tmp_path / "run.tfvis")
    with recorded:
        session.run("loss:0")
        recorded.path.write_bytes(b"")
        assert session.run("loss:0") == pytest.approx(32)
        assert not recorded.recording
    check_stopped(recorded, caplog, "session_deleted", path=str(recorded.path))


def test_a_folder_that_is_deleted_during_fit(
    model: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "LOOK_NS", 0)
    folder = tmp_path / "job"
    folder.mkdir()
    recorded = tv.TraceSession(folder / "run.tfvis")
    recorded.trace_all()
    fit(model, callbacks=[recorded.keras_callback(), _Deletes(folder)])
    check_stopped(recorded, caplog, "folder_missing", folder=str(folder))
    recorded.close()


def test_a_session_that_is_damaged(session: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.tfvis"
    with tv.TraceSession(path) as before:
        session.run("loss:0")
    before.close()
    damaged = path.read_bytes()[:16] + bytes(path.stat().st_size - 16)
    path.write_bytes(damaged)
    recorded = tv.TraceSession(path)
    with recorded:
        assert session.run("loss:0") == pytest.approx(32)
    check_stopped(recorded, caplog, "session_damaged")
    assert str(path) in recorded.problem
    assert path.read_bytes() == damaged
    recorded.close()


FULL = """
import resource, signal, sys
import tfvis_nb as tv

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorded = tv.TraceSession(sys.argv[1])
if sys.argv[2] == "later":
    recorded.stop_tracing()
size = 0 if sys.argv[2] == "at once" else 40_000
sys.dont_write_bytecode = True  # Python <= 3.13 keeps what it could not write whole
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # a write beyond that fails
for _ in range(300):
    recorded.trace_every(3)
    recorded.trace_next()
print(bool(recorded.problem), len(recorded.traces))
"""


@pytest.mark.parametrize("when", ["at once", "later"])
def test_orders_on_a_full_disk(tmp_path: Path, when: str) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "run.tfvis"), when]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0"]
    (stopped,) = re.findall(pattern_of("recording_stopped"), done.stderr)
    assert "run.tfvis" in stopped


def _Deletes(folder: Path) -> Any:  # noqa: N802 - a callback
    import keras

    class Deletes(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            if batch == 0:
                shutil.rmtree(folder)

    return Deletes()


WRONG_ROWS = {
    "rule": "INSERT INTO rules(signature, kind, value) VALUES (0, 'every', 'x')",
    "kind": "INSERT INTO rules(signature, kind, value) VALUES (0, x'ff', 1)",
    "request": "INSERT INTO requests(signature, writer) VALUES ('x', NULL)",
    "trigger": "CREATE TRIGGER harm AFTER INSERT ON traces BEGIN DELETE FROM traces; END",
}


@pytest.mark.parametrize("row", WRONG_ROWS)
def test_nothing_wrong_in_the_file_reaches_a_run(
    session: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    monkeypatch.setattr(orders, "LOOK_NS", 0)
    recorded = tv.TraceSession(tmp_path / "run.tfvis")
    with recorded:
        session.run("loss:0")
        with closing(sqlite3.connect(recorded.path, isolation_level=None)) as database:
            database.execute(WRONG_ROWS[row])
        for _ in range(3):
            assert session.run("loss:0") == pytest.approx(32)
        assert not recorded.recording
    (warning,) = (
        record for record in caplog.records if record.name == "tfvis_nb" and record.levelno >= logging.WARNING
    )
    assert says(warning.getMessage(), "session_damaged")
    recorded.close()


def test_a_lock_that_is_held_delays_one_run_and_loses_nothing(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "LOOK_NS", 0)
    recorded = tv.TraceSession(tmp_path / "run.tfvis")
    with recorded:
        recorded.trace_all()
        session.run("loss:0")
        with closing(sqlite3.connect(recorded.path, isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            start = time.monotonic()
            for _ in range(4):
                session.run("loss:0")
                session.run("product:0")  # which the file does not know yet
            assert time.monotonic() - start < 20  # they would wait for half a minute each
            database.execute("COMMIT")
        assert recorded.recording
        session.run("loss:0")
    table = recorded.signatures.set_index("label")
    assert table["runs"].to_dict() == {"loss": 6, "product": 4}
    assert table["traces"].to_dict() == {"loss": 6, "product": 4}
    recorded.close()


def test_a_request_that_cannot_be_claimed_delays_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    before = tv.TraceSession(path)
    before.trace_next()  # of whichever job comes first
    before.close()
    writer = Writer(path, keep=None)
    registry = orders.RunRegistry(writer)
    counted = registry.counted(Signature("session", "train"))
    assert counted is not None
    registry.look(time.perf_counter_ns())

    def patience_ms() -> int:
        return int(writer._connection.execute("PRAGMA busy_timeout").fetchone()[0])

    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        assert patience_ms() == 1000 * RUN_S
        for run in range(3):
            assert registry.order(counted, run) is None
            assert patience_ms() == 0
        database.execute("COMMIT")
    assert registry.order(counted, 3) == orders.TraceRequest(request=1)
    assert patience_ms() == 1000 * RUN_S
    registry.close()
