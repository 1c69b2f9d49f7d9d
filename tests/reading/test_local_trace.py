"""local.trace of TensorFlow 1.14 to 2.0: devices, nodes and times of a StepStats, relative to the start."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.tsl.profiler.protobuf.trace_events_pb2 import Trace as TraceEvents

import tfvis_nb as tv
from tests.support.examples import examples
from tests.support.texts import figures_of, raises_id

pytestmark = pytest.mark.tensorflow

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
DEVICES = {
    "/host:CPU": "device:CPU:0",
    CPU: "device:CPU:0",
    "/device:GPU:0/stream:13": "device:GPU:0",
    "/gpu:0 (Tesla P100)/context#0/stream#1:Kernel": "device:GPU:0",
}
THREADS = {7: "tf_Compute/7", 9: "main"}
EVENTS = st.tuples(
    st.sampled_from(sorted(DEVICES)),
    st.sampled_from([*THREADS]),
    st.sampled_from(["dense/MatMul", "Adam/mul", "while/body/add"]),
    st.sampled_from(["MatMul", "Mul", "AddV2"]),
    st.integers(0, 5_000_000),
    st.integers(0, 40_000),
)


def written(events: list[Any]) -> bytes:
    """Write events as the profiler did: named by op, with the node as a long name."""
    message = TraceEvents()
    numbers = {device: number for number, device in enumerate(DEVICES)}
    for device, number in numbers.items():
        message.devices[number].name = device
        message.devices[number].device_id = number
        message.devices[number].resources[0].name = "0"
        if device == "/host:CPU":
            for thread, name in THREADS.items():
                message.devices[number].resources[thread].name = name
                message.devices[number].resources[thread].resource_id = thread
    for device, thread, node, op, start, duration in events:
        event = message.trace_events.add(
            device_id=numbers[device],
            resource_id=thread,
            name=op,
            timestamp_ps=start * 10**6,
            duration_ps=duration * 10**6,
        )
        if device == CPU:
            event.name = node
            event.args["label"] = f"{node} = {op}(x)"
        else:
            event.args["long name"] = f"{node}:{op}"
    data: bytes = message.SerializeToString()
    return data


@settings(max_examples=examples(100))
@given(events=st.lists(EVENTS, min_size=1, max_size=12))
def test_local_trace_gives_the_rows_of_its_events(events: list[Any]) -> None:
    trace = tv.read_trace(written(events))
    found = trace.events
    names = found["device"].astype(str).str.replace(r"^.*?(device:[A-Z]+:\d+)$", r"\1", regex=True)
    rows = zip(names, found["name"], found["op"], found["start_ns"], found["duration_ns"], strict=True)
    assert sorted(rows) == sorted(
        (DEVICES[device], node, op, start * 1000, duration * 1000)
        for device, _, node, op, start, duration in events
    )
    lanes = found[found["kind"] == "host"]["lane"].astype(str)
    host = [THREADS[thread] for device, thread, *_ in events if device == "/host:CPU"]
    assert sorted(lanes) == sorted(
        f"{name}/{thread}" for thread, name in THREADS.items() for _ in range(host.count(name))
    )
    assert figures_of(trace.notes, "times_from_start")


def test_local_trace_of_other_devices_has_their_threads() -> None:
    message = TraceEvents()
    message.devices[3].name = "TPU core 0"
    message.devices[3].resources[2].name = "XLA Ops"
    message.trace_events.add(
        device_id=3, resource_id=2, name="fusion.1", timestamp_ps=5_000_000, duration_ps=10**6
    )
    found = tv.read_trace(message.SerializeToString()).events
    assert found["lane"].tolist() == ["TPU core 0/XLA Ops"]
    assert found[["name", "start_ns", "duration_ns"]].values.tolist() == [["fusion.1", 5000, 1000]]


def test_cut_off_local_trace_is_refused() -> None:
    content = written([(CPU, 7, "dense/MatMul", "MatMul", 3, 5)] * 3)
    with raises_id(tv.TraceFormatError, "message_cut_off"):
        tv.read_trace(content[:-4])


def test_very_many_empty_events_are_refused() -> None:
    content = written([(CPU, 7, "dense/MatMul", "MatMul", 3, 5)] * 70)
    with raises_id(tv.TraceFormatError, "too_many_records"):
        tv.read_trace(content + b"\x22\x00" * 2_000_000)
