import base64
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.large_traces import answers_of
from tests.real_traces import DATA, each, real_trace, step_stats_files
from tests.support.examples import examples
from tests.wire_reader import optional, read_container, read_drawn, signed, texts, wire_rows
from tfvis_nb import Trace, events, read_trace
from tfvis_nb.analysis.events.bar_categories import categories
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.core.palette import CATEGORIES
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.details import details

# The reader here is slow, and the largest files add nothing but length.
RECORDED = [path for path in step_stats_files() if path.stat().st_size < 1_000_000]
LARGE = [path for path in step_stats_files() if path.name in ("deep4000.pb.xz", "inception_step1.pb.xz")]
TASK = "/job:worker/replica:0/task:1"


def check_drawn(trace: Trace) -> None:
    """Every event that is drawn is the event of the table, to the nanosecond."""
    header, rows = read_drawn(bar_bytes(trace))
    table = trace.events
    assert header["count"] == len(table) == len(rows)
    assert header["notes"] == most_important_first(trace.notes)
    assert [clock["task"] for clock in header["clocks"]] == list(trace.clock_bounds)
    assert header["categories"] == list(CATEGORIES)
    origin = int(header["origin_ns"])
    got = pd.DataFrame(rows, columns=["lane", "start", "duration", "name", "op", "category", "step", "wait"])
    assert (got["start"] + origin).tolist() == table["start_ns"].tolist()
    for name in ("duration", "step"):
        assert got[name].tolist() == table["duration_ns" if name == "duration" else name].tolist()
    for name in ("name", "op"):
        assert got[name].tolist() == table[name].astype("str").tolist()
    assert got["lane"].tolist() == list(zip(table["task"], table["device"], table["lane"], strict=True))
    assert got["category"].tolist() == [CATEGORIES[number] for number in categories(trace)]
    ends = table["start_ns"] + table["duration_ns"]
    assert header["span_ns"] == (int(ends.max()) - origin if len(table) else 0)
    assert [lane["events"] for lane in header["lanes"]] == got["lane"].value_counts(sort=False).reindex(
        [(lane["task"], lane["device"], lane["lane"]) for lane in header["lanes"]]
    ).tolist()
    spans = trace.steps.set_index("step")
    for step in header["steps"]:
        own = spans.loc[step["step"]]
        assert (step["start"] + origin, step["end"] + origin) == (own["start_ns"], own["end_ns"])
        assert step["events"] == own["events"] == int((table["step"] == step["step"]).sum())


def check_details(trace: Trace) -> None:
    header, columns = read_container(details(trace))
    table = trace.events
    rows = wire_rows(order_lanes(table).of_event.tolist())
    start = table["start_ns"].tolist()
    end = (table["start_ns"] + table["duration_ns"]).tolist()
    distances = {
        "queued": "scheduled_ns",
        "compute_after": "compute_start_ns",
        "compute_left": "compute_end_ns",
    }
    for stored, name in distances.items():
        got = optional(header, columns, stored)
        for event, known in enumerate(table[name]):
            value = got[rows[event]]
            if known is pd.NA:
                assert value is None
            else:
                assert value == {"queued": start[event] - known, "compute_after": known - start[event]}.get(
                    stored, end[event] - known
                )
    for name in ("bytes", "thread"):
        shown = table[name] if name == "bytes" else table[name].mask(table[name] <= 0)
        if name in columns:
            got = optional(header, columns, name)
            if name in header["ids"]:
                known = header["ids"][name]["texts"]
                got = [None if at is None else int(known[at]) for at in got]
            assert [got[row] for row in rows] == [None if v is pd.NA else v for v in shown]
        else:
            assert shown.isna().all()
    devices = [*header["devices"], *[""] * (65536 - len(header["devices"]))]
    for name in ("source", "destination"):
        assert [devices[columns[name][row]] for row in rows] == table[name].astype("str").tolist()
    moved = trace.transfers.set_index("event")[["transfer_least_ns", "transfer_most_ns"]]
    for stored, name in (("moved_least", "transfer_least_ns"), ("moved_most", "transfer_most_ns")):
        got = optional(header, columns, stored) if stored in columns else [None] * len(rows)
        differ = moved[(moved["transfer_least_ns"] < moved["transfer_most_ns"]).fillna(value=False)]
        assert {event: got[row] for event, row in enumerate(rows) if got[row] is not None} == differ[
            name
        ].to_dict()
    arrived = trace.collective_waits.dropna(subset="spread_ns").set_index("event")
    tasks = [*header.get("tasks", []), *[None] * (65536 - len(header.get("tasks", [])))]
    last = [tasks[number] for number in columns.get("last", [65535] * len(rows))]
    spread = optional(header, columns, "spread") if "spread" in columns else [None] * len(rows)
    for event, row in enumerate(rows):
        known = arrived.loc[event] if event in arrived.index else {"wait_ns": 0, "spread_ns": None}
        # No rank came after the last one.
        assert (last[row], spread[row]) == (known["last"] if known["wait_ns"] else None, known["spread_ns"])
    strings = texts(columns["strings_bytes"], columns["strings_offsets"])
    assert [strings[columns["tensor"][row]] for row in rows] == table["tensor"].tolist()
    labels = [strings[columns["detail"][row]] for row in rows]
    if header["own_name"]:
        labels = [
            label.replace(header["own_name"], name, 1)
            for label, name in zip(labels, table["name"], strict=True)
        ]
    assert labels == table["detail"].tolist()
    check_edges(trace, header, columns, rows)


def check_edges(trace: Trace, header: dict[str, Any], columns: dict[str, list[Any]], rows: list[int]) -> None:
    event_of = {row: event for event, row in enumerate(rows)}
    offsets = columns["edge_offsets"]
    distances = signed(header, columns, "edge_distance")
    got = {
        (
            event_of[row - distances[at]],
            event_of[row],
            ("data", "control", "transfer", "launch")[columns["edge_kind"][at]],
        )
        for row in range(len(rows))
        for at in range(offsets[row], offsets[row + 1])
    }
    assert got == set(trace.edges.itertuples(index=False, name=None))
    assert len(distances) == len(trace.edges)


def test_ranks_come_back() -> None:
    files = [*(f"horovod_rank{rank}_step3.pb.xz" for rank in (0, 1)), "horovod_timeline.json.xz"]
    trace = real_trace([DATA / name for name in files])
    check_drawn(trace)
    check_details(trace)
    assert read_container(details(trace))[0]["tasks"] == [TASK.replace("task:1", "task:0"), TASK]


@pytest.mark.parametrize("path", each(RECORDED))
def test_recorded_traces_come_back(path: Path) -> None:
    trace = real_trace(path)
    check_drawn(trace)
    check_details(trace)


@pytest.mark.parametrize("name", ["gpu_tf221_mlp.pb.xz", "gpu_tf221_worker1.xplane.pb.xz"])
def test_layers_come_back(name: str) -> None:
    trace = real_trace(DATA / name)
    header, columns = read_container(details(trace))
    names, listed = trace.events["name"].tolist(), header["layers"]
    got = {}
    for row, event in enumerate(order_lanes(trace.events).rows.tolist()):
        number = columns["layer"][row]
        parts = names[event].split("/")[: number - len(listed) + 1]
        got[event] = listed[number] if number < len(listed) else "/".join(parts)
    layers = event_layers(trace)[0].to_pylist()
    assert max(columns["layer"]) >= len(listed)
    assert [got[event] for event in range(len(layers))] == layers


@pytest.mark.parametrize("path", each(RECORDED))
def test_recorded_outputs_and_memory_come_back(path: Path) -> None:
    trace = real_trace(path)
    header, columns = read_container(details(trace))
    strings = texts(columns["strings_bytes"], columns["strings_offsets"])
    rows = wire_rows(order_lanes(trace.events).of_event.tolist())
    assert trace.nested is not None
    outputs, memory = (trace.nested[name].to_pylist() for name in ("outputs", "memory"))
    total = optional(header, columns, "memory_total")
    for event, row in enumerate(rows):
        got = range(columns["output_offsets"][row], columns["output_offsets"][row + 1])
        assert [(columns["output_slot"][at], columns["output_dtype"][at]) for at in got] == [
            (output["slot"], output["dtype"]) for output in outputs[event] or []
        ]
        assert [columns["output_bytes"][at] for at in got] == [
            o["requested_bytes"] for o in outputs[event] or []
        ]
        assert [strings[columns["output_shape"][at]] for at in got] == [
            "?" if o["shape"] is None else "[" + ", ".join("?" if s < 0 else str(s) for s in o["shape"]) + "]"
            for o in outputs[event] or []
        ]
        used = range(columns["memory_offsets"][row], columns["memory_offsets"][row + 1])
        assert [(header["allocators"][columns["memory_allocator"][at]], total[at]) for at in used] == [
            (record["allocator"], record["total_bytes"]) for record in memory[event] or []
        ]


times = st.integers(0, 50) | st.integers(0, 10**7) | st.sampled_from([2**32, 2**33 + 1, 10**15])
names = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["a/b", "a/c", "a/b/d", "/", "a//b"]
)


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    count = draw(st.integers(0, 12))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    start = [1_700_000_000_000_000_000 + value for value in column(times)]
    name = column(names)
    table = events.build(
        {
            "start_ns": start,
            "duration_ns": column(times),
            "name": name,
            "op": column(st.sampled_from(["MatMul", "IteratorGetNext", "MemcpyH2D", "</script>"])),
            "kind": column(st.sampled_from(events.KINDS)),
            "lane": column(st.sampled_from(["ops", "stream:9", "stream:10", "recv"])),
            "device": column(st.sampled_from([f"{TASK}/device:GPU:0", f"{TASK}/device:CPU:0"])),
            "task": [TASK] * count,
            "step": column(st.integers(0, 3)),
            "scheduled_ns": pd.array(
                [None if v is None else start[0] + v for v in column(st.none() | times)], "Int64"
            ),
            "bytes": pd.array(column(st.none() | times), "Int64"),
            "thread": pd.array(column(st.none() | st.integers(-(2**63), 2**63 - 1)), "Int64"),
            "source": column(st.sampled_from(["", TASK])),
            "tensor": column(names),
            "detail": [
                draw(st.sampled_from([f"{own} = Op(a, b)", f"[cpu 1.0MB] {own} = Op()", "\x1a", own]))
                for own in name
            ],
        },
        rows=count,
    )
    return events.order(table)[0]


@pytest.mark.slow
@settings(max_examples=examples(50))
@given(tables())
def test_any_table_comes_back(table: pd.DataFrame) -> None:
    trace = Trace(table, notes=["</script>"], title="\u03bb")
    check_drawn(trace)
    check_details(trace)


def test_an_empty_trace_is_a_whole_container() -> None:
    trace = Trace(events.build({}, rows=0))
    header, rows = read_drawn(bar_bytes(trace))
    assert (header["count"], header["origin_ns"], header["span_ns"], rows) == (0, "0", 0, [])
    assert (header["lanes"], header["steps"], header["ops"]) == ([], [], [])
    header, columns = read_container(details(trace))
    assert (header["count"], columns["edge_offsets"], columns["output_offsets"]) == (0, [0], [0])


def test_an_instruction_that_only_waits_is_hatched() -> None:
    names = ["copy-start", "fusion", "copy-done", "all-reduce-done"]
    columns = {
        "start_ns": [0, 10, 20, 60],
        "duration_ns": [10, 10, 40, 5],
        "kind": ["kernel", "kernel", "kernel", "collective"],
        "op": names,
        "name": [f"{name}.1" for name in names],
        "device": ["/device:TPU:0"] * 4,
        "lane": ["XLA Ops"] * 4,
    }
    _, rows = read_drawn(bar_bytes(Trace(events.build(columns))))
    assert [(row["wait"], row["category"]) for row in rows] == [
        (0, "kernel device_compute"),
        (0, "kernel device_compute"),
        (40, "kernel none"),
        (5, "collective communication"),
    ]


def test_waiting_is_at_the_head_of_transfers_only() -> None:
    table = events.build(
        {
            "start_ns": [0, 10, 100],
            "duration_ns": [100, 200, 20],
            "scheduled_ns": pd.array([None, None, 5], "Int64"),
            "kind": ["transfer", "transfer", "memcpy"],
            "task": [TASK] * 3,
            "source": ["/job:ps/replica:0/task:0"] * 3,
            "destination": [TASK] * 3,
        }
    )
    _, rows = read_drawn(bar_bytes(Trace(table)))
    assert [row["wait"] for row in rows] == [0, 90, 0]
    assert [row["tail"] for row in rows] == [0, 0, 0]


def test_tensors_that_arrive_together_move_in_turn() -> None:
    table = events.build(
        {
            "start_ns": [0, 0, 0],
            "duration_ns": [100, 90, 90],
            "kind": ["transfer"] * 3,
            "tensor": ["a", "b", "c"],
            "bytes": pd.array([1000] * 3, "Int64"),
            "source": ["/job:ps/replica:0/task:0"] * 3,
            "destination": [TASK] * 3,
            "task": [TASK] * 3,
        }
    )
    _, rows = read_drawn(bar_bytes(Trace(table)))
    moving = sorted((row["wait"] - row["tail"], row["duration"] - row["tail"]) for row in rows)
    assert moving == [(0, 33), (33, 67), (67, 100)]


def test_many_outputs_and_unknown_shapes() -> None:
    table = events.build({"start_ns": [0, 1], "duration_ns": [1, 1], "kind": ["op", "op"]})
    outputs = [None, [{"slot": 300, "dtype": 101, "shape": None, "requested_bytes": 2**40}]]
    kind = pa.list_(
        pa.struct(
            [
                ("slot", pa.int32()),
                ("dtype", pa.int32()),
                ("shape", pa.list_(pa.int64())),
                ("requested_bytes", pa.int64()),
            ]
        )
    )
    nested = pa.table({"outputs": pa.array(outputs, kind)})
    header, columns = read_container(details(Trace(table, nested=nested)))
    assert columns["output_offsets"] == [0, 0, 1]
    assert (columns["output_slot"], columns["output_dtype"], columns["output_bytes"]) == (
        [300],
        [101],
        [2**40],
    )
    assert header["dtypes"]["101"] == "float32 ref"


def test_ten_thousand_slashes_are_a_name_like_others() -> None:
    deep = "/".join(["s"] * 5000)
    table = events.build(
        {"start_ns": [0, 1], "duration_ns": [1, 1], "kind": ["op", "op"], "name": [deep, f"{deep}/x"]}
    )
    _, rows = read_drawn(bar_bytes(Trace(table)))
    assert [row["name"] for row in rows] == [deep, f"{deep}/x"]


def test_lanes_are_in_display_order() -> None:
    ps, first, tenth = (
        f"/job:{job}"
        for job in ("ps/replica:0/task:0", "worker/replica:0/task:2", "worker/replica:0/task:10")
    )
    shuffled = [
        ("", "", "main"),
        (tenth, f"{tenth}/device:GPU:0", "ops"),
        (first, f"{first}/device:CPU:0", "ops"),
        (first, f"{first}/device:GPU:1", "recv"),
        (first, f"{first}/device:GPU:1", "memcpy D2H"),
        (first, f"{first}/device:GPU:1", "memcpy H2D"),
        (first, f"{first}/device:GPU:1", "stream:100"),
        (first, f"{first}/device:GPU:1", "stream:99"),
        (first, f"{first}/device:GPU:1", "ops"),
        (first, f"{first}/device:GPU:0", "ops"),
        (ps, f"{ps}/device:CPU:0", "ops"),
    ]
    table = events.build(
        {
            "start_ns": range(len(shuffled)),
            "duration_ns": [1] * len(shuffled),
            "kind": ["op"] * len(shuffled),
            **{name: [row[i] for row in shuffled] for i, name in enumerate(("task", "device", "lane"))},
        }
    )
    lanes = order_lanes(table)
    assert lanes.table[["task", "device", "lane"]].to_numpy().tolist() == [
        list(row) for row in [*shuffled[:0:-1], shuffled[0]]
    ]
    assert lanes.of_event.tolist() == list(reversed(range(len(shuffled))))


def repeated(trace: Trace, times: int) -> Trace:
    """The same step again and again, as a training loop would record it."""
    span = int(
        (trace.events["start_ns"] + trace.events["duration_ns"]).max() - trace.events["start_ns"].min()
    )
    steps = [trace.events.assign(start_ns=trace.events["start_ns"] + i * span) for i in range(times)]
    table = pd.concat(steps, ignore_index=True)
    table["step"] = np.repeat(np.arange(times, dtype="int32"), len(trace.events))
    return Trace(events.order(table)[0])


@pytest.mark.thorough
@pytest.mark.slow
def test_a_page_takes_few_bytes_an_event() -> None:
    traces = [repeated(real_trace(DATA / "local_mlp_step1.pb"), 100), *map(read_trace, LARGE)]
    for trace in traces:
        first, rest = (len(base64.b64encode(data)) for data in (bar_bytes(trace), details(trace)))
        assert first <= 6 * len(trace.events)
        assert first + rest <= 32 * len(trace.events)


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1)


def extent(spans: list[tuple[int, int]]) -> list[int]:
    return [spans[0][0], max(end for _, end in spans)]


def parted(spans: list[tuple[int, int]]) -> tuple[list[list[tuple[int, int]]], int]:
    """Divide spans at pauses of over a tenth of the whole; return the parts and the sum of these pauses."""
    first, last = extent(spans)
    parts, pauses = [[spans[0]]], 0
    for span in spans[1:]:
        pause = span[0] - max(end for part in parts for _, end in part)
        if pause > (last - first) / 10:
            parts.append([])
            pauses += pause
        parts[-1].append(span)
    return parts, pauses


def busy(spans: list[tuple[int, int]]) -> tuple[int, int]:
    return len({at for one in spans for at in range(*one)}), len(spans)


@given(parts=st.lists(st.tuples(st.integers(1, 10_000), SPANS), min_size=1, max_size=8))
def test_a_mostly_empty_timeline_opens_at_its_busiest_part(
    parts: list[tuple[int, list[tuple[int, int]]]],
) -> None:
    spans, at = [], 0
    for pause, bars in parts:
        at += pause
        spans += [(at + start, at + start + length) for start, length in bars]
        at = max(end for _, end in spans)
    origin = min(start for start, _ in spans)
    spans = sorted((start - origin, end - origin) for start, end in spans)
    # The busiest part of these spans, of that its busiest part, and so on; of equal ones any.
    ranges: list[list[int] | None] = []
    undivided = [spans]
    while undivided:
        part = undivided.pop()
        whole = extent(part) if part is not spans else None
        pieces, pauses = parted(part)
        first, last = extent(part)
        if pauses <= (0.5 if whole else 0.75) * (last - first):
            ranges.append(whole)
            continue
        for one in pieces:
            if busy(one) == max(map(busy, pieces)):
                first, last = extent(one)
                if first < last:
                    undivided.append(one)
                else:
                    ranges.append(whole)
    starts, lengths = [start for start, _ in spans], [end - start for start, end in spans]
    trace = Trace(events.build({"start_ns": starts, "duration_ns": lengths, "kind": ["op"] * len(spans)}))
    found = read_drawn(bar_bytes(trace))[0]["opens"]
    assert found in ranges


@pytest.mark.parametrize(
    ("lengths", "opens"),
    [
        ([900, 100, 100, 100], [900, 1200]),
        ([900, 700, 100, 100, 100], [1600, 1900]),
        ([900, 100], [900, 1000]),
        # A slow step among others is in the picture, and so is evaluation.
        ([100, 900, 100], None),
        ([100, 100, 900], None),
        ([200, 100, 100, 100], None),
        ([900], None),
    ],
)
def test_a_timeline_opens_after_steps_that_compile(lengths: list[int], opens: list[int] | None) -> None:
    starts = np.cumsum([0, *lengths[:-1]])
    columns = {
        "start_ns": starts,
        "duration_ns": lengths,
        "step": range(len(lengths)),
        "kind": ["op"] * len(lengths),
    }
    trace = Trace(events.build(columns))
    assert read_drawn(bar_bytes(trace))[0]["opens"] == opens
    outline = answers_of(lay_out(trace, order_lanes(trace.events))).outline_bytes("", "windows")
    assert read_container(outline)[0]["opens"] == opens


def test_a_mostly_empty_timeline_opens_at_whole_steps() -> None:
    columns = {
        "start_ns": [0, 700, 755, 999],
        "duration_ns": [1, 5, 6, 1],
        "step": [-1, 0, 0, -1],
        "kind": ["op"] * 4,
    }
    assert read_drawn(bar_bytes(Trace(events.build(columns))))[0]["opens"] == [700, 761]


def test_a_timeline_opens_after_a_long_start() -> None:
    columns = {
        "start_ns": [0, 700, 800],
        "duration_ns": [700, 100, 90],
        "step": [-1, 0, 1],
        "kind": ["op"] * 3,
    }
    assert read_drawn(bar_bytes(Trace(events.build(columns))))[0]["opens"] == [700, 890]
