"""Pickles: RunMetadata is read, nothing else is run, and a few bytes cannot request much memory."""

import os
import pickle
import pickletools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.mutants.attack import outcome
from tests.real_traces import DATA, SHARED
from tests.support.apart import apart, refusal
from tests.support.examples import examples, sample
from tests.support.texts import figures_of, raises_id
from tfvis_nb.reading.pickles.reader import load
from tfvis_nb.texts import Text, text_of

RUN = b"ctensorflow.core.protobuf.config_pb2\nRunMetadata\n"


def pickled(data: bytes, protocol: int = 4) -> bytes:
    """A pickle such as protobuf makes of a RunMetadata."""
    state = pickle.dumps({"serialized": data}, protocol)
    body = state[2:] if protocol >= 2 else state
    if protocol >= 4:
        body = body[9:]
    head = b"\x80" + bytes([protocol]) if protocol >= 2 else b""
    return head + RUN + b")R" + body[:-1] + b"b."


@pytest.mark.parametrize("name", [
    "pickle_tf221.pickle",
    "pickle_tf221_protocol2.pickle",
    "pickle_tf115_python2_protocol1.pickle",
    "pickle_tf115_python2_protocol0.pickle.xz",
])  # fmt: skip
def test_pickles_of_run_metadata(name: str) -> None:
    trace = tv.read_trace(DATA / name)
    assert trace.title == name
    assert len(trace.events) > 20
    assert trace.events["op"].astype(str).str.contains("MatMul").any()


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_gives_the_message(protocol: int) -> None:
    data = (DATA / "local_mlp_step1.pb").read_bytes()
    made = tv.read_trace(pickled(data, protocol))
    assert made.events.equals(tv.read_trace(data).events)


@pytest.mark.tensorflow
@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("key", [lambda n: n, "step_{}".format, lambda n: None if n else b"first"])
def test_a_dict_of_messages_has_a_step_each(protocol: int, key: Any) -> None:
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    run = RunMetadata.FromString((DATA / "local_mlp_step1.pb").read_bytes())
    later = RunMetadata.FromString((DATA / "merged_3_runs.pb").read_bytes())
    del later.step_stats.dev_stats[1:]
    trace = tv.read_trace(pickle.dumps({key(0): run, key(1): later, "loss": 0.5}, protocol))
    assert trace.steps["events"].tolist() == [63, 5]
    assert figures_of(trace.notes, "pickled_values_left_out") == [{"values": 1}]


@pytest.mark.tensorflow
@pytest.mark.parametrize("protocol", range(6))
def test_pickles_of_this_tensorflow(protocol: int) -> None:
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    data = (DATA / "local_mlp_step1.pb").read_bytes()
    metadata = RunMetadata.FromString(data)
    expected = tv.read_trace(data).events
    assert tv.read_trace(pickle.dumps(metadata, protocol)).events.equals(expected)
    assert tv.read_trace(pickle.dumps(metadata.step_stats, protocol)).events.equals(expected)
    both = tv.read_trace(pickle.dumps([metadata, RunMetadata.FromString(data)], protocol))
    assert both.steps["events"].tolist() == [len(expected)] * 2


@pytest.mark.parametrize(
    "path", sorted((SHARED / "hvd").glob("*_run_metadata*.pickle")) or [DATA / "pickle_tf221.pickle"], ids=str
)
def test_a_pickle_is_the_message_beside_it(path: Path) -> None:
    stem = path.name.split("_run_metadata")[0]
    message = path.with_name(f"{stem}_run_metadata.pb")
    trace = tv.read_trace(path)
    assert len(trace.events) > 20
    if message.exists():
        assert trace.events.equals(tv.read_trace(message).events)


def test_a_session_of_tftracer() -> None:
    trace = tv.read_trace(DATA / "tftracer_session.pickle.gz")
    assert len(trace.steps) == 6
    assert set(trace.steps["label"]) == {"GradientDescent", "loss, mul"}
    assert Text("traces_not_kept", lost=1, traces=7) in trace.notes


def test_a_message_that_is_pickled_twice_is_one_step() -> None:
    data = (DATA / "local_mlp_step1.pb").read_bytes()
    one = pickled(data, 2)[2:-1]
    many = b"\x80\x02](" + one + b"q\x01" + b"h\x01" * 1000 + b"e."
    assert len(tv.read_trace(many).steps) == 1


def test_empty_ones_say_which_option_fills_them() -> None:
    with raises_id(tv.EmptyTraceError, "pickle_without_runs"):
        tv.read_trace(pickled(b""))


class Call:
    """Pickles as a call of anything."""

    def __init__(self, function: Any, *arguments: Any, state: Any = None) -> None:
        self.made = function, arguments, state

    def __reduce__(self) -> Any:
        return self.made


def malicious(flag: str) -> dict[str, bytes]:
    command = f"echo > {flag}"
    code = f"open({flag!r}, 'w')"
    made = {f"reduce {protocol}": pickle.dumps(Call(os.system, command), protocol) for protocol in range(6)}
    return made | {
        "nested in a list": pickle.dumps([[{"a": Call(os.system, command)}]]),
        "as a key": pickle.dumps({1: Call(exec, code)}),
        "with a state": pickle.dumps(Call(eval, code, state={"serialized": b""})),
        "getattr": pickle.dumps(Call(getattr, "a", "upper")),
        "subprocess": pickle.dumps(Call(subprocess.Popen, command)),
        "behind a message": b"\x80\x02("
        + pickled(b"", 2)[2:-1] + pickle.dumps(Call(os.system, command), 2)[2:-1] + b"t.",
        "inst": b"(S'" + command.encode() + b"'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nS'" + command.encode() + b"'\no.",
        "newobj": b"\x80\x02cbuiltins\nexec\n(X\x01\x00\x00\x00at\x81.",
        "newobj_ex": b"\x80\x04cbuiltins\nexec\n)}\x92.",
        "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01a\x85R.",
        "dotted": b"\x80\x04\x8c\x0bcollections\x8c\x20OrderedDict.__init__.__globals__\x93.",
        "module of an allowed one": b"ctensorflow.core.protobuf.config_pb2\nos\n.",
        "extension": b"\x80\x02\x82\x01.",
        "persistent": b"Pos.system\n.",
        "persistent from the stack": b"\x80\x02N\x51.",
        "state of a global": RUN + b"}U\x07__new__cos\nsystem\nsb.",
        "call of a built object": RUN + b")RU\x01a\x85R.",
        "encode another way": b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13tR.",
        "encode of no text": b"c_codecs\nencode\n(]tR.",
    }  # fmt: skip


@pytest.mark.parametrize("name", malicious("flag"))
def test_nothing_is_run(name: str, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    before = set(sys.modules)
    with pytest.raises(tv.TraceFormatError) as caught:
        tv.read_trace(malicious(str(flag))[name])
    assert not flag.exists()
    text = text_of(caught.value)
    assert text.id.startswith("pickle_") or text.id == "foreign_format"
    assert {"os", "subprocess"} & set(sys.modules) <= before


def test_errors_name_the_rejected_object() -> None:
    with raises_id(tv.TraceFormatError, "pickle_refused"):
        tv.read_trace(pickle.dumps(Call(os.system, "true")))


BOMBS = {
    "memo of a large number": b"\x80\x02Nr\xff\xff\xff\xff0" * 1000 + b".",
    "long text": b"\x80\x02X\xff\xff\xff\xffa.",
    "long bytes": b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fa.",
    "long bytearray": b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7fa.",
    "long frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff.",
    "long number": b"\x80\x02\x8b\xff\xff\xff\x7f1.",
    "many digits": b"\x80\x02L" + b"9" * 500_000 + b"L\n.",
    "negative size": b"\x80\x02T\xff\xff\xff\xff.",
    "key of nested tuples": b"\x80\x02}N" + b"2\x86" * 200 + b"Ns.",
    "instructions": b"\x80\x02" + b"]" * 1_200_000 + b".",
    "deep list": b"\x80\x02" + b"]" * 400_000 + b"a" * 399_999 + b".",
    "deep objects": b"\x80\x02" + b"ccollections\nOrderedDict\n)R" * 1000 + b"b" * 999 + b".",
    "encoded again and again": b"\x80\x02c_codecs\nencode\nq\x01X\x40\x42\x0f\x00" + b"a" * 1_000_000
    + b"q\x020" + b"h\x01h\x02\x85R0" * 100_000 + b"N.",
    "one message, many times": b"\x80\x02]("
    + pickled(bytes(500_000), 2)[2:-1] + b"q\x01" + b"h\x01" * 300_000 + b"e.",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(BOMBS, [*BOMBS][::3]))
def test_a_few_bytes_cannot_ask_for_much(name: str) -> None:
    done = apart(refusal, BOMBS[name], data=1 << 30)
    assert not done.raised, done.raised
    assert done.result.startswith(("TraceFormatError: ", "EmptyTraceError: "))


instructions = st.sampled_from(
    [bytes([code]) for code in (*range(128), 0x81, 0x85, 0x86, 0x87, 0x88, 0x89, 0x93, 0x94)]
    + [
        b"}",
        b"]",
        b"(",
        b")",
        b"R",
        b"b",
        b"u",
        b"e",
        b"\x80\x02",
        b"K\x01",
        b"q\x00",
        b"h\x00",
        b"U\x01b",
        b"C\x01c",
    ]
    + [b"I7\n", b"S'd'\n", b"Ve\n", b"p3\n", b"g3\n", b"X\x01\x00\x00\x00a", b"X\x07\x00\x00\x00_traces"]
    + [b"c_codecs\nencode\n", b"ccollections\nOrderedDict\n", b"c__builtin__\nbytes\n", RUN]
    + [b"ctftracer.tracing_server\nTracingSource\n", b"X\x0a\x00\x00\x00serialized"]
)


@settings(max_examples=examples(400))
@given(st.lists(instructions, max_size=25))
def test_any_instructions(program: list[bytes]) -> None:
    assert outcome(b"\x80\x02" + b"".join(program) + b".") in ("EmptyTraceError", "TraceFormatError")


def test_errors_name_the_type_of_other_pickles() -> None:
    with raises_id(tv.TraceFormatError, "pickle_of_other", type="dict"):
        tv.read_trace(pickle.dumps({"a": 1}))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers() | st.none(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=plain, protocol=st.integers(0, 5))
def test_plain_values_are_what_python_reads(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert repr(load(data, "this", {})) == repr(value)
    assert repr(load(pickletools.optimize(data), "this", {})) == repr(value)
