"""Lifetimes of traces without recorded ones: from the outputs of ops and their readers."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, each, real_trace, step_stats_files
from tfvis_nb import Trace, events
from tfvis_nb.analysis import live_buffers, memory_breakdown, memory_peaks
from tfvis_nb.analysis.gates.gate_metrics import METRICS
from tfvis_nb.analysis.memory.from_run_metadata import NEVER
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.display.tabs.memory import blocks
from tfvis_nb.run_history.summary import _peak_bytes

OLD = [DATA / name for name in ("run_meta.v0", "run_meta.v1", "run_meta.v3")]

OUTPUT = st.fixed_dictionaries(
    {
        "slot": st.integers(0, 2),
        "requested_bytes": st.integers(0, 300),
        "ptr": st.sampled_from([0, 0, 64, 128]),
        "allocator": st.sampled_from(["cpu", "gpu", ""]),
    }
)
Rows = list[tuple[int, int, bool, list[dict[str, Any]]]]
_OUTPUTS = pa.list_(
    pa.struct(
        {"slot": pa.int64(), "requested_bytes": pa.int64(), "ptr": pa.int64(), "allocator": pa.string()}
    )
)
EVENT = st.tuples(st.integers(0, 9000), st.integers(0, 3000), st.booleans(), st.lists(OUTPUT, max_size=3))


def built(rows: Rows, links: list[tuple[int, int]]) -> Trace:
    rows = sorted(rows, key=lambda row: row[0])
    table = events.build(
        {
            "start_ns": [start for start, *_ in rows],
            "duration_ns": [length for _, length, *_ in rows],
            "kind": ["op"] * len(rows),
            "name": [f"n{number}" for number in range(len(rows))],
            "op": ["VariableV2" if is_variable else "Relu" for _, _, is_variable, _ in rows],
        }
    )
    trace = Trace(table, nested=pa.table({"outputs": pa.array([outputs for *_, outputs in rows], _OUTPUTS)}))
    pairs = [(source, target) for source, target in links if source < target < len(rows)]
    trace.edges = pd.DataFrame(
        {
            "source": pd.Series([source for source, _ in pairs], dtype="int64"),
            "target": pd.Series([target for _, target in pairs], dtype="int64"),
            "kind": pd.Categorical(["data"] * len(pairs), categories=["data", "control"]),
        }
    )
    return trace


def by_hand(trace: Trace) -> list[tuple[str, str, int, int, int, str]]:
    """Allocator, tensor, bytes, allocation, free and aliases of each buffer, one output after another."""
    assert trace.nested is not None
    nested = trace.nested["outputs"].to_pylist()
    ends = (trace.events["start_ns"] + trace.events["duration_ns"]).tolist()
    found: list[dict[str, Any]] = []
    for event, outputs in enumerate(nested):
        start, op = int(trace.events["start_ns"][event]), trace.events["op"][event]
        readers = trace.edges.loc[trace.edges["source"] == event, "target"].tolist()
        until = NEVER
        if readers and op != "VariableV2":
            until = max(ends[each] for each in [event, *readers])
        for output in sorted(outputs, key=lambda output: output["slot"]):
            where = output["allocator"], output["ptr"]
            if not output["requested_bytes"] or not output["allocator"]:
                continue
            name = f"n{event}:{output['slot']}" if output["slot"] else f"n{event}"
            same = [
                each for each in found if output["ptr"] and each["where"] == where and each["end"] >= start
            ]
            if same:
                same[-1]["end"] = max(same[-1]["end"], until)
                same[-1]["aliases"].append(name)
            else:
                row = output["allocator"], name, output["requested_bytes"], start
                found.append({"where": where, "row": row, "end": until, "aliases": []})
    return [(*buffer["row"], buffer["end"], ", ".join(buffer["aliases"])) for buffer in found]


@given(st.lists(EVENT, max_size=7), st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=9))
def test_a_buffer_lives_until_the_last_op_that_reads_it_ends(
    rows: Rows, links: list[tuple[int, int]]
) -> None:
    trace = built(rows, links)
    table = trace.lifetimes
    columns = ["allocator", "name", "bytes", "alloc_ns", "free_ns", "aliases"]
    got = table[columns].fillna({"free_ns": NEVER}).itertuples(index=False, name=None)
    assert list(got) == by_hand(trace)
    assert table["estimated"].all()
    assert table["alloc_ns"].is_monotonic_increasing
    assert curves(trace) == added_up(
        [(0, "", where, size, start, end) for where, _, size, start, end, _ in by_hand(trace)]
    )
    assert len(trace.memory) == 0 or trace.memory["estimated"].all()


Buffer = tuple[int, str, str, int, int, int]
"""Step, task, allocator, bytes, allocation and free."""


def added_up(buffers: list[Buffer]) -> dict[tuple[int, str, str], list[tuple[int, int]]]:
    """At each allocation and free, the bytes of all buffers that live then."""
    found: dict[tuple[int, str, str], list[tuple[int, int]]] = {}
    for where in {buffer[:3] for buffer in buffers}:
        own = [buffer[3:] for buffer in buffers if buffer[:3] == where]
        times = {start for _, start, _ in own} | {end for *_, end in own if end != NEVER}
        found[where] = [
            (time, sum(size for size, start, end in own if start <= time < end)) for time in sorted(times)
        ]
    return found


def curves(trace: Trace) -> dict[tuple[int, str, str], list[tuple[int, int]]]:
    rows = trace.memory[["step", "task", "allocator", "time_ns", "bytes"]].itertuples(index=False, name=None)
    found: dict[tuple[int, str, str], list[tuple[int, int]]] = {}
    for step, task, allocator, time, size in rows:
        found.setdefault((step, task, allocator), []).append((time, size))
    return found


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.name)
def test_estimates_are_marked_and_limit_nothing(path: Path) -> None:
    trace = real_trace(path)
    buffers = trace.lifetimes
    assert len(buffers)
    for table in (buffers, trace.memory, memory_peaks(trace)):
        assert table["estimated"].all()
    assert not why_not(memory_breakdown(trace))
    assert trace.overview["memory"] == []
    assert METRICS["peak_bytes"].measure(trace).reason.id == "no_allocations"
    assert _peak_bytes(trace) is None
    assert all("(estimated)" in str(drawn.name) for drawn in trace.charts.memory().renderers if drawn.name)
    labels = [str(block) for block in blocks(trace) if block.get("title") in ("Peaks", "Live at peak")]
    assert all("cpu (estimated)" in block or "GPU_0_bfc (estimated)" in block for block in labels)
    first = buffers.iloc[0]
    alive = live_buffers(trace, int(first["alloc_ns"]), allocator=first["allocator"])
    assert alive["estimated"].all()
    assert first["name"] in alive["name"].tolist()


@pytest.mark.parametrize("path", each(step_stats_files()))
def test_estimates_are_of_allocators_without_records(path: Path) -> None:
    trace = real_trace(path)
    assert trace.nested is not None
    nodes = trace.nested.select([name for name in ("memory", "outputs") if name in trace.nested.column_names])
    recorded, with_outputs = set(), set()
    for node in nodes.to_pylist():
        recorded |= {used["allocator"] for used in node.get("memory") or [] if used.get("records")}
        made = [output for output in node.get("outputs") or [] if output["requested_bytes"] > 0]
        with_outputs |= {output["allocator"] for output in made}
    buffers = trace.lifetimes
    for allocator, own in buffers.groupby(buffers["allocator"].astype(str)):
        assert set(own["estimated"]) == {allocator not in recorded}
    assert with_outputs - {""} <= set(buffers["allocator"].astype(str))
    lived = buffers[["step", "task", "allocator", "bytes", "alloc_ns", "free_ns"]].fillna({"free_ns": NEVER})
    assert curves(trace) == added_up(list(lived.itertuples(index=False, name=None)))
    labels = {allocator for *_, allocator in curves(trace)}
    assert labels == set(buffers["allocator"].astype(str))
    for allocator, own in trace.memory.groupby(trace.memory["allocator"].astype(str)):
        assert set(own["estimated"]) == {allocator not in recorded}
