"""Findings of steps and loops that wait for Python's interpreter lock, which another thread holds."""

from typing import Any

import pandas as pd
import pytest

from tfvis_nb import Trace, events
from tfvis_nb.analysis import source_lines
from tfvis_nb.core.metadata import PROFILES, PYTHON_SAMPLES, THREAD_SAMPLES, table_of

MS = 1_000_000
PIPELINE = "tf_data_private_threadpool/1"
STEPS = 10


def loop(
    *,
    in_step_ms: float = 0,
    between_ms: float = 0,
    python_ms: float = 0,
    input_ms: float = 0,
    samples: tuple[dict[str, Any], ...] = (),
    calls: tuple[str, ...] = ("EagerPyFunc",),
    is_function: bool = False,
    late_ms: float = 0,
) -> Trace:
    """Return steps of 10 ms of work, each with waits in calls of TensorFlow, or of a tf.function.

    Step 6 has `late_ms` more work.

    Between them are a call that waits, Python of the loop, and a wait for input. The pipeline calls Python
    all the time, and its threads are sampled once in each wait.
    """
    rows: list[tuple[str, str, str, float, float, int]] = []
    times, at = [], 0.0
    for step in range(STEPS):
        works = 10 + late_ms * (step == 6)
        length = works + in_step_ms
        if is_function:
            rows.append(("train", "host", "python", at, length, step))
        rows += [
            ("TFE_Py_Execute", "host", "python", at, works if is_function else length, step),
            ("FunctionRun", "host", "python", at + 0.01, works - 0.01, step),
            ("MatMul", "op", "tf_Compute/1", at + 0.02, works - 0.03, step),
        ]
        times.append(at + works + in_step_ms / 2)
        at += length
        rows.append(("TFE_Py_FastPathExecute_C", "host", "python", at, between_ms + 0.05 + input_ms, -1))
        rows.append(("IteratorGetNext", "op", "python", at + 0.02, input_ms + 0.01, -1))
        times.append(at + input_ms + between_ms / 2)
        at += between_ms + input_ms + 0.05 + python_ms
    rows += [(op, "op", PIPELINE, 0.0, at, -1) for op in calls]
    rows.sort(key=lambda row: (row[3], -row[4]))
    op, kind, lane, start, took, number = map(list, zip(*rows, strict=True))
    columns = {
        "op": op,
        "name": op,
        "kind": kind,
        "lane": lane,
        "start_ns": [int(ms * MS) for ms in start],
        "duration_ns": [int(ms * MS) for ms in took],
        "step": number,
        "device": ["/device:CPU:0"] * len(op),
        "detail": ["tf_function_call=notTraced-nonXla" if name == "train" else "" for name in op],
    }
    sampled = [{"time_ns": int(time * MS), "file": "data.py", **one} for time in times for one in samples]
    main = [{"time_ns": int(time * MS), "file": "train.py", "line": 3, "function": "run"} for time in times]
    metadata = {
        PROFILES: table_of(PROFILES, [{"host_tracer_level": 2}]),
        PYTHON_SAMPLES: table_of(PYTHON_SAMPLES, main),
        THREAD_SAMPLES: table_of(THREAD_SAMPLES, sampled),
    }
    return Trace(events.order(events.build(columns))[0], metadata=metadata)


RUNS = {"line": 7, "function": "parse", "called": 1, "running": 1}
SLEEPS = {"line": 30, "function": "fetch", "called": 1, "running": 0}
OWN_THREAD = {"line": 50, "function": "watch", "called": 0, "running": 1}


def found(trace: Trace, key: str) -> dict[str, Any]:
    table = trace.findings
    (row,) = table[table["id"] == key].to_dict("records")
    return {str(name): value for name, value in row.items()}


def test_waits_for_the_lock_in_steps_are_waits_for_input() -> None:
    trace = loop(in_step_ms=5, samples=(RUNS,))
    first = trace.findings.iloc[0]
    assert (first["id"], first["level"]) == ("input_bound.all", "problem")
    assert first["share"] == pytest.approx(5 / 15, rel=0.01)
    assert first["figures"]["lock"]["python"]["line"] == "data.py:7"
    assert "data.py:7" in first["text"]
    assert "num_parallel_calls does not help" in first["advice"]
    assert trace.overview["headline"].startswith("Waiting for input takes 33.")


def test_waits_for_the_lock_between_steps_are_waits_for_input() -> None:
    trace = loop(between_ms=5, input_ms=1, samples=(RUNS,))
    first = trace.findings.iloc[0]
    assert (first["id"], first["level"]) == ("between_steps", "problem")
    assert first["figures"]["lock"]["of_input"]
    assert first["lost_ns"] == pytest.approx(9 * 6 * MS, rel=0.01)
    assert "data.py:7" in first["text"]
    assert "train.py:3" not in first["text"] + first["how"]
    assert "num_parallel_calls does not help" in first["advice"]


def test_line_is_that_of_the_thread_that_runs() -> None:
    """A second function of the pipeline sleeps in each of three threads."""
    trace = loop(in_step_ms=5, samples=(SLEEPS, SLEEPS, SLEEPS, RUNS))
    assert found(trace, "input_bound.all")["figures"]["lock"]["python"]["line"] == "data.py:7"


def test_python_of_the_loop_is_named_beside_the_pipelines() -> None:
    trace = loop(python_ms=15, between_ms=1, samples=(RUNS,))
    first = trace.findings.iloc[0]
    assert (first["id"], first["figures"]["line"]) == ("between_steps", "train.py:3")
    assert first["lost_ns"] == pytest.approx(9 * 16 * MS, rel=0.01)


def test_function_that_releases_the_lock_is_not_blamed() -> None:
    trace = loop(input_ms=5, samples=(SLEEPS,))
    first = trace.findings.iloc[0]
    assert (first["id"], first["figures"]["lock"]) == ("between_steps", None)
    assert first["lost_ns"] == pytest.approx(9 * 5 * MS, rel=0.01)


@pytest.mark.parametrize("is_function", [False, True])
def test_lines_and_findings_agree_on_waits_for_the_lock(is_function: bool) -> None:
    trace = loop(in_step_ms=8, between_ms=5, samples=(RUNS,), is_function=is_function)
    assert trace.findings.iloc[0]["figures"]["lock"]["python"]["line"] == "data.py:7"
    table = source_lines(trace)
    assert table["file"][table["line"].notna()].tolist() == ["data.py"]
    waiting = table.set_index("reason")["host_ns"]["waiting"]
    assert waiting == pytest.approx(STEPS * (10 + 8 + 5) * MS, rel=0.01)
    assert [line["file"] for line in trace.overview["top_lines"]] == ["data.py"]


def test_line_of_the_loop_is_not_blamed_for_its_waits() -> None:
    """Each pause has 6 ms of Python without a sample, and 5 ms for the lock and for input."""
    trace = loop(in_step_ms=1, python_ms=6, between_ms=2, input_ms=3, samples=(RUNS,))
    figures = found(trace, "between_steps")["figures"]
    assert (figures["line"], figures["samples"]) == ("", 0)


def test_end_of_an_iterator_is_no_time_of_a_line() -> None:
    columns = {"op": ["TFE_Py_Execute", "TFE_DeleteTensorHandle"], "start_ns": [0, 10 * MS]}
    columns |= {"duration_ns": [10 * MS, 200 * MS], "kind": ["host"] * 2, "lane": ["python"] * 2}
    looks = [{"time_ns": ms * MS, "file": "train.py", "line": 3, "function": "run"} for ms in (60, 160)]
    trace = Trace(events.build(columns), metadata={PYTHON_SAMPLES: table_of(PYTHON_SAMPLES, looks)})
    assert trace.overview["top_lines"] == []


def test_waits_without_other_python_are_not_for_the_lock() -> None:
    table = loop(in_step_ms=5, calls=("DecodeJpeg",)).findings
    assert "input_bound.all" not in set(table["id"])
    assert not any("lock" in text for text in table["text"] + table["advice"])


def test_thread_of_the_program_that_holds_the_lock_is_named() -> None:
    first = loop(in_step_ms=5, samples=(OWN_THREAD,), calls=()).findings.iloc[0]
    assert (first["id"], first["level"], first["figures"]["kind"]) == ("host_compute", "problem", "lock")
    assert first["share"] == pytest.approx(5 / 15, rel=0.01)
    assert "data.py:50" in first["text"]
    paused = loop(between_ms=5, samples=(OWN_THREAD,), calls=()).findings.iloc[0]
    assert (paused["id"], paused["level"]) == ("between_steps", "problem")
    assert "data.py:50" in paused["text"]


def test_eager_ops_are_not_blamed_for_waiting() -> None:
    waiting, calling = (eager(wait) for wait in (0.9, 0.0))
    assert waiting.findings.iloc[0]["id"] == "input_bound.all"
    assert calling.findings.iloc[0]["figures"]["kind"] == "eager"


def eager(wait_ms: float) -> Trace:
    """Return steps of 40 eager ops, whose calls take 1 ms, with a wait for the lock in each."""
    rows = [
        (op, kind, lane, 50 * step + number + start, took, step, detail)
        for step in range(3)
        for number in range(40)
        for op, kind, lane, start, took, detail in (
            ("TFE_Py_Execute", "host", "python", 0.0, 1.0 if wait_ms else 0.05, ""),
            ("Mul", "op", "python", 0.01, 0.03, "EagerLocalExecute: Mul"),
            ("train", "host", "loop", 0.0, 1.0, ""),
        )
    ]
    rows.append(("EagerPyFunc", "op", PIPELINE, 0.0, 150.0, -1, ""))
    rows.sort(key=lambda row: (row[3], -row[4]))
    op, kind, lane, start, took, step, detail = map(list, zip(*rows, strict=True))
    columns = {"op": op, "name": op, "kind": kind, "lane": lane, "step": step, "detail": detail}
    columns |= {"start_ns": [int(ms * MS) for ms in start], "duration_ns": [int(ms * MS) for ms in took]}
    return Trace(events.order(events.build(columns | {"device": ["/device:CPU:0"] * len(op)}))[0])


def test_periodic_steps_are_explained_by_the_lock() -> None:
    """Every second step waits for the lock; without Python in the pipeline these steps have a period."""
    times = {step: 12 * (step % 2) for step in range(20)}
    kinds = {op: set(uneven(times, op).findings["id"]) for op in ("EagerPyFunc", "DecodeJpeg")}
    assert "slow_steps.periodic" in kinds["DecodeJpeg"]
    assert not any(key.startswith("slow_steps") for key in kinds["EagerPyFunc"])


def uneven(waits_ms: dict[int, int], call: str) -> Trace:
    rows, at = [], 0
    for step, wait in waits_ms.items():
        rows.append(("TFE_Py_Execute", "host", "python", at, 10 + wait, step))
        rows.append(("MatMul", "op", "python", at, 10, step))
        at += 10 + wait
    rows.append((call, "op", PIPELINE, 0, at, -1))
    rows.sort(key=lambda row: (row[3], -row[4]))
    op, kind, lane, start, took, number = map(list, zip(*rows, strict=True))
    columns = {"op": op, "name": op, "kind": kind, "lane": lane, "step": number}
    columns |= {"start_ns": [ms * MS for ms in start], "duration_ns": [ms * MS for ms in took]}
    return Trace(events.order(events.build(columns | {"device": ["/device:CPU:0"] * len(op)}))[0])


@pytest.mark.parametrize(("count", "text"), [(1, "the only sample"), (9, "9 of 9 samples"), (30, "100 %")])
def test_share_of_few_samples_is_a_count(count: int, text: str) -> None:
    trace = loop(python_ms=15)
    samples = trace.metadata[PYTHON_SAMPLES]
    between = samples[samples.index % 2 == 1].head(1)
    repeated = pd.concat([between] * count, ignore_index=True)
    trace.metadata[PYTHON_SAMPLES] = repeated.assign(time_ns=repeated["time_ns"] + 2 * MS)
    first = trace.findings.iloc[0]
    assert first["figures"]["samples"] == count
    assert f"train.py:3 in run runs in {text}" in first["text"]


@pytest.mark.parametrize(
    ("in_step_ms", "sample", "of_input", "advised"),
    [
        (8, OWN_THREAD, False, "data.py:50, can be"),
        (8, RUNS, True, "input pipeline"),
        (1, RUNS, None, "other programs"),
    ],
)
def test_lock_can_be_the_cause_of_a_slow_step(
    in_step_ms: float, sample: dict[str, Any], *, of_input: bool | None, advised: str
) -> None:
    trace = loop(in_step_ms=in_step_ms, samples=(sample,), late_ms=40)
    slow = found(trace, "slow_steps.longer")
    lock = slow["figures"]["lock"]
    assert (lock and lock["of_input"]) == of_input
    assert advised in slow["advice"]
    assert ("other programs" in slow["advice"]) == (lock is None)


@pytest.mark.parametrize(("among", "named"), [(1, True), (5, False)])
def test_thread_of_most_samples_may_hold_the_lock(among: int, *, named: bool) -> None:
    """Its turns are too short to be waits. Loops of JAX and of sessions do not show waits at all."""
    slow = loop(late_ms=40, samples=(OWN_THREAD,), calls=())
    paused = loop(python_ms=15, samples=(OWN_THREAD,), calls=())
    for trace in (slow, paused):
        trace.metadata[THREAD_SAMPLES] = trace.metadata[THREAD_SAMPLES].iloc[::among]
    advice = found(slow, "slow_steps.longer")["advice"]
    assert ("data.py:50, can be" in advice, "other programs" in advice) == (named, not named)
    assert ("data.py:50, runs" in found(paused, "between_steps")["how"]) == named
