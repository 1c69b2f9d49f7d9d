"""Trace events with anything where anything may stand: a sound table or an error by name."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mutants.attack import outcome
from tests.support.examples import examples

odd: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 2**63, -(2**70), 1e308, 0.5, "", "7", "a" * 3000, "\ud800", [], [1], {}, {"a": {}}]
)
number: st.SearchStrategy[Any] = st.integers(-5, 2000) | st.floats(0, 2000) | odd
EPOCH = 1_795_213_877_498_746


def texts(*words: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(words) | st.sampled_from(words) | odd


NAMES = texts(
    "MatMul",
    "_SOURCE",
    "RecvTensor",
    "Memcpy HtoD (Pinned -> Device)",
    "MemcpyH2D",
    "MEMCPYDtoH",
    "Memset (Device)",
    "ncclKernel_AllReduce",
    "ProfilerStep#3",
    "ProfilerStep#4",
    "NEGOTIATE_ALLREDUCE",
    "ALLREDUCE",
    "0",
    "12",
    "dense/MatMul:MatMul",
    "process_name",
    "thread_name",
    "process_labels",
    "cudaLaunchKernel",
    "unknown",
    "Iterator::Root",
    "MatMul:1",
)
PROCESSES = texts(
    "/job:worker/replica:0/task:1/device:GPU:0 Compute",
    "/device:GPU:0/stream:13 Compute",
    "/device:GPU:0/stream:all Compute",
    "/device:GPU:0/memcpy Compute",
    "/gpu:0/stream:7 Compute",
    "/host:CPU Compute",
    "/device:GPU:0",
    "/host:CPU",
    "Allocators",
    "/job:worker/replica:0/task:1/device:GPU:0 Tensors",
    "Stream #13(Compute)",
    "stream 7 ",
    "Steps",
    "python",
    "GPU 0",
    "CPU",
    "tensor",
)
CATEGORIES = texts(
    "Op",
    "cpu_op",
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "cuda_runtime",
    "user_annotation",
    "op",
    "memcpy",
    "transfer",
    "counter",
)
ARGUMENTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "name": PROCESSES | NAMES,
        "labels": PROCESSES,
        "op": NAMES,
        "input0": NAMES,
        "snapshot": st.just(
            {"tensor_description": "dtype: DT_FLOAT\nshape {\n dim {\n size: 2\n}\n}\nptr: 9"}
        )
        | odd,
        "correlation": number,
        "correlation_id": number,
        "External id": number,
        "bytes": number,
        "flows_out": st.lists(number, max_size=2) | odd,
        "flows_in": st.lists(number, max_size=2) | odd,
        "device": number,
        "group_id": number,
        "dtype": texts("float32", "int64"),
        "shape": texts("[2, 3]", "[99999999999, 99999999999]"),
        "tf_op": NAMES,
        "long_name": NAMES,
        "memcpy_details": texts("size:4 dest:0 async:1", "size:99999999999999999999"),
        "kernel_details": odd,
        "start_time_since_epoch_in_micros": st.just(EPOCH) | odd,
        "task": PROCESSES,
        "lane": PROCESSES,
        "step": number,
        "start_ns": number,
        "duration_ns": number,
        "scheduled_ns": number,
        "thread": number,
        "source": PROCESSES,
        "detail": odd,
    },
)
EVENTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "ph": st.sampled_from([*"XXXXXXBEMMNODCstfiRbenSTpF?"]) | odd,
        "ts": number.map(lambda value: value + EPOCH if type(value) is int and 0 <= value < 2000 else value)
        | number,
        "pid": st.integers(0, 2) | st.sampled_from(["Spans", None, [], 1.5]),
        "tid": st.integers(0, 2) | st.sampled_from(["x", None, {}]),
    },
    optional={
        "name": NAMES,
        "cat": CATEGORIES,
        "dur": number,
        "args": ARGUMENTS | odd,
        "id": odd,
        **dict.fromkeys(("bind_id", "flow_in", "flow_out"), st.just(True) | odd),
        "bp": st.just("e") | odd,
        "s": st.sampled_from("tpg") | odd,
        "id2": st.just({"local": 1}) | st.just({"global": []}) | odd,
        "time_ns": number,
        "task": odd,
    },
)
KEYS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "otherData": st.just(
            {"writer": "tfvis_nb", "title": 7, "notes": ["a", None], "steps": {"1": 2, "x": 3}}
        )
        | st.just({"writer": "tfvis_nb", "steps": [], "notes": 7}),
        "schemaVersion": odd,
        "distributedInfo": st.just({"rank": 3, "world_size": None}) | st.just({"rank": "x"}) | odd,
        "displayTimeUnit": odd,
    },
)
ONE_PROCESS = {"ph": "M", "name": "process_name", "pid": 1, "tid": 1}


@settings(max_examples=examples(400))
@given(
    events=st.lists(EVENTS, max_size=8),
    keys=KEYS,
    process=PROCESSES,
    bare=st.booleans(),
)
def test_any_events(events: list[Any], keys: dict[str, Any], process: Any, bare: bool) -> None:
    every = [ONE_PROCESS | {"args": {"name": process}}, *events]
    text = json.dumps(every if bare else keys | {"traceEvents": every})
    assert outcome(text.encode()) in ("a sound trace", "EmptyTraceError", "TraceFormatError")


@settings(max_examples=examples(200))
@given(
    st.recursive(
        odd,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
def test_any_json(value: Any) -> None:
    assert outcome(json.dumps([value]).encode()) in ("EmptyTraceError", "TraceFormatError")
