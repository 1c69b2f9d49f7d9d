"""Predictions for Python that only samples show, and for the time between the steps."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.support.made_steps import built
from tests.support.texts import raises_id
from tfvis_nb import Trace
from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, THREAD_SAMPLES, table_of
from tfvis_nb.core.stacks import STACK, Frame, StackBuilder
from tfvis_nb.display.tabs import tab
from tfvis_nb.display.tabs.what_if import outcome

MS = 1_000_000
STEPS = 10


def _row(op: str, start: float, end: float, step: int, **more: Any) -> dict[str, Any]:
    """A row of the thread that calls TensorFlow; times in ms."""
    times = {"start_ns": round(start * MS), "duration_ns": round((end - start) * MS)}
    return {"kind": "host", "lane": "python", "name": op, "op": op, "step": step} | times | more


def _sampled(times: Sequence[tuple[float, int]], subject: str = PYTHON_SAMPLES) -> pd.DataFrame:
    rows = [{"time_ns": round(time * MS), "file": "/home/me/train.py", "line": line} for time, line in times]
    return table_of(subject, rows)


def _loop(pauses: list[float], lines: tuple[int, ...] = (7,), *, work: float = 10) -> Trace:
    """Calls of 10 ms with pauses in which lines take turns; samples are 4 ms apart."""
    rows, samples, at = [], [], 0.0
    for step, pause in enumerate(pauses):
        rows.append(_row("TFE_Py_Execute", at, at + work, step))
        at += work
        samples += [
            (at + moment + 0.5, lines[moment // 4 % len(lines)]) for moment in range(0, int(pause), 4)
        ]
        at += pause
    trace = built([*rows, _row("TFE_Py_Execute", at, at + work, len(pauses))])
    return Trace(trace.events, metadata={PYTHON_SAMPLES: _sampled(samples)})


def _rounds(trace: Trace, **changes: Any) -> list[float]:
    """Return the predicted rounds in ms."""
    times = trace.what_if(**changes).times
    return [float(round_ns) / MS for round_ns in times["predicted_loop_ns"].dropna()]


@pytest.mark.parametrize("factor", [0, 0.5, 1, 2])
def test_time_between_steps_takes_a_factor(factor: float) -> None:
    trace = _loop([30] * STEPS)
    assert _rounds(trace, between_steps=factor) == pytest.approx([10 + 30 * factor] * STEPS)
    found = trace.what_if(between_steps=factor)
    assert (found.times["predicted_ns"] == 10 * MS).all()
    assert found.typical_loop is not None
    low, high = found.typical_loop.low_ns, found.typical_loop.high_ns
    assert low <= found.typical_loop.predicted_ns == pytest.approx(high)


@pytest.mark.parametrize(("lines", "left"), [((7,), 10), ((7, 8), 26), ((8,), 42)])
@pytest.mark.parametrize("name", ["train.py:7", "/home/me/train.py:7", "train.py:7*"])
def test_a_sampled_line_takes_its_part_of_the_time_between_steps(
    lines: tuple[int, ...], left: float, name: str
) -> None:
    trace = _loop([32] * STEPS, lines)
    if 7 in lines:
        assert _rounds(trace, lines={name: 0})[1:-1] == pytest.approx([left] * (STEPS - 2), rel=0.05)
    else:
        with raises_id(ValueError, "nothing_to_change"):
            trace.what_if(lines={name: 0})


def test_end_of_an_iterator_goes_with_its_line() -> None:
    rows, looks = [], []
    for step in range(STEPS):
        at = 30 * step
        rows.append(_row("TFE_Py_Execute", at, at + 10, step))
        rows.append(_row("TFE_DeleteIterator", at + 10, at + 30, step))
        looks += [(at + 15, 7), (at + 20, 7), (at + 25, 7)]
    trace = Trace(built(rows).events, metadata={PYTHON_SAMPLES: _sampled(looks)})
    assert (trace.what_if(lines={"train.py:7": 0}).times["predicted_ns"] == 10 * MS).all()


def test_pauses_without_enough_samples_share_them() -> None:
    """Half of the pauses have a sample."""
    trace = _loop([6] * STEPS)
    samples = trace.metadata[PYTHON_SAMPLES].iloc[::2]
    assert _rounds(Trace(trace.events, metadata={PYTHON_SAMPLES: samples}), lines={"train.py:7": 0}) == (
        pytest.approx([10] * STEPS)
    )


def test_periodic_line_is_removed_from_its_steps() -> None:
    trace = _loop([40 if step % 5 == 4 else 1 for step in range(STEPS)])
    late = trace.metadata[PYTHON_SAMPLES].query("time_ns > 0")
    quick = late["time_ns"].map(lambda time: not (trace.steps["end_ns"] == time - MS // 2).any())
    samples = late.assign(line=late["line"].where(quick, 8))
    rounds = _rounds(Trace(trace.events, metadata={PYTHON_SAMPLES: samples}), lines={"train.py:7": 0})
    assert rounds[:4] == pytest.approx([11] * 4)
    assert rounds[4] == pytest.approx(14, abs=2)
    mean = trace.what_if(between_steps=0).typical_loop
    assert mean is not None
    assert mean.recorded_ns == pytest.approx(18.8 * MS)


@pytest.mark.parametrize(("late", "left"), [(1, 12), (7, 41)])
def test_a_line_that_collects_garbage_has_the_whole_collection(late: int, left: float) -> None:
    """The recorder looks after the collection, and sees the next line now and then."""
    rows, samples, collections = [], [], []
    for step in range(STEPS):
        at = 50 * step
        rows.append(_row("TFE_Py_Execute", at, at + 10, step))
        samples.append((at + 20, 8 if step < late else 7))
        collections.append({"task": "", "time_ns": (at + 11) * MS, "duration_ns": 38 * MS, "generation": 2})
    trace = built(rows)
    trace.metadata[PYTHON_SAMPLES] = _sampled(samples)
    trace.metadata[GC_PAUSES] = table_of(GC_PAUSES, collections)
    assert _rounds(trace, lines={"train.py:7": 0}) == pytest.approx([left] * (STEPS - 1), rel=0.05)


def test_the_range_of_rounds_starts_without_a_slow_round() -> None:
    trace = _loop([100, *[30] * (STEPS - 1)])
    found = trace.what_if(between_steps=0.5).typical_loop
    assert found is not None
    assert found.low_ns == pytest.approx(25 * MS)
    assert found.high_ns == pytest.approx(42.5 * MS)


def test_steps_wait_for_the_input_that_pauses_covered() -> None:
    """A thread takes 20 ms an element, and then waits for 5 ms of a pause of 15 ms."""
    rows, samples = [], []
    for step in range(STEPS):
        at = 25 * step
        rows += [
            _row("TFE_Py_Execute", at, at + 10, step, consumed=step),
            _row("ParallelMapProduce", at - 33, at - 13, -1, lane="tf_data_map/1", produced=step),
        ]
        samples += [(at + moment, 7) for moment in (11, 15, 19, 23)]
    trace = built(rows)
    trace.metadata[PYTHON_SAMPLES] = _sampled(samples)
    for changes in ({"between_steps": 0}, {"lines": {"train.py:7": 0}}):
        assert _rounds(trace, **changes)[1:] == pytest.approx([20] * (STEPS - 2), abs=1)


@pytest.mark.parametrize(("line", "kept_ms"), [(7, 12), (3, 2)])
def test_free_input_keeps_callbacks(line: int, kept_ms: int) -> None:
    """Python of the pipeline runs all the time; a callback of a step takes as long without it.

    Without samples of another line than the call of the steps, the same time is a wait for the lock.
    """
    rows, samples = [_row("EagerPyFunc", 0, 30 * STEPS, -1, lane="tf_data_private_threadpool/1")], []
    for step in range(STEPS):
        at = 30 * step
        rows += [
            _row("train", at, at + 26, step),
            _row("TFE_Py_Execute", at, at + 14, step),
            _row("IteratorGetNextOp::DoCompute", at, at + 14, step),
        ]
        samples += [(at + moment, 3) for moment in (2, 5, 8, 11)] + [(at + 20, line)]
    labels = {step: f"train {step}" for step in range(STEPS)}
    trace = Trace(built(rows).events, step_labels=labels, metadata={PYTHON_SAMPLES: _sampled(samples)})
    found = trace.what_if(activities={"input": 0})
    assert found.times["predicted_ns"].tolist() == [kept_ms * MS] * STEPS


def test_a_line_of_a_function_takes_its_part_of_the_call() -> None:
    """Of a py_function of 8 ms in the step, 6 ms are those of a line."""
    rows, main, called = [], [], []
    for step in range(STEPS):
        at = 10 * step
        rows += [
            _row("TFE_Py_Execute", at, at + 10, step),
            _row("FunctionRun", at + 0.5, at + 9.5, step, produced=step),
            _row("ExecutorState::Process", at + 1, at + 9.2, step, lane="tf_Compute/1", consumed=step),
            _row("EagerPyFunc", at + 1, at + 9, step, lane="tf_Compute/1", kind="op"),
        ]
        main += [(at + moment, 3) for moment in (2, 4, 6, 8)]
        called += [(at + moment, line) for moment, line in ((2, 21), (4, 21), (6, 21), (8, 22))]
    trace = built(rows)
    trace.metadata[PYTHON_SAMPLES] = _sampled(main)
    trace.metadata[THREAD_SAMPLES] = _sampled(called, THREAD_SAMPLES)
    found = trace.what_if(lines={"train.py:21": 0})
    assert found.times["predicted_ns"].tolist() == pytest.approx([4 * MS] * STEPS, rel=0.25)
    both = trace.what_if(lines={"train.py:21": 0, "train.py:22": 0})
    assert both.times["predicted_ns"].tolist() == pytest.approx([2 * MS] * STEPS, rel=0.05)
    assert found.typical.low_ns <= found.typical.predicted_ns <= found.typical.high_ns


def test_waiting_line_has_no_time_of_the_generator() -> None:
    """Line 3 makes the op that runs line 21, which takes 18 of 20 ms for an element, and two other ops."""
    rows, main, called = [], [], []
    for step in range(STEPS):
        at = 20 * step
        rows += [
            _row("ParallelMapProduce", at - 21, at - 1, -1, lane="tf_data_map/1", produced=step),
            _row("GeneratorDataset", at - 20.8, at - 20.4, -1, lane="tf_data_map/1"),
            _row("PyFunc", at - 20, at - 2, -1, lane="tf_data_map/1"),
            _row("TFE_Py_Execute", at, at + 10, step, consumed=step),
            _row("MatMul", at + 4, at + 6, step, kind="op"),
        ]
        main += [(at + moment, 3) for moment in (1, 3, 7, 9)]
        called += [(at - 18 + moment, 21) for moment in range(0, 16, 4)]
    trace = built(rows)
    builder = StackBuilder()
    number = builder.stack([Frame("/home/me/train.py", 3)])  # noqa: PD013  # not of pandas
    made = ("GeneratorDataset", "PyFunc", "MatMul")
    stacks = [number if op in made else None for op in trace.events["op"]]
    assert trace.nested is not None
    nested = trace.nested.append_column(STACK, pa.array(stacks, pa.int32()))
    samples = {PYTHON_SAMPLES: _sampled(main), THREAD_SAMPLES: _sampled(called, THREAD_SAMPLES)}
    trace = Trace(trace.events, nested=nested, stacks=builder.table(), metadata=samples)
    for line, factor, left in ((3, 0.5, 19.8), (3, 0, 19.6), (21, 0.5, 11)):
        rounds = _rounds(trace, lines={f"train.py:{line}": factor})
        assert rounds[1:] == pytest.approx([left] * (STEPS - 2))
    choices = {choice["subject"]: choice for choice in tab(trace, "What if")["blocks"][0]["choices"]}
    assert [name.rpartition(":")[2] for name, _ in choices["lines"]["names"]] == ["21", "3"]


def test_lines_known_from_samples_alone_take_a_factor_only() -> None:
    for how in ("hidden", "gpu"):
        with raises_id(ValueError, "only_sampled"):
            _loop([30] * STEPS).what_if(lines={"train.py:7": how})


@pytest.mark.parametrize("given", ["hidden", -1, True])
def test_time_between_steps_takes_a_factor_only(given: Any) -> None:
    with raises_id(ValueError, "not_a_change"):
        _loop([30] * STEPS).what_if(between_steps=given)


def test_steps_recorded_one_by_one_have_no_rounds() -> None:
    trace = Trace(_loop([30] * STEPS).events)
    assert trace.what_if(lines=None).typical_loop is None
    with raises_id(ValueError, "no_time_between_steps"):
        trace.what_if(between_steps=0)


def test_the_tab_predicts_rounds_of_sampled_lines_and_pauses() -> None:
    trace = _loop([32] * STEPS)
    choices = {choice["subject"]: choice for choice in tab(trace, "What if")["blocks"][0]["choices"]}
    assert choices["lines"]["names"][0][0] == "/home/me/train.py:7"
    assert choices["between_steps"]["how"] == []
    for subject in ("lines", "between_steps"):
        ((name, _), *_) = choices[subject]["names"]
        shown: Any = outcome(trace, {"subject": subject, "name": name, "how": 0})
        loop = shown["loop"]
        assert (loop["recorded_ns"], loop["predicted_ns"]) == (42 * MS, pytest.approx(10 * MS))
        assert loop["range"] == pytest.approx([8.4 * MS, 10 * MS])
