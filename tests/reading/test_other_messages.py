"""Protobuf messages of other kinds are named, whatever fields they share with a StepStats."""

import struct
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.core.example.example_pb2 import SequenceExample
from tensorflow.core.framework.step_stats_pb2 import StepStats
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto, ProfileProto
from tensorflow.core.protobuf.config_pb2 import RunMetadata

import tfvis_nb as tv
from tests.protobuf_bytes import field, number
from tests.support.examples import examples
from tests.support.texts import raises_id
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow


def checkpoint_graph() -> bytes:
    with tf.Graph().as_default():
        tf.compat.v1.get_variable("v", [2])
        saver = tf.compat.v1.train.Saver()
        data: bytes = saver.export_meta_graph(strip_default_attrs=True).SerializeToString()
    return data


def example() -> bytes:
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 4]))
    image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"\x10\x20\x30"]))
    data: bytes = tf.train.Example(
        features=tf.train.Features(feature={"label": feature, "image": image})
    ).SerializeToString()
    return data


def sequence() -> bytes:
    message = SequenceExample()
    message.context.feature["length"].int64_list.value.append(3)
    message.feature_lists.feature_list["tokens"].feature.add().int64_list.value.append(7)
    data: bytes = message.SerializeToString()
    return data


def tfprof_profile() -> bytes:
    message = ProfileProto(has_trace=True, steps=[0, 1])
    message.nodes[3].name = "MatMul"
    message.nodes[3].execs[1].run_count = 1
    message.id_to_string[2] = "train.py"
    data: bytes = message.SerializeToString()
    return data


def op_log() -> bytes:
    message = OpLogProto()
    message.log_entries.add(name="MatMul", float_ops=12, types=["_trainable_variables"])
    data: bytes = message.SerializeToString()
    return data


def double(place: int, value: float) -> bytes:
    return bytes([place << 3 | 1]) + struct.pack("<d", value)


def tensorflow_stats() -> bytes:
    ops = [("IDLE", "IDLE"), ("MatMul", "dense/MatMul")]
    rows = [
        number(1, rank)
        + field(2, b"Host")
        + field(3, op.encode())
        + field(4, name.encode())
        + number(5, 8)
        + double(6, 190_620.0)
        for rank, (op, name) in enumerate(ops, 1)
    ]
    with_idle, without_idle = (b"".join(field(1, row) for row in some) for some in (rows, rows[1:]))
    return field(4, with_idle) + field(5, without_idle) + field(6, b"CPU")


def any_of(what: str) -> bytes:
    return field(1, b"type.googleapis.com/tensorflow.profiler." + what.encode()) + field(2, number(1, 7))


def input_pipeline() -> bytes:
    summary = double(1, 5.0) + double(3, 4.0) + double(4, 6.0)
    steps = field(4, any_of("PerGenericStepDetails")) * 2
    return field(2, summary) + field(3, summary) + steps + field(9, b"CPU_ONLY")


def overview_page() -> bytes:
    analysis = double(2, 3.0) + field(4, field(1, b"MatMul") + field(2, b"MatMul") + double(3, 0.5))
    advice = field(1, b"host") + field(6, any_of("GenericRecommendation"))
    environment = number(1, 1) + field(3, field(1, b"host") + number(2, 1)) + field(4, b"GPU")
    return field(2, input_pipeline()) + field(3, analysis) + field(4, advice) + field(6, environment)


def kernel_stats() -> bytes:
    report = field(1, b"void gemm<float>(int)") + number(2, 32) + field(5, b"\x80\x01\x01\x01")
    return field(1, report + field(6, b"\x04\x01\x01") + number(7, 8000) + field(12, b"dense/MatMul")) * 3


def pprof() -> bytes:
    texts = ["", "samples", "count", "cpu", "nanoseconds", "run"]
    types = field(1, number(1, 1) + number(2, 2)) + field(1, number(1, 3) + number(2, 4))
    sample = field(2, field(1, b"\x01") + field(2, b"\x01\x80\x20") + field(3, number(1, 5) + number(3, 2)))
    location = field(4, number(1, 1) + field(4, number(1, 1) + number(2, 3)))
    function = field(5, number(1, 1) + number(2, 5))
    return types + sample + location + function + b"".join(field(6, text.encode()) for text in texts)


def compiled_program() -> bytes:
    module = field(1, b"jit_step") + field(2, b"main.5") + field(3, field(1, b"main.5")) + number(5, 3)
    return field(1, module)


MESSAGES = {
    checkpoint_graph: "is_meta_graph",
    example: "is_example",
    sequence: "is_example",
    tfprof_profile: "is_tfprof_profile",
    op_log: "is_op_log",
    tensorflow_stats: "is_derived_table",
    input_pipeline: "is_derived_table",
    overview_page: "is_derived_table",
    kernel_stats: "is_derived_table",
    pprof: "is_pprof",
    compiled_program: "is_compiled_program",
}


@pytest.mark.parametrize("make", MESSAGES, ids=lambda make: make.__name__)
def test_other_messages_are_named(make: Any) -> None:
    data = make()
    with raises_id(tv.TraceFormatError, "foreign_format", what=Text(MESSAGES[make])) as caught:
        tv.read_trace(data)
    assert caught.value.foreign
    assert not isinstance(caught.value, tv.EmptyTraceError)


def test_a_folder_leaves_other_messages_out(tmp_path: Any, data: Any) -> None:
    (tmp_path / "model.ckpt.meta.pb").write_bytes(checkpoint_graph())
    (tmp_path / "run.pb").write_bytes((data / "local_mlp_step1.pb").read_bytes())
    trace = tv.read_trace(tmp_path)
    assert len(trace.steps) == 1


WIRE = st.recursive(
    st.one_of(
        st.builds(number, st.integers(1, 20), st.integers(0, 2**40)),
        st.builds(field, st.integers(1, 20), st.binary(max_size=12)),
        st.builds(double, st.integers(1, 20), st.floats(allow_nan=False)),
    ),
    lambda inner: st.builds(field, st.integers(1, 8), st.lists(inner, max_size=4).map(b"".join)),
    max_leaves=20,
)


def has_timed_row(data: bytes) -> bool:
    """Return whether a StepStats or RunMetadata of these bytes has a row with a start."""
    for kind in (StepStats, RunMetadata):
        try:
            message = kind.FromString(data)
        except Exception:  # noqa: BLE001 - of several types, by implementation
            continue
        step = message.step_stats if kind is RunMetadata else message
        for entry in step.dev_stats:
            for node in entry.node_stats:
                if node.all_start_micros or node.all_start_nanos:
                    return True
    return False


@settings(max_examples=examples(500))
@given(parts=st.lists(WIRE, min_size=1, max_size=4))
def test_only_messages_with_timed_rows_are_read(parts: list[bytes]) -> None:
    data = b"".join(parts)
    try:
        tv.read_trace(data)
    except tv.TraceFormatError:
        return
    assert has_timed_row(data)


@pytest.mark.parametrize("device", ["", "a card of the future", "/job:a/replica:0/task:0/device:CPU:0"])
@pytest.mark.parametrize("start", [1, 7_000, 2**62])
@pytest.mark.parametrize("kind", [StepStats, RunMetadata])
def test_odd_devices_and_times_are_no_reason_to_refuse(device: str, start: int, kind: Any) -> None:
    step = StepStats()
    step.dev_stats.add(device="something").node_stats.add(node_name="without a time")
    entry = step.dev_stats.add(device=device)
    entry.node_stats.add(node_name="a", all_start_micros=start, all_end_rel_micros=3)
    message = step if kind is StepStats else RunMetadata(step_stats=step)
    try:
        trace = tv.read_trace(message.SerializeToString())
    except tv.EmptyTraceError:
        assert start == 2**62
        return
    assert "a" in set(trace.events["name"]) or start == 2**62
