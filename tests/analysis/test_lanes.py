"""Lanes: counts, busy time, kinds and order."""

from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.lanes import lanes


def union(intervals: list[tuple[int, int]]) -> int:
    """Return the length of a union, by counting the nanoseconds."""
    return len({moment for start, length in intervals for moment in range(start, start + length)})


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.sampled_from("abc")), max_size=25))
def test_busy_time_is_the_union_of_the_lane(rows: list[tuple[int, int, str]]) -> None:
    rows = sorted(rows)
    table = events.build(
        {
            "start_ns": np.array([row[0] for row in rows], np.int64),
            "duration_ns": np.array([row[1] for row in rows], np.int64),
            "lane": pd.Categorical([row[2] for row in rows]),
            "kind": pd.Categorical(["op"] * len(rows)),
        },
        rows=len(rows),
    )
    found = {
        row.lane: (row.events, row.busy_ns, row.start_ns, row.end_ns)
        for row in lanes(Trace(table)).itertuples()
    }
    expected = {}
    for name in {row[2] for row in rows}:
        group = [(start, length) for start, length, lane in rows if lane == name]
        ends = max(start + length for start, length in group)
        expected[name] = (len(group), union(group), group[0][0], ends)
    assert found == expected


def test_order_and_kind() -> None:
    worker = "/job:worker/replica:0/task:{}"
    rows = [
        (worker.format(10), "device:CPU:0", "ops", "op"),
        (worker.format(9), "device:GPU:0", "stream:13", "kernel"),
        (worker.format(9), "device:GPU:0", "stream:13", "collective"),
        (worker.format(9), "device:GPU:0", "stream:13", "kernel"),
        (worker.format(9), "device:GPU:0", "stream:9", "kernel"),
        (worker.format(9), "device:GPU:0", "memcpy H2D", "memcpy"),
        (worker.format(9), "device:GPU:0", "ops", "op"),
        (worker.format(9), "device:CPU:0", "tf_Compute/7", "host"),
        (worker.format(9), "device:CPU:0", "recv", "transfer"),
    ]
    tasks, devices, names, kinds = zip(*rows, strict=True)
    table = events.build(
        {
            "start_ns": range(len(rows)),
            "duration_ns": [1] * len(rows),
            "task": tasks,
            "device": [f"{task}/{device}" for task, device in zip(tasks, devices, strict=True)],
            "lane": names,
            "kind": kinds,
        }
    )
    found = lanes(Trace(table))
    assert found["lane"].tolist() == [
        "recv", "tf_Compute/7", "ops", "stream:9", "stream:13", "memcpy H2D", "ops",
    ]  # fmt: skip
    assert found["kind"].tolist() == ["transfer", "host", "op", "kernel", "kernel", "memcpy", "op"]
    assert found["task"].tolist()[-1].endswith("task:10")


def test_every_event_is_in_one_lane(data: Path) -> None:
    trace = real_trace(data / "gpu_tf218_dist.pb.xz")
    assert trace.lanes["events"].sum() == len(trace.events)
    assert not trace.lanes[["task", "device", "lane"]].duplicated().any()
    assert (trace.lanes["busy_ns"] <= trace.lanes["end_ns"] - trace.lanes["start_ns"]).all()
