"""The state of a session for viewers that poll it."""

import json
import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.support.session_files import START_NS, killed, recording
from tests.support.stored_writer import METADATA
from tests.support.texts import says
from tfvis_nb.display.monitor.monitor_widget import monitor_line
from tfvis_nb.session import snapshot as states
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import MonitorState, SessionWatch, session_state
from tfvis_nb.texts import Text

START_MS = 1_700_000_000_000.0


def test_a_running_job(path: Path, session: tv.SavedSession) -> None:
    names = "\n".join(f"name{number}" for number in range(60))
    writer = Writer(path, keep=None)
    train, slot = writer.add_signature(Signature("session", "train", "loss:0", "apply", names, "trace: x"))
    never, _ = writer.add_signature(Signature("session", "never", "l" * 999))
    writer.add_trace(train, recording(1), None)
    cost: dict[str, Any] = {"tracing_ns": 300, "untraced_ns": 2_500, "untraced_runs": 64, "batch": 7}
    writer.add_trace(train, replace(recording(2), **cost), None)
    counts = Counts(4, 1, 80, 30, START_NS, START_NS + 10**9, traced=2, traced_ns=50)
    writer.count(slot, counts)  # which is not in the database yet
    session.trace_every(1_000_000)
    session.trace_slow(factor=2.5, signature=never)
    session.trace_next("train")
    session.trace_next()
    state: Any = session_state(session)
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    first, second = state.pop("signatures")
    newest, older = state.pop("traces")
    (process,) = state.pop("processes")
    assert state.pop("now_ms") > START_MS
    assert state == {
        "path": str(path),
        "name": "run.tfvis",
        "rule": "every 1000000",
        "requested": 1,
        "problem": "",
        "waiting": "",
        "signatures_total": 2,
        "runs_total": 4,
        "total_ns": 80,
        "traces_total": 2,
        "keep": None,
        "controllable": True,
    }
    assert first.pop("feeds") == [f"name{number}" for number in range(50)]
    assert first == {
        "signature": train,
        "kind": "session",
        "label": "train",
        "runs": 4,
        "failed": 1,
        "traced": 2,
        "traced_ns": 50,
        "mean_ns": 15.0,
        "total_ns": 80,
        "longest_ns": 30,
        "tracing_ratio": [2.0, None, None],
        "first_ms": START_MS,
        "last_ms": START_MS + 1000,
        "processes": 1,
        "traces": 2,
        "requested": 1,
        "rule": "",
        "fetches": ["loss:0"],
        "targets": ["apply"],
        "options": "trace: x",
        "more": 10,
    }
    assert [second[name] for name in ("rule", "runs", "mean_ns", "first_ms")] == ["slower 2.5", 0, None, None]
    assert len(second["fetches"][0]) == 200
    assert (newest["trace"], older["trace"]) == (2, 1)
    assert newest.pop("bytes") == session.traces.loc[2, "bytes"]
    assert newest == {
        "trace": 2,
        "signature": train,
        "label": "train",
        "process": 1,
        "run": 2,
        "start_ms": (START_NS + 2) / 1e6,
        "duration_ns": 5_000,
        "format": "run_metadata",
        **cost,
    }
    unknown = {"tracing_ns": None, "untraced_ns": None, "untraced_runs": 0, "batch": None}
    assert {name: older[name] for name in unknown} == unknown
    assert (process["process"], process["pid"], process["end_ms"]) == (1, os.getpid(), None)
    writer.close({train: Counts(5)})
    assert (session_state(session)["processes"][0]["end_ms"] or 0) >= process["start_ms"]


def test_a_process_that_records_twice_is_one(path: Path, session: tv.SavedSession) -> None:
    first = Writer(path, keep=None)
    train, _ = first.add_signature(Signature("train", "train"))
    first.close({train: Counts(5)})
    again = Writer(path, keep=None)
    again.add_trace(train, recording(1), None)
    state = session_state(session)
    (process,) = state["processes"]
    assert (process["process"], process["pid"], process["end_ms"]) == (1, os.getpid(), None)
    assert [row["process"] for row in state["traces"]] == [1]
    again.close({train: Counts(2)})
    (ended,) = session_state(session)["processes"]
    assert ended["start_ms"] == process["start_ms"]
    assert (ended["end_ms"] or 0) >= session.processes["start"].astype("int64").iloc[1] / 1e6


def test_only_changed_tables_are_read_again(path: Path, session: tv.SavedSession) -> None:
    watch = SessionWatch(session)
    writer = Writer(path, keep=None)

    def news() -> MonitorState:
        found = watch.changed()
        assert found is not None
        assert watch.changed() is None
        return found

    assert news()["signatures"] == []
    number, slot = writer.add_signature(Signature("session", "train"))
    assert [row["label"] for row in news()["signatures"]] == ["train"]
    writer.count(slot, Counts(3, 0, 30))
    assert news()["signatures"][0]["runs"] == 3
    writer.add_trace(number, recording(), None)
    writer.add_trace(number, recording(2), None)
    assert news()["signatures"][0]["traces"] == 2
    session.trace_all()  # by the very connection that looks
    assert news()["rule"] == "all"
    session.delete(1)
    assert [row["trace"] for row in news()["traces"]] == [2]
    with tv.open_session(path) as other:
        other.trace_next("train")
    assert news()["signatures"][0]["requested"] == 1
    writer.close({number: Counts(4)})
    assert news()["processes"][0]["end_ms"] is not None


def test_a_killed_process_has_ended_with_its_last_counts(path: Path, session: tv.SavedSession) -> None:
    work = (
        "writer = Writer(path, None)\n"
        "number, slot = writer.add_signature(Signature('session', 'train'))\n"
        "writer.count(slot, Counts(41, 0, 410, 20, 5000000, 6000000))"
    )
    killed(path, work)
    state = session_state(session)
    assert [process["end_ms"] for process in state["processes"]] == [6.0]
    assert state["signatures"][0]["runs"] == 41


def test_a_file_that_comes_and_goes_and_comes_again(path: Path, session: tv.SavedSession) -> None:
    watch = SessionWatch(session)
    state = watch.changed()
    assert state is not None
    assert state["waiting"] == Text("no_file_yet", name="run.tfvis")
    assert (state["problem"], state["signatures"], state["controllable"]) == ("", [], False)
    assert watch.changed() is None
    path.touch()  # as SQLite makes it
    assert watch.changed() is None
    for label in ("first", "second"):
        writer = Writer(path, keep=None)
        writer.add_signature(Signature("session", label))
        state = watch.changed()
        assert state is not None
        assert state["waiting"] == ""
        # Also of the second file, though the first one is still open here.
        assert [row["label"] for row in state["signatures"]] == [label]
        writer.close({})
        for file in path.parent.glob("run.tfvis*"):
            file.unlink()
        state = watch.changed()
        assert state is not None
        assert state["waiting"] == Text("file_deleted", name="run.tfvis")


def test_orders_are_for_the_file_that_is_there(path: Path) -> None:
    for label in ("first", "second"):
        writer = Writer(path, keep=None)
        writer.add_signature(Signature("session", label))
        writer.close({})
        if label == "first":
            session = tv.open_session(path)
            path.unlink()
            # It notices that and lets go of the companions, which would be in the way of the second file.
            with pytest.raises(FileNotFoundError):
                session.trace_next()
    session.trace_next("second")
    with tv.open_session(path) as other:
        assert other.signatures["requested"].tolist() == [1]
    path.unlink()
    with pytest.raises(FileNotFoundError):
        session.trace_next()
    session.close()


def test_a_session_keeps_the_folder_it_was_opened_in(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train"))
    monkeypatch.chdir(tmp_path)
    with tv.open_session(path.name) as session:
        monkeypatch.chdir("/")
        writer.count(slot, Counts(3))
        assert session.signatures["runs"].tolist() == [3]
    writer.close({number: Counts(3)})


@pytest.mark.parametrize("content", [b"<!DOCTYPE html>" * 100, METADATA], ids=["page", "trace"])
def test_another_file_is_a_problem(path: Path, session: tv.SavedSession, content: bytes) -> None:
    path.write_bytes(content)
    watch = SessionWatch(session)
    state = watch.changed()
    assert state is not None
    assert Text("no_session", path=path) in state["problem"]
    assert state["waiting"] == ""
    assert watch.changed() is None
    path.unlink()
    Writer(path, None).close({})
    state = watch.changed()
    assert state is not None
    assert state["problem"] == ""


@pytest.mark.parametrize(
    "change",
    [
        "traces SET run = 'first'",
        "traces SET start_ns = 9e999",
        "traces SET untraced_ns = 'long'",
        "counts SET traced = -1",
        "counts SET total_ns = x'00'",
        "counts SET total_ns = 9e999",
        "signatures SET fetches = x'ff'",
        "writers SET started_ns = 'now'",
    ],
)
def test_damage_is_a_problem(path: Path, session: tv.SavedSession, change: str) -> None:
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(), None)
    writer.close({number: Counts(1)})
    damaged = sqlite3.connect(path)
    damaged.execute(f"UPDATE {change}")
    damaged.commit()
    damaged.close()
    watch = SessionWatch(session)
    state = watch.changed()
    assert state is not None
    assert says(state["problem"], "file_unreadable_now")
    assert watch.changed() is None
    json.dumps(state, allow_nan=False)


def test_many_signatures_and_traces(
    path: Path, session: tv.SavedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "MOST_SIGNATURES", 3)
    monkeypatch.setattr(states, "MOST_TRACES", 4)
    writer = Writer(path, keep=None)
    totals = [50, 10, 70, 20, 60]
    for total in totals:
        number, slot = writer.add_signature(Signature("session", f"took {total}", str(total)))
        writer.count(slot, Counts(1, 0, total))
    for run in range(10):
        writer.add_trace(number, recording(run), None)
    state = session_state(session)
    assert [row["label"] for row in state["signatures"]] == ["took 50", "took 70", "took 60"]
    assert (state["signatures_total"], state["runs_total"], state["total_ns"]) == (5, 5, sum(totals))
    assert "5 signatures, 5 runs" in monitor_line(state)
    assert [row["trace"] for row in state["traces"]] == [10, 9, 8, 7]
    assert state["traces_total"] == 10
    writer.close({})


def test_what_traces_hold_is_not_read(path: Path, session: tv.SavedSession) -> None:
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(1, os.urandom(100_000)), None)
    writer.close({})
    with session.connected() as connection:
        ((data, page),) = connection.execute(
            "SELECT data, page_size FROM traces, pragma_page_size"
        ).fetchall()
    session.close()
    content = bytearray(path.read_bytes())
    held = [start for start in range(0, len(content), page) if content[start + 4 : start + 40] in data]
    assert len(held) > 20
    for start in held:
        content[start : start + page] = bytes(page)
    path.write_bytes(content)
    state = session_state(session)
    assert (state["problem"], state["traces"][0]["bytes"]) == ("", len(data))
    with pytest.raises((tv.TraceFormatError, sqlite3.DatabaseError)):
        session.read(1)
