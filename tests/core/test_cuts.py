"""``trace[3]`` and ``trace.between("10ms", "25ms")`` keep everything that belongs to their events."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import each, real_trace, step_stats_files, xspace_files
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.core.counters import build
from tfvis_nb.core.metadata import table_of
from tfvis_nb.texts import Text, id_of

MS = 1_000_000
ORIGIN = 10**18


def made() -> tv.Trace:
    """Return four steps of 10 ms each, 5 ms apart, and an event outside steps."""
    starts = [ORIGIN + 15 * MS * number for number in range(4)]
    columns: dict[str, list[Any]] = {
        "start_ns": [*starts, ORIGIN + 11 * MS],
        "duration_ns": [10 * MS] * 4 + [MS],
        "step": [0, 1, 2, 3, events.NO_STEP],
        "name": ["a", "b", "c", "d", "loose"],
        "kind": ["op"] * 5,
    }
    order = np.argsort(columns["start_ns"])
    queue = build(
        {"counter": ["queue"] * 3, "time_ns": [ORIGIN + at * MS for at in (0, 20, 46)], "value": [1, 2, 3]}
    )
    samples = [
        {"time_ns": ORIGIN + at * MS, "file": "train.py", "line": line, "function": "main"}
        for at, line in ((12, 7), (27, 8), (42, 9))
    ]
    trace = tv.Trace(
        events.build({name: [values[at] for at in order] for name, values in columns.items()}),
        title="mlp",
        step_labels={0: "first", 2: "third"},
        recorded_counters=queue,
        metadata={"python_samples": table_of("python_samples", samples)},
    )
    trace.annotations = [{"event": 3, "name": "slow"}, {"start_ns": ORIGIN + 47 * MS, "name": "late"}]
    return trace


def names(trace: tv.Trace) -> list[str]:
    found: list[str] = trace.events["name"].tolist()
    return found


def test_steps_are_cut_by_their_numbers() -> None:
    trace = made()
    assert names(trace[2]) == ["c"]
    assert names(trace[np.int32(2)]) == ["c"]
    assert names(trace[1:3]) == ["b", "c"]
    assert names(trace[2:]) == ["c", "d"]
    assert names(trace[:2]) == ["a", "b"]
    assert names(trace[::2]) == ["a", "c"]
    assert names(trace[3:99]) == ["d"]
    assert trace[1:3][2].steps["step"].tolist() == [2]
    assert trace[2].steps["label"].tolist() == ["third"]
    note = trace[1:3].notes[0]
    assert isinstance(note, Text)
    assert (note.id, note.figures["steps"], note.figures["whole"]) == ("steps_of_run", 2, 4)


def test_a_cut_has_its_counters_samples_and_annotations() -> None:
    trace = made()
    part = trace[1:3]
    assert part.recorded_counters["value"].tolist() == [1, 2]
    assert part.metadata["python_samples"]["line"].tolist() == [8]
    assert part.python_lines["line"].tolist() == [8]
    assert part.annotations[["name", "event"]].to_numpy().tolist() == [["slow", 1]]
    assert trace[3].annotations["name"].tolist() == ["late"]
    assert trace[2:].metadata["python_samples"]["line"].tolist() == [9]


def test_a_missing_step_is_an_error_that_names_the_steps() -> None:
    trace: Any = made()
    for steps in (4, -1, slice(7, 9), slice(3, 3)):
        with raises_id(IndexError, "no_such_step", there=Text("steps_there", first=0, last=3)):
            trace[steps]
    for steps in (slice(-2, None), slice(None, None, -1)):
        with raises_id(IndexError, "step_slice"):
            trace[steps]
    for wrong in ("2", 2.0, True, (1, 2), slice("1", None)):
        with raises_id(TypeError, "no_step_or_slice"):
            trace[wrong]
    with raises_id(IndexError, "no_such_step", there=Text("step_there", only=2)):
        trace[2][0]
    with raises_id(IndexError, "no_such_step", there=Text("no_steps_there")):
        trace.between("11ms:12ms")[0]


def test_a_trace_has_no_length_and_is_not_iterable() -> None:
    with pytest.raises(TypeError):
        len(made())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        iter(made())
    assert bool(made())


@pytest.mark.parametrize(
    "ends",
    [
        ("10ms", "25ms"),
        ("10ms:25ms",),
        (("10ms", "25ms"),),
        (dt.timedelta(milliseconds=10), pd.Timedelta("25ms")),
        (ORIGIN + 10 * MS, np.int64(ORIGIN + 25 * MS)),
        (f"{ORIGIN + 10 * MS}:25ms",),
        ("0.01s", "25000 us"),
    ],
)
def test_a_range_accepts_the_command_lines_times(ends: tuple[Any, ...]) -> None:
    part = made().between(*ends)
    assert names(part) == ["loose", "b"]
    assert part.notes[0] == "2 of 5 events: those that overlap 10.0 ms to 25.0 ms of the run"


def test_a_range_may_have_one_end() -> None:
    assert names(made().between("26ms", None)) == names(made().between("26ms:")) == ["c", "d"]
    assert names(made().between(None, "10500us")) == names(made().between(":10500us")) == ["a"]


@pytest.mark.parametrize(
    ("ends", "key"),
    [
        (("25ms", "10ms"), "range_reversed"),
        (("25 hours", "26 hours"), "range_no_pair"),
        ((1.5, 2.5), "range_no_pair"),
        ((None, None), "range_no_pair"),
        (("1s", "2s"), "range_outside"),
        (("12500us", "13ms"), "no_event_in_range"),
    ],
)
def test_a_wrong_range_is_refused(ends: tuple[Any, ...], key: str) -> None:
    with raises_id(ValueError, key):
        made().between(*ends)


def test_all_time_ranges_take_durations(tmp_path: Path) -> None:
    trace = made()
    epoch = (ORIGIN + 10 * MS, ORIGIN + 25 * MS)
    for given in ("10ms:25ms", ("10ms", "25ms"), (dt.timedelta(milliseconds=10), "25ms")):
        assert trace.to_html(time_range=given) == trace.to_html(time_range=epoch)
        assert trace.to_svg(time_range=given) == trace.to_svg(time_range=epoch)
        assert trace.to_html(selection=given) == trace.to_html(selection=epoch)
        assert trace.to_html(view={"selection": given}, time_range=given) == trace.to_html(
            view={"selection": epoch}, time_range=epoch
        )
        widget = tv.show_timeline(trace, selection=given)
        assert widget.selection.attrs["range_ns"] == epoch
        widget.selection = None
        widget.view = {"selection": given}
        assert widget.view["selection"] == epoch
        found = tv.analysis.counter_statistics(trace, given)
        assert found.equals(tv.analysis.counter_statistics(trace, epoch))
    trace.to_parquet(tmp_path / "mlp.parquet")
    dataset = tv.open_traces(tmp_path / "fleet")
    dataset.ingest(tmp_path / "mlp.parquet")
    timeline = dataset.show_timeline(selection="10ms:25ms")
    assert timeline.selection.attrs["range_ns"] == epoch
    assert timeline.selection["name"].tolist() == ["loose", "b"]


def check_step(trace: tv.Trace, step: int) -> None:
    part = trace[step]
    whole = trace.steps[trace.steps["step"] == step].reset_index(drop=True)
    first, last = whole.loc[0, ["start_ns", "end_ns"]]
    end = trace.events["start_ns"] + trace.events["duration_ns"]
    beside = (trace.events["step"] == events.NO_STEP) & (trace.events["start_ns"] >= first) & (end <= last)
    ids = np.flatnonzero((trace.events["step"] == step) | beside)
    pd.testing.assert_frame_equal(part.events, trace.events.take(ids).reset_index(drop=True))
    own = part.steps[part.steps["step"] == step].reset_index(drop=True)
    pd.testing.assert_frame_equal(own, whole)
    edges = trace.edges[trace.edges["source"].isin(ids) & trace.edges["target"].isin(ids)]
    for side in ("source", "target"):
        assert ids[part.edges[side]].tolist() == edges[side].tolist()
    for name in ("transfers", "collective_waits", "critical_path", "slack"):
        table = getattr(trace, name)
        own, table = getattr(part, name), table[table["event"].isin(ids)]
        assert ids[own["event"]].tolist() == table["event"].tolist(), name
    for column in ("duration_ns", "device", "cause"):
        gaps = trace.idle_gaps[trace.idle_gaps["step"] == step]
        assert part.idle_gaps[column].tolist() == gaps[column].tolist()
    known = part.lifetimes["event"] >= 0
    alive = ids[part.lifetimes["event"][known]]
    assert set(alive) >= set(trace.lifetimes["event"]) & set(ids)
    assert len(part.hlo_ops) <= len(trace.hlo_ops)
    assert part.overview is not None
    assert isinstance(part.findings, pd.DataFrame)
    assert id_of(part.notes[0]) == "steps_of_run"
    own = trace.breakdown[trace.breakdown["step"] == step].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.breakdown.reset_index(drop=True), own, check_categorical=False)


@pytest.mark.parametrize("path", each([*step_stats_files(), *xspace_files()]))
def test_a_step_of_a_real_trace_keeps_what_belongs_to_it(path: Path) -> None:
    trace = real_trace(path)
    steps = trace.steps.loc[trace.steps["step"] != events.NO_STEP, "step"].tolist()
    for step in steps[len(steps) // 2 :][:1]:
        check_step(trace, step)
