"""Paths, gaps and slack for the front end, read back in a simple way."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.large_traces import found_by
from tests.real_traces import DATA, real_trace
from tests.wire_reader import optional, read_container, signed
from tfvis_nb import Trace, events
from tfvis_nb.analysis.critical_path.backtrack import WAITS
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.findings.idle_causes import cause_names
from tfvis_nb.analysis.subset import keep_waits, subset
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.wire.details import details

SMALL = [
    "gpu_tf221_mlp.pb.xz",
    "gpu_tf221_dist.pb.xz",
    "cpu_tf221_while.pb.xz",
    "gpu_tf218_function.xplane.pb.xz",
]


def pieces(header: dict[str, Any], columns: dict[str, list[Any]], name: str, trace: Trace) -> list[list[int]]:
    """Start, length (ns), event id and kind of each piece."""
    rows = order_lanes(trace.events).rows
    origin = int(trace.events["start_ns"].iloc[0])
    found = []
    time, row = origin, 0
    lengths = [int(length) for length in columns[f"{name}_length"]]
    parts = zip(
        signed(header, columns, f"{name}_gap"),
        lengths,
        signed(header, columns, f"{name}_row"),
        columns[f"{name}_kind"],
        strict=True,
    )
    for gap, length, step, kind in parts:
        row += step
        found.append([time + gap, length, int(rows[row]) if row >= 0 else -1, kind])
        time += gap + length
    return found


@pytest.mark.parametrize("name", SMALL)
def test_everything_arrives(name: str) -> None:
    trace = real_trace(DATA / name)
    header, columns = read_container(details(trace))
    path = trace.critical_path
    kinds = [kind for kind, _ in header["path"]]
    assert [kind.replace(" ", "_") in WAITS for kind in kinds] == [
        at >= header["path_runs"] for at in range(len(kinds))
    ]
    expected = path[["start_ns", "duration_ns", "event"]].to_numpy().tolist()
    got = pieces(header, columns, "path", trace)
    assert [row[:3] for row in got] == expected
    assert [kinds[row[3]].replace(" ", "_") for row in got] == path["category"].tolist()

    gaps = trace.idle_gaps
    named = {name: cause for cause, name in cause_names(trace).items()}
    causes = [named[name] for name, _ in header["idle"]]
    got = pieces(header, columns, "idle", trace)
    places = [tuple(header["idle_places"][place]) for place in columns["idle_place"]]
    wait_of_event = {
        (start, *place): (length, event, causes[kind])
        for (start, length, event, kind), place in zip(got, places, strict=True)
    }
    known = {
        (row["start_ns"], row["task"], row["device"]): (
            row["duration_ns"],
            row["cause_event"],
            row["cause"],
        )
        for row in gaps.to_dict("records")
    }
    assert wait_of_event == known
    assert len(got) == len(gaps)

    spare = trace.slack
    assert ("slack" in columns) == (not spare.empty)
    if not spare.empty:
        rows = order_lanes(trace.events).rows
        by_event = dict(zip(rows.tolist(), optional(header, columns, "slack"), strict=True))
        assert {event: value for event, value in by_event.items() if value is not None} == dict(
            zip(spare["event"].tolist(), spare["slack_ns"].tolist(), strict=True)
        )


def test_every_kind_comes_with_its_definition() -> None:
    header, _ = read_container(details(real_trace(DATA / SMALL[0])))
    assert all(definition.endswith(".") for _, definition in [*header["path"], *header["idle"]])


def test_a_part_is_not_told_what_only_the_whole_knows() -> None:
    trace = real_trace(DATA / SMALL[0])
    part = subset(trace, np.array([3, 4, 5]))
    header, columns = read_container(details(part, waits=False))
    assert not [name for name in [*header, *columns] if name.startswith(("path", "idle", "slack"))]


def test_a_part_keeps_the_waits_of_the_whole() -> None:
    trace = real_trace(DATA / SMALL[0])
    path = trace.critical_path
    whole = trace.steps.iloc[0]
    middle = int(whole["start_ns"] + whole["duration_ns"] // 2)
    part = trace.between(middle, int(whole["end_ns"]))
    start = int(part.events["start_ns"].iloc[0])
    end = int((part.events["start_ns"] + part.events["duration_ns"]).max())
    inside = path[(path["start_ns"] < end) & (path["start_ns"] + path["duration_ns"] > start)]
    assert 0 < len(part.critical_path) <= len(inside) < len(path)
    names = trace.events["name"].iloc[inside["event"]].tolist()
    kept = part.events["name"].iloc[part.critical_path["event"]].tolist()
    remaining = iter(names)
    assert all(name in remaining for name in kept)
    assert part.idle_gaps["duration_ns"].sum() < trace.idle_gaps["duration_ns"].sum()
    assert (part.idle_gaps["start_ns"] >= start).all()
    assert len(part.slack) == len(part.events)
    assert read_container(details(part))[0]["path"]


def test_causes_outside_of_a_part_have_no_event() -> None:
    gpu = "/job:worker/replica:0/task:0/device:GPU:0"
    columns = {
        "start_ns": [0, 10, 45, 60],
        "duration_ns": [20, 20, 13, 10],
        "scheduled_ns": [0, 5, 45, 50],
        "kind": ["op", "kernel", "op", "kernel"],
        "lane": ["ops", "stream:1"] * 2,
        "name": ["a", "a", "b", "b"],
        "detail": ["a = Op()", "", "b = Op(a)", ""],
        "device": [gpu] * 4,
    }
    trace = Trace(events.build(columns))
    assert trace.idle_gaps["cause_event"].tolist() == [2, 1]
    part = subset(trace, np.array([1, 3]))
    keep_waits(trace, part, np.array([1, 3]))
    assert part.idle_gaps["cause_event"].tolist() == [-1]
    header, sent = read_container(details(part))
    assert [event for _, _, event, _ in pieces(header, sent, "idle", part)] == [-1]
    whole = subset(trace, np.arange(4))
    keep_waits(trace, whole, np.arange(4))
    assert whole.idle_gaps.equals(trace.idle_gaps)


@pytest.mark.parametrize("name", SMALL)
def test_the_path_can_be_searched(name: str) -> None:
    trace = real_trace(DATA / name)
    layout = lay_out(trace, order_lanes(trace.events))
    path = trace.critical_path
    on_path = sorted(set(path["event"][~path["category"].isin(WAITS)]))
    assert found_by(layout, "is:critical")[0] == on_path
    assert found_by(layout, "is:crit")[0] == on_path
    assert found_by(layout, "is:other")[0] == []
    assert found_by(layout, "is:")[0] == []


def test_a_trace_of_no_step_has_neither() -> None:
    trace = Trace(events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"], "step": [-1]}))
    header, columns = read_container(details(trace))
    assert not [name for name in [*header, *columns] if name.startswith(("path", "idle", "slack"))]


@pytest.mark.thorough
@pytest.mark.collection("h200/deep4000.pb.xz")
def test_it_takes_few_bytes(shared: Path) -> None:
    trace = real_trace(shared / "h200/deep4000.pb.xz")
    more = len(details(trace)) - len(details(trace, waits=False))
    assert more < 6 * len(trace.events)
