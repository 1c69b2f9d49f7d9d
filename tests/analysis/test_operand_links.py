"""Operands in compiled programs lead from event to event."""

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.protobuf_bytes import field, number
from tests.reading.test_programs import program
from tfvis_nb import Trace, events
from tfvis_nb.analysis.programs.operand_links import operand_links

OPCODES = ("fusion", "bitcast", "tuple", "get-tuple-element", "copy-done", "parameter")
PASSED_ON = OPCODES[1:5]


def instruction(at: int, name: str, opcode: str, operands: Sequence[int]) -> bytes:
    taken = b"".join(number(36, one) for one in operands)
    return field(1, name.encode()) + field(2, opcode.encode()) + number(35, at) + taken


def ran(
    hlo: bytes,
    names: Sequence[str],
    *,
    steps: Sequence[int] | None = None,
    devices: Sequence[str] | None = None,
) -> Trace:
    """A trace of kernels that ran the instructions of these names, one after the other."""
    count = len(names)
    table = events.build(
        {
            "start_ns": [10 * at for at in range(count)],
            "duration_ns": [1 + at for at in range(count)],
            "kind": ["kernel"] * count,
            "name": list(names),
            "step": list(steps or [0] * count),
            "device": list(devices or ["/device:GPU:0"] * count),
        }
    )
    return Trace(
        table, nested=pa.table({"program": ["f(1)"] * count, "hlo_op": list(names)}), programs={"f(1)": hlo}
    )


def links(trace: Trace) -> list[tuple[int, int]]:
    return [(source, target) for source, target in operand_links(trace).to_numpy().tolist()]


@given(
    st.lists(
        st.tuples(st.sampled_from(OPCODES), st.lists(st.integers(0, 9), max_size=3)), min_size=1, max_size=9
    ),
    st.integers(1, 3),
)
def test_any_program_is_followed_operand_by_operand(
    instructions: list[tuple[str, list[int]]], runs: int
) -> None:
    """Also where instructions need one another in a circle or lack operands."""
    hlo = program([instruction(at, f"i.{at}", *each) for at, each in enumerate(instructions)])
    kernels = [at for at, (opcode, _) in enumerate(instructions) if opcode == "fusion"]

    def producers(user: int, passed: tuple[int, ...] = ()) -> set[int]:
        found = set()
        for one in instructions[user][1]:
            if one >= len(instructions) or one in passed:
                continue
            opcodes = (instructions[user][0], instructions[one][0])
            if instructions[one][0] == "fusion":
                found.add(one)
            elif instructions[one][0] in PASSED_ON and opcodes != ("get-tuple-element", "tuple"):
                found |= producers(one, (*passed, one))
        return found

    expected = set()
    for target in range(runs * len(kernels)):
        for producer in producers(kernels[target % len(kernels)]):
            before = [at for at in range(target) if kernels[at % len(kernels)] == producer]
            expected |= {(before[-1], target)} if before else set()
    trace = ran(hlo, [f"i.{at}" for at in kernels] * runs)
    assert links(trace) == sorted(expected, key=lambda link: link[::-1])


FIRST = [("p", "parameter", []), ("a.1", "fusion", [0]), ("b.1", "dot", [1])]
CHAIN = [*FIRST, ("a.2", "fusion", [2]), ("b.2", "dot", [3])]
APART = [*FIRST, ("a.2", "fusion", [0]), ("b.2", "dot", [3])]


def of(instructions: list[tuple[str, str, list[int]]]) -> bytes:
    return program([instruction(at, *each) for at, each in enumerate(instructions)])


def test_equal_instructions_are_matched_by_their_operands() -> None:
    names = ["a.1", "b.1", "a.1", "b.1"]
    assert links(ran(of(CHAIN), names * 2)) == [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)]
    assert links(ran(of(CHAIN), names[:3])) == []
    assert links(ran(of(APART), names * 2)) == []
    assert links(ran(of(APART), ["a.1", "b.1", "a.2", "b.2"])) == [(0, 1), (2, 3)]


def test_no_link_leaves_its_step_or_device() -> None:
    both = of(FIRST)
    names = ["a.1", "a.1", "b.1", "b.1"]
    assert links(ran(both, names, devices=["0", "1", "0", "1"])) == [(0, 2), (1, 3)]
    assert links(ran(both, names, steps=[0, 0, 0, 1])) == [(1, 2)]


def test_without_programs_there_are_none() -> None:
    assert links(ran(b"", ["a.1"])) == links(Trace(events.build({}, rows=0))) == []
