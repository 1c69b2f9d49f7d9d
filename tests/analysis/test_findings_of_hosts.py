"""Findings of what takes the steps on the host: lines, layers, ops, eager calls and Python."""

from typing import Any

import pyarrow as pa
import pytest

from tfvis_nb import Trace, events
from tfvis_nb.analysis import measurements
from tfvis_nb.core.metadata import PYTHON_SAMPLES, THREAD_SAMPLES, table_of
from tfvis_nb.core.stacks import Frame, StackBuilder

MS = 1_000_000
FUNCTION = ("train.py", 9)


def trace_of(rows: list[dict[str, Any]], length_ms: int = 10, steps: int = 4) -> Trace:
    """Repeat the rows of a step; ``lines`` of a row are its stack, outermost first."""
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    defaults = {"kind": "op", "name": "", "lane": "tf_Compute/1", "device": "/device:CPU:0", "detail": ""}
    call = {
        "op": "train",
        "kind": "host",
        "lane": "python",
        "start_ns": 0,
        "duration_ns": length_ms * MS,
        "name": "train",
    }
    made = [
        defaults | row | {"start_ns": row["start_ns"] + length_ms * MS * step, "step": step}
        for step in range(steps)
        for row in sorted((call, *rows), key=lambda row: row["start_ns"])
    ]
    stacks = [stack_of([Frame(*frame) for frame in row["lines"]]) if "lines" in row else None for row in made]
    columns = {name: [row[name] for row in made] for name in (*call, *defaults, "step")}
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    labels = dict.fromkeys(range(steps), "train")
    return Trace(events.build(columns), nested=nested, stacks=builder.table(), step_labels=labels)


def op(op_type: str, start: float, end: float, *lines: tuple[Any, ...], **more: Any) -> dict[str, Any]:
    times = {"start_ns": int(start * MS), "duration_ns": int((end - start) * MS)}
    return {"op": op_type, "lines": [*lines] or [FUNCTION], **times, **more}


def host_compute(rows: list[dict[str, Any]], length_ms: int = 10) -> dict[str, Any]:
    """Return the only finding of what takes the steps on the host."""
    table = trace_of(rows, length_ms).findings
    (found,) = table[table["id"] == "host_compute"].to_dict("records")
    return {str(name): value for name, value in found.items()}


@pytest.mark.parametrize("kind", ["EagerPyFunc", "PyFunc", "PrintV2", "pure_callback"])
def test_replaceable_work_of_a_tenth_is_a_problem(kind: str) -> None:
    found = host_compute([op("MatMul", 1, 4), op(kind, 4, 6, ("train.py", 12))])
    assert (found["level"], found["share"]) == ("problem", pytest.approx(0.2))
    assert found["text"].startswith("train.py:12 takes 20.0 % of step time")


def test_line_with_most_copies_is_a_problem() -> None:
    rows = [op("ConcatV2", 1, 8, ("train.py", 5)), op("MatMul", 8, 9)]
    found = host_compute([*rows, op("ParallelFor", 1.5, 8, ("train.py", 5), kind="host")])
    assert (found["level"], found["figures"]["line"], found["figures"]["kind"]) == (
        "problem",
        "train.py:5",
        "copy",
    )
    assert found["share"] == pytest.approx(0.7)


@pytest.mark.parametrize(("copying", "advised"), [("ConcatV2", True), ("TensorListStack", False)])
def test_loop_with_a_tensor_array_needs_no_other_one(copying: str, *, advised: bool) -> None:
    found = host_compute([op(copying, 1, 8, ("train.py", 5)), op("MatMul", 8, 9)])
    assert found["figures"]["kind"] == "copy"
    assert ("tf.TensorArray and join" in found["advice"]) == advised
    assert ("tf.vectorized_map" in found["advice"]) != advised


def test_many_small_ops_of_a_line_are_a_problem() -> None:
    rows = [op("Tanh", 1 + number / 50, 1 + number / 50 + 0.016, ("train.py", 5)) for number in range(400)]
    found = host_compute([*rows, op("MatMul", 9, 9.5)])
    figures = found["figures"]
    assert (found["level"], figures["kind"], figures["name"]) == ("problem", "small", "train.py:5")
    assert (figures["count"], figures["each_ns"]) == (4 * 400, pytest.approx(16_000, rel=0.01))
    assert "jit_compile" in found["advice"]


def test_line_with_most_computing_is_an_observation() -> None:
    found = host_compute([op("MatMul", 1, 8, ("train.py", 5)), op("Tanh", 8, 9)])
    assert (found["level"], found["figures"]["name"]) == ("observation", "train.py:5")
    assert "the program's own work" in found["advice"]


def test_short_work_is_minor() -> None:
    rows = [op("PyFunc", 0.1, 0.9), op("Tanh", 0.9, 1.9)]
    assert host_compute(rows, length_ms=2)["level"] == "minor"
    assert "host_compute" not in set(trace_of(rows).findings["id"])


def test_layer_is_named_where_one_line_calls_the_model() -> None:
    rows = [
        op("BiasAdd", 1, 7, name="model/wide/BiasAdd"),
        op("MatMul", 7, 9, name="model/narrow/MatMul"),
    ]
    found = host_compute(rows)
    assert (found["figures"]["subject"], found["figures"]["name"]) == ("layers", "model/wide")
    assert "The layer model/wide (train.py:9) takes 60.0 %" in found["text"]


@pytest.mark.parametrize(
    ("names", "subject"), [(("src/a/MatMul", "src/b/Exp"), "ops"), (("src/MatMul", "src/Tanh"), "scopes")]
)
def test_graph_without_weights_has_no_layers(names: tuple[str, str], subject: str) -> None:
    """No line takes half of the steps, and the longest one has ops in and out of scopes."""
    lines = [("train.py", line) for line in (6, 7, 8)]
    rows = [
        op("MatMul", 0.2, 2.2, lines[0], name=names[0]),
        op("MatMul", 2.2, 4, lines[0], name="MatMul"),
        op("MatMul", 4, 7, lines[1], name="MatMul_1"),
        op("Tanh", 7, 9.5, lines[2], name=names[1]),
    ]
    if subject == "scopes":
        rows = [row | {"name": f"src/{row['op']}_{at}"} for at, row in enumerate(rows)]
    found = host_compute(rows)
    assert (found["figures"]["subject"], found["figures"]["line"]) == (subject, "train.py:6")
    words = " ".join((found["title"], found["text"], found["advice"], found["how"]))
    assert not any(word in words for word in ("layer", "loss", "metric"))


def test_op_is_named_where_layers_share_it() -> None:
    rows = [op("Svd", 1 + 2 * number, 3 + 2 * number, name=f"layer_{number}/Svd") for number in range(4)]
    found = host_compute(rows)
    assert (found["figures"]["subject"], found["figures"]["name"]) == ("ops", "Svd")


STEP = ("train.py", 9, "train")
LOSS = ("train.py", 20, "step")


def in_loss(start: int, line: int, **more: Any) -> dict[str, Any]:
    return op("Sin", start, start + 2, STEP, LOSS, ("loss.py", line, "loss"), **more)


@pytest.mark.parametrize("caller", [LOSS, ("train.py", 21, "metric")])
def test_function_of_several_lines_is_named_with_its_only_caller(caller: Any) -> None:
    lines = [in_loss(1, 3), in_loss(3, 4), op("Sin", 5, 7, STEP, caller, ("loss.py", 5, "loss"))]
    found = host_compute([*lines, op("MatMul", 7, 8, STEP, ("train.py", 22, "step"))])
    figures = found["figures"]
    assert (figures["subject"], figures["name"]) == ("functions", "loss")
    assert figures["line"] == ("train.py:20" if caller == LOSS else "loss.py:3")
    assert (found["level"], found["share"]) == ("observation", pytest.approx(0.6))


def test_line_that_calls_the_step_is_no_caller_of_a_function() -> None:
    """Keras calls a regularizer: no other line of the user's code is between it and ``fit``."""
    lines = [op("Sin", at, at + 2, STEP, ("own.py", at, "__call__")) for at in (1, 3, 5)]
    figures = host_compute([*lines, op("MatMul", 7, 8, STEP)])["figures"]
    assert (figures["subject"], figures["name"], figures["line"]) == ("functions", "__call__", "own.py:1")


@pytest.mark.parametrize(("took", "named"), [(3.9, "train.py:6"), (1, "")])
def test_next_line_is_named_if_it_takes_nearly_as_long(took: float, named: str) -> None:
    rows = [op("MatMul", 0, 5.1, ("train.py", 5)), op("Tanh", 5.1, 5.1 + took, ("train.py", 6))]
    found = host_compute(rows)
    assert (found["figures"]["name"], found["figures"]["next_line"]) == ("train.py:5", named)
    assert ("train.py:6 takes 76.5 % as long" in found["text"]) == bool(named)


def test_code_of_a_module_is_no_function() -> None:
    cell, step = ("Cell [3]", 4, "<module>"), ("Cell [2]", 7, "step")
    rows = [op("MatMul", 1, 5, cell, ("Cell [2]", 5, "step")), op("MatMul", 5, 9, cell, step)]
    found = host_compute([*rows, op("MatMul", 9, 9.4, ("Cell [4]", 1, "<module>"), step)])
    assert (found["figures"]["subject"], found["figures"]["name"]) == ("ops", "MatMul")
    assert "<module>" not in found["text"]


def test_function_that_calls_a_whole_model_is_not_one_thing() -> None:
    lines = [in_loss(at, at, name=f"model/layer_{at}/Sin") for at in (1, 3, 5)]
    found = host_compute([*lines, op("MatMul", 7, 8, STEP)])
    assert (found["figures"]["subject"], found["figures"]["name"]) == ("ops", "Sin")


def test_many_small_ops_of_a_function_are_a_problem() -> None:
    calls = [(STEP, LOSS, ("loss.py", number % 7, "loss")) for number in range(500)]
    small = [op("Sin", 1 + n / 60, 1.015 + n / 60, *lines) for n, lines in enumerate(calls)]
    found = host_compute([*small, op("MatMul", 9.4, 9.9, STEP)])
    assert (found["level"], found["figures"]["kind"]) == ("problem", "small")
    assert (found["figures"]["name"], found["figures"]["line"]) == ("loss", "train.py:20")


def test_optimizer_is_named_instead_of_the_line_that_trains() -> None:
    rows = [op("Mul", 1, 5, STEP, name="adam/mul"), op("Sqrt", 5, 9, STEP, name="adam/Sqrt")]
    found = host_compute([*rows, op("MatMul", 9, 9.5, STEP, name="model/dense/MatMul")])
    figures = found["figures"]
    assert (figures["kind"], figures["subject"], figures["name"]) == ("optimizer", "layers", "adam")
    assert "The optimizer adam (train.py:9) takes 80.0 %" in found["text"]


@pytest.mark.parametrize(("name", "subject"), [("mul", "outside"), ("old_model/dense/mul", "layers")])
def test_work_outside_of_the_layers_is_named(name: str, subject: str) -> None:
    """Of a model that no longer existed after recording, only the name scopes are known."""
    names = [f"{name}_{number}" for number in range(3)]
    rows = [
        op(kind, 2 * at, 2 * at + 2, STEP, name=names[at]) for at, kind in enumerate(("Mul", "Sum", "Sub"))
    ]
    rows += [
        op("FunctionRun", 0, 1, kind="host", lane="python"),
        op("MatMul", 6, 8, STEP, name="dense/MatMul"),
    ]
    trace = trace_of(rows)
    assert trace.nested is not None
    is_dense = (trace.events["name"] == "dense/MatMul").tolist()
    layers = pa.array(["dense" if one else None for one in is_dense])
    trace.nested = trace.nested.append_column("layer", layers)
    figures = trace.findings.set_index("id")["figures"]
    assert figures["host_compute"]["subject"] == subject


def test_work_below_a_device_is_not_counted() -> None:
    kernel = {"kind": "kernel", "lane": "stream:1", "device": "/device:GPU:0"}
    table = trace_of([op("PyFunc", 1, 8), op("MatMul", 0.5, 9, **kernel)]).findings
    assert "host_compute" not in set(table["id"])


def eager(number: int, line: int) -> dict[str, Any]:
    lines = [("train.py", 40), ("train.py", line)]
    return op("Mul", number / 5, number / 5 + 0.1, *lines, lane="python", detail="EagerLocalExecute: Mul")


def test_eager_ops_are_named_with_their_common_line() -> None:
    kernels = {"kind": "host", "lane": "python"}
    rows = [eager(number, 10 + number % 3) for number in range(48)]
    runs = [op("KernelAndDeviceFunc::Run", n / 5, n / 5 + 0.02, **kernels) for n in range(48)]
    found = host_compute(rows + runs)
    assert found["level"] == "problem"
    assert found["share"] == pytest.approx(1 - 48 * 0.02 / 10, rel=1e-4)
    assert "48 ops in a step at or below train.py:40 one by one" in found["text"]
    assert "tf.function" in found["advice"]


def keras(call: str, ops: int) -> list[dict[str, Any]]:
    """Return a step of Keras that calls its function, and then ops one by one."""
    function = op("one_step_on_iterator", 0, 1, kind="host", lane="python", detail=f"tf_function_call={call}")
    return [function, *(eager(5 + number, 10) for number in range(ops))]


def test_eager_ops_beside_a_compiled_model_need_fewer_batches() -> None:
    beside = host_compute(keras("notTraced-nonXla", 40))
    assert (beside["figures"]["kind"], beside["figures"]["compiled"]) == ("eager", True)
    assert "fewer batches" in beside["advice"]
    assert "run_eagerly" not in beside["advice"]
    inside = host_compute(keras("eager", 40))
    assert "run_eagerly" in inside["advice"]


def test_python_beside_a_compiled_model_is_not_eager_ops() -> None:
    """Each of 25 ops would take more than 1 ms: other Python runs."""
    found = {call: host_compute(keras(call, 25), length_ms=40) for call in ("eager", "notTraced-nonXla")}
    kinds = {call: one["figures"]["kind"] for call, one in found.items()}
    assert kinds == {"eager": "eager", "notTraced-nonXla": "python"}


@pytest.mark.parametrize(("line", "kind"), [(12, "python"), (10, "eager")])
def test_line_that_calls_few_of_the_eager_ops_is_python(line: int, kind: str) -> None:
    """Line 10 calls 120 ops, each of which may take 1 ms. Line 12 calls none."""
    trace = trace_of(keras("notTraced-nonXla", 120), length_ms=70)
    times = [step * 70 + at for step in range(4) for at in range(26, 70, 2)]
    samples = [{"time_ns": time * MS, "file": "train.py", "line": line, "function": "log"} for time in times]
    trace.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, samples)
    figures = trace.findings.set_index("id")["figures"]["host_compute"]
    assert figures["kind"] == kind
    if kind == "python":
        assert figures["python"]["line"] == "train.py:12"


def test_eager_batches_of_keras_need_a_compiled_model() -> None:
    rows = [eager(5 + number, 10) for number in range(40)]
    batch = op("train", 0, 10, kind="host", lane="python", detail="step_num=0 run_eagerly=1")
    advice = [host_compute(some)["advice"] for some in (rows, [batch, *rows])]
    assert ["without run_eagerly" in text for text in advice] == [False, True]


def test_a_deeper_stack_of_a_few_eager_ops_is_left_out() -> None:
    """One op in eight is called two lines further inside; the line of the others ends the search."""
    kernels = {"kind": "host", "lane": "python"}
    own = {"lane": "python", "detail": "EagerLocalExecute: Mul"}
    rows = [
        op(
            "Mul",
            n / 5,
            n / 5 + 0.1,
            *([("loss.py", 1), ("loss.py", 2)] if n % 8 == 7 else [("train.py", 3)]),
            **own,
        )
        for n in range(48)
    ]
    runs = [op("KernelAndDeviceFunc::Run", n / 5, n / 5 + 0.02, **kernels) for n in range(48)]
    assert host_compute(rows + runs)["figures"]["line"] == "train.py:3"


def test_few_eager_ops_are_not_reported() -> None:
    assert trace_of([eager(number, 3) for number in range(4)], length_ms=1).findings.empty


def test_python_around_a_function_is_a_problem() -> None:
    rows = [op("FunctionRun", 0, 3, kind="host", lane="python"), op("MatMul", 1, 3)]
    found = host_compute(rows)
    assert (found["level"], found["figures"]["kind"]) == ("problem", "python")
    assert found["share"] == pytest.approx(0.8)


def test_python_beside_the_input_pipeline_is_a_problem() -> None:
    """The step waits for Python, whatever the pipeline's own threads do."""
    rows = [op("FunctionRun", 0, 3, kind="host", lane="python"), op("MatMul", 1, 3)]
    pipeline = op("Iterator::Prefetch", 3, 9, kind="host", lane="tf_data_prefetch/7")
    trace = trace_of([*rows, pipeline])
    lines = [
        {"time_ns": (10 * step + at) * MS, "file": "train.py", "line": line, "function": "log"}
        for step in range(4)
        for at, line in ((2, 9), (5, 31), (8, 31))
    ]
    trace.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, lines)
    found = trace.findings.set_index("id").loc["host_compute"]
    assert (found["level"], found["figures"]["kind"]) == ("problem", "python")
    assert (found["share"], found["figures"]["python"]["line"]) == (pytest.approx(0.8), "train.py:31")


def test_measurement_has_the_share_below_the_threshold() -> None:
    rows = [op("MatMul", 0, 3), op("Tanh", 3, 6, ("train.py", 10)), op("Sin", 6, 9.5, ("train.py", 11))]
    table = measurements(trace_of(rows)).set_index("kind")
    assert table["share"]["host compute"] == pytest.approx(0.35)
    assert trace_of(rows).findings.empty


@pytest.mark.parametrize(("waiting", "reported"), [(40, True), (31, False)])
def test_sampled_line_is_named_unless_it_calls_the_step(waiting: int, *, reported: bool) -> None:
    trace = trace_of([op("FunctionRun", 0, 3, kind="host", lane="python"), op("MatMul", 1, 3)])
    lines = [
        {"time_ns": (10 * step + at) * MS, "file": "train.py", "line": line, "function": "log"}
        for step in range(4)
        for at, line in ((2, waiting), (5, 31), (9, 31))
    ]
    trace.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, lines)
    texts = trace.findings.set_index("id")["text"]
    assert ("host_compute" in texts) == reported
    if reported:
        assert "train.py:31 in log runs in 8 of 8 samples" in texts["host_compute"]


@pytest.mark.parametrize(("sampled", "reported"), [(12, True), (31, False)])
def test_line_through_which_ops_were_built_calls_the_step(sampled: int, *, reported: bool) -> None:
    built = op("MatMul", 1, 3, ("train.py", 31), ("train.py", 5))
    trace = trace_of([op("FunctionRun", 0, 3, kind="host", lane="python"), built])
    lines = [{"time_ns": 5 * MS, "file": "train.py", "line": sampled, "function": "run"}]
    trace.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, lines)
    assert ("host_compute" in set(trace.findings["id"])) is reported


def test_slow_steps_leave_out_a_first_step_set_apart() -> None:
    columns = {
        "start_ns": [0, 300, 400],
        "duration_ns": [300, 100, 110],
        "kind": ["op"] * 3,
        "op": ["Svd"] * 3,
    }
    table = events.build(columns | {"step": [0, 1, 2], "device": ["/device:CPU:0"] * 3})
    table[["start_ns", "duration_ns"]] *= MS
    found = Trace(table).findings.set_index("id").loc["host_compute"]
    assert (found["step"], found["figures"]["apart"]) == (2, True)
    assert "step time after the first step on the host: longest in step 2" in found["text"]


def test_line_in_a_python_function_is_named() -> None:
    trace = trace_of([op("MatMul", 1, 4), op("PyFunc", 4, 9, ("train.py", 12))])
    lines = [
        {"time_ns": (10 * step + at) * MS, "file": "train.py", "line": line, "function": "parse"}
        for step in range(4)
        for at, line in ((2, 30), (5, 31), (8, 31))
    ]
    trace.metadata[THREAD_SAMPLES] = table_of(THREAD_SAMPLES, lines)
    text = trace.findings.set_index("id")["text"]["host_compute"]
    assert "train.py:31 in parse runs in 8 of 8 samples" in text


def test_transposing_more_than_computing_is_a_problem() -> None:
    def rows(transposing: float) -> list[dict[str, Any]]:
        moved = [
            op("Transpose", 1, 1 + transposing, ("train.py", 5)),
            op("Transpose", 4, 4 + transposing, ("train.py", 6)),
        ]
        return [*moved, op("Conv2D", 7, 9.7, ("train.py", 7))]

    found = host_compute(rows(2))
    assert (found["level"], found["figures"]["kind"], found["figures"]["name"]) == (
        "problem",
        "transpose",
        "Transpose",
    )
    assert found["title"] == "Transposing tensors takes much of the steps"
    assert trace_of(rows(1.3)).findings.empty


def test_line_of_an_op_is_one_that_does_not_call_the_model() -> None:
    rows = [
        op("MatMul", 1, 3, name="model/first/MatMul"),
        op("MatMul", 3, 5.1, name="model/second/MatMul"),
        op("MatMul", 5.1, 8, ("train.py", 5), name="model/table/MatMul"),
        op("BiasAdd", 8, 8.1, name="model/first/BiasAdd"),
    ]
    found = host_compute(rows)
    assert (found["figures"]["subject"], found["figures"]["line"]) == ("ops", "train.py:5")
    assert "train.py:5 has 41.4 % of that time." in found["text"]


@pytest.mark.parametrize(("starts", "reported"), [(500, True), (300, False)])
def test_many_starts_of_small_ops_are_a_problem(starts: int, *, reported: bool) -> None:
    """500 starts in 10 ms are one in 20 us: the longest time of starting an op."""
    each = 9.9 / starts
    run = {"kind": "host", "lane": "tf_Compute/1"}
    rows = [op("ExecutorState::Process", each * at, each * (at + 0.99), **run) for at in range(starts)]
    table = trace_of([*rows, op("TensorListStack", 9.9, 10, ("train.py", 5))]).findings
    found = table[table["id"] == "host_compute"].to_dict("records")
    assert bool(found) == reported
    if reported:
        assert (found[0]["level"], found[0]["figures"]["kind"]) == ("problem", "runtime")
        assert "runtime starts 500 times in a step" in found[0]["text"]
        assert "train.py:5 has the most time" in found[0]["text"]


def test_long_op_outside_of_loops_is_not_the_line_of_small_ops() -> None:
    each = 9.9 / 500
    run = {"kind": "host", "lane": "tf_Compute/1"}
    starts = [op("ExecutorState::Process", each * at, each * (at + 0.99), **run) for at in range(500)]
    figures = host_compute([*starts, op("MatMul", 9.9, 10, ("train.py", 5))])["figures"]
    assert (figures["kind"], figures["line"]) == ("runtime", "")


def test_recorded_ops_are_not_too_small_to_be_recorded() -> None:
    each = 9.9 / 500
    run = {"kind": "host", "lane": "tf_Compute/1"}
    starts = [op("ExecutorState::Process", each * at, each * (at + 0.99), **run) for at in range(500)]
    for ops, reported in ((400, True), (600, False)):
        run_there = [op("Mul", 9.9 * at / ops, 9.9 * at / ops + 0.0001) for at in range(ops)]
        kind = host_compute([*starts, *run_there])["figures"]["kind"]
        assert (kind == "runtime") is reported


@pytest.mark.parametrize(
    ("length_ms", "ops", "op_ms", "reported"),
    [
        (2, 100, 0.005, True),
        (2, 10, 0.05, False),
        (2, 20, 0.06, False),
        (20, 100, 0.005, False),
    ],
    ids=["small ops", "longer ops", "most of the step", "more than the ops explain"],
)
def test_time_around_small_ops_is_an_observation(
    length_ms: int, ops: int, op_ms: float, *, reported: bool
) -> None:
    run = op("ExecutorState::Process", 0, length_ms, kind="host", lane="tf_Compute/1")
    each = length_ms / (ops + 1)
    rows = [op("Mul", each * at, each * at + op_ms, ("train.py", at % 9)) for at in range(ops)]
    trace = trace_of([run, *rows], length_ms)
    if not reported:
        assert "overhead" not in [figures.get("kind") for figures in trace.findings["figures"]]
        return
    found = host_compute([run, *rows], length_ms)
    figures = found["figures"]
    assert (found["level"], figures["kind"], figures["ops"]) == ("observation", "overhead", 4 * ops)
    assert found["share"] == pytest.approx(0.75, abs=0.01)
    assert "use larger batches" in found["advice"]
    assert trace.overview["headline"].startswith("Calling functions and starting their ops takes 7")


def test_most_small_ops_are_those_of_a_function_of_several_lines() -> None:
    run = op("ExecutorState::Process", 0, 2, kind="host", lane="tf_Compute/1")
    step, call = ("train.py", 30, "train"), ("train.py", 20, "train")
    rows = [
        op("Mul", 0.02 * at, 0.02 * at + 0.005, call, ("train.py", 3 + at % 5, "smooth"))
        if at < 70
        else op("Tanh", 0.02 * at, 0.02 * at + 0.005, step)
        for at in range(100)
    ]
    found = host_compute([run, *rows], 2)
    figures = found["figures"]
    assert (figures["kind"], figures["function"], figures["line"]) == ("overhead", "smooth", "train.py:20")
    assert figures["line_share"] == pytest.approx(0.7)
    assert "smooth (train.py:20) has 70.0 % of them" in found["text"]


@pytest.mark.parametrize("recorded", [1, 50])
def test_small_ops_of_a_loop_are_those_of_its_line(recorded: int) -> None:
    each = 9.0 / 600
    run = {"kind": "host", "lane": "tf_Compute/1"}
    starts = [op("ExecutorState::Process", each * at, each * (at + 0.99), **run) for at in range(600)]
    loop = ("train.py", 5, "train", "tf.map_fn(power, x)")
    library = ("/lib/while_v2.py", 9, "while_loop", "body()", False)
    body = [
        op("MatMul", 9 + at / 100, 9.009 + at / 100, loop, library, ("train.py", 2)) for at in range(recorded)
    ]
    found = trace_of([*starts, *body, op("TensorListStack", 9.6, 9.7, loop)]).findings.set_index("id")
    assert "train.py:5 has the most time of recorded ops" in found.loc["host_compute"]["text"]


@pytest.mark.parametrize(("calls", "reported"), [(20, True), (2, False)])
def test_calls_of_jax_take_as_long_as_calls_of_steps(calls: int, *, reported: bool) -> None:
    each = 20 / calls
    rows = [
        op("PjitFunction(add)", each * at, each * (at + 0.9), kind="host", lane="python")
        for at in range(calls)
    ]
    rows += [op("wrapped_add", each * (at + 0.1), each * (at + 0.1) + 0.01) for at in range(calls)]
    figures = [figures for figures in trace_of(rows, 20).findings["figures"] if "ops" in figures]
    assert bool(figures) is reported
    for one in figures:
        assert (one["kind"], one["program"], one["ops"]) == ("overhead", "jax", 4 * calls)
