"""Traces that were requested, opened or annotated stay, whatever a job's limit."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.session.test_first_version import old
from tests.session.test_killed_jobs import LEAVES, files
from tests.support.session_files import crafted, filled, killed, recording
from tests.support.texts import raises_id
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.schema import VERSION
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state

__all__ = ["old"]

NOTE: dict[str, Any] = {"event": 3, "name": "why?", "text": "slow"}
BEFORE_KEPT = (
    "DROP TABLE kept",
    "ALTER TABLE writers DROP COLUMN keep",
    "PRAGMA user_version = 3",
)


def rows(trace: tv.Trace, *notes: dict[str, Any]) -> list[Any]:
    from tfvis_nb.core.annotations import to_json

    trace.annotations = list(notes)
    return to_json(trace.annotations)


def job(path: Path, runs: range, keep: int = 2, requested: int | None = None) -> None:
    """Record runs, as a rule makes their traces, but for the requested one."""
    writer = Writer(path, keep)
    number, _ = writer.add_signature(Signature("session", "train", "loss:0"))
    for run in runs:
        request = None
        if run == requested:
            with tv.open_session(path) as session:
                session.trace_next(number)
            orders = writer.orders()
            assert orders is not None
            ((request, _),) = orders.requests[number]
        writer.add_trace(number, recording(run), request)
    writer.close({})


def runs(path: Path) -> list[int]:
    with tv.open_session(path) as session:
        return [int(run) for run in session.traces["run"]]


def test_requested_trace_outlives_rules_and_jobs(path: Path) -> None:
    job(path, range(1, 9), requested=2)
    assert runs(path) == [2, 7, 8]
    job(path, range(11, 19))
    assert runs(path) == [2, 17, 18]


def test_opened_trace_outlives_rules_and_jobs(path: Path) -> None:
    job(path, range(1, 4))
    with tv.open_session(path) as session:
        session.keep(2)
        job(path, range(11, 19))
        assert session.traces["run"].tolist() == [2, 17, 18]


def test_opening_leaves_the_files_of_a_killed_job(path: Path) -> None:
    killed(path, LEAVES)
    before = files(path.parent)
    with tv.open_session(path) as session:
        session.keep(1)
        assert session.traces["run"].tolist() == [1]
        assert files(path.parent) == before
        writer = Writer(path, 2)
        assert len(session.traces) == 1
        number, _ = writer.add_signature(Signature("session", "train"))
        for run in range(2, 9):
            writer.add_trace(number, recording(run), None)
        writer.close({})
        assert session.traces["run"].tolist() == [1, 7, 8]


def test_annotated_trace_outlives_rules_and_jobs(path: Path, tmp_path: Path) -> None:
    job(path, range(1, 4))
    with tv.open_session(path) as session:
        session.put_notes(2, (rows(session.read(2), NOTE), [{"name": "mine"}]))
        job(path, range(11, 19))
        assert session.traces["run"].tolist() == [2, 17, 18]
        copy = session.save(tmp_path / "copy.tfvis")
    for each in (path, copy):
        with tv.open_session(each) as session:
            assert session.read(2).annotations[["event", "name", "text"]].to_numpy().tolist() == [
                [3, "why?", "slow"]
            ]
            assert session.notes(2)[1] == [{"name": "mine"}]
            assert session.notes(3) == ([], [])


def test_deleted_trace_loses_its_notes(path: Path) -> None:
    filled(path)
    with tv.open_session(path) as session:
        session.put_notes(2, (rows(session.read(2), NOTE), []))
        session.delete(2)
        assert session.notes(2) == ([], [])
        with raises_id(ValueError, "trace_gone"):
            session.put_notes(2, ([], []))
        with pytest.raises(KeyError):
            session.read(2)


@pytest.mark.parametrize("written", ["", "{", "{}", "[" * 100_000, '[{"name": NaN}]', "[1]"])
def test_damaged_notes_leave_the_trace(path: Path, written: str) -> None:
    filled(path)
    with tv.open_session(path) as session:
        session.keep(2)
        with session.writing() as connection:
            connection.execute("UPDATE kept SET annotations = ?, views = ?", (written, written))
        assert len(session.read(2).events)


def test_limit_is_that_of_the_last_job(path: Path) -> None:
    filled(path)
    with tv.open_session(path) as session:
        assert session_state(session)["keep"] is None
        job(path, range(1), keep=7)
        assert session_state(session)["keep"] == 7


def test_next_job_adds_what_version_3_lacks(path: Path) -> None:
    crafted(path, *BEFORE_KEPT)
    with tv.open_session(path) as session:
        session.keep(1)
        assert version(session) == 3
        assert session_state(session)["keep"] is None
        job(path, range(2, 9))
        assert version(session) == VERSION
        assert session_state(session)["keep"] == 2


def test_annotation_adds_what_version_3_lacks(path: Path) -> None:
    crafted(path, *BEFORE_KEPT)
    with tv.open_session(path) as session:
        session.put_notes(1, (rows(session.read(1), NOTE), []))
        assert version(session) == VERSION
        assert len(session.read(1).annotations) == 1


def test_recorded_file_of_version_3_does_not_change(path: Path) -> None:
    crafted(path, *BEFORE_KEPT)
    code = (
        "import sys, tfvis_nb.session.file.writer as writer\n"
        "writer.prepare_kept = lambda _: False  # as before\n"
        "recorded = writer.Writer(writer.Path(sys.argv[1]), None)\n"
        "print(flush=True); sys.stdin.readline(); recorded.close({})"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        job(path, range(11, 19), requested=12)
        with tv.open_session(path) as session:
            assert session.traces["run"].tolist() == [1, 12, 17, 18]
            with raises_id(ValueError, "notes_without_place"):
                session.put_notes(1, ([], []))
            assert version(session) == 3
        other.communicate(b"\n")
    assert other.returncode == 0


def version(session: tv.SavedSession) -> int:
    with session.connected() as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_first_version_keeps_traces_of_others(old: Path) -> None:
    with tv.open_session(old) as session:
        with raises_id(ValueError, "notes_without_place"):
            session.put_notes(1, ([], []))
        job(old, range(11, 19), requested=12)
        assert session.traces["run"].tolist() == [1, 2, 12, 17, 18]
