"""Predictions: the replay of a trace with other durations."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import slack, what_if
from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.prediction.replay import no_change, replay
from tfvis_nb.core.metadata import table_of
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.texts import text_of

SAMPLES = [
    "gpu_tf221_mlp.pb.xz",
    "gpu_tf221_dist.pb.xz",
    "cpu_tf221_keras_fit.xplane.pb.xz",
    "kineto_rank0.json.xz",
]
TASKS = [f"/job:worker/replica:0/task:{number}" for number in range(3)]


def _trace(**columns: Any) -> Trace:
    return Trace(events.build({"kind": ["op"] * len(columns["start_ns"]), **columns}))


def _launched() -> Trace:
    """Four kernels: the first and the last two follow their launches, the second follows the first."""
    return _trace(
        start_ns=[0, 10, 20, 60, 200, 210, 300, 310],
        duration_ns=[20, 50, 20, 30, 20, 30, 20, 30],
        kind=["op", "kernel", "op", "kernel"] * 2,
        name=["a", "a", "b", "b", "c", "c", "d", "d"],
        op=["MatMul"] * 6 + ["Add"] * 2,
        device=["/device:GPU:0"] * 8,
        lane=["ops", "stream:1"] * 4,
        scheduled_ns=[0, 5, 20, 25, 200, 205, 300, 305],
    )


def _late() -> Trace:
    """A collective that waits for the last of three ranks."""
    return _trace(
        start_ns=[0, 0, 0, 10, 20, 90],
        duration_ns=[10, 20, 90, 100, 90, 20],
        kind=["op"] * 3 + ["collective"] * 3,
        name=["a"] * 3 + ["reduce"] * 3,
        op=["MatMul"] * 3 + ["CollectiveReduceV2"] * 3,
        task=TASKS * 2,
        device=[f"{task}/device:CPU:0" for task in TASKS] * 2,
        lane=["ops"] * 3 + ["collective"] * 3,
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_changes_without_a_change(name: str) -> None:
    trace = real_trace(DATA / name)
    times, found = backtracker(trace).times, replay(trace, no_change(trace))
    origin = times.start.min()
    for recorded, replayed in ((times.start, found.start), (times.end, found.end)):
        assert (replayed[times.counts] == (recorded - origin)[times.counts]).all()
    same = what_if(trace, activities={"device_compute" if "gpu" in name else "host_compute": 1})
    assert same.drift == 0
    assert (same.times["saved_ns"] == 0).all()
    kept = trace.events.iloc[same.rows].reset_index(drop=True)
    for column in ("start_ns", "duration_ns", "name", "step", "scheduled_ns", "compute_end_ns"):
        assert same.events[column].equals(kept[column])


@given(st.data())
def test_nothing_ends_sooner_if_something_takes_longer(data: st.DataObject) -> None:
    trace = real_trace(DATA / SAMPLES[0])
    count = len(trace.events)
    factor = np.array(data.draw(st.lists(st.floats(0, 4), min_size=count, max_size=count)))
    more = factor * np.array(data.draw(st.lists(st.floats(1, 4), min_size=count, max_size=count)))
    counts = backtracker(trace).times.counts
    change = no_change(trace)
    less, later = (replay(trace, change._replace(factor=one)).end[counts] for one in (factor, more))
    assert (later >= less).all()


def _slow_and_fast() -> Trace:
    """Two ops at once, and one that needs both."""
    return _trace(
        start_ns=[0, 0, 50],
        duration_ns=[50, 20, 30],
        lane=["ops"] * 3,
        name=["a", "b", "c"],
        op=["Slow", "Fast", "Add"],
        detail=["a = Const()", "b = Const()", "c = Add(a, b)"],
    )


def test_an_op_may_take_longer_by_its_slack() -> None:
    trace = _slow_and_fast()
    assert slack(trace)["slack_ns"].tolist() == [0, 30, 0]
    for factor, end in ((1, 80), (2.5, 80), (3, 90), (0, 80)):
        assert what_if(trace, ops={"Fast": factor}).times["predicted_ns"].tolist() == [end]
    assert what_if(trace, ops={"Slow": 0.2}).times["predicted_ns"].tolist() == [50]


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[float]]:
    """Return the durations of ops, the earlier ones that each needs, and the factors of their durations."""
    count = draw(st.integers(1, 8))
    durations = draw(st.lists(st.integers(1, 50), min_size=count, max_size=count))
    factors = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0]), min_size=count, max_size=count))
    needs = [draw(st.lists(st.integers(0, op - 1), unique=True)) if op else [] for op in range(count)]
    return durations, needs, factors


def _longest_path(durations: list[float], needs: list[list[int]]) -> list[int]:
    """Return when each op starts: the longest path to it."""
    starts: list[float] = []
    for inputs in needs:
        starts.append(max((starts[one] + durations[one] for one in inputs), default=0))
    return [int(start) for start in starts]


@given(_graphs())
def test_ops_take_the_longest_path_through_their_inputs(
    graph: tuple[list[int], list[list[int]], list[float]],
) -> None:
    durations, needs, factors = graph
    start = _longest_path([*durations], needs)
    order = sorted(range(len(start)), key=lambda op: (start[op], op))
    trace = _trace(
        start_ns=[start[op] for op in order],
        duration_ns=[durations[op] for op in order],
        lane=["ops"] * len(order),
        name=[f"n{op}" for op in order],
        op=[f"Op{op}" for op in order],
        detail=[f"n{op} = Op{op}({', '.join(f'n{one}' for one in needs[op])})" for op in order],
    )
    found = what_if(trace, ops={f"Op{op}": factor for op, factor in enumerate(factors)})
    scaled = [duration * factor for duration, factor in zip(durations, factors, strict=True)]
    ends = [begin + own for begin, own in zip(_longest_path(scaled, needs), scaled, strict=True)]
    assert found.times["predicted_ns"].tolist() == [max(ends)]


def test_hidden_work_delays_nothing_and_takes_its_time() -> None:
    trace = _slow_and_fast()
    found = what_if(trace, ops={"Slow": "hidden"})
    assert found.times["predicted_ns"].tolist() == [50]
    assert found.metadata["prediction"]["how"].tolist() == ["hidden"]
    assert found.events["start_ns"].tolist() == [0, 0, 20]
    assert found.events["duration_ns"].tolist() == [50, 20, 30]
    # Even the last op is work for the next step.
    assert what_if(trace, ops={"Add": "hidden"}).times["predicted_ns"].tolist() == [50]


def test_free_input_is_waited_for_no_more() -> None:
    trace = real_trace(DATA / "cpu_tf215_input.xplane.pb.xz")
    found = what_if(trace, activities={"input": 0})
    waited = found.path.set_index("category").reindex(["input", "preprocessing"])
    assert waited["recorded_ns"].sum() > 0
    assert waited["predicted_ns"].fillna(0).sum() == 0


def _on_both(**columns: Any) -> Trace:
    """A MatMul and a Gather on the CPU, and a kernel of another MatMul; the GPU's highest rates are known."""
    rows = {
        "start_ns": [0, 100, 300],
        "duration_ns": [100, 200, 25],
        "kind": ["op", "op", "kernel"],
        "name": ["a", "b", "c"],
        "op": ["MatMul", "Add", "MatMul"],
        "device": ["/device:CPU:0"] * 2 + ["/device:GPU:0"],
    }
    gpu = {"task": "", "device": "/device:GPU:0", "peak_flops": 10**12, "memory_bandwidth": 10**9}
    return Trace(events.build(rows | columns), metadata={"devices": table_of("devices", [gpu])})


def test_an_op_at_the_speed_of_the_gpu() -> None:
    shapes = ["", "shape=(float[8];float[8])", ""]
    trace = _on_both(detail=shapes)
    assert what_if(trace, ops={"MatMul": "gpu"}).events["duration_ns"].tolist() == [25, 200, 25]
    # 8 numbers of 4 bytes three times, at a byte a ns.
    assert what_if(trace, ops={"Add": "gpu"}).events["duration_ns"].tolist() == [100, 96, 25]
    with pytest.raises(ValueError, match=r".") as raised:
        what_if(_on_both(), ops={"Add": "gpu"})
    assert raised.value.args[0].id == "gpu_speed_unknown"


def test_kernels_start_when_their_stream_and_their_launch_allow() -> None:
    trace = _launched()

    def end(**changes: Any) -> int:
        (predicted,) = what_if(trace, **changes).times["predicted_ns"]
        return int(predicted)

    assert end() == end(kernels={"c": 2}) == end(ops={"MatMul": 0.1}) == 340
    assert end(kernels={"d": 2}) == 370
    # The second kernel still follows the first, the third waits for it.
    late = what_if(trace, kernels={"a": 4})
    ends = (late.events["start_ns"] + late.events["duration_ns"])[late.events["kind"] == "kernel"]
    assert ends.tolist() == [210, 240, 270, 340]
    # With its launch an op is gone; without launches kernels run back to back.
    assert end(ops={"Add": 0}) < 310
    assert end(activities={"launch": 0}) < 340


def test_kernels_without_recorded_launches_do_not_wait() -> None:
    trace = _trace(
        start_ns=[0, 10, 300],
        duration_ns=[20, 50, 10],
        kind=["op", "kernel", "memset"],
        name=["a", "a", "Memset"],
        op=["MatMul", "MatMul", "Memset"],
        device=["/device:GPU:0"] * 3,
        lane=["ops", "stream:1", "stream:1"],
        scheduled_ns=[0, 5, None],
    )
    assert what_if(trace, activities={"launch": 0}).times["predicted_ns"].tolist() == [60]


def test_memsets_of_unknown_streams_wait_for_earlier_work() -> None:
    trace = _trace(
        start_ns=[0, 0, 300, 310],
        duration_ns=[300, 5, 5, 10],
        kind=["transfer", "memset", "memset", "kernel"],
        name=["x", "Memset", "Memset", "x"],
        op=["RecvTensor", "Memset", "Memset", "MatMul"],
        device=["/device:GPU:0"] * 4,
        lane=["receive", "memset", "memset", "stream:1"],
    )
    assert what_if(trace, activities={"communication": 0}).times["predicted_ns"].item() < 50


def test_a_late_task_on_time_comes_with_the_last_of_the_others() -> None:
    trace = _late()
    found = what_if(trace, on_time=TASKS[2])
    assert found.times["predicted_ns"].tolist() == [40]
    by_label = what_if(trace, on_time="worker 2")
    assert by_label.times["predicted_ns"].tolist() == [40]
    assert by_label.metadata["prediction"]["name"].tolist() == [TASKS[2]]
    assert what_if(trace, on_time=TASKS[0]).times["saved_ns"].tolist() == [0]


def test_a_predicted_trace_is_a_trace() -> None:
    trace = real_trace(DATA / SAMPLES[0])
    found = trace.what_if(activities={"launch": 0.5})
    assert found.times["saved_share"].iloc[0] > 0.05
    assert int(found.critical_path["duration_ns"].sum()) == found.times["predicted_ns"].iloc[0]
    assert (found.breakdown["step"] == 0).all()
    names = [
        trace.events["name"].take(found.rows[ends]) for ends in found.edges[["source", "target"]].to_numpy().T
    ]
    assert set(zip(*names, strict=True)) <= {
        (trace.events["name"][source], trace.events["name"][target])
        for source, target in trace.edges[["source", "target"]].to_numpy()
    }
    assert "<img" in found._repr_html_()


def test_layers_and_lines() -> None:
    builder = StackBuilder()
    stack = builder.stack([Frame("/home/me/train.py", 12, "step", "y = x @ w")])
    columns = {"start_ns": [0, 50], "duration_ns": [50, 30], "name": ["net/fc/MatMul", "net/out/Add"]}
    table = events.build({**columns, "kind": ["op"] * 2, "lane": ["ops"] * 2, "op": ["MatMul", "Add"]})
    nested = pa.table({"stack": pa.array([stack, None], pa.int32())})
    trace = Trace(table, nested=nested, stacks=builder.table())
    changes: list[dict[str, Any]] = [{"lines": {"train.py:12": 2}}, {"layers": {"net/fc": 2}}]
    for change in [*changes, {"layers": {"net/f*": 2}}, {"ops": {"MatMul": 2}}]:
        assert what_if(trace, **change).times["saved_ns"].tolist() == [-50]
    assert what_if(trace, layers={"net": 0.5}).times["predicted_ns"].tolist() == [40]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ops": {"Conv2D": 2}}, "nothing_to_change"),
        ({"lines": {"train.py:1": 2}}, "nothing_to_change"),
        ({"ops": {"MatMul": -1}}, "not_a_change"),
        ({"ops": {"MatMul": float("nan")}}, "not_a_change"),
        ({"ops": {"MatMul": "fast"}}, "not_a_change"),
        ({"activities": {"communication": "gpu"}}, "nothing_on_cpu"),
        ({"ops": {"MatMul": None}}, "not_a_change"),
        ({"ops": {"MatMul": True}}, "not_a_change"),
        ({"ops": {"MatMul": 10**17}}, "predicted_too_long"),
        ({"ops": {"MatMul": 1e300}}, "predicted_too_long"),
        ({"ops": {"MatMul": 10**400}}, "predicted_too_long"),
        ({"ops": {12: 2}}, "nothing_to_change"),
        ({"activities": {"sleep": 2}}, "no_such_activity"),
        ({"on_time": "worker:2"}, "no_such_task"),
        ({"on_time": 2}, "no_such_task"),
    ],
)
def test_what_cannot_be_predicted_has_a_reason(change: dict[str, Any], reason: str) -> None:
    with raises_id(ValueError, reason):
        what_if(_late(), **change)


@pytest.mark.parametrize("given", ["MatMul", ["MatMul"], ("MatMul", 0.5)])
def test_changes_are_a_mapping(given: Any) -> None:
    with raises_id(TypeError, "no_changes", subject="ops"):
        what_if(_late(), ops=given)


def test_errors_name_what_may_have_been_meant() -> None:
    for subject, name, meant in (("ops", "Matmul", "MatMul"), ("activities", "lunch", "launch")):
        with pytest.raises(ValueError, match=r".") as raised:
            _launched().what_if(**{subject: {name: 2}})  # type: ignore[arg-type]
        assert repr(meant) in raised.value.args[0].figures["hint"]
    with raises_id(ValueError, "no_such_task") as refused:
        what_if(_late(), on_time="worker:2")
    assert text_of(refused.value).figures["known"] == "; there is 'worker 0', 'worker 1', 'worker 2'"
    with raises_id(ValueError, "no_such_task", task="worker 9", known="; there is 'local'"):
        what_if(_launched(), on_time="worker 9")
    with raises_id(ValueError, "not_at_barriers", task="local"):
        what_if(_launched(), on_time="local")


def test_the_factor_of_an_op_leaves_its_launches() -> None:
    kinds = {}
    for factor in (0.5, 0):
        events = what_if(_launched(), ops={"Add": factor}).events
        kinds[factor] = events.loc[events["op"] == "Add"].set_index("kind")["duration_ns"].to_dict()
    assert kinds == {0.5: {"op": 20, "kernel": 15}, 0: {"op": 0, "kernel": 0}}


def test_a_trace_without_steps_cannot_be_replayed() -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        what_if(_trace(start_ns=[0], duration_ns=[5], step=[-1]))
    assert raised.value.args[0].id == "no_steps"
    empty = Trace(events.build({}, rows=0))
    assert len(replay(empty, no_change(empty)).start) == 0
