"""Any allocation records: paired, added up and moved as a slow reader does it."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.memory.memory_usage import WHERE, memory_peaks
from tfvis_nb.analysis.subset import in_range, keep_memory, subset
from tfvis_nb.clocks.alignment import aligned
from tfvis_nb.clocks.shift import records_moved
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.texts import id_of

# Few sizes and times, so that many are equal; frees are as likely as allocations.
RECORD = st.fixed_dictionaries({"micros": st.integers(0, 12), "bytes": st.sampled_from([8, -8, 64, -64, 0])})
USE = st.fixed_dictionaries(
    {"allocator": st.sampled_from(["cpu", "GPU_0_bfc"]), "records": st.lists(RECORD, max_size=8)}
)
EVENT = st.fixed_dictionaries(
    {
        "step": st.integers(0, 1),
        "task": st.sampled_from(["", "/job:worker/replica:0/task:0"]),
        "start_ns": st.integers(0, 12_000),
        "duration_ns": st.integers(0, 4000),
        "memory": st.one_of(st.none(), st.lists(USE, max_size=3)),
    }
)
Buffer = tuple[int, str, int, int, int | None]
"""Event, allocator, bytes, from and to in microseconds."""

COLUMNS = [*WHERE, "time_ns", "bytes"]
MEMORY = pa.list_(
    pa.struct(
        {
            "allocator": pa.string(),
            "records": pa.list_(pa.struct({"micros": pa.int64(), "bytes": pa.int64()})),
        }
    )
)


def built(rows: list[dict[str, Any]]) -> Trace:
    rows = sorted(rows, key=lambda row: (row["start_ns"], -row["duration_ns"]))
    columns = {name: [row[name] for row in rows] for name in ("step", "task", "start_ns", "duration_ns")}
    table = events.build({**columns, "kind": ["op"] * len(rows)})
    return Trace(table, nested=pa.table({"memory": pa.array([row["memory"] for row in rows], MEMORY)}))


def paired(trace: Trace) -> Counter[Buffer]:
    """Give each allocation of an op the op's next free of its size, by hand."""
    found: Counter[Buffer] = Counter()
    assert trace.nested is not None
    for event, uses in enumerate(trace.nested["memory"].to_pylist()):
        records = [
            (record["micros"], use["allocator"], record["bytes"])
            for use in uses or ()
            for record in use["records"]
        ]
        alive: dict[tuple[str, int], list[int]] = {}
        for time, allocator, size in sorted(records, key=lambda record: record[0]):
            waiting = alive.setdefault((allocator, abs(size)), [])
            if size > 0:
                waiting.append(time)
            elif size < 0 and waiting:
                found[event, allocator, -size, waiting.pop(0), time] += 1
        for (allocator, size), times in alive.items():
            for time in times:
                found[event, allocator, size, time, None] += 1
    return found


@given(st.lists(EVENT, min_size=1, max_size=6))
def test_buffers_and_curves(rows: list[dict[str, Any]]) -> None:
    trace = built(rows)
    expected = paired(trace)
    buffers = trace.lifetimes
    got = Counter(
        (event, allocator, size, start // 1000, None if pd.isna(end) else end // 1000)
        for event, allocator, size, start, end in buffers[
            ["event", "allocator", "bytes", "alloc_ns", "free_ns"]
        ].itertuples(index=False)
    )
    assert got == expected
    assert buffers["alloc_ns"].is_monotonic_increasing
    assert bool(why_not(trace.memory)) == (not expected)
    step, task = trace.events["step"].tolist(), trace.events["task"].tolist()
    for curve_step, curve_task, allocator, time, level in trace.memory[COLUMNS].itertuples(index=False):
        alive = sum(
            size * count
            for (event, of, size, start, end), count in expected.items()
            if (step[event], task[event], of) == (curve_step, curve_task, allocator)
            and start * 1000 <= time
            and (end is None or end * 1000 > time)
        )
        assert level == alive
    times = {(*row[:3], row[3]) for row in trace.memory[COLUMNS].itertuples(index=False)}
    changed = {
        (step[event], task[event], allocator, at * 1000)
        for event, allocator, _, start, end in expected
        for at in (start, end)
        if at is not None
    }
    assert times == changed


@given(st.lists(EVENT, min_size=1, max_size=6))
def test_live_buffers_at_a_peak_add_up_to_it(rows: list[dict[str, Any]]) -> None:
    trace = built(rows)
    peaks = memory_peaks(trace)
    assert (trace.memory["bytes"] >= 0).all()
    assert peaks["alive_bytes"].tolist() == peaks["peak_bytes"].tolist()
    assert peaks["in_use_bytes"].isna().all()
    ends = trace.memory.groupby(list(WHERE), observed=True)["bytes"].last()
    outlived = trace.lifetimes[trace.lifetimes["free_ns"].isna()]
    kept = outlived.groupby(list(WHERE), observed=True)["bytes"].sum()
    assert {where: size for where, size in ends.items() if size} == kept.to_dict()


@given(st.lists(EVENT, min_size=1, max_size=4), st.integers(-(10**12), 10**12))
def test_records_move_with_their_events(rows: list[dict[str, Any]], back: int) -> None:
    trace = built(rows)
    table = trace.events.assign(start_ns=trace.events["start_ns"] - back)
    moved = Trace(table, nested=records_moved(trace.nested, np.full(len(table), back)))
    for name in ("alloc_ns", "free_ns"):
        before, after = (one.lifetimes[name].dropna().to_numpy("i8") for one in (trace, moved))
        # They are of whole microseconds, rounded down.
        assert ((before - back - after >= 0) & (before - back - after < 1000)).all()
    assert moved.lifetimes["bytes"].tolist() == trace.lifetimes["bytes"].tolist()


@given(st.lists(EVENT, min_size=1, max_size=6), st.integers(0, 12_000), st.integers(1, 8000))
def test_a_part_keeps_the_memory_of_the_whole(rows: list[dict[str, Any]], start: int, length: int) -> None:
    trace = built(rows)
    ids = in_range(trace, start, start + length)
    if not len(ids):
        return
    part = subset(trace, ids)
    keep_memory(trace, part, ids)
    first = int(part.events["start_ns"].iloc[0])
    last = int((part.events["start_ns"] + part.events["duration_ns"]).max())
    whole = trace.memory
    for time in {first, (first + last) // 2, last}:
        levels = [
            one[one["time_ns"] <= time].groupby(list(WHERE), observed=True)["bytes"].last().to_dict()
            for one in (whole, part.memory)
        ]
        assert levels[0] == levels[1]
    for event, size in part.lifetimes[["event", "bytes"]].itertuples(index=False):
        assert event < len(part.events)
        assert size > 0


PROFILED = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["MemoryAllocation", "MemoryDeallocation"]),
        "address": st.sampled_from([4096, 8192]),
        "allocator": st.sampled_from(["cpu", "GPU_0_bfc"]),
        "bytes": st.sampled_from([8, 64]),
        "in_use": st.integers(0, 500),
        "start_ns": st.integers(0, 20),
    }
)


@given(st.lists(PROFILED, min_size=1, max_size=12))
def test_a_profile_pairs_by_address(rows: list[dict[str, Any]]) -> None:
    rows = sorted(rows, key=lambda row: row["start_ns"])
    freed = {"MemoryDeallocation": pd.NA}
    table = events.build(
        {
            **{name: [row[name] for row in rows] for name in ("op", "start_ns")},
            "bytes": [freed.get(row["op"], row["bytes"]) for row in rows],
            "duration_ns": [0] * len(rows),
            "kind": ["host"] * len(rows),
            "detail": [f"allocator_name={row['allocator']} tf_op=net/a" for row in rows],
        }
    )
    allocations = {
        "address": [row["address"] for row in rows],
        "in_use_bytes": [row["in_use"] for row in rows],
    }
    trace = Trace(table, nested=pa.table(allocations))
    ends: dict[int, int] = {}
    here: dict[tuple[str, int], int] = {}
    for event, row in enumerate(rows):
        before = here.pop((row["allocator"], row["address"]), None)
        if row["op"] == "MemoryAllocation":
            here[row["allocator"], row["address"]] = event
        elif before is not None:
            ends[before] = row["start_ns"]
    made = {event: row for event, row in enumerate(rows) if row["op"] == "MemoryAllocation"}
    got = trace.lifetimes.astype(object).set_index("event")
    assert sorted(got.index) == sorted(made)
    for event, row in made.items():
        assert (got.loc[event, "bytes"], got.loc[event, "alloc_ns"]) == (row["bytes"], row["start_ns"])
        end = got.loc[event, "free_ns"]
        assert end == ends[event] if event in ends else end is pd.NA
    last = {(row["allocator"], row["start_ns"]): row["in_use"] for row in rows}
    curve = trace.memory[["allocator", "time_ns", "bytes"]].itertuples(index=False)
    assert {(allocator, time): level for allocator, time, level in curve} == last


def test_a_profile_without_addresses_has_a_curve_but_no_buffers() -> None:
    table = events.build(
        {"op": ["MemoryAllocation"], "start_ns": [5], "duration_ns": [0], "kind": ["host"], "bytes": [8]}
    )
    trace = Trace(table, nested=pa.table({"in_use_bytes": [72]}))
    assert why_not(trace.lifetimes).id == "no_addresses"
    assert trace.memory[["time_ns", "bytes"]].to_numpy().tolist() == [[5, 72]]
    peaks = memory_peaks(trace)
    assert peaks["peak_bytes"].tolist() == [72]
    assert peaks["alive"].isna().all()


STEP = """dev_stats {{ device: "/job:w/replica:0/task:{task}/device:CPU:0" node_stats {{
  node_name: "CollectiveReduce" timeline_label: "CollectiveReduce = CollectiveReduceV2()"
  all_start_micros: {start} all_end_rel_micros: 9000 op_end_rel_micros: 9000
  memory {{ allocator_name: "cpu" allocation_records {{ alloc_micros: {made} alloc_bytes: 64 }}
    allocation_records {{ alloc_micros: {freed} alloc_bytes: -64 }} }} }} }}"""


def test_a_clock_that_is_moved_moves_its_records() -> None:
    now = 1_700_000_000_000_000
    text = "".join(
        STEP.format(task=task, start=now + late, made=now + late + 5, freed=now + late + 8000)
        for task, late in ((0, 0), (1, 70_000))
    )
    trace = tv.read_trace(text.encode())
    assert [note for note in trace.notes if id_of(note) == "clock_moved"]
    start = trace.events["start_ns"].to_numpy()
    buffers = trace.lifetimes
    after = buffers["alloc_ns"].to_numpy() - start[buffers["event"].to_numpy()]
    assert sorted(after) == pytest.approx([5000, 5000], abs=1000)
    assert buffers["lifetime_ns"].tolist() == pytest.approx([7_995_000] * 2, abs=1000)
    assert aligned(trace).lifetimes["alloc_ns"].tolist() == buffers["alloc_ns"].tolist()


def test_pauses_that_are_cut_move_the_records_behind_them() -> None:
    year = 365 * 24 * 3600 * 10**9
    rows = [
        {
            "step": step,
            "task": "",
            "start_ns": step * year,
            "duration_ns": 9000,
            "memory": [
                {"allocator": "cpu", "records": [{"micros": step * year // 1000 + 2, "bytes": 8}]},
            ],
        }
        for step in (0, 1)
    ]
    trace = built(rows)
    shown = compress_gaps(trace)
    assert shown is not trace
    start = shown.events["start_ns"].to_numpy()
    assert (shown.lifetimes["alloc_ns"].to_numpy() - start).tolist() == pytest.approx([2000, 2000], abs=1000)
