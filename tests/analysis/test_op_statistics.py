"""Statistics of ops against the same counted row by row."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times
from tfvis_nb.analysis.steps.op_statistics import BINS, GROUPINGS, Grouping, histograms, op_statistics

TASK = "/job:worker/replica:0/task:0"
CPU, GPU = f"{TASK}/device:CPU:0", f"{TASK}/device:GPU:0"
PLACES = (
    ("op", CPU, "ops"),
    ("op", GPU, "ops"),
    ("kernel", GPU, "stream:13"),
    ("host", CPU, "python3"),
    ("op", CPU, "python3"),
    ("transfer", CPU, "recv"),
    ("sync", GPU, "sync"),
)
OPS = ("MatMul", "While", "Send", "")
NAMES = ("a/b/c", "a/b/d", "a", "", "x//y")

Row = tuple[int, int, int, int, int, int]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.integers(0, 10),
        st.integers(0, len(PLACES) - 1),
        st.integers(0, len(OPS) - 1),
        st.integers(0, len(NAMES) - 1),
        st.integers(-1, 1),
    ),
    min_size=1,
    max_size=20,
)


def trace_of(rows: list[Row]) -> Trace:
    columns: dict[str, list[Any]] = {
        "start_ns": [row[0] for row in rows],
        "duration_ns": [row[1] for row in rows],
        "task": [TASK for _ in rows],
        "kind": [PLACES[row[2]][0] for row in rows],
        "device": [PLACES[row[2]][1] for row in rows],
        "lane": [PLACES[row[2]][2] for row in rows],
        "op": [OPS[row[3]] for row in rows],
        "name": [NAMES[row[4]] for row in rows],
        "step": [row[5] for row in rows],
    }
    return Trace(events.order(events.build(columns))[0])


def side_of(frame: pd.DataFrame, event: int) -> str:
    kind, op = str(frame["kind"][event]), str(frame["op"][event])
    ops = frame[(frame["kind"] == "op") & (frame["lane"] == "ops")]["op"].tolist()
    if kind == "sync" or (kind == "host" and op in ops):
        return "repeated"
    return {"kernel": "device", "transfer": "network"}.get(kind, "host")


def nearest_rank(durations: list[int], percent: int) -> int:
    """The shortest duration that at least this many percent of them do not exceed."""
    return next(
        one
        for one in sorted(durations)
        if 100 * sum(other <= one for other in durations) >= percent * len(durations)
    )


@given(ROWS, st.sampled_from(GROUPINGS))
def test_every_row_of_the_table(rows: list[Row], by: Grouping) -> None:
    trace = trace_of(rows)
    frame = trace.events
    expected: dict[tuple[str, str, str], list[int]] = {}
    for event in range(len(frame)):
        label = str(frame["name"][event]).rpartition("/")[0] if by == "scope" else str(frame[by][event])
        expected.setdefault((label, str(frame["kind"][event]), side_of(frame, event)), []).append(event)
    table = op_statistics(trace, by)
    assert why_not(table) == ""
    assert len(table) == len(expected)
    own_times, is_known = (column.tolist() for column in self_times(frame))
    whole = dict.fromkeys(LOCATIONS, 0)
    for (_, _, side), group in expected.items():
        whole[side] += sum(own_times[event] for event in group if is_known[event])
    for found in table.to_dict("records"):
        group = expected[found[by], found["kind"], found["side"]]
        durations = frame["duration_ns"][group].tolist()
        known = [own_times[event] for event in group if is_known[event]]
        assert (found["count"], found["total_ns"]) == (len(group), sum(durations))
        assert (found["min_ns"], found["max_ns"]) == (min(durations), max(durations))
        assert found["longest"] == group[durations.index(max(durations))]
        assert found["mean_ns"] == pytest.approx(sum(durations) / len(group))
        for percent in (50, 90, 99):
            assert found[f"p{percent}_ns"] == nearest_rank(durations, percent)
        assert pd.isna(found["self_ns"]) == (not known)
        if known:
            assert found["self_ns"] == sum(known)
        if known and found["side"] != "repeated" and whole[found["side"]]:
            assert found["share"] == pytest.approx(sum(known) / whole[found["side"]])
        else:
            assert math.isnan(found["share"])


@given(ROWS, st.sampled_from(GROUPINGS), st.integers(1, 10**6))
def test_histograms_hold_every_event_in_the_bin_of_its_length(
    rows: list[Row], by: Grouping, factor: int
) -> None:
    trace = trace_of([(row[0] * factor, row[1] * factor, *row[2:]) for row in rows])
    table, frame = op_statistics(trace, by), trace.events
    seen = []
    for found, (edges, bins) in zip(
        table.to_dict("records"), histograms(trace, by, table["longest"].to_numpy()), strict=True
    ):
        assert (edges[0], edges[-1]) == (found["min_ns"], found["max_ns"])
        assert edges[:-1] == sorted(set(edges[:-1]))
        assert len(edges) == len(bins) + 1 <= BINS + 1
        assert sum(map(len, bins)) == found["count"]
        widest = (max(edges[-1], 1) / max(edges[0], 1)) ** (1 / BINS)
        for at, chosen in enumerate(bins):
            durations = frame["duration_ns"][chosen].tolist()
            assert durations == sorted(durations, reverse=True)
            last = at == len(bins) - 1
            assert all(edges[at] <= one < edges[at + 1] or (last and one == edges[-1]) for one in durations)
            assert len(bins) < BINS or edges[at + 1] - edges[at] * widest <= widest + 1
            seen += chosen.tolist()
    assert sorted(seen) == list(range(len(frame)))


@given(ROWS)
def test_the_largest_come_first_on_each_side(rows: list[Row]) -> None:
    table = op_statistics(trace_of(rows))
    key = list(
        zip(
            [LOCATIONS.index(side) for side in table["side"]],
            (-table["self_ns"].fillna(-1)).tolist(),
            (-table["total_ns"]).tolist(),
            strict=True,
        )
    )
    assert key == sorted(key)


@given(ROWS)
def test_steps_add_up_to_all(rows: list[Row]) -> None:
    trace = trace_of(rows)
    numbers = trace.steps["step"].tolist()
    columns = ["count", "total_ns", "self_ns"]
    keys = ["op", "kind", "side"]
    each = pd.concat([op_statistics(trace, steps=[number]) for number in numbers])
    whole = op_statistics(trace, steps=numbers).astype(dict.fromkeys(keys, str))
    summed = each.astype(dict.fromkeys(keys, str)).groupby(keys)[columns].sum()
    both = whole.set_index(keys)[columns].sort_index()
    assert (summed["count"] == both["count"]).all()
    assert (summed["total_ns"] == both["total_ns"]).all()
    assert (summed["self_ns"] == both["self_ns"].fillna(0)).all()
    everything = op_statistics(trace).astype(dict.fromkeys(keys, str))
    pd.testing.assert_frame_equal(everything, whole)


@pytest.mark.parametrize(
    ("kind", "op", "device", "lane", "expected"),
    [
        ("memcpy", "MemcpyH2D", GPU, "memcpy H2D", "device"),
        ("memset", "Memset", GPU, "memset", "device"),
        ("kernel", "fusion", "/device:TPU:0", "XLA Ops", "device"),
        ("collective", "ncclKernel", GPU, "stream:20", "device"),
        ("collective", "CollectiveReduceV2", GPU, "collective", "network"),
        ("collective", "CollectiveReduceV2", CPU, "collective_ops/1", "network"),
        ("transfer", "RecvTensor", GPU, "recv", "network"),
        ("op", "MatMul", GPU, "ops", "host"),
        ("host", "launch", CPU, "tf_Compute/1", "host"),
        ("host", "jit_f", "/device:TPU:0", "XLA Modules", "repeated"),
        ("sync", "cuStreamSynchronize", GPU, "sync", "repeated"),
    ],
)
def test_where_time_is_spent(kind: str, op: str, device: str, lane: str, expected: str) -> None:
    columns = {"kind": [kind], "op": [op], "device": [device], "lane": [lane]}
    frame = events.build({"start_ns": [0], "duration_ns": [1], **columns})
    assert [LOCATIONS[number] for number in locations(frame)] == [expected]


def test_repeated_rows_of_host_threads_have_no_share(data: Path) -> None:
    trace = real_trace(data / "cpu_tf115_dist.pb.xz")
    table = op_statistics(trace)
    repeated = table[table["side"] == "repeated"]
    assert len(repeated) > 3
    assert repeated["share"].isna().all()
    assert (repeated["kind"] == "host").all()
    host = table[table["side"] == "host"]
    assert host["share"].sum() == pytest.approx(1)
    ops = trace.events[(trace.events["kind"] == "op")]
    assert host[host["kind"] == "op"]["total_ns"].sum() == ops["duration_ns"].sum()


@pytest.mark.parametrize("by", GROUPINGS)
@pytest.mark.parametrize(
    "name", ["gpu_tf221_mixed.pb.xz", "gpu_tf218_function.xplane.pb.xz", "kineto_rank0.json.xz"]
)
def test_nothing_is_lost_on_real_traces(name: str, by: Grouping) -> None:
    trace = real_trace(DATA / name)
    table = op_statistics(trace, by)
    assert table["count"].sum() == len(trace.events)
    assert table["total_ns"].sum() == trace.events["duration_ns"].sum()
    for side, rows in table.groupby("side", observed=True):
        assert rows["share"].sum() == pytest.approx(0 if side == "repeated" else 1)


def test_a_launched_kernel_is_not_added_to_its_op(data: Path) -> None:
    table = op_statistics(real_trace(data / "gpu_tf221_mlp.pb.xz"))
    assert table[table["op"] == "MatMul"]["kind"].tolist() == ["kernel", "op"]


def test_rejected_arguments() -> None:
    trace = trace_of([(0, 1, 0, 0, 0, 0)])
    with raises_id(ValueError, "not_one_of", by="lane"):
        op_statistics(trace, "lane")  # type: ignore[arg-type]
    with raises_id(ValueError, "no_step", step=7):
        op_statistics(trace, steps=[0, 7])


def test_it_cannot_say_anything_of_nothing() -> None:
    nothing = op_statistics(Trace(events.build({}, rows=0)), "name")
    assert why_not(nothing).id == "no_events"
    assert list(nothing) == list(op_statistics(trace_of([(0, 1, 0, 0, 0, 0)]), "name"))
