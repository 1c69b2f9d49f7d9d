"""What lies within what, and self times, against looking at every pair and every nanosecond."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tfvis_nb import events
from tfvis_nb.analysis.events import nesting
from tfvis_nb.analysis.events.nesting import nests, parents, self_times

LANES = ("python3", "tf_Compute/1", "ops", "stream:7")

Row = tuple[int, int, int]
ROWS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 10), st.integers(0, 3)), max_size=25)


def table(rows: list[Row], *, longer_first: bool = True) -> pd.DataFrame:
    rows = sorted(rows, key=lambda row: (row[0], -row[1] if longer_first else 0))
    start, duration, lane = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    return events.build(
        {
            "start_ns": start,
            "duration_ns": duration,
            "lane": [LANES[number] for number in lane],
            "kind": [("host", "op", "op", "kernel")[number] for number in lane],
        },
        rows=len(rows),
    )


def slow_parents(frame: pd.DataFrame) -> list[int]:
    """Of all that contain an event, the one that is itself in all the others."""
    ends = frame["start_ns"] + frame["duration_ns"]
    rows = list(zip(frame["start_ns"], ends, frame["lane"].astype(str), strict=True))

    def within(inner: int, outer: int) -> bool:
        (start, end, lane), (first, last, other) = rows[inner], rows[outer]
        if lane != other or inner == outer or lane in LANES[2:]:
            return False
        same = (start, end) == (first, last)
        return first <= start and end <= last and (not same or outer < inner)

    found = []
    for event in range(len(rows)):
        outer = [other for other in range(len(rows)) if within(event, other)]
        # The one that begins last is the innermost; of two that begin together the shorter, the later row.
        outer.sort(key=lambda other: (rows[other][0], -rows[other][1], other))
        found.append(outer[-1] if outer else -1)
    return found


@given(ROWS, st.booleans())
def test_the_innermost_of_all_that_contain_an_event(rows: list[Row], longer_first: bool) -> None:
    frame = table(rows, longer_first=longer_first)
    assert parents(frame).tolist() == slow_parents(frame)


@given(ROWS)
def test_rows_that_climb_one_by_one_find_the_same(rows: list[Row]) -> None:
    frame = table(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_ROUNDS", 0)
        assert parents(frame).tolist() == slow_parents(frame)


@given(ROWS)
def test_self_time_is_what_nothing_directly_within_covers(rows: list[Row]) -> None:
    frame = table(rows)
    outer = slow_parents(frame)
    own, known = self_times(frame)
    assert known.all()
    for event, (start, duration) in enumerate(zip(frame["start_ns"], frame["duration_ns"], strict=True)):
        inner = {
            moment
            for other in range(len(frame))
            if outer[other] == event
            for moment in range(
                frame["start_ns"][other], frame["start_ns"][other] + frame["duration_ns"][other]
            )
        }
        assert own[event] == len(set(range(start, start + duration)) - inner)


@given(ROWS, st.lists(st.booleans(), min_size=25, max_size=25))
def test_unselected_rows_have_no_parents_or_children(rows: list[Row], chosen: list[bool]) -> None:
    frame = table(rows)
    among = np.array(chosen[: len(frame)], bool)
    alone = frame[among].reset_index(drop=True)
    ids = np.append(np.flatnonzero(among), -1)
    found = parents(frame, among)
    assert found[among].tolist() == ids[parents(alone)].tolist()
    assert (found[~among] == -1).all()
    assert self_times(frame, among)[0][among].tolist() == self_times(alone)[0].tolist()


@pytest.mark.parametrize(
    ("kind", "lane", "expected"),
    [
        ("op", "ops", False),
        ("op", "ops_thread", True),
        ("op", "tf_Compute/3", True),
        ("host", "ops", True),
        ("host", "memcpy thread", True),
        ("collective", "collective", False),
        ("collective", "collective_ops/2", True),
        ("collective", "stream:20", False),
        ("transfer", "recv", False),
        ("sync", "sync", False),
        ("kernel", "stream:13", False),
        ("kernel", "XLA Ops", True),
        ("memcpy", "memcpy", False),
        ("memcpy", "memcpy H2D", False),
        ("memset", "memset", False),
    ],
)
def test_which_lanes_nest(kind: str, lane: str, expected: bool) -> None:
    frame = events.build({"start_ns": [0], "duration_ns": [1], "kind": [kind], "lane": [lane]})
    assert nests(frame).tolist() == [expected]


def test_the_self_time_of_a_function_in_an_executor_is_not_known() -> None:
    columns = {
        "op": ["PartitionedCall", "While", "MatMul", "IteratorGetNext", "PartitionedCall"],
        "lane": ["ops", "ops", "ops", "ops", "tf_Compute/1"],
    }
    frame = events.build({"start_ns": range(5), "duration_ns": [9] * 5, "kind": ["op"] * 5, **columns})
    assert self_times(frame)[1].tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("depth", [1000])
def test_deep_nesting(depth: int) -> None:
    frame = events.build(
        {"start_ns": range(depth), "duration_ns": range(2 * depth, 0, -2), "kind": ["host"] * depth}
    )
    assert parents(frame).tolist() == list(range(-1, depth - 1))
    assert self_times(frame)[0].tolist() == [2] * depth


@pytest.mark.parametrize("name", ["gpu_tf218_function.xplane.pb.xz", "cpu_tf221_keras_fit.xplane.pb.xz"])
def test_self_times_of_a_thread_add_up_to_its_covered_time(name: str) -> None:
    trace = real_trace(DATA / name)
    frame = trace.events.assign(own=self_times(trace.events)[0])
    threads = frame[nests(frame)].groupby(["task", "device", "lane"], observed=True)["own"].sum()
    busy = trace.lanes.set_index(["task", "device", "lane"])["busy_ns"]
    both = pd.DataFrame({"own": threads, "busy": busy}).dropna()
    assert len(both) > 3
    # Where calls only overlap, as asynchronous ones do, both have their whole time.
    assert (both["own"] >= both["busy"]).all()
    assert (both["own"] == both["busy"]).mean() > 0.8


def test_calls_that_run_an_eager_op_give_it_their_time() -> None:
    op = ["python", "MatMul", "EagerKernelExecute", "KernelAndDeviceFunc::Run", "Sum", "cudaMalloc"]
    columns = {"op": op, "name": op, "kind": ["host", "op", "host", "host", "op", "host"]}
    times = {"start_ns": [0, 1, 2, 3, 4, 6], "duration_ns": [20, 18, 15, 12, 2, 1]}
    frame = events.build({**times, **columns, "lane": ["python"] * len(op)})
    # The nested op and rows that are no wrappers keep their own.
    assert self_times(frame)[0].tolist() == [2, 15, 0, 0, 2, 1]


def test_loop_over_threads_counts_as_its_op() -> None:
    op = ["ExecutorState::Process", "ConcatV2", "ParallelFor"]
    columns = {"op": op, "name": op, "kind": ["host", "op", "host"], "lane": ["tf_Compute/1"] * 3}
    frame = events.build({"start_ns": [0, 1, 2], "duration_ns": [20, 18, 15], **columns})
    assert self_times(frame)[0].tolist() == [2, 18, 0]


def test_eager_ops_of_a_profile_have_their_time() -> None:
    trace = real_trace(DATA / "cpu_tf221_keras_fit.xplane.pb.xz")
    eager = trace.events["detail"].str.startswith("EagerLocalExecute: ").to_numpy()
    calls = trace.events["op"].isin(["EagerKernelExecute", "EagerCopyToDevice"]).to_numpy()
    calls = calls & eager[parents(trace.events)]
    own, _ = self_times(trace.events)
    assert (int(calls.sum()), int(own[calls].sum())) == (76, 0)
    assert own[eager].sum() > trace.events["duration_ns"][calls].sum() / 2


def test_nothing_of_nothing() -> None:
    nothing = events.build({}, rows=0)
    assert parents(nothing).tolist() == []
    assert [column.tolist() for column in self_times(nothing)] == [[], []]
