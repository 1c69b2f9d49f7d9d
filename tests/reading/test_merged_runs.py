"""Several runs merged into one message are the steps that the runs would be on their own."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.core.framework.step_stats_pb2 import StepStats
from tensorflow.core.protobuf.config_pb2 import RunMetadata
from tensorflow.python.client.timeline import Timeline

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support import oracle
from tests.support.examples import examples
from tests.support.texts import figures_of

pytestmark = pytest.mark.tensorflow

RUNS = (
    "cpu_tf18_dist.pb.xz",
    "cpu_tf115_dist.pb.xz",
    "cpu_tf221_two_devices.pb.xz",
    "cpu_tf221_while.pb.xz",
    "dist_inproc_ps_2workers_step0.pb",
    "gpu_tf218_dist.pb.xz",
    "gpu_tf218_mlp.pb.xz",
    "gpu_tf221_mlp.pb.xz",
    "run_meta.v3",
)
PAUSE_US = 400_000
"""Longer than any of the runs."""
FAR_US = 10**12
"""Later than any time on a clock of a GPU."""


def later(run: Any, micros: int, task: str = "/job:") -> Any:
    """Return a copy of a run that was recorded later; by default all of its tasks."""
    copy = StepStats()
    copy.CopyFrom(run)
    tasks = {entry.device.partition("/device:")[0] for entry in copy.dev_stats if task in entry.device}
    for entry in copy.dev_stats:
        # Lanes of GPUs have no task.
        if not entry.device.startswith("/job:") or any(entry.device.startswith(one) for one in tasks):
            for node in entry.node_stats:
                node.all_start_micros += micros
                if node.all_start_nanos:
                    node.all_start_nanos += micros * 1000
                node.scheduled_micros = node.scheduled_nanos = 0
                for used in node.memory:
                    for record in used.allocation_records:
                        record.alloc_micros += micros
    return copy


def on_gpu_clock(run: Any, offset: int | None) -> Any:
    """Put the kernels of a run on a clock of their own, as TensorFlow 2.5 to 2.19 do; None to leave them."""
    starts = [node.all_start_micros for entry in run.dev_stats for node in entry.node_stats]
    for entry in run.dev_stats:
        for node in entry.node_stats:
            if (
                offset is not None
                and entry.device.startswith("/device:GPU")
                and node.all_start_micros > FAR_US
            ):
                node.all_start_micros -= min(start for start in starts if start > FAR_US) - offset
    return run


def merged(runs: list[Any], way: str) -> bytes:
    """Merge runs by ``MergeFrom``, by joining their files, or by device as a program may sort them."""
    if way == "files":
        return b"".join(RunMetadata(step_stats=run).SerializeToString() for run in runs)
    together = RunMetadata()
    for run in runs:
        together.MergeFrom(RunMetadata(step_stats=run))
    if way == "sorted":
        entries = sorted(together.step_stats.dev_stats, key=lambda entry: entry.device)
        together = RunMetadata(step_stats=StepStats(dev_stats=entries))
    data: bytes = together.SerializeToString()
    return data


def table(trace: tv.Trace) -> list[tuple[str, ...]]:
    """Return the rows in an order that does not depend on ties."""
    columns = ["step", "task", "device", "lane", "kind", "name", "start_ns", "duration_ns", "detail"]
    return sorted(zip(*(trace.events[name].astype(str) for name in columns), strict=True))


def test_three_merged_runs_are_three_steps() -> None:
    message = RunMetadata.FromString((DATA / "merged_3_runs.pb").read_bytes())
    spans = [
        (
            max(node.all_start_nanos + node.all_end_rel_nanos for node in entry.node_stats)
            - min(node.all_start_nanos for node in entry.node_stats)
        )
        for entry in message.step_stats.dev_stats
    ]
    trace = tv.read_trace(DATA / "merged_3_runs.pb")
    assert trace.steps["duration_ns"].tolist() == spans == [126_928_401, 273_328, 137_064]
    assert figures_of(trace.notes, "steps_by_source_rows") == [{"steps": 3, "source": "_SOURCE"}]
    assert not figures_of(trace.notes, "devices_merged")
    written = Timeline(message.step_stats, graph="").generate_chrome_trace_format().encode()
    assert tv.read_trace(written).steps["duration_ns"].tolist() == [126_928_000, 273_000, 137_000]


@settings(max_examples=examples(300))
@given(
    name=st.sampled_from(RUNS),
    order=st.permutations(range(3)),
    count=st.integers(1, 3),
    way=st.sampled_from(["MergeFrom", "files", "sorted"]),
)
def test_merged_runs_give_the_steps_of_each(name: str, order: list[int], count: int, way: str) -> None:
    run = oracle.load(DATA / name)
    if way == "sorted" and not all(entry.device.startswith("/job:") for entry in run.dev_stats):
        # Other lanes belong to the task whose entries follow.
        way = "MergeFrom"
    runs = [later(run, number * PAUSE_US) for number in order[:count]]
    runs_in_time = [run for _, run in sorted(zip(order, runs, strict=False), key=lambda pair: pair[0])]
    expected = tv.read_trace(runs_in_time)
    found = tv.read_trace(merged(runs, way))
    assert table(found) == table(expected)


@settings(max_examples=examples(100))
@given(
    name=st.sampled_from(RUNS),
    order=st.permutations(range(3)),
    offset=st.sampled_from([None, 5_000, 8_000_000_000]),
)
def test_merged_runs_in_timeline_py_give_the_same_steps(
    name: str, order: list[int], offset: int | None
) -> None:
    run = oracle.load(DATA / name)
    runs = [on_gpu_clock(later(run, number * PAUSE_US), offset) for number in range(3)]
    together = StepStats()
    for number in order:
        together.MergeFrom(runs[number])
    written = [Timeline(each, graph="").generate_chrome_trace_format().encode() for each in [together, *runs]]
    found, *expected = (tv.read_trace(one).steps for one in written)
    message = tv.read_trace(RunMetadata(step_stats=together)).steps
    assert found["events"].tolist() == message["events"].tolist()
    for column in ("start_ns", "duration_ns", "events"):
        assert found[column].tolist() == [value for one in expected for value in one[column]]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_skewed_clock_of_one_task_adds_no_step(hours: int) -> None:
    run = oracle.load(DATA / "cpu_tf18_dist.pb.xz")
    runs = [later(later(run, n * PAUSE_US), hours * 3_600_000_000, "/job:ps") for n in range(3)]
    found = tv.read_trace(merged(runs, "MergeFrom"))
    assert table(found) == table(tv.read_trace(runs))


def test_runs_at_the_same_time_stay_one_step() -> None:
    run = oracle.load(DATA / "local_mlp_step1.pb")
    trace = tv.read_trace(merged([run, later(run, 100)], "MergeFrom"))
    assert len(trace.steps) == 1


def test_graphs_of_merged_runs_belong_to_each_step() -> None:
    message = RunMetadata.FromString((DATA / "local_mlp_step1.pb").read_bytes())
    other = RunMetadata()
    other.CopyFrom(message)
    other.step_stats.CopyFrom(later(message.step_stats, PAUSE_US))
    message.MergeFrom(other)
    trace = tv.read_trace(message)
    assert len(trace.steps) == 2
    one, two = trace.graphs
    assert one == two == list(dict.fromkeys(g.SerializeToString() for g in message.partition_graphs))
