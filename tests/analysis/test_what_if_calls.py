"""Predictions for profiles, in which a Python call waits for work on other threads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.made_steps import built, op
from tfvis_nb import Trace
from tfvis_nb.analysis import what_if


def _row(
    op: str, start: int, end: int, lane: str = "python", kind: str = "host", **more: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "lane": lane,
        "name": op,
        "op": op,
        "start_ns": start,
        "duration_ns": end - start,
        **more,
    }


def _call(matmul: int, tail: int, late: int) -> Trace:
    """A call that returns `tail` after its op, whose thread goes on for `late` after the return."""
    done = 12 + matmul
    return built(
        [
            _row("FunctionRun", 0, done + tail, produced=1),
            _row("ExecutorState::Process", 10, done + tail + late, "tf_Compute/1", consumed=1),
            _row("MatMul", 12, done, "tf_Compute/1", "op"),
        ]
    )


@given(st.integers(1, 1000), st.integers(1, 100), st.integers(-1, 100), st.sampled_from([0, 0.5, 1, 3]))
def test_calls_wait_for_ops_within_threads_that_go_on(
    matmul: int, tail: int, late: int, factor: float
) -> None:
    found = what_if(_call(matmul, tail, late), ops={"MatMul": factor})
    (call,) = found.events.loc[found.events["op"] == "FunctionRun", "duration_ns"]
    assert call == round(12 + factor * matmul + tail)
    assert found.drift == 0


def test_calls_do_not_wait_for_work_after_their_return() -> None:
    trace = built(
        [
            _row("Run", 0, 50),
            _row("FunctionRun", 5, 15, produced=1),
            _row("ExecutorState::Process", 20, 200, "tf_Compute/1", consumed=1),
            _row("Add", 22, 40, "tf_Compute/1", "op"),
            _row("MatMul", 45, 190, "tf_Compute/1", "op"),
        ]
    )
    for name, duration in (("MatMul", 50), ("Add", 32)):
        found = what_if(trace, ops={name: 0})
        assert found.events.loc[found.events["op"] == "Run", "duration_ns"].tolist() == [duration]


@given(st.integers(1, 1000), st.integers(1, 1000), st.sampled_from([0, 0.5, 1]))
def test_calls_wait_for_the_work_of_all_their_threads(shorter: int, more: int, factor: float) -> None:
    """The thread that ends first ends last, once the op of the other one is gone."""
    end = 12 + shorter + more
    trace = built(
        [
            _row("Run", 0, end + 20),
            _row("FunctionRun", 5, 8, produced=1),
            _row("ExecutorState::Process", 10, end + 2, "tf_Compute/1", consumed=1),
            _row("EncodePng", 12, end, "tf_Compute/1", "op"),
            _row("ExecutorState::Process", 10, 12 + shorter, "tf_Compute/2", consumed=1),
            _row("Mean", 12, 12 + shorter, "tf_Compute/2", "op"),
        ]
    )
    found = what_if(trace, ops={"EncodePng": factor})
    ends = max(12 + factor * (shorter + more) + 2, 12 + shorter) + 18
    assert found.events.set_index("op")["duration_ns"]["Run"] == pytest.approx(ends, abs=1)
    assert found.drift == 0


@given(st.integers(1, 1000), st.integers(0, 1000), st.sampled_from([0, 0.5, 1]))
def test_a_call_that_returns_late_did_not_work(early: int, more: int, factor: float) -> None:
    """The thread that takes over the work also takes the processor of the one that hands it over."""
    end = 12 + early + more
    trace = built(
        [
            _row("Run", 0, end + 20),
            _row("FunctionRun", 5, 12 + early, produced=1),
            _row("ExecutorState::Process", 10, end + 5, "tf_Compute/1", consumed=1),
            _row("MatMul", 12, end, "tf_Compute/1", "op"),
        ]
    )
    found = what_if(trace, ops={"MatMul": factor})
    durations = found.events.set_index("op")["duration_ns"]
    assert durations["Run"] == pytest.approx(12 + factor * (early + more) + 20, abs=1)
    assert durations["FunctionRun"] == pytest.approx(7 + factor * early, abs=1)


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_threads_that_start_during_an_op_follow_its_progress(early: int, more: int) -> None:
    """The second thread starts while the first one is in its op, which then ends the call."""
    start, end = 12 + early, 12 + early + more
    trace = built(
        [
            _row("Run", 0, end + 20),
            _row("FunctionRun", 5, 9, produced=1),
            _row("ExecutorState::Process", 10, end + 10, "tf_Compute/1", consumed=1),
            _row("PyFunc", 12, end, "tf_Compute/1", "op"),
            _row("ExecutorState::Process", start, start + 5, "tf_Compute/2", consumed=1),
        ]
    )
    found = what_if(trace, ops={"PyFunc": 0}).events
    (second,) = found.loc[found["lane"] == "tf_Compute/2", "start_ns"]
    assert second == 12


@pytest.mark.parametrize("inner", ["Iterator::FlatMap", "FunctionRun"])
@pytest.mark.parametrize(("steps", "late"), [(1, 0), (2, 0), (5, 0), (5, 900_000)])
def test_free_input_does_not_wait_for_the_pipeline(steps: int, late: int, inner: str) -> None:
    """The pipeline keeps its pace, and ends an element right before a step asks for the next.

    The iterator's thread has no step, and wakes up late where other threads keep the processors.
    """
    period, rows = 2_000_000, []
    for step in range(steps):
        at = step * period
        inside: dict[str, Any] = {"step": step}
        outside: dict[str, Any] = {"step": -1}
        rows += [
            _row("train", at, at + 1_600_000, **inside),
            _row("FunctionRun", at + 50_000, at + 100_000, produced=2 * step, **inside),
            _row(
                "ExecutorState::Process",
                at + 60_000,
                at + 90_000,
                "tf_Compute/1",
                consumed=2 * step,
                produced=2 * step + 1,
                **inside,
            ),
            _row("PrefetchProduce", at - 1_906_000, at + 94_000, "tf_data_iterator_resource/1", **outside),
            _row(inner, at - 1_905_000, at + 94_000, "tf_data_iterator_resource/1", **outside),
            _row(
                "IteratorGetNextOp::DoCompute",
                at + 95_000 + late,
                at + 1_500_000,
                "tf_data_iterator_get_next/1",
                **outside,
            ),
            _row(
                "ExecutorState::ProcessAsync::Done",
                at + 1_510_000,
                at + 1_520_000,
                "tf_data_iterator_get_next/1",
                consumed=2 * step + 1,
                **inside,
            ),
            _row("MatMul", at + 1_530_000, at + 1_580_000, "tf_Compute/1", "op", **inside),
        ]
    found = what_if(built(rows), activities={"input": 0})
    assert found.drift == 0
    # Late, it starts after the end of FunctionRun.
    assert found.times["predicted_ns"].tolist() == [200_000 if late else 190_000] * steps


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("prepares", [False, True])
def test_free_input_is_requested_by_its_step(busy: bool, prepares: bool) -> None:
    """The iterator's thread is busy until the next step asks for input, or Python prepares input."""
    period, rows = 10_000_000, []
    for step in range(3):
        at = step * period
        inside: dict[str, Any] = {"step": step}
        outside: dict[str, Any] = {"step": -1}
        rows += [
            _row("train", at, at + 9_900_000, **inside),
            _row("FunctionRun", at + 50_000, at + 9_800_000, produced=2 * step, **inside),
            _row("ExecutorState::Process", at + 60_000, at + 80_000, "tf_Compute/1", consumed=2 * step)
            | inside,
            _row("ExecutorState::ProcessAsync::Start", at + 65_000, at + 70_000, "tf_Compute/1")
            | {"produced": 2 * step + 1}
            | inside,
            _row("IteratorGetNextOp::DoCompute", at + 99_000, at + 9_500_000, "tf_data_iterator_get_next/1")
            | outside,
            _row(
                "ExecutorState::ProcessAsync::Done",
                at + 9_510_000,
                at + (period + 98_000 if busy else 9_520_000),
                "tf_data_iterator_get_next/1",
                consumed=2 * step + 1,
                **inside,
            ),
            _row("ExecutorState::Process", at + 9_590_000, at + 9_710_000, "tf_Compute/1", consumed=2 * step)
            | inside,
            _row("MatMul", at + 9_600_000, at + 9_700_000, "tf_Compute/1", "op", **inside),
        ]
        if prepares:
            rows.append(_row("resize", at - 9_000_000, at + 97_000, "python/Thread-2 (worker)", **outside))
    found = what_if(built(rows), activities={"input": 0})
    assert (found.times["predicted_ns"] < 1_000_000).all()


def test_jax_traces_until_the_new_program_runs() -> None:
    """Tracing has no event of its own: Python, and calls that become part of the program."""
    trace = built(
        [
            _row("PjitFunction", 0, 1000),
            _row("PjitFunction", 100, 200),
            _row("lower_sharding_computation", 300, 400),
            _row("backend_compile_and_load", 500, 800),
            _row("ExecuteReplicated.__call__", 850, 990),
            _row("CommonPjRtLoadedExecutable::Execute", 860, 980),
        ]
    )
    found = what_if(trace, activities={"compile": 0})
    assert found.times["predicted_ns"].tolist() == [140]
    assert trace.breakdown["compile_ns"].iloc[0] == 850


def test_steps_do_not_wait_for_removed_work() -> None:
    """The removed work came after work outside the step."""
    trace = built(
        [
            op("kept", 0, 10, op="Add", step=0),
            op("outside", 0, 60, op="Mul", step=-1),
            op("removed", 60, 30, "outside", op="MatMul", step=0),
        ]
    )
    found = what_if(trace, ops={"MatMul": 0})
    assert found.times["predicted_ns"].tolist() == found.steps["duration_ns"].tolist()[-1:] == [10]


@pytest.mark.parametrize("lane", ["tf_data_private_threadpool/1", "tf_Compute/2"])
@pytest.mark.parametrize("wait", [0, 5_000_000, 15_000_000])
def test_free_input_leaves_the_interpreter_to_the_steps(wait: int, lane: str) -> None:
    """A thread waits 5 ms at a time for the lock that Python of the pipeline holds."""
    rows = [
        _row("train", 0, 1_000_000 + wait, step=0),
        _row("IteratorGetNextOp::DoCompute", 200_000, 300_000, "tf_data_iterator_get_next/1", step=-1),
        _row("PyFunc", 0, 1_000_000 + wait, lane, "op", step=-1),
    ]
    found = what_if(built(rows), activities={"input": 0}).times
    is_pipeline = lane.startswith("tf_data")
    assert found["predicted_ns"].tolist() == [1_000_000 + wait * (not is_pipeline)]


@pytest.mark.parametrize("parsing", [True, False])
@pytest.mark.parametrize("beside", [True, False])
def test_free_input_removes_what_varies_beside_it(parsing: bool, beside: bool) -> None:
    """Python may hand over its lock after less than 5 ms: the quickest step waited least.

    Other work of the pipeline takes cores: a step waits for one in some steps, but not in the median one.
    """
    rows = []
    for step, wait in enumerate([2_000_000, 0, 700_000, 3_000_000, 1_000_000]):
        at = step * 10**7
        rows += [
            _row("train", at, at + 1_000_000 + wait, step=step),
            _row("IteratorGetNextOp::DoCompute", at, at + 1, "tf_data_iterator_get_next/1", step=-1),
            _row(
                "PyFunc" if parsing else "DecodeJpeg",
                at if beside else at + 5_000_000,
                at + 1_000_000 + wait if beside else at + 9_000_000,
                "tf_data_private_threadpool/1",
                "op",
                step=-1,
            ),
        ]
    found = what_if(built(rows), activities={"input": 0})
    recorded = found.times["recorded_ns"]
    most = 1_000_000 if parsing else recorded.median()
    assert (found.times["predicted_ns"] == (recorded.clip(upper=most) if beside else recorded)).all()
    if parsing and beside:
        # The wait is removed once.
        assert found.typical.low_ns == found.typical.high_ns == 1_000_000
    else:
        assert found.typical.high_ns == pytest.approx(recorded.quantile(0.9))


def test_waits_of_removed_input_take_no_core() -> None:
    rows = []
    for step, took in enumerate([2, 1, 1, 3, 1]):
        at = step * 10**7
        rows += [
            _row("train", at, at + took * 1_000_000, step=step),
            _row("IteratorGetNextOp::DoCompute", at, at + 1, "tf_data_iterator_get_next/1", step=-1),
            _row("Iterator::Prefetch", at + 1, at + 5_000_000, "tf_data_iterator_get_next/1", step=-1),
        ]
    times = what_if(built(rows), activities={"input": 0}).times
    assert (times["predicted_ns"] == times["recorded_ns"]).all()


@pytest.mark.parametrize(
    ("kept", "removed", "low"), [(6_000, 8_000, 4_400), (6_000, 500, 5_500), (400, 8_000, 100)]
)
def test_ranges_start_where_a_thread_has_its_caches_warm(kept: int, removed: int, low: int) -> None:
    """A thread gains no more than removed work took, than 1.6 ms in a step, and than three quarters."""
    rows = []
    for step in range(6):
        at, us = step * 10**8, 1000
        between = at + kept // 2 * us
        end = between + removed * us
        rows += [
            _row("Add", at, between, kind="op", step=step),
            _row("Svd", between, end, kind="op", step=step),
            _row("Mul", end, end + kept // 2 * us, kind="op", step=step),
        ]
    found = what_if(built(rows), ops={"Svd": 0}).typical
    assert found.predicted_ns == found.high_ns == kept * 1000
    assert found.low_ns == pytest.approx(low * 1000, rel=1e-3)
