"""The finding of a loop whose time lies between its steps."""

import pandas as pd
import pyarrow as pa
import pytest

from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare
from tfvis_nb.analysis.findings.measurements import measurements
from tfvis_nb.analysis.overview.headline import headline
from tfvis_nb.core import metadata
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.metadata import GC_PAUSES, PROFILES, PYTHON_SAMPLES, RETURNS
from tfvis_nb.core.prediction import BETWEEN
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.display.tabs import tab
from tfvis_nb.texts import Text

MS = 1_000_000
DAY = 86_400_000_000_000


def loop(
    pauses_ms: list[float],
    save_ms: float = 0,
    op: str = "MatMul",
    *,
    sampled: bool = True,
    recorded: bool = True,
    op_ms: int = 10,
    first_ms: int | None = None,
) -> Trace:
    """Steps of `op_ms`, or first `first_ms`, with pauses in which an op and the line ``train.py:7`` run."""
    rows, at, samples = [], 0, []
    for step, pause in enumerate(pauses_ms):
        took = op_ms if step or first_ms is None else first_ms
        rows.append((op, at, took * MS, step))
        at += took * MS
        if save_ms:
            rows.append(("SaveV2", at, int(save_ms * MS), -1))
        samples += [at + int(part * pause * MS) for part in (0.3, 0.6)] if pause >= 1 else []
        at += int(pause * MS)
    rows.append((op, at, op_ms * MS, len(pauses_ms)))
    names = ("op", "start_ns", "duration_ns", "step")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    more = {
        "kind": ["op"] * len(rows),
        "device": ["/device:CPU:0"] * len(rows),
        "lane": ["python"] * len(rows),
    }
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    stacks = [stack_of([Frame("train.py", 9 if name == "SaveV2" else 3)]) for name in columns["op"]]
    known: dict[str, pd.DataFrame] = {}
    if recorded:
        known[PROFILES] = metadata.table_of(PROFILES, [{"host_tracer_level": 2}])
    if sampled:
        lines = [{"time_ns": time, "file": "train.py", "line": 7, "function": "log"} for time in samples]
        known[PYTHON_SAMPLES] = metadata.table_of(PYTHON_SAMPLES, lines)
    return Trace(
        events.build(columns | more | {"name": columns["op"]}),
        nested=pa.table({"stack": pa.array(stacks, pa.int32())}),
        stacks=builder.table(),
        metadata=known,
    )


def test_first_pause_of_a_period_may_be_longest() -> None:
    pauses = [0.05 if step % 6 else 15 + step for step in range(24)]
    trace = loop([100, *pauses[1:]], op_ms=2)
    first = trace.findings.iloc[0]
    assert (first["id"], first["level"]) == ("between_steps", "problem")
    assert (first["figures"]["period"], first["figures"]["line"]) == (6, "train.py:7")


def test_the_tab_of_predictions_opens_with_the_advised_change() -> None:
    trace = loop([30] * 9)
    assert trace.findings["id"].iloc[0] == "between_steps"
    (choice, *_) = tab(trace, "What if")["blocks"][0]["choices"]
    assert (choice["subject"], choice["names"][0][0]) == (BETWEEN, BETWEEN)


def test_time_between_steps_is_a_problem_with_its_gain_and_line() -> None:
    trace = loop([30] * 9)
    first = trace.findings.iloc[0]
    share = 270 / 370
    assert (first["id"], first["level"], first["lost_ns"]) == ("between_steps", "problem", 270 * MS)
    assert first["gain"] == pytest.approx(share)
    assert "train.py:7 in log runs in 18 of 18 samples" in first["text"]
    assert "73.0 % of the loop" in trace.overview["headline"]
    assert trace.overview["outside"]["loop_share"] == pytest.approx(share)
    assert "Between steps" in str(trace.overview)


@pytest.mark.parametrize("first_ms", [400, 20_000])
def test_loop_leaves_out_first_step_that_is_set_apart(first_ms: int) -> None:
    trace = loop([30] * 9, first_ms=first_ms)
    first = trace.findings.iloc[0]
    share = 240 / 330
    assert (first["id"], first["level"], first["lost_ns"]) == ("between_steps", "problem", 240 * MS)
    assert first["figures"]["loop_share"] == first["gain"] == pytest.approx(share)
    outside = trace.overview["outside"]
    assert (outside["between_ns"], outside["pauses_ns"]) == (270 * MS, 240 * MS)
    assert outside["loop_share"] == pytest.approx(share)
    (repeated,) = (row for row in on_gpu(trace, 5).overview["devices"])
    assert repeated["loop_busy_share"] == pytest.approx(45 / 330)


def on_gpu(trace: Trace, kernel_ms: int, *, pause_kernel_ms: int = 0) -> Trace:
    """Add a kernel to each step, and one to each pause after a step."""
    steps = trace.steps[trace.steps["step"] >= 0]
    kernels = [(start, kernel_ms, step) for start, step in zip(steps["start_ns"], steps["step"], strict=True)]
    kernels += [(end, pause_kernel_ms, -1) for end in steps["end_ns"][:-1] if pause_kernel_ms]
    start, took, step = map(list, zip(*kernels, strict=True))
    added = {"start_ns": start, "duration_ns": [ms * MS for ms in took], "step": step}
    same = {"kind": "kernel", "device": "/device:GPU:0", "lane": "stream:1", "op": "MatMul", "name": "MatMul"}
    added |= {name: [value] * len(start) for name, value in same.items()}
    columns = {name: [*trace.events[name].astype(object), *more] for name, more in added.items()}
    return Trace(events.order(events.build(columns))[0], metadata=trace.metadata)


@pytest.mark.parametrize(("in_pause_ms", "busy"), [(0, 50 / 370), (3, 77 / 370)])
def test_busy_time_of_paused_loop_is_of_the_loop(in_pause_ms: int, busy: float) -> None:
    trace = on_gpu(loop([30] * 9), 5, pause_kernel_ms=in_pause_ms)
    (device,) = trace.overview["devices"]
    assert (device["busy_share"], device["loop_busy_share"]) == (0.5, pytest.approx(busy))
    assert trace.overview["headline"].endswith(f"; GPU busy {format_percent(busy)} of the loop.")
    assert f"50.0 % of step time, {format_percent(busy)} of the loop" in str(trace.overview)


def test_busy_time_is_of_the_loop_if_the_first_finding_is() -> None:
    trace = on_gpu(loop([3] * 9), 5)
    (device,) = trace.overview["devices"]
    assert device["loop_busy_share"] == pytest.approx(50 / 127)
    assert trace.findings["id"].iloc[0] == "between_steps"
    assert trace.overview["headline"].endswith(f"GPU busy {format_percent(50 / 127)} of the loop.")
    (unpaused,) = on_gpu(loop([0.1] * 9), 5).overview["devices"]
    assert unpaused["loop_busy_share"] is None


def after_setup(trace: Trace, setup_ms: int, line: int | None = None) -> Trace:
    """Add an op before the first step and a sample of Python in it."""
    took = setup_ms * MS
    columns = {name: trace.events[name].tolist() for name in ("start_ns", "duration_ns", "step", "op")}
    columns = {
        "start_ns": [0, *(start + took for start in columns["start_ns"])],
        "duration_ns": [took // 20, *columns["duration_ns"]],
        "step": [-1, *columns["step"]],
        "op": ["Setup", *columns["op"]],
    }
    same = {"kind": "op", "device": "/device:CPU:0", "lane": "python"}
    columns |= {name: [value] * len(columns["step"]) for name, value in same.items()}
    sample = {"time_ns": took // 2, "file": "train.py", "line": line}
    samples = trace.metadata[PYTHON_SAMPLES]
    samples = samples.assign(time_ns=samples["time_ns"] + took)
    first = metadata.table_of(PYTHON_SAMPLES, [sample])
    more = {PYTHON_SAMPLES: pd.concat([first, samples], ignore_index=True)}
    return Trace(events.build(columns | {"name": columns["op"]}), metadata=trace.metadata | more)


@pytest.mark.parametrize(("setup_ms", "leads"), [(90, False), (110, True)])
def test_time_spent_once_leads_if_longer_than_all_steps(setup_ms: int, leads: bool) -> None:
    trace = after_setup(loop([0.05] * 9), setup_ms)
    table = trace.findings
    assert table["id"].tolist() == ["between_steps", "host_compute"][:: 1 if leads else -1]
    assert set(table["level"]) == {"observation"}


def test_headline_of_a_loop_is_about_the_loop() -> None:
    trace = after_setup(loop([30] * 9), 380)
    said = headline(trace, trace.overview)
    assert (said.id, said.figures["round"]) == ("headline_loop_on_host", "40.0 ms")
    took = compare(trace, trace).attrs["loop_time"].a
    assert trace.overview["steps"]["interval_ns"] == took == 40 * MS


def test_pauses_that_are_observed_first_have_the_headline() -> None:
    trace = loop([2] * 9, op_ms=1)
    trace.metadata[PYTHON_SAMPLES] = trace.metadata[PYTHON_SAMPLES].assign(line=pd.Series(dtype="Int64"))
    assert trace.findings.iloc[0][["id", "level"]].tolist() == ["between_steps", "observation"]
    assert headline(trace, trace.overview).id == "headline_loop_on_host"


def test_python_before_the_first_event_is_outside_the_steps() -> None:
    trace = loop([0.05] * 9)
    early = metadata.table_of(PYTHON_SAMPLES, [{"time_ns": -900 * MS, "file": "train.py", "line": 2}])
    sampled = Trace(trace.events, metadata={PYTHON_SAMPLES: early})
    assert sampled.overview["outside"]["before_ns"] == 900 * MS
    unknown = Trace(trace.events, metadata={PYTHON_SAMPLES: early.assign(line=pd.Series(dtype="Int64"))})
    assert unknown.overview["outside"]["before_ns"] == 0


def test_line_sampled_in_the_longest_time_outside_steps_is_named() -> None:
    trace = after_setup(loop([0.05] * 9), 400, line=2)
    figures = trace.findings.iloc[0]["figures"]
    assert (figures["line"], figures["samples"]) == ("train.py:2", 1)
    assert "train.py:2" in trace.findings.iloc[0]["text"]


def test_ops_between_steps_are_named_with_their_line() -> None:
    text = loop([30] * 9, save_ms=20, sampled=False).findings.iloc[0]["text"]
    assert "SaveV2 (train.py:9) takes the most time, 180 ms." in text


def test_period_of_pauses_is_named() -> None:
    first = loop([100 if number % 5 == 4 else 0.01 for number in range(25)]).findings.iloc[0]
    assert (first["id"], first["level"]) == ("between_steps", "problem")
    assert "One in 5 pauses is long, up to 100 ms." in first["how"]


def test_time_between_steps_ranks_by_its_length() -> None:
    for pause, first in ((4, "host_compute"), (30, "between_steps")):
        table = loop([pause] * 9, op="PyFunc").findings
        assert set(table["level"]) == {"problem"}
        assert table["id"].tolist()[0] == first


@pytest.mark.parametrize(
    "pauses_ms", [[0.1] * 9, [0.2, 90, 0.2, 0.2, 90, 0.2, 0.2, 0.2, 0.2]], ids=["short", "few"]
)
def test_pauses_that_no_loop_repeats_are_no_problem(pauses_ms: list[float]) -> None:
    assert "problem" not in set(loop(pauses_ms).findings["level"])


@pytest.mark.parametrize(("of_call", "level"), [(7, "problem"), (8, "observation")])
def test_one_long_pause_is_a_problem_unless_it_calls_steps(of_call: int, level: str) -> None:
    trace = loop([800 if step == 12 else 0.05 for step in range(20)], op_ms=1)
    steps = trace.steps[trace.steps["step"] >= 0]
    end = int(steps["end_ns"].iloc[12])
    lines = [{"time_ns": end + part * 20 * MS, "file": "train.py", "line": 8} for part in range(1, 40)]
    lines += [{"time_ns": int(time) + 10, "file": "train.py", "line": of_call} for time in steps["start_ns"]]
    trace.metadata[PYTHON_SAMPLES] = metadata.table_of(PYTHON_SAMPLES, lines)
    first = trace.findings.iloc[0]
    assert (first["id"], first["level"]) == ("between_steps", level)
    if level == "problem":
        assert (first["figures"]["line"], first["lost_ns"]) == ("train.py:8", 800 * MS + 19 * MS // 20)
        assert (first["start_ns"], first["end_ns"]) == (end, end + 800 * MS)
        assert not len(first["events"])


def test_steps_of_files_of_their_own_have_no_loop() -> None:
    table = loop([500] * 9, sampled=False, recorded=False).findings.set_index("id")
    assert table["level"]["between_steps"] == "observation"


@pytest.mark.parametrize(("took_ms", "is_most"), [(6, False), (24, True)])
def test_garbage_collection_between_steps_is_named(took_ms: int, is_most: bool) -> None:
    trace = loop([30] * 9)
    pauses = [{"time_ns": at * 40 * MS + 15 * MS, "duration_ns": took_ms * MS} for at in range(9)]
    trace.metadata[GC_PAUSES] = metadata.table_of(GC_PAUSES, pauses)
    first = trace.findings.iloc[0]
    share = "80.0" if is_most else "20.0"
    assert f"garbage collector runs in {share} % of that time" in first["how"]
    assert ("gc.freeze()" in first["advice"]) == is_most


def test_other_lines_and_the_collecting_one_are_named() -> None:
    trace = loop([30] * 9)
    samples = trace.metadata[PYTHON_SAMPLES]
    # 9 and 18 ms after the start of each pause.
    trace.metadata[PYTHON_SAMPLES] = samples.assign(line=[7, 7, 7, 7, 7, 7, 9, 12, 12] * 2)
    pauses = [
        {"time_ns": (at * 40 + 10 + after) * MS, "duration_ns": 4 * MS} for at, after in ((3, 17), (8, 17))
    ]
    trace.metadata[GC_PAUSES] = metadata.table_of(GC_PAUSES, pauses)
    (figures,) = trace.findings.query("id == 'between_steps'")["figures"]
    others = [(one["line"], one["share"]) for one in figures["next_lines"]]
    assert others == [("train.py:12", pytest.approx(4 / 18)), ("train.py:9", pytest.approx(2 / 18))]
    assert (figures["gc"]["line"], figures["gc"]["samples"]) == ("train.py:12", 2)
    assert "train.py:12 (22.2 %) and train.py:9 (11.1 %)" in trace.findings.iloc[0]["how"]


def test_batches_of_python_between_steps_are_input() -> None:
    trace = loop([30] * 9)
    columns = {
        name: trace.events[name].tolist() for name in ("start_ns", "duration_ns", "step", "op", "kind")
    }
    for name, value in (("duration_ns", 25 * MS), ("step", -1), ("op", "NextBatch"), ("kind", "host")):
        columns[name] += [value] * 9
    columns["start_ns"] += [(at * 40 + 12) * MS for at in range(9)]
    columns["name"] = [f"{op}(DataLoader)" if op == "NextBatch" else op for op in columns["op"]]
    same = {"device": "/device:CPU:0", "lane": "python"}
    columns |= {name: [value] * len(columns["op"]) for name, value in same.items()}
    taken = Trace(events.order(events.build(columns))[0], metadata=trace.metadata)
    first = taken.findings.iloc[0]
    assert (first["id"], first["level"], first["lost_ns"]) == ("between_steps", "problem", 9 * 25 * MS)
    stage = first["figures"]["slowest_stage"]
    assert (stage["op"], stage["count"], stage["python"]["line"]) == (
        "NextBatch(DataLoader)",
        9,
        "train.py:7",
    )
    assert "tf.data" not in first["advice"]
    assert taken.breakdown["input_ns"].sum() == 0


def test_garbage_collection_in_steps_is_not_between_them() -> None:
    inside = [{"time_ns": 5 * MS, "duration_ns": 60 * MS}]
    trace = loop([30] * 9)
    trace.metadata[GC_PAUSES] = metadata.table_of(GC_PAUSES, inside)
    assert "garbage" not in trace.findings.iloc[0]["text"]


def test_advice_about_a_keras_callback_names_it() -> None:
    trace = loop([30] * 9)
    samples = trace.metadata[PYTHON_SAMPLES].assign(function="on_train_batch_end")
    labels = {step: f"train_function {step}" for step in range(10)}
    keras = Trace(trace.events, step_labels=labels, metadata={PYTHON_SAMPLES: samples})
    assert "callback of Keras" in keras.findings.iloc[0]["advice"]
    assert "callback" not in trace.findings.iloc[0]["advice"]


def test_collecting_the_trace_of_a_session_run_is_no_pause() -> None:
    trace = loop([30] * 9)
    steps = trace.steps[trace.steps["step"] >= 0]
    late = [{"time_ns": int(end) + 29 * MS} for end in steps["end_ns"]]
    trace.metadata[RETURNS] = metadata.table_of(RETURNS, late)
    assert "between_steps" not in set(trace.findings["id"])
    trace = loop([30] * 9)
    early = [{"time_ns": int(end) + 5 * MS} for end in steps["end_ns"]]
    trace.metadata[RETURNS] = metadata.table_of(RETURNS, early)
    assert trace.findings.iloc[0]["lost_ns"] == 9 * 25 * MS


def test_batches_of_a_keras_callback_are_part_of_its_time() -> None:
    """Every second step is a batch that predict() runs in a callback of the first."""
    trace = loop([10] * 19)
    samples = trace.metadata[PYTHON_SAMPLES].assign(function="on_train_batch_end")
    labels = {step: f"{'predict' if step % 2 else 'train'} {step // 2}" for step in range(20)}
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    stacks = [stack_of([Frame("train.py", 7 if step % 2 else 3)]) for step in range(20)]
    keras = Trace(
        trace.events,
        nested=pa.table({"stack": pa.array(stacks, pa.int32())}),
        stacks=builder.table(),
        step_labels=labels,
        metadata={PYTHON_SAMPLES: samples},
    )
    first = keras.findings.iloc[0]
    assert (first["id"], first["lost_ns"]) == ("between_steps", 9 * 30 * MS)
    assert "between train steps" in first["text"]
    assert first["gain"] == pytest.approx(270 / 370)
    assert keras.overview["headline"].startswith("Time between train steps takes 73.0 %")
    assert "loop, mostly at " in keras.overview["headline"]


def test_event_counts_only_within_the_stretch() -> None:
    rows = [("MatMul", 0, 10, 0), ("PyTorch Profiler (0)", 5, 500, -1), ("MatMul", 300, 10, 1)]
    names = ("name", "start_ns", "duration_ns", "step")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns["lane"] = ["python", "profiler", "python"]
    found = Trace(events.build(columns | {"kind": ["op", "host", "op"], "op": columns["name"]})).findings
    op = found.set_index("id")["figures"]["between_steps"]["op"]
    assert op == {"name": "PyTorch Profiler (0)", "self_ns": 290}


def test_whole_recordings_do_not_get_advice_to_trace_all() -> None:
    advice = [
        loop([90, 90], sampled=False, recorded=recorded).findings.set_index("id")["advice"]["between_steps"]
        for recorded in (False, True)
    ]
    assert ["trace the whole cell" in text for text in advice] == [True, False]


def test_files_of_different_days_have_no_time_between_steps() -> None:
    steps = events.build(
        {"start_ns": [0, 3 * DAY], "duration_ns": [5, 5], "kind": ["op"] * 2, "step": [0, 1]}
    )
    trace = Trace(steps, notes=[Text("recorded_days_apart", days=3)])
    assert trace.overview["outside"] is None
    assert "between_steps" not in trace.findings["id"].tolist()
    measured = measurements(trace).set_index("kind").loc["outside steps", "text"]
    assert "3 days apart" in str(measured)


def test_one_profile_among_other_files_is_no_recording_of_all() -> None:
    trace = loop([30] * 9, sampled=False)
    table = trace.events.assign(
        task=pd.Categorical(["/job:worker/task:0"] + ["/job:worker/task:1"] * (len(trace.events) - 1))
    )
    found = Trace(table, metadata=trace.metadata).findings.set_index("id").loc["between_steps"]
    assert found["level"] == "observation"


def test_a_loop_too_short_for_samples_is_one_recording() -> None:
    """Its table of samples is empty; runs in files of their own have none."""
    for sampled in (True, False):
        findings = loop([0.5] * 9, op_ms=1, recorded=False, sampled=sampled).findings.set_index("id")
        assert ("loop_share" in findings.loc["between_steps"]["figures"]) == sampled


def test_pauses_of_traced_runs_without_python_are_no_problem() -> None:
    trace = loop([2] * 9)
    detail = [f"{op} = {op}()" for op in trace.events["op"]]
    samples = {
        PYTHON_SAMPLES: metadata.table_of(PYTHON_SAMPLES, [{"time_ns": 5 * MS, "file": "a.py", "line": 3}])
    }
    for known, level in ((samples, "observation"), (trace.metadata, "problem")):
        run = Trace(trace.events.assign(detail=pd.array(detail, dtype=events.TEXT)), metadata=known)
        found = run.findings.set_index("id").loc["between_steps"]
        assert (found["figures"]["program"], found["level"]) == ("session", level)


def test_short_pauses_of_a_recorded_loop_are_not_reported() -> None:
    short = loop([0.2] * 9, sampled=False)
    table = short.events.assign(
        duration_ns=MS // 10, start_ns=[number * 3 * MS // 10 for number in range(len(short.events))]
    )
    assert "between_steps" not in Trace(table, metadata=short.metadata).findings["id"].tolist()


def test_setting_up_is_not_sought_between_steps() -> None:
    columns = {"start_ns": [0, 900, 1000], "duration_ns": [1, 90, 90], "kind": ["host", "op", "op"]}
    trace = Trace(events.build(columns | {"step": [-1, 0, 1], "op": ["begin", "MatMul", "MatMul"]}))
    found = trace.findings.set_index("id").loc["between_steps"]
    assert found["figures"]["before_ns"] == 900
    assert "between the steps" not in found["advice"]


def test_pauses_as_long_as_a_call_are_no_problem() -> None:
    levels = [
        loop([pause] * 40, sampled=False, op_ms=1).findings.set_index("id")["level"]["between_steps"]
        for pause in (0.9, 1.0)
    ]
    assert levels == ["observation", "problem"]


def test_pauses_without_a_reason_in_samples_are_no_problem() -> None:
    trace = loop([30] * 9)
    unknown = [{"time_ns": int(time)} for time in trace.metadata[PYTHON_SAMPLES]["time_ns"]]
    trace.metadata[PYTHON_SAMPLES] = metadata.table_of(PYTHON_SAMPLES, unknown)
    assert trace.findings.set_index("id")["level"]["between_steps"] == "observation"


def test_only_waits_within_pauses_are_part_of_them() -> None:
    wait = ("IteratorGetNext", 25, -1)
    rows = [("IteratorGetNext", 200, -1), ("MatMul", 10, 0)]
    rows += [row for step in range(1, 9) for row in (wait, ("MatMul", 10, step))]
    length = [duration for _, duration, _ in rows]
    trace = Trace(
        events.build(
            {
                "op": [op for op, _, _ in rows],
                "start_ns": [sum(length[:at]) * MS for at in range(len(rows))],
                "duration_ns": [duration * MS for duration in length],
                "step": [step for _, _, step in rows],
                "kind": ["op"] * len(rows),
                "device": ["/device:CPU:0"] * len(rows),
            }
        ),
        metadata={PROFILES: metadata.table_of(PROFILES, [{"host_tracer_level": 2}])},
    )
    found = trace.findings.set_index("id").loc["between_steps"]
    assert found["figures"]["between_ns"] == found["figures"]["input_ns"] == found["lost_ns"] == 200 * MS
    assert found["gain"] == pytest.approx(200 / 290)


def _keras(pauses_ms: list[float], kind_of: dict[int, str], function: str = "run") -> Trace:
    """Return the steps of `loop` as batches of Keras, whose eager op the line ``train.py:7`` calls."""
    trace = loop(pauses_ms)
    count = len(pauses_ms) + 1
    details = pd.Series(["EagerLocalExecute: OptionalHasValue"] * count, dtype=trace.events["detail"].dtype)
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    stacks = [stack_of([Frame("train.py", 7)])] * count
    train = "train" if kind_of else "train_function"
    labels = {step: f"{kind_of.get(step, train)} {step}" for step in range(count)}
    return Trace(
        trace.events.assign(detail=details),
        nested=pa.table({"stack": pa.array(stacks, pa.int32())}),
        stacks=builder.table(),
        step_labels=labels,
        metadata={PYTHON_SAMPLES: trace.metadata[PYTHON_SAMPLES].assign(function=function)},
    )


def test_evaluation_between_training_steps_is_named() -> None:
    # Two training steps, then eight test steps.
    kinds = {step: "test" for step in range(40) if step % 10 > 1}
    found = _keras([1] * 39, kinds).findings.set_index("id").loc["between_steps"]
    # From the first training step to the last one of ten rounds: three whole evaluations.
    assert (found["level"], found["figures"]["evaluation"]) == ("problem", {"steps": 24, "ns": 240 * MS})
    assert found["figures"]["line"] == "train.py:7"
    assert found.isna()["gain"]
    few = {step: "test" for step in range(40) if step % 10 > 6}
    assert "between_steps" not in set(_keras([1] * 39, few).findings["id"])


@pytest.mark.parametrize(("function", "line"), [("run", ""), ("on_train_batch_begin", "train.py:7")])
def test_between_steps_does_not_name_the_line_of_fit(function: str, line: str) -> None:
    first = _keras([30] * 9, {}, function).findings.set_index("id").loc["between_steps"]
    assert (first["level"], first["figures"]["line"]) == ("problem", line)


@pytest.mark.parametrize("each", [1, 3])
def test_call_of_keras_for_each_step_is_named(each: int) -> None:
    """Each makes an iterator. Keras's own Python between batches of one call does not."""
    trace = _keras([30] * 9, {})
    rows = [("MakeIterator", at * 40 * MS, 1000, -1) for at in range(0, 9, each)]
    rows += [("IteratorGetNext", at * 40 * MS, 1000, -1) for at in range(9)]
    rows += trace.events[["op", "start_ns", "duration_ns", "step"]].itertuples(index=False, name=None)
    rows.sort(key=lambda row: row[1])
    op, start, took, step = map(list, zip(*rows, strict=True))
    columns = {"op": op, "name": op, "start_ns": start, "duration_ns": took, "step": step}
    columns |= {"kind": ["op"] * len(op), "lane": ["python"] * len(op)}
    called = Trace(events.build(columns), step_labels=trace.step_labels, metadata=trace.metadata)
    advice = called.findings.set_index("id").loc["between_steps"]["advice"]
    assert ("Call fit(), evaluate() or predict() once" in advice) == (each == 1)


@pytest.mark.parametrize(("long_ms", "level"), [(0.9, "observation"), (1.5, "problem")])
def test_regular_pauses_as_short_as_a_call_are_no_problem(long_ms: float, level: str) -> None:
    trace = loop([long_ms if number % 4 == 3 else 0.3 for number in range(24)], op_ms=1)
    first = trace.findings.set_index("id").loc["between_steps"]
    assert (first["figures"]["period"], first["level"]) == (4, level)


@pytest.mark.parametrize(("each_ns", "fewer"), [(500_000, True), (2 * MS, False)])
def test_eager_ops_between_steps_are_called_together(each_ns: int, *, fewer: bool) -> None:
    """The line train.py:7 calls 24 ops in each pause."""
    pause = 24 * each_ns
    trace = loop([pause / MS] * 9)
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    in_pause, in_step = (stack_of([Frame("train.py", line)]) for line in (7, 3))
    rows = [("MatMul", "", step * (pause + 10 * MS), 10 * MS, step, in_step) for step in range(10)]
    rows += [
        ("Add", "EagerLocalExecute: Add", start + 10 * MS + op * each_ns, 1000, -1, in_pause)
        for _, _, start, *_ in rows[:9]
        for op in range(24)
    ]
    rows.sort(key=lambda row: row[2])
    op, detail, start, took, step, stack = map(list, zip(*rows, strict=True))
    columns = {"op": op, "name": op, "detail": detail, "start_ns": start, "duration_ns": took, "step": step}
    columns |= {"kind": ["op"] * len(rows), "lane": ["python"] * len(rows)}
    columns["device"] = ["/device:CPU:0"] * len(rows)
    nested = pa.table({"stack": pa.array(stack, pa.int32())})
    eager = Trace(events.build(columns), nested=nested, stacks=builder.table(), metadata=trace.metadata)
    first = eager.findings.set_index("id").loc["between_steps"]
    assert (first["figures"]["eager_ops"] == 9 * 24) == fewer == ("use one op" in first["advice"])
