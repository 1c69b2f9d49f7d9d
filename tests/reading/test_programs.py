"""Compiled programs in a profile show which op and which lines an event of XLA is of."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.protobuf_bytes import field, number
from tests.real_traces import DATA
from tests.support import xspace_oracle
from tfvis_nb.core.stacks import Frame, event_stacks
from tfvis_nb.reading.xspace.hlo_program import MOST_FRAMES
from tfvis_nb.texts import id_of

FILES = ("train.py", "/usr/lib/python3.11/site-packages/jax/api.py", "/tmp/ipykernel_8/4211.py")
SHOWN = ("train.py", FILES[1], "Cell 4211")
LINK = st.integers(-1, 5)


def metadata(op_name: str = "", frame: int = 0, file: str = "", line: int = 0) -> bytes:
    return (
        field(2, op_name.encode()) + field(3, file.encode()) + number(4, line) + number(15, frame % (1 << 64))
    )


def instruction(name: str, about: bytes = b"", opcode: str = "fusion", called: tuple[int, ...] = ()) -> bytes:
    calls = b"".join(number(38, one) for one in called)
    return field(1, name.encode()) + field(2, opcode.encode()) + field(7, about) + number(35, 7) + calls


def program(*computations: list[bytes], index: bytes = b"") -> bytes:
    """Return an HloProto; the computations have the ids 1, 2 and so on, and the root 7."""
    inner = b"".join(
        field(3, b"".join(field(2, one) for one in instructions) + number(5, at) + number(6, 7))
        for at, instructions in enumerate(computations, 1)
    )
    return field(1, inner + field(17, index))


def stack_frames(frames: list[tuple[int, int]], places: list[tuple[int, int]]) -> bytes:
    """Return a StackFrameIndex; frames are of a place and a caller, places of a file and a line."""
    return (
        b"".join(field(1, name.encode()) for name in FILES)
        + field(2, b"step")
        + b"".join(
            field(3, number(1, file % (1 << 64)) + number(2, 1) + number(3, line)) for file, line in places
        )
        + b"".join(
            field(4, number(1, place % (1 << 64)) + number(2, caller % (1 << 64))) for place, caller in frames
        )
    )


def profile(hlo: bytes, *ops: str) -> tv.Trace:
    """Return a profile with one event a microsecond of each op, all of program 3 of the module ``jit_f``."""
    names = {1: "hlo_op", 2: "hlo_module", 3: "program_id", 4: "Hlo Proto"}
    stats = b"".join(field(5, number(1, k) + field(2, field(2, name.encode()))) for k, name in names.items())
    described = number(1, 4) + field(6, hlo)
    kept = field(4, number(1, 3) + field(2, number(1, 3) + field(2, b"jit_f(3)") + field(5, described)))
    events, meta = b"", b""
    for at, op in enumerate(ops, 1):
        values = (
            number(1, 1) + field(5, op.encode()),
            number(1, 2) + field(5, b"jit_f"),
            number(1, 3) + number(4, 3),
        )
        one = number(1, at) + number(2, at * 1_000_000) + number(3, 1_000_000)
        events += field(4, one + b"".join(field(4, value) for value in values))
        meta += field(4, number(1, at) + field(2, number(1, at) + field(2, op.encode())))
    line = field(3, number(1, 1) + field(2, b"thread") + events)
    host = field(2, b"/host:CPU") + line + meta + stats
    return tv.read_trace(field(1, host) + field(1, field(2, b"/host:metadata") + kept + stats))


def column(trace: tv.Trace, name: str) -> list[object]:
    assert trace.nested is not None
    if name not in trace.nested.column_names:
        return [None] * len(trace.events)
    values: list[object] = trace.nested[name].to_pylist()
    return values


def frames_of(trace: tv.Trace) -> list[list[Frame]]:
    stacks = event_stacks(trace).tolist()
    return [trace.stacks.frames_of(at) if trace.stacks is not None else [] for at in stacks]


def walked(
    frame: int, frames: list[tuple[int, int]], places: list[tuple[int, int]]
) -> tuple[list[tuple[str, int]], bool]:
    """Follow the callers one by one; also tell whether anything was missing."""
    found: list[tuple[str, int]] = []
    seen: set[int] = set()
    while frame != 0:
        if frame in seen or not 1 <= frame <= len(frames):
            return found, True
        seen.add(frame)
        place, caller = frames[frame - 1]
        file, line = places[place - 1]
        found.append((SHOWN[file - 1], line))
        frame = caller
    return found, False


@given(
    LINK,
    st.lists(st.tuples(st.integers(1, 4), LINK), max_size=4),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9)), min_size=4, max_size=4),
)
def test_any_frames_are_followed_to_their_end(
    first: int, frames: list[tuple[int, int]], places: list[tuple[int, int]]
) -> None:
    index = stack_frames(frames, places)
    trace = profile(program([instruction("dot.1", metadata("jit(f)/dot", first))], index=index), "dot.1")
    expected, cut = walked(first, frames, places)
    (found,) = frames_of(trace)
    assert [(frame.file, frame.line) for frame in found] == expected
    assert all(frame.own == (frame.file != FILES[1]) for frame in found)
    assert ("stacks_cut" in map(id_of, trace.notes)) == cut


def test_a_very_deep_stack_keeps_its_inner_frames() -> None:
    frames = [(1, at) for at in range(20_000)]
    index = stack_frames(frames, [(1, 4)])
    trace = profile(program([instruction("dot.1", metadata("dot", 20_000))], index=index), "dot.1")
    assert len(frames_of(trace)[0]) == MOST_FRAMES
    assert "stacks_cut" in map(id_of, trace.notes)


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255))
def test_no_damage_makes_a_profile_unreadable(bytes_: bytes, at: int, other: int) -> None:
    whole = program(
        [instruction("dot.1", metadata("dot", 1), called=(1, 9))], index=stack_frames([(1, 0)], [(1, 4)])
    )
    at %= len(whole)
    for hlo in (bytes_, whole[:at], whole[:at] + bytes([other]) + whole[at + 1 :]):
        trace = profile(hlo, "dot.1")
        assert len(trace.events) == 1
        assert len(frames_of(trace)[0]) <= 1


def test_a_program_that_is_cut_off_is_noted() -> None:
    whole = program([instruction("dot.1", metadata("dot"))])
    assert "programs_unreadable" in map(id_of, profile(whole[:-3], "dot.1").notes)


def test_old_programs_name_lines_for_instructions_and_fusions() -> None:
    inner = instruction("add.2", metadata("jit(f)/transpose(jvp(Dense_0))/add", file="model.py", line=8))
    trace = profile(program([inner], [instruction("fusion", called=(1,))]), "fusion", "unknown")
    assert column(trace, "op_name") == ["jit(f)/transpose(jvp(Dense_0))/add", None]
    assert column(trace, "phase") == ["backward", None]
    assert column(trace, "stack") == [0, None]
    assert frames_of(trace)[0] == [Frame("model.py", 8)]


def test_library_calls_in_a_command_buffer_keep_their_origin() -> None:
    index = stack_frames([(1, 0), (2, 0)], [(1, 4), (1, 5)])
    calls = [instruction(f"custom-call.{at}", metadata("f/dot", 1), "custom-call") for at in range(2)]
    other = instruction("custom-call.9", metadata("f/dot", 2), "custom-call")
    same = profile(program(calls, index=index), "command_buffer")
    assert [frame.line for frame in frames_of(same)[0]] == [4]
    several = profile(program([*calls, other], index=index), "command_buffer")
    assert column(several, "op_name") == ["f/dot"]
    assert frames_of(several) == [[]]


def test_the_ops_of_a_profile_of_jax_have_lines() -> None:
    trace = tv.read_trace(DATA / "cpu_jax.xplane.pb")
    ops = trace.events.index[trace.events["kind"] == "op"]
    assert {column(trace, "op_name")[op] for op in ops} == {"jit(<lambda>)/reduce_sum"}
    innermost = [frames_of(trace)[op][0] for op in ops]
    assert {(frame.line, frame.function) for frame in innermost} == {(4, "<lambda>")}


@pytest.mark.collection("h200/jax_train_gpu.xplane.pb")
def test_every_kernel_of_jax_has_a_line_of_its_script(shared: Path) -> None:
    trace = tv.read_trace(shared / "h200/jax_train_gpu.xplane.pb")
    kernels = trace.events.index[trace.events["kind"] == "kernel"]
    stacks = event_stacks(trace)[kernels]
    assert trace.stacks is not None
    assert {trace.stacks.frames_of(at)[0].line for at in stacks.tolist()} == {4, 5, 11}
    phases = column(trace, "phase")
    assert {phases[at] for at in kernels} == {"forward", "backward", None}


@pytest.mark.tensorflow
def test_programs_equal_the_official_classes() -> None:
    from tensorflow.compiler.xla.service.hlo_pb2 import HloProto

    path = DATA / "cpu_jax.xplane.pb"
    (plane,) = [one for one in xspace_oracle.load(path).planes if one.name == "/host:metadata"]
    expected = set()
    for event in plane.event_metadata.values():
        module = HloProto.FromString(
            next(one.bytes_value for one in event.stats if one.bytes_value)
        ).hlo_module
        for computation in module.computations:
            for one in computation.instructions:
                expected.add((one.name, one.metadata.op_name, one.metadata.stack_frame_id > 0))
    trace = tv.read_trace(path)
    names, stacks = column(trace, "op_name"), column(trace, "stack")
    ops = trace.events.index[trace.events["kind"] == "op"].tolist()
    assert {(trace.events["name"][at], names[at], stacks[at] is not None) for at in ops} <= expected
    assert ops
