"""The memory of compiled programs: the buffers alive at their peak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.programs.hlo_module import HloModule, modules
from tfvis_nb.analysis.programs.hlo_shapes import shape_text
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "program": "Name and number of the compiled program, such as jit_f(3314).",
    "kind": "parameter, constant, output or temporary. Only temporaries are not there all the time.",
    "hlo_op": "Instruction whose result is in the buffer, or the parameter; of several the last.",
    "shape": "Shape of the result.",
    "bytes": "Size of the buffer.",
    "memory_space": "Number of the kind of memory, 0 for the device's main memory.",
    "op_name": "TensorFlow node or JAX op that the instruction was made of; empty if not known.",
    "source": "File and line of the user's code that made it, if known.",
}

_COLUMNS = {name: "int64" if name in ("bytes", "memory_space") else "str" for name in FIGURES}
_FREE, _SHARE_WITH = 1, 2
"""Kinds of simulation events; all others allocate."""


class _Buffer(NamedTuple):
    """A buffer: its kind, its logical buffer, its size and its kind of memory."""

    kind: str
    logical: int
    size: int
    space: int


@validate_input
def program_memory(trace: Trace) -> pd.DataFrame:
    """Return the buffers of each compiled program that are alive at its memory peak.

    XLA assigns all buffers of a program at compile time. Parameters, constants and outputs live as long as
    the program runs. Temporaries are those alive at the peak of XLA's own simulation, for each kind of
    memory.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per buffer: ``program``, ``kind``, ``hlo_op``, ``shape``, ``op_name``, ``source`` (str),
        ``bytes`` and ``memory_space`` (int64) as in `FIGURES`. The program with the most memory comes first,
        and within each the largest buffers. `cannot_say` if the trace has no program with its buffer
        assignment.

    Notes
    -----
    The sum over a program is its memory at the peak, without gaps between temporaries. Programs share buffers
    if the output of one is the parameter of another, so sums of programs do not add up.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import program_memory
    >>> program_memory(Trace(events.build({}, rows=0)))
    Not available: the trace has no compiled programs with their buffer assignment.
    """
    parts = []
    for program in trace.programs:
        module = modules(trace).get(program)
        buffers = [] if module is None else list(_buffers(module.assignment))
        if module is not None and buffers:
            defined = {one.id: one.defined_at for one in module.assignment.logical_buffers}
            rows = [_row(trace, program, module, one, defined.get(one.logical)) for one in buffers]
            parts.append(sorted(rows, key=lambda row: -int(row["bytes"])))
    if not parts:
        return cannot_say(_COLUMNS, Text("no_program_memory"))
    parts.sort(key=lambda rows: -sum(row["bytes"] for row in rows))
    return pd.DataFrame([row for rows in parts for row in rows], columns=[*_COLUMNS]).astype(dtypes(_COLUMNS))


def _row(trace: Trace, program: str, module: HloModule, buffer: _Buffer, place: Any | None) -> dict[str, Any]:
    """Describe a buffer by the instruction at `place` that defines its content."""
    one = None if place is None else module.defining(place.instruction_id, text(place.instruction_name))
    shape = None if one is None else one.shape
    for index in () if place is None else place.shape_index:
        parts = () if shape is None else shape.tuple_shapes
        shape = parts[index] if 0 <= index < len(parts) else None
    return {
        "program": program,
        "kind": buffer.kind,
        "hlo_op": "" if one is None else text(one.name),
        "shape": "" if shape is None else shape_text(shape),
        "bytes": buffer.size,
        "memory_space": buffer.space,
        "op_name": "" if one is None else text(one.metadata.op_name),
        "source": "" if one is None else modules(trace).source(program, text(one.name)),
    }


def _buffers(assignment: Any) -> Iterator[_Buffer]:
    """Yield the buffers alive at the peak; thread-local buffers have no memory of their own."""
    sizes = {one.id: max(one.size, 0) for one in assignment.logical_buffers}
    temporary: dict[int, int] = {}
    for allocation in assignment.buffer_allocations:
        if allocation.is_thread_local or allocation.size <= 0:
            continue
        if kind := _kind(allocation):
            yield _Buffer(kind, _held(allocation, kind), allocation.size, allocation.color)
        else:
            temporary |= {one.logical_buffer_id: allocation.color for one in allocation.assigned}
    simulated = set()
    for trace in assignment.heap_simulator_traces:
        simulated |= {event.buffer_id for event in trace.events}
        mine = {number: sizes.get(number, 0) for number in temporary}
        for number in _at_peak(trace.events, mine):
            yield _Buffer("temporary", number, mine[number], temporary[number])
    for number in temporary.keys() - simulated:
        if sizes.get(number):
            yield _Buffer("temporary", number, sizes[number], temporary[number])


def _held(allocation: Any, kind: str) -> int:
    """Return the logical buffer of an allocation; -1 if there is none."""
    largest = max((one.size for one in allocation.assigned), default=0)
    numbers = [one.logical_buffer_id for one in allocation.assigned if one.size == largest]
    # A parameter comes before the buffers that reuse its memory, an output after them.
    return (min if kind == "parameter" else max)(numbers, default=-1)


def _kind(allocation: Any) -> str:
    if allocation.is_entry_computation_parameter:
        return "parameter"
    if allocation.is_constant:
        return "constant"
    return "output" if allocation.maybe_live_out else ""


def _at_peak(events: Sequence[Any], sizes: Mapping[int, int]) -> list[int]:
    """Replay a heap simulation, and return the buffers that are alive at their peak."""
    totals = [total for total, _ in _played(events, sizes)]
    if max(totals, default=0) == 0:
        return []
    _, alive = next(islice(_played(events, sizes), totals.index(max(totals)), None))
    return [number for number in alive if sizes.get(number)]


def _played(events: Sequence[Any], sizes: Mapping[int, int]) -> Iterator[tuple[int, dict[int, int]]]:
    """Yield after each event the bytes of live buffers, and how many share each of them."""
    buffer_of: dict[int, int] = {}
    shared_by: dict[int, int] = {}
    total = 0
    for event in events:
        number = event.buffer_id
        if event.kind == _FREE and number in buffer_of:
            own = buffer_of.pop(number)
            shared_by[own] -= 1
            if not shared_by[own]:
                del shared_by[own]
                total -= sizes.get(own, 0)
        elif event.kind != _FREE and number not in buffer_of:
            other = event.share_with_canonical_id if event.kind == _SHARE_WITH else number
            own = buffer_of[number] = buffer_of.get(other, number)
            total += 0 if own in shared_by else sizes.get(own, 0)
            shared_by[own] = shared_by.get(own, 0) + 1
        yield total, shared_by
