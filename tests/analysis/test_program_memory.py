"""The buffers of compiled programs at their peak."""

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protobuf_bytes import field, number
from tests.reading.test_programs import instruction, metadata, program
from tests.real_traces import SHARED, real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis import program_memory, why_not
from tfvis_nb.display.tabs import tab

ALLOC, FREE, SHARE_WITH = 0, 1, 2
SIZES = (100, 30, 7, 2000)
IDS = st.integers(0, len(SIZES))


class Event(NamedTuple):
    kind: int
    buffer: int
    shares: int = 0


def buffer(at: int, size: int, name: str = "") -> bytes:
    place = field(2, name.encode()) if name else number(4, 7)
    return field(1, number(1, at) + number(2, size) + field(3, place))


def allocation(size: int, *held: tuple[int, int], flag: int = 0) -> bytes:
    flags = number(flag, 1) if flag else b""
    return field(
        3, number(2, size) + flags + b"".join(field(9, number(1, one) + number(3, of)) for one, of in held)
    )


def played(*heap: Event) -> bytes:
    return field(
        4,
        b"".join(
            field(1, number(1, one.kind) + number(2, one.buffer) + number(5, one.shares)) for one in heap
        ),
    )


def trace_of(assignment: bytes) -> Trace:
    hlo = program([instruction("dot.1", metadata("jit(f)/dot"))])
    table = events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})
    return Trace(table, programs={"jit_f(3)": hlo + field(3, assignment)})


def alive(heap: list[Event]) -> int:
    """Return how many buffers are there at most: each is for one that was allocated, and those sharing it."""
    held: dict[int, set[int]] = {}
    most = 0
    for kind, one, other in heap:
        if kind == FREE:
            held = {first: rest for first, group in held.items() if (rest := group - {one})}
        elif not any(one in group for group in held.values()):
            wanted = other if kind == SHARE_WITH else one
            first = next((first for first, group in held.items() if wanted in group), one)
            held.setdefault(first, set()).add(one)
        most = max(most, len(held))
    return most


@given(st.lists(st.builds(Event, st.integers(0, 3), IDS, IDS), max_size=12))
def test_any_simulation_is_played_to_its_end(heap: list[Event]) -> None:
    """As many buffers as can be alive at once: all are of one size."""
    held = [(one, 8) for one in range(len(SIZES))]
    buffers = b"".join(buffer(one, 8) for one, _ in held)
    heap = [event for event in heap if event.buffer < len(SIZES)]
    table = program_memory(trace_of(buffers + allocation(99, *held) + played(*heap)))
    never = {one for one, _ in held} - {event.buffer for event in heap}
    assert len(table) == alive(heap) + len(never)
    assert set(table["bytes"]) <= {8}


def test_permanent_and_temporary_allocations() -> None:
    assignment = (
        b"".join(buffer(at, size, "dot.1") for at, size in enumerate(SIZES))
        + allocation(64, (0, 100), flag=5)
        + allocation(16, (1, 30), flag=7)
        + allocation(1, (1, 30), flag=12)
        + allocation(999, flag=3)
        + allocation(3000, (2, 7), (3, 2000))
        + played(Event(ALLOC, 2), Event(FREE, 2), Event(ALLOC, 3), Event(FREE, 3))
    )
    table = program_memory(trace_of(assignment))
    assert table[["kind", "bytes"]].to_numpy().tolist() == [
        ["temporary", 2000],
        ["parameter", 64],
        ["output", 16],
        ["constant", 1],
    ]
    assert set(table["op_name"]) == {"jit(f)/dot"}
    assert set(table["program"]) == {"jit_f(3)"}


def test_a_profile_of_jax(data: Path) -> None:
    """Two matrices of 500 x 500 float32 and their sum."""
    table = real_trace(data / "cpu_jax.xplane.pb").program_memory
    assert table[["kind", "hlo_op", "shape", "bytes"]].to_numpy().tolist() == [
        ["parameter", "a.1", "f32[500,500]", 1_000_000],
        ["parameter", "b.1", "f32[500,500]", 1_000_000],
        ["output", "ynn_fusion", "f32[]", 4],
    ]
    totals, block = tab(real_trace(data / "cpu_jax.xplane.pb"), "Memory")["blocks"][-2:]
    assert [row[1:] for row in totals["rows"]] == [[2_000_004, 2_000_000, 0, 4, 0]]
    assert [row[:3] for row in block["rows"]] == table[["hlo_op", "kind", "bytes"]].to_numpy().tolist()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "allocated"),
    [
        ("h200/jax_train_gpu.xplane.pb", 50_332_944),
        ("third-party/xprof/tpu_inference_2.xplane.pb", 21_474_934_784),
    ],
)
def test_temporaries_nearly_fill_their_allocation(name: str, allocated: int) -> None:
    table = real_trace(SHARED / name).program_memory
    temporary = table[(table["kind"] == "temporary") & (table["memory_space"] == 0)]
    total = temporary["bytes"].sum()
    assert 0 <= allocated - total < 100_000


def test_a_trace_without_buffers_says_so() -> None:
    for trace in (Trace(events.build({}, rows=0)), trace_of(b""), trace_of(field(1, b"\xff"))):
        assert why_not(program_memory(trace)).id == "no_program_memory"
