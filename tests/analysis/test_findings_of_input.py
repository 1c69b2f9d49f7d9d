"""Findings of input pipelines: steps that wait for them, and their slowest op."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.real_traces import SHARED, real_trace
from tests.support.h200_traces import read_h200
from tfvis_nb import events
from tfvis_nb.analysis import measurements
from tfvis_nb.analysis.findings.program import faster_input, recorded
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.core.metadata import PYTHON_SAMPLES, THREAD_SAMPLES, table_of
from tfvis_nb.core.stacks import Frame, StackBuilder

INPUT_SHARE = RULES["input_bound"].thresholds["SHARE"].value
INPUT_MEAN_NS = int(RULES["input_bound"].thresholds["MEAN_NS"].value)


def _input_trace(waiting: list[int], computing: int) -> tv.Trace:
    """A trace of steps that wait so long for input each, and then compute."""
    rows = []
    for step, waits in enumerate(waiting):
        start = step * 10**9
        rows.append({"start_ns": start, "duration_ns": waits, "op": "IteratorGetNext", "step": step})
        rows.append({"start_ns": start + waits, "duration_ns": computing, "op": "MatMul", "step": step})
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {"kind": ["op"] * len(rows), "device": ["/device:CPU:0"] * len(rows)}
    return tv.Trace(events.build(columns))


def test_waiting_for_input_is_told_from_its_limit_on() -> None:
    whole = 100_000_000
    limit = round(INPUT_SHARE * whole)
    below = _input_trace([limit - 1], whole + 1 - limit).findings
    at = _input_trace([limit], whole - limit).findings
    assert "input" not in set(below["kind"])
    at = at[at["kind"] == "input"]
    assert at["share"].tolist() == [INPUT_SHARE]
    assert at["lost_ns"].tolist() == [limit]
    assert at["events"].tolist() == [[0]]
    assert at["id"].tolist() == ["input_bound.one"]


def _batches(detail: str, called: list[int] = ()) -> tv.Trace:  # type: ignore[assignment]
    """Steps that take batches from a PyDataset; line 5 is sampled, and those `called` on other threads."""
    rows: list[dict[str, Any]] = []
    for at in range(0, 8 * 50_000_000, 50_000_000):
        batch = {"op": "NextBatch", "name": "NextBatch(PyDataset)", "kind": "host", "detail": detail}
        product = {"op": "MatMul", "name": "dot", "kind": "op", "detail": ""}
        call = {"op": "PjitFunction", "name": "PjitFunction(step)", "kind": "host", "detail": ""}
        step = at // 50_000_000
        rows.append(batch | {"start_ns": at, "duration_ns": 40_000_000, "step": step})
        rows.append(call | {"start_ns": at + 40_000_000, "duration_ns": 8_000_000, "step": step})
        rows.append(product | {"start_ns": at + 41_000_000, "duration_ns": 6_000_000, "step": step})
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {"lane": ["python"] * len(rows), "device": ["/device:CPU:0"] * len(rows)}
    times = range(20_000_000, 8 * 50_000_000, 50_000_000)
    own = [{"time_ns": time, "file": "data.py", "line": 5, "function": "__getitem__"} for time in times]
    others = [one | {"line": line, "called": 1, "running": 0} for line in called for one in own]
    samples = {
        PYTHON_SAMPLES: table_of(PYTHON_SAMPLES, own),
        THREAD_SAMPLES: table_of(THREAD_SAMPLES, others),
    }
    return tv.Trace(events.order(events.build(columns))[0], metadata=samples)


@pytest.mark.parametrize(
    ("detail", "called", "line", "unready"),
    [
        ("", [], "data.py:5", None),
        ("workers=2 ready=0 queue=10", [9], "data.py:9", 8),
        ("workers=2", [], None, None),
    ],
)
def test_line_that_makes_batches_in_python_is_named(
    detail: str, called: list[int], line: str | None, unready: int | None
) -> None:
    first = _batches(detail, called).findings.iloc[0]
    stage = first["figures"]["slowest_stage"]
    assert (first["id"], stage["op"], stage["count"]) == ("input_bound.all", "NextBatch(PyDataset)", 8)
    assert (stage["python"] and stage["python"]["line"], stage["unready"]) == (line, unready)
    assert (line or "") in first["text"]
    assert "PyDataset" in first["advice"]
    assert "tf.data" not in f"{first['text']} {first['how']} {first['advice']}"


def test_the_slowest_op_of_the_input_pipeline_is_named() -> None:
    waiting: dict[str, Any] = {
        "kind": "op",
        "op": "IteratorGetNext",
        "lane": "ops",
        "start_ns": 0,
        "duration_ns": 90_000_000,
    }
    lane = {"kind": "host", "lane": "tf_data_iterator_resource/1"}
    rows = [
        waiting,
        {**lane, "op": "InstantiatedCapturedFunction::Run", "start_ns": 0, "duration_ns": 80_000_000},
        *({**lane, "op": "PyFunc", "start_ns": at, "duration_ns": 5_000_000} for at in (0, 10_000_000)),
        {**lane, "op": "DecodeJpeg", "start_ns": 30_000_000, "duration_ns": 9_000_000},
    ]
    table, _ = events.order(events.build({name: [row[name] for row in rows] for name in waiting}))
    figures = tv.Trace(table).findings["figures"][0]
    stage = {"op": "PyFunc", "count": 2, "self_ns": 10_000_000, "at_once": 1.0, "line": None, "python": None}
    stage["ops_ns"] = 19_000_000
    assert figures["slowest_stage"] == stage
    builder = StackBuilder()
    for line in (7, 3):
        builder.stack([Frame("input.py", line)])
    stacks = [1 if op == "PyFunc" else 0 for op in table["op"]]
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    coded = tv.Trace(table, nested=nested, stacks=builder.table())
    assert coded.findings["figures"][0]["slowest_stage"] == {**stage, "line": "input.py:3"}
    lines = [(2, 8), (4, 8), (12, 9), (20, 7)]  # the last one is of another call
    samples = [
        {"time_ns": ms * 1_000_000, "file": "input.py", "line": line, "function": "decode"}
        for ms, line in lines
    ]
    sampled = tv.Trace(table, metadata={THREAD_SAMPLES: table_of(THREAD_SAMPLES, samples)})
    found = sampled.findings.iloc[0]
    python = {"line": "input.py:8", "function": "decode", "line_share": 2 / 3, "samples": 3}
    assert found["figures"]["slowest_stage"] == {**stage, "python": python}
    assert "PyFunc (input.py:8) is the slowest part" in found["text"]
    assert "input.py:8 in decode runs in 2 of 3 samples" in found["how"]


@pytest.mark.parametrize("op", ["PyFunc", "EagerPyFunc", "DecodeJpeg"])
def test_parallel_calls_are_advised_to_python_only_if_it_waits(op: str) -> None:
    get = {"kind": "op", "op": "IteratorGetNext", "lane": "ops", "start_ns": 0, "duration_ns": 90_000_000}
    call = {**get, "op": op, "lane": "tf_data_iterator_resource/1", "duration_ns": 80_000_000}
    work = {**get, "op": "MatMul", "start_ns": 90_000_000, "duration_ns": 10_000_000}
    steps = {"step": [0, events.NO_STEP, 0]}
    rows = {name: [row[name] for row in (get, call, work)] for name in get}
    table, _ = events.order(events.build(rows | steps))
    found = tv.Trace(table).findings.iloc[0]
    is_python = op != "DecodeJpeg"
    assert found["figures"]["slowest_stage"]["op"] == op
    assert ("if its Python waits" in found["advice"]) == is_python
    assert "num_parallel_calls=8" in found["advice"]
    assert ("With 8 at a time" in found["how"]) != is_python


def test_a_pipeline_stage_without_an_op_is_named_by_its_name() -> None:
    lane = {"kind": "host", "op": "", "lane": "tf_data_iterator_get_next/1"}
    rows: list[dict[str, Any]] = [
        {
            **lane,
            "kind": "op",
            "op": "IteratorGetNext",
            "name": "get",
            "lane": "ops",
            "start_ns": 0,
            "duration_ns": 90_000_000,
        },
        {**lane, "name": "Iterator::Model::Prefetch", "start_ns": 0, "duration_ns": 80_000_000},
        {
            **lane,
            "name": "Iterator::Model::Prefetch::Take",
            "start_ns": 10_000_000,
            "duration_ns": 5_000_000,
        },
    ]

    def slowest(rows: list[dict[str, Any]]) -> object:
        table, _ = events.order(events.build({name: [row[name] for row in rows] for name in rows[0]}))
        return tv.Trace(table).findings["figures"][0]["slowest_stage"]

    # Prefetch waits for its buffer.
    stage = {"count": 1, "self_ns": 5_000_000, "at_once": 1.0, "line": None, "python": None}
    assert slowest(rows) == {"op": "Iterator::Model::Prefetch::Take", **stage, "ops_ns": 0}
    decoding = {**lane, "name": "decode", "start_ns": 85_000_000, "duration_ns": 1_000_000}
    assert slowest([*rows, decoding]) == {"op": "decode", **stage, "self_ns": 1_000_000, "ops_ns": 1_000_000}
    assert slowest(rows[:2]) is None


@pytest.mark.collection("hvd/estimator_tf115_dnn_train_step0.pb")
def test_the_stages_of_an_estimators_input_are_named() -> None:
    table = real_trace(SHARED / "hvd" / "estimator_tf115_dnn_train_step0.pb").findings
    stage = table["figures"][0]["slowest_stage"]
    assert stage["op"] == "Iterator::Model::Prefetch::BatchV2::ShuffleAndRepeat"
    assert stage["self_ns"] // 1000 == 311


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_the_slowest_op_of_a_real_input_pipeline_is_named() -> None:
    figures = read_h200(["input_bound_tf2_gpu.xplane.pb"]).findings["figures"][0]
    stage = figures["slowest_stage"]
    assert (stage["op"], stage["count"], round(stage["self_ns"] / 10**6)) == ("PyFunc", 60, 263)
    # 263 ms of Python for 8 steps that work for 105 ms.
    assert (stage["at_once"], figures["needed"]) == (1.0, 3)
    bottleneck = figures["bottleneck"]
    assert (bottleneck["stage"], bottleneck["calls"], bottleneck["awaits"]) == ("Map", 62, False)
    assert round(bottleneck["mean_ns"] / 10**4) == 447
    # A batch that is being filled is no batch that is ready.
    assert figures["buffer"] == {"stage": "MapAndBatch", "empty": 8, "calls": 8}


def test_the_limiting_stage_and_the_empty_buffer_are_named(data: Path) -> None:
    found = real_trace(data / "cpu_tf215_input.xplane.pb.xz").findings.set_index("id")
    figures = found["figures"]["input_bound.all"]
    bottleneck = figures["bottleneck"]
    assert (bottleneck["stage"], bottleneck["awaits"]) == ("ParallelMap(decode)", True)
    assert (bottleneck["calls"], bottleneck["parallelism"]) == (20, 2)
    assert figures["buffer"] == {"stage": "Prefetch(ready)", "empty": 3, "calls": 8}
    assert figures["slowest_stage"]["op"] == "PyFunc"


def test_how_many_calls_at_once_would_keep_up() -> None:
    get = {"kind": "op", "op": "IteratorGetNext", "lane": "ops", "step": 0, "name": "get", "detail": ""}
    call = {**get, "kind": "host", "op": "", "step": events.NO_STEP, "name": "Iterator::Root::Prefetch"}
    decode = {**call, "op": "decode", "name": "decode"}
    lanes = ("tf_data_iterator_resource/1", "tf_data_iterator_resource/2")
    rows: list[dict[str, Any]] = [
        {**get, "start_ns": 0, "duration_ns": 70_000_000},
        {**get, "op": "MatMul", "name": "MatMul", "start_ns": 70_000_000, "duration_ns": 30_000_000},
        {**call, "lane": "a", "start_ns": 0, "duration_ns": 70_000_000, "detail": "buffer_limit=1"},
        {**call, "lane": "a", "start_ns": 90_000_000, "duration_ns": 1, "detail": "buffered_elements=1"},
        *({**decode, "lane": lane, "start_ns": 10_000_000, "duration_ns": 50_000_000} for lane in lanes),
    ]
    table, _ = events.order(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    figures = tv.Trace(table).findings["figures"][0]
    # 100 ms of decoding for 30 ms of work, two of them at once.
    assert (figures["slowest_stage"]["at_once"], figures["needed"]) == (2.0, 4)
    assert figures["buffer"] == {"stage": "Prefetch", "empty": 1, "calls": 2}


def test_a_batch_that_is_handed_over_is_not_waited_for() -> None:
    below, at = (
        _input_trace([each] * 3, INPUT_MEAN_NS).findings for each in (INPUT_MEAN_NS - 1, INPUT_MEAN_NS)
    )
    assert "input_bound.all" not in set(below["id"])
    assert at["id"][0] == "input_bound.all"


@pytest.mark.parametrize(("parallelism", "advised"), [(1, True), (None, True), (4, False)])
def test_parallel_calls_are_advised_to_a_stage_without_them(
    parallelism: int | None, *, advised: bool
) -> None:
    figures = {"prefetches": True, "needed": 6, "bottleneck": {"parallelism": parallelism}}
    assert ("num_parallel_calls=6" in faster_input(figures)) == advised


@pytest.mark.parametrize(
    ("stage", "method"),
    [
        ("Map(decode)", "map(...,"),
        ("FlatMap", "interleave(...,"),
        ("Batch", "batch(...,"),
        ("Filter", ""),
        ("ShuffleAndRepeat", ""),
    ],
)
def test_parallel_calls_are_advised_to_stages_that_take_them(stage: str, method: str) -> None:
    figures = {"prefetches": True, "bottleneck": {"stage": stage, "parallelism": None}}
    advice = faster_input(figures)
    assert ("num_parallel_calls" in advice) == bool(method)
    assert method in advice


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ("inject/prefetch_MapDataset/_4", "TensorFlow has added a prefetch"),
        ("PrefetchDataset:4", "The input pipeline prefetches already"),
        ("inject/io_prefetch_TFRecordDataset/_4", "The input pipeline prefetches already"),
    ],
)
def test_advice_knows_who_has_added_a_prefetch(dataset: str, words: str) -> None:
    stage = {
        "kind": "host",
        "lane": "python",
        "name": "Iterator::Root::Prefetch",
        "op": "Iterator::Prefetch",
        "detail": f"name={dataset} autotune=true",
        "start_ns": 1_100_000,
        "duration_ns": 7_000_000,
    }
    loop = _own_loop(8_000_000).events
    columns = {name: [*loop[name].tolist(), one] for name, one in stage.items()}
    trace = tv.Trace(events.order(events.build(columns | {"step": [*loop["step"].tolist(), -1]}))[0])
    assert trace.findings["advice"][0].startswith(words)


def test_calls_of_map_and_batch_run_in_parallel() -> None:
    row = {"start_ns": [0], "duration_ns": [1], "kind": ["host"], "op": ["Iterator::MapAndBatch"]}
    assert recorded(tv.Trace(events.build(row)))["parallel"]


@pytest.mark.parametrize(("each", "remade"), [(1, True), (2, True), (3, False)])
def test_iterators_made_for_a_batch_each_are_advised_against(each: int, *, remade: bool) -> None:
    ops = ["MakeIterator", *["IteratorGetNext"] * each] * 3
    start = [10_000 * at for at in range(len(ops))]
    trace = tv.Trace(
        events.build({"start_ns": start, "duration_ns": start, "kind": ["op"] * len(ops), "op": ops})
    )
    advice = faster_input(recorded(trace) | {"needed": 4})
    assert ("Make the iterator once" in advice) == remade
    assert ("num_parallel_calls=4" in advice) == (not remade)
    keras = faster_input(recorded(trace) | {"program": "keras"})
    assert ("Call fit(), evaluate() or predict() once" in keras) == remade


def test_what_only_the_first_step_waits_for_is_told_of_it() -> None:
    first = (
        _input_trace([8_000_000, 1000, 1000], 20_000_000).findings.set_index("id").loc["input_bound.first"]
    )
    assert (first["level"], first["figures"]["later_share"]) == ("observation", 2000 / 40_002_000)
    apart = _input_trace([60_000_000, 1000, 1000], 10_000_000).findings.set_index("id")
    assert {"between_steps", "first_step"} <= set(apart.index)
    assert apart["figures"]["first_step"]["activity"] == "input"
    brief = _input_trace([40_000_000, 1000, 1000], 5_000_000).findings
    assert "first_step" not in set(brief["id"])


def test_a_first_step_does_not_hide_the_waits_of_the_others() -> None:
    slow, usual = 900_000_000, 80_000_000
    trace = _input_trace([slow, *[usual] * 4], 20_000_000)
    found = trace.findings.set_index("id")
    assert found.index.tolist()[0] == "input_bound.all"
    assert found["share"]["input_bound.all"] == 0.8
    assert found["lost_ns"]["input_bound.all"] == 4 * usual
    assert found["step"]["input_bound.all"] == 1
    assert (np.isnan(found["share"]["first_step"]), found["lost_ns"]["first_step"]) == (True, slow - usual)
    warm = _input_trace([usual] * 4, 20_000_000).overview["headline"]
    assert trace.overview["headline"] == warm.replace("step time", "step time after the first step")
    measured = measurements(trace).set_index("id")["text"]
    assert "0 % of step time after the first step" in measured["compiling"]
    assert "the time of all steps" in measured["first_step"]
    assert "Later steps by main activity" in repr(trace.overview)


def _own_loop(waiting: int, stage: str = "") -> tv.Trace:
    """Return five steps of a millisecond, with `waiting` ns for the next batch of a stage between them."""
    loop = {"kind": "host", "lane": "python", "name": "", "op": "", "step": -1}
    rows: list[dict[str, Any]] = []
    for step in range(5):
        start = step * 10_000_000
        rows.append(
            {**loop, "kind": "op", "op": "MatMul", "step": step, "start_ns": start, "duration_ns": 10**6}
        )
        rows.append({**loop, "name": "IteratorGetNext", "op": "IteratorGetNext", "start_ns": start + 10**6})
        rows[-1]["duration_ns"] = waiting
        rows += [rows[-1] | {"name": stage, "op": stage, "lane": "pipeline"}] if stage else []
    return tv.Trace(events.build({name: [row[name] for row in rows] for name in rows[0]}))


def test_a_loop_that_waits_for_input_between_its_steps_is_told() -> None:
    trace = _own_loop(8_000_000)
    found = trace.findings.iloc[0]
    assert (found["id"], found["level"], found["lost_ns"]) == ("between_steps", "problem", 40_000_000)
    words = RULES["between_steps"].headline
    assert words is not None
    assert trace.overview["headline"].startswith(words(found["figures"]))
    quick = _own_loop(1_000_000).findings.set_index("id").loc["between_steps"]
    assert (quick["level"], quick["figures"]["input_ns"]) == ("observation", 5_000_000)


def test_an_op_in_a_pipeline_function_is_the_slowest_stage(data: Path) -> None:
    """The function of ParallelMap runs on threads of the executor, outside any step."""
    found = real_trace(data / "tf2_host.trace.json").findings.set_index("id").loc["input_bound.one"]
    assert found["figures"]["slowest_stage"]["op"] == "GatherV2"
    assert found["figures"]["slowest_stage"]["self_ns"] > 50_000_000


@pytest.mark.parametrize(
    ("stages", "advised"),
    [
        (["Root", "Map"], {"prefetch", "num_parallel_calls", "cache()"}),
        (["Root", "Prefetch", "Map"], {"num_parallel_calls", "cache()"}),
        (["Root", "Root::Prefetch", "Root::Prefetch::MemoryCache", "Prefetch::ParallelMapV2"], set()),
    ],
)
def test_advice_names_the_missing_stage_of_a_pipeline(stages: list[str], advised: set[str]) -> None:
    count = len(stages)
    columns = {"start_ns": list(range(count)), "duration_ns": [1] * count, "kind": ["host"] * count}
    trace = tv.Trace(events.build(columns | {"op": [f"Iterator::{stage}" for stage in stages]}))
    advice = faster_input(recorded(trace))
    code = {
        "prefetch": "dataset.prefetch(",
        "num_parallel_calls": "num_parallel_calls=",
        "cache()": "cache()",
    }
    assert {name for name, text in code.items() if text in advice} == advised
    assert "num_parallel_calls=" not in faster_input({**recorded(trace), "bottleneck": {"parallelism": 2}})


def test_prefetch_is_not_advised_for_a_queue() -> None:
    columns = {"start_ns": [0, 1], "duration_ns": [9, 9], "kind": ["op"] * 2}
    for get, advised in (("QueueDequeueManyV2", False), ("IteratorGetNext", True)):
        trace = tv.Trace(events.build(columns | {"op": ["QueueDequeueV2", get]}))
        assert ("dataset.prefetch(" in faster_input(recorded(trace))) == advised


@pytest.mark.parametrize(("wait_ms", "prefetch"), [(4, True), (8, False)])
def test_prefetch_is_advised_if_the_loop_hides_the_pipeline(wait_ms: int, *, prefetch: bool) -> None:
    trace = _own_loop(wait_ms * 10**6, "Iterator::Map")
    found = trace.findings.set_index("id").loc["between_steps"]
    assert found["figures"]["prefetches"] is False
    assert ("dataset.prefetch(" in found["advice"]) == prefetch


@pytest.mark.parametrize(("step_ms", "prefetch"), [(1, False), (60, True)])
def test_prefetch_is_advised_if_steps_hide_the_slowest_stage(step_ms: int, *, prefetch: bool) -> None:
    """Each step waits 40 ms for a map without a prefetch."""
    rows, length = [], 40 + step_ms
    for step in range(5):
        at = step * length
        for name, lane, kind, start, took, number in (
            ("train", "python", "host", at, length, step),
            ("IteratorGetNext", "python", "op", at, 40, step),
            ("Iterator::Map", "python", "host", at, 39, step),
            ("DecodeJpeg", "pipeline", "op", at, 38, -1),
            ("MatMul", "python", "op", at + 40, step_ms, step),
        ):
            rows.append(
                {"name": name, "op": name, "lane": lane, "kind": kind, "step": number}
                | {"start_ns": start * 10**6, "duration_ns": took * 10**6}
            )
    trace = tv.Trace(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    found = trace.findings.set_index("id").loc["input_bound.all"]
    assert ("dataset.prefetch(" in found["advice"]) == prefetch
    assert "num_parallel_calls=" in found["advice"]


def test_input_bound_names_no_part_below_a_tenth_of_the_wait() -> None:
    def text(read_ms: int) -> str:
        rows = [
            ("op", "IteratorGetNext", "ops", 0, 90),
            ("host", "ReadFile", "tf_data_iterator_get_next/1", 5, read_ms),
        ]
        names = ("kind", "op", "lane", "start_ns", "duration_ns")
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        columns |= {"device": ["/device:CPU:0"] * 2}
        table = events.build(columns)
        table[["start_ns", "duration_ns"]] *= 1_000_000
        return str(tv.Trace(events.order(table)[0]).findings["text"][0])

    assert "ReadFile" in text(9)
    assert "ReadFile" not in text(8)


def test_what_only_the_first_step_waits_for_is_an_observation() -> None:
    rows = [(0, 8, 10), *((step, 0, 10) for step in range(1, 9))]
    columns: dict[str, list[Any]] = {"op": [], "start_ns": [], "duration_ns": [], "step": []}
    for step, wait, compute in rows:
        for op, start, length in (("IteratorGetNext", 0, wait), ("MatMul", wait, compute)):
            columns["op"].append(op)
            columns["start_ns"].append((step * 100 + start) * 1_000_000)
            columns["duration_ns"].append(length * 1_000_000)
            columns["step"].append(step)
    columns |= {"kind": ["op"] * 18, "device": ["/device:CPU:0"] * 18, "lane": ["ops"] * 18}
    found = tv.Trace(events.build(columns)).findings.set_index("id").loc["input_bound.first"]
    assert (found["level"], found["share"]) == ("observation", pytest.approx(8 / 98))


MAP_SOURCE = """import tensorflow as tf
data = tf.data.Dataset.range(99)
data = (
    data
    .map(scaled)
    .batch(8)
)
"""


def _mapped(stages: list[str], *, source: str = MAP_SOURCE, op_ms: int = 0) -> Any:
    """Return the figures of 5 steps that wait 9 ms each for stages of a pipeline, and for an op in them."""
    rows: list[dict[str, Any]] = []
    for step in range(5):
        at = step * 10_000_000
        row = {"start_ns": at, "duration_ns": 9_000_000, "lane": "ops", "kind": "op", "step": step}
        rows.append({**row, "op": "IteratorGetNext", "name": "get"})
        for depth, name in enumerate(stages):
            own = {
                "kind": "host",
                "op": f"Iterator::{name}",
                "name": "::".join(["Iterator", *stages[: depth + 1]]),
            }
            rows.append({**row, **own, "duration_ns": 8_900_000 - depth * 1000})
        if op_ms:
            rows.append(
                {**row, "op": "Cast", "name": "Cast", "lane": "other", "duration_ns": op_ms * 1_000_000}
            )
            rows[-1]["step"] = -1
        rows.append(
            {**row, "op": "MatMul", "name": "MatMul", "start_ns": at + 9_000_000, "duration_ns": 900_000}
        )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    table, _ = events.order(events.build(columns | {"device": ["/device:CPU:0"] * len(rows)}))
    builder = StackBuilder()
    builder.stack([Frame("train.py", 5)])
    builder.file("train.py", source)
    return tv.Trace(table, stacks=builder.table()).findings.iloc[0]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (MAP_SOURCE, "train.py:5"),
        (MAP_SOURCE.replace("data\n    .map", "tf.data.Dataset.range(3)\n    .map"), "train.py:5"),
        (MAP_SOURCE + "other = data.map(print)\n", ""),
        (MAP_SOURCE + "done = pool.map(print, [1])\n", ""),
        (
            MAP_SOURCE.replace("data", "frame")
            .replace("    .batch(8)\n", "")
            .replace("tf.frame.Dataset", "series"),
            "",
        ),
    ],
    ids=["variable", "call", "two", "other", "no dataset"],
)
def test_only_call_of_map_is_the_line_of_its_stage(source: str, line: str) -> None:
    found = _mapped(["Root", "MapAndBatch"], source=source)
    assert found["figures"]["bottleneck"]["line"] == line
    assert (f"MapAndBatch ({line})" in found["text"]) == bool(line)
    two = _mapped(["Root", "MapAndBatch", "Map"], source=source)
    assert two["figures"]["bottleneck"]["line"] == ""


@pytest.mark.parametrize(
    ("stages", "op_ms", "advised"),
    [
        (["Root", "MapAndBatch"], 0, True),
        (["Root", "Batch", "Map"], 0, True),
        (["Root", "MapAndBatch"], 8, False),
        (["Root", "Map", "TensorSlice"], 0, False),
    ],
)
def test_batches_first_are_advised_if_a_map_mostly_calls(
    stages: list[str], op_ms: int, advised: bool
) -> None:
    assert ("batch() before map()" in _mapped(stages, op_ms=op_ms)["advice"]) == advised


SHUFFLE_SOURCE = """import random
import tensorflow as tf
%load_ext tfvis_nb
names = ["a", "b"]
random.shuffle(names)
data = (
    tf.data.Dataset.range(10)
    .map(decode)
    .shuffle(len(names))
)
"""


def _shuffled(
    fills: dict[int, int], *, outside: bool = False, source: str = SHUFFLE_SOURCE, step_ms: int = 10
) -> tv.Trace:
    """20 steps; some wait so many ms for a shuffle buffer of 100 elements, in the step or before it."""
    stage = "Iterator::Root::Prefetch::Batch::Shuffle"
    rows: list[dict[str, Any]] = []

    def add(start: float, length: float, name: str, **more: Any) -> None:
        row = {"kind": "host", "lane": "pipeline", "op": name, "name": name, "step": -1, "detail": ""}
        row |= {"start_ns": round(start * 10**6), "duration_ns": round(length * 10**6)}
        rows.append(row | more)

    at = 0.0
    for step in range(20):
        wait = fills.get(step, 0)
        own = -1 if outside else step
        add(at, wait + 0.2, "Iterator::Root")
        add(at, wait + 0.2, "IteratorGetNext", kind="op", lane="ops", step=own)
        for element in range(2):
            filling = wait if element == 0 else 0
            inside = 0.1 + filling
            start = at + (element * 0.1 + wait if element else 0)
            add(start, inside * 0.99, stage, detail="name=ShuffleDataset:2 buffer_size=100")
            for one in range(100 if filling else 1):
                add(start + one * inside * 0.008, inside * 0.007, f"{stage}::Map")
        at += wait + 0.3
        add(at, step_ms, "MatMul", kind="op", lane="ops", step=step)
        at += step_ms
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    table, _ = events.order(events.build(columns | {"device": ["/device:CPU:0"] * len(rows)}))
    builder = StackBuilder()
    builder.stack([Frame("train.py", 8)])
    builder.file("train.py", source)
    return tv.Trace(table, stacks=builder.table())


def test_filling_a_shuffle_buffer_once_is_an_observation() -> None:
    found = _shuffled({0: 300}).findings
    first = found.iloc[0]
    assert (first["id"], first["level"], first["step"]) == ("shuffle_buffer", "observation", 0)
    assert "train.py:9" in first["text"]
    assert "100 elements" in first["text"]
    assert first["lost_ns"] == pytest.approx(300_000_000, rel=0.2)
    assert not {"first_step", "input_bound.first"} & set(found["id"])


def test_filling_a_shuffle_buffer_each_epoch_is_a_problem() -> None:
    found = _shuffled({0: 60, 5: 60, 10: 60, 15: 60}).findings
    assert (found["id"][0], found["level"][0]) == ("shuffle_buffer", "problem")
    assert found["share"][0] == pytest.approx(4 * 60 / 500, rel=0.05)
    assert not found["id"].str.startswith("input_bound").any()


def test_a_shuffle_buffer_explains_a_loop_that_waits() -> None:
    found = _shuffled({0: 100, 10: 100}, outside=True).findings
    assert (found["id"][0], found["level"][0]) == ("shuffle_buffer", "problem")
    assert "between_steps" not in set(found["id"])


def test_iterators_of_single_steps_do_not_blame_their_buffer() -> None:
    trace = _shuffled(dict.fromkeys(range(20), 60), outside=True)
    assert not trace.findings["id"].str.startswith("shuffle_buffer").any()
    assert trace.findings["id"][0] == "between_steps"


@pytest.mark.parametrize("fills", [{}, {0: 40}, {0: 60}])
def test_short_fills_of_shuffle_buffers_are_not_reported(fills: dict[int, int]) -> None:
    trace = _shuffled(fills, step_ms=100)
    assert "shuffle_buffer" not in set(trace.findings["id"])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("len(names)", "100"), "train.py:9"),
        (("len(names)", "buffer_size=100"), "train.py:9"),
        (("len(names)", "20"), None),
        (("random.shuffle(names)", "other = data.shuffle(names)"), None),
        (("random.shuffle(names)", "other = random.shuffle(names)"), "train.py:9"),
        (("random.shuffle(names)", "random shuffle"), None),
    ],
)
def test_only_an_unambiguous_line_of_shuffle_is_named(change: tuple[str, str], line: str | None) -> None:
    figures = _shuffled({0: 300}, source=SHUFFLE_SOURCE.replace(*change)).findings["figures"][0]
    assert figures["line"] == (line or "")
