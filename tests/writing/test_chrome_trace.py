import gzip
import itertools
import json
import lzma
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import DATA, each, real_trace, step_stats_files
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.labels import lane_label
from tfvis_nb.core.trace import replaced
from tfvis_nb.writing.chrome_rows import pack_rows
from tfvis_nb.writing.chrome_trace import input_names

# timeline.py takes minutes for the largest, and cannot read text.
COMPARED = [
    path
    for path in step_stats_files()
    if path.name.endswith((".pb", ".pb.xz")) and path.stat().st_size < 1_000_000
]
ABSOLUTE = 10**14  # epoch microseconds are later; some versions give GPU rows times since the profile began


def bars(text: str) -> list[dict[str, Any]]:
    return [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]


def key(device: str, bar: dict[str, Any]) -> tuple[Any, ...]:
    inputs = tuple(sorted((name, value) for name, value in bar["args"].items() if name.startswith("input")))
    # timeline.py knows of a received tensor no more than that it is one; ours has the node that made it.
    name = "" if bar["args"]["op"] == "RecvTensor" else bar["args"]["name"]
    return (device, bar["args"]["op"], bar["ts"], bar["dur"], name, inputs)


def message(path: Path) -> Any:
    from tensorflow.core.protobuf import config_pb2

    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return config_pb2.RunMetadata.FromString(data).step_stats


def by_tensorflow(path: Path) -> tuple[list[tuple[str, dict[str, Any]]], list[tuple[str, set[str]]]]:
    """The bars and arrows of TensorFlow's own timeline.py, without the lanes that repeat others.

    A bar has its device; an arrow its source node and the nodes that start at its end.
    """
    from tensorflow.python.client.timeline import Timeline

    made = json.loads(Timeline(message(path)).generate_chrome_trace_format())["traceEvents"]
    devices = {
        event["pid"]: event["args"]["name"].removesuffix(" Compute") for event in made if event["ph"] == "M"
    }
    rows = [(devices[event["pid"]], event) for event in made if event["ph"] == "X"]
    starts = defaultdict(set)
    for _, bar in rows:
        starts[bar["pid"], bar["tid"], bar["ts"]].add(bar["args"]["name"])
    arrows = [
        (event["name"].partition(":")[0], starts[event["pid"], event["tid"], event["ts"]])
        for event in made
        if event["ph"] == "t"
    ]
    return [(device, bar) for device, bar in rows if not device.endswith(("/stream:all", "/memcpy"))], arrows


def arrows(text: str) -> set[tuple[str, str]]:
    """The names at both ends of all arrows, including two in a row by way of a transfer."""
    made = json.loads(text)["traceEvents"]
    bars_of = defaultdict(list)
    for bar in (event for event in made if event["ph"] == "X"):
        bars_of[bar["pid"], bar["tid"]].append(bar)
    for row in bars_of.values():
        row.sort(key=lambda bar: bar["ts"])

    def at(end: dict[str, Any], *, starting: bool) -> list[dict[str, Any]]:
        row = bars_of[end["pid"], end["tid"]]
        last = bisect_right(row, end["ts"], key=lambda bar: bar["ts"])
        first = bisect_left(row, end["ts"], key=lambda bar: bar["ts"])
        return row[first:last] if starting else row[min(first, last - 1) : last]

    tails = {event["id"]: event for event in made if event["ph"] == "s"}
    found, onwards, before = set(), defaultdict(set), defaultdict(set)
    for head in (event for event in made if event["ph"] == "f"):
        for source, target in product(at(tails[head["id"]], starting=False), at(head, starting=True)):
            names = source["args"]["name"], target["args"]["name"]
            found.add(names)
            if head["cat"] == "transfer":
                onwards[source["args"]["event"]].add(names[1])
                before[target["args"]["event"]].add(names[0])
    return found | {pair for moved in onwards for pair in product(before[moved], onwards[moved])}


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", each(COMPARED))
def test_it_says_what_timeline_py_says(path: Path) -> None:
    theirs, led = by_tensorflow(path)
    trace = real_trace(path)
    assert trace.nested is not None
    device_of = trace.nested["raw_device"].to_pylist()
    text = trace.to_chrome_trace()
    ours = [(device_of[bar["args"]["event"]], bar) for bar in bars(text)]

    assert Counter((d, bar["dur"]) for d, bar in ours) == Counter((d, bar["dur"]) for d, bar in theirs)
    relative = {device for device, bar in theirs if bar["ts"] < ABSOLUTE}
    absolute = [[(d, bar) for d, bar in both if d not in relative] for both in (ours, theirs)]
    times = [Counter((d, bar["ts"], bar["dur"]) for d, bar in both) for both in absolute]
    assert times[0] == times[1]

    def alike(device: str, bar: dict[str, Any]) -> bool:
        """Whether timeline.py has a name for such a bar: ops, RecvTensor, kernels launched by an op."""
        if device.startswith("/job:"):
            return bool(bar["args"]["name"] != "RecvBuf")
        return bool(re.search(r"/stream:\d+$", device) and bar["args"]["op"] not in ("", "unknown"))

    full = [Counter(key(d, bar) for d, bar in both if alike(d, bar)) for both in absolute]
    assert full[0] == full[1]
    assert full[0]
    pairs = arrows(text)
    assert [arrow for arrow in led if not any((arrow[0], target) in pairs for target in arrow[1])] == []


@pytest.mark.parametrize("path", each(COMPARED))
def test_lanes_are_threads_whose_bars_do_not_overlap(path: Path) -> None:
    trace = real_trace(path)
    made = json.loads(trace.to_chrome_trace())["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in made if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in made if e["name"] == "thread_name"}
    rows = defaultdict(list)
    for bar in (event for event in made if event["ph"] == "X"):
        event = trace.events.iloc[bar["args"]["event"]]
        assert processes[bar["pid"]] == lane_label(event["task"], event["device"], "")
        assert threads[bar["pid"], bar["tid"]].startswith(str(event["lane"]))
        assert bar["args"]["start_ns"] == str(event["start_ns"])
        rows[bar["pid"], bar["tid"]].append((bar["ts"], bar["ts"] + bar["dur"]))
    assert rows.keys() == threads.keys()
    # Perfetto sorts threads by their numbers, chrome://tracing by their indices.
    places = {(e["pid"], e["tid"]): e["args"]["sort_index"] for e in made if e["name"] == "thread_sort_index"}
    assert all(place == tid for (_, tid), place in places.items())
    order = order_lanes(trace.events).table
    for (task, device), lanes in order.groupby(["task", "device"], observed=True, sort=False):
        process = lane_label(str(task), str(device), "")
        own = {name: tid for (pid, tid), name in threads.items() if processes[pid] == process}
        assert sorted(own.values()) == list(range(1, len(own) + 1))
        firsts = [own[lane] for lane in lanes["lane"]]
        assert firsts == sorted(firsts)
    for spans in rows.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert sum(map(len, rows.values())) == len(trace.events)


def test_transfers_tell_their_ends_bytes_and_tensor() -> None:
    trace = real_trace(DATA / "dist_inproc_ps_2workers_step0.pb")
    received = [bar for bar in bars(trace.to_chrome_trace()) if bar["args"]["op"] == "RecvTensor"]
    assert len(received) == len(trace.transfers) > 0
    for bar in received:
        assert bar["name"] == f"RecvTensor {bar['args']['name']}"
        row = trace.events.iloc[bar["args"]["event"]]
        args_of_bar = {name: bar["args"][name] for name in ("bytes", "source", "destination", "tensor")}
        assert args_of_bar == {name: row[name] for name in args_of_bar}


@pytest.mark.tensorflow
@pytest.mark.parametrize("op_time", ["gpu", "all"])
@pytest.mark.parametrize("name", ["gpu_tf221_mlp.pb.xz", "gpu_tf221_two_logical.pb.xz"])
def test_ops_have_the_times_of_their_kernels_as_in_timeline_py(name: str, op_time: Any) -> None:
    from tensorflow.python.client.timeline import Timeline

    def ops(made: list[dict[str, Any]], is_op: Callable[[dict[str, Any]], bool]) -> Counter[tuple[Any, ...]]:
        bars = (bar for bar in made if bar["ph"] == "X" and is_op(bar))
        return Counter((bar["args"]["name"], bar["args"]["op"], bar["ts"], bar["dur"]) for bar in bars)

    trace = real_trace(DATA / name)
    assert trace.nested is not None
    device_of = trace.nested["raw_device"].to_pylist()
    theirs = json.loads(Timeline(message(DATA / name)).generate_chrome_trace_format(op_time=op_time))
    executors = {
        event["pid"]
        for event in theirs["traceEvents"]
        if event["ph"] == "M" and event["args"]["name"].startswith("/job:")
    }
    expected = ops(theirs["traceEvents"], lambda bar: bar["pid"] in executors)
    text = trace.to_chrome_trace(op_time=op_time)
    recorded = trace.to_chrome_trace()
    moved, still = (
        ops(bars(made), lambda bar: device_of[bar["args"]["event"]].startswith("/job:"))
        for made in (text, recorded)
    )
    assert moved == expected != still
    again, before = (tv.read_trace(made.encode()) for made in (text, recorded))
    assert again.events.equals(before.events)
    assert again.edges.equals(before.edges)


def tensors_of(text: str) -> dict[str, dict[str, Any]]:
    """The objects of a file by name, with their snapshots and the times of their events."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for event in json.loads(text)["traceEvents"]:
        if event["ph"] in "NOD":
            found[event["name"]][event["ph"]] = event["ts"]
            found[event["name"]].update(event.get("args", {}).get("snapshot", {}))
    return found


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("name", "copied"),
    [
        ("local_mlp_step1.pb", set()),
        ("cpu_tf221_two_devices.pb.xz", set()),
        # timeline.py does not see copies and takes the reader of the copy for one of the tensor.
        ("gpu_tf221_mlp.pb.xz", {"_arg_x_0_0", "_arg_y_0_1", "Mean"}),
    ],
)
def test_tensors_are_those_of_timeline_py(name: str, copied: set[str]) -> None:
    from tensorflow.python.client.timeline import Timeline

    timeline = Timeline(message(DATA / name))
    theirs = tensors_of(timeline.generate_chrome_trace_format(show_memory=True))
    trace = real_trace(DATA / name)
    text = trace.to_chrome_trace(show_memory=True)
    ours = tensors_of(text)
    assert ours.keys() == theirs.keys()
    for tensor, described in timeline._tensors.items():
        mine, other = ours[tensor], theirs[tensor]
        assert (mine["N"], mine["O"]) == (other["N"], max(other["O"], other["N"]))
        assert (mine["requested_bytes"], mine["allocator"]) == (described.num_bytes, described.allocator)
        assert (mine["D"] == other["D"]) == (tensor not in copied)
        if tensor not in copied:
            assert mine["readers"] == len(described._ref_times) - 1
        kind = mine["dtype"].replace("32", "").upper()
        assert f"dtype: DT_{kind}" in other["tensor_description"]
        assert re.findall(r"size: (\d+)", other["tensor_description"]) == [str(dim) for dim in mine["shape"]]
    plain = tv.read_trace(trace.to_chrome_trace().encode())
    assert tv.read_trace(text.encode()).events.equals(plain.events)


def test_tensors_have_processes_of_their_own() -> None:
    trace = real_trace(DATA / "cpu_tf221_two_devices.pb.xz")
    made = json.loads(trace.to_chrome_trace(show_memory=True))["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in made if event["name"] == "process_name"}
    where = {event["name"]: names[event["pid"]] for event in made if event["ph"] == "N"}
    assert set(where.values()) == {"CPU:0 tensors", "CPU:1 tensors"}
    assert not [event for event in made if event["ph"] == "X" and names[event["pid"]].endswith("tensors")]


def test_an_unknown_op_time_is_refused() -> None:
    with raises_id(ValueError, "no_such_value", name="op_time", value="kernel"):
        hostile_trace().to_chrome_trace(op_time="kernel")  # type: ignore[call-overload]


def test_arrows_lead_from_open_bars_to_the_start_of_others() -> None:
    trace = real_trace(DATA / "dist_inproc_ps_2workers_step0.pb")
    made = json.loads(trace.to_chrome_trace())["traceEvents"]
    bar_of = {event["args"]["event"]: event for event in made if event["ph"] == "X"}
    edges = trace.edges
    assert set(edges["kind"]) == {"data", "control", "transfer"}
    starts = {event["id"]: event for event in made if event["ph"] == "s"}
    ends = {event["id"]: event for event in made if event["ph"] == "f"}
    assert len(starts) == len(ends) == len(edges) > 0
    assert list(starts) == list(ends)
    for number, edge in zip(starts, edges.itertuples(), strict=True):
        source, target = bar_of[edge.source], bar_of[edge.target]
        leave, arrive = starts[number], ends[number]
        assert (leave["pid"], leave["tid"]) == (source["pid"], source["tid"])
        assert source["ts"] <= leave["ts"] < source["ts"] + max(source["dur"], 1)
        assert (arrive["pid"], arrive["tid"], arrive["ts"]) == (target["pid"], target["tid"], target["ts"])
        assert leave["name"] == arrive["name"] == edge.kind


def test_files_and_compressed_files(tmp_path: Path) -> None:
    trace = real_trace(DATA / "local_mlp_step1.pb")
    text = trace.to_chrome_trace()
    path = trace.to_chrome_trace(tmp_path / "trace.json")
    packed = trace.to_chrome_trace(str(tmp_path / "trace.json.gz"))
    assert path.read_text(encoding="utf-8") == text
    assert gzip.decompress(packed.read_bytes()).decode() == text


def test_hostile_texts_stay_texts() -> None:
    made = bars(hostile_trace().to_chrome_trace())
    assert sorted(bar["args"]["name"] for bar in made) == sorted(HOSTILE)


def test_an_empty_trace() -> None:
    assert json.loads(Trace(events.build({}, rows=0)).to_chrome_trace())["traceEvents"] == []


def test_a_bar_without_an_op_has_its_name() -> None:
    table = events.build(
        {"start_ns": [0], "duration_ns": [999], "kind": ["host"], "name": ["Iterator::Model"]}
    )
    (bar,) = bars(Trace(table).to_chrome_trace())
    assert (bar["name"], bar["dur"], bar["args"]["duration_ns"]) == ("Iterator::Model", 0, 999)


def test_ops_without_labels_have_the_inputs_of_their_graph() -> None:
    whole = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    labels = pd.Series(pd.NA, whole.events.index, events.TEXT)
    without = bars(replaced(whole, whole.events.assign(detail=labels)).to_chrome_trace())
    given = {bar["args"]["event"]: set(bar["args"].get("graph_inputs", ())) for bar in without}
    assert given == {
        bar["args"]["event"]: {value for key, value in bar["args"].items() if key.startswith("input")}
        for bar in bars(whole.to_chrome_trace())
    }
    assert any(given.values())


@given(st.text("a =(),[]\n", max_size=30))
def test_inputs_are_read_as_timeline_py_reads_them(label: str) -> None:
    match = re.match(r"(.*) = (.*)\((.*)\)", label, re.DOTALL)
    expected = match[3].split(", ") if match and match[3] else []
    assert input_names(label) == expected


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40)


@given(spans)
def test_rows_are_packed_first_fit(made: list[tuple[int, int]]) -> None:
    made.sort()
    rows = pack_rows(np.array([a for a, _ in made], "i8"), np.array([a + d for a, d in made], "i8")).tolist()
    ends: dict[int, int] = {}
    for (start, length), row in zip(made, rows, strict=True):
        free = [number for number in range(len(ends)) if ends[number] <= start]
        assert row == (free[0] if free else len(ends))
        ends[row] = start + length
