"""The programs of a profile, and the instruction that each event ran."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.nested_columns import BYTES_ACCESSED, FLOPS, HLO_OP, OP_NAME, PROGRAM
from tfvis_nb.core.phases import phases, without_calls
from tfvis_nb.core.stacks import PHASE, STACK, StackBuilder, StackTable
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.protobuf.to_arrow import handler
from tfvis_nb.reading.xspace.hlo_program import Instruction, Program
from tfvis_nb.reading.xspace.jitted import function_number
from tfvis_nb.reading.xspace.planes import Plane
from tfvis_nb.reading.xspace.rows import Sparse
from tfvis_nb.reading.xspace.stats import Values
from tfvis_nb.texts import Text

STATS = ("hlo_op", "hlo_module", "program_id")
"""Stats that identify the instruction an event ran."""

_PLANE = "/host:metadata"
_NAMED = re.compile(r"(?P<module>.*)\((?P<program>\d+)\)", re.DOTALL)
_JITTED = re.compile(r"jit_(?P<function>.*)\(\d+\)", re.DOTALL)
_MOST_FRAMES = 1 << 20
"""Maximum total frames of all stacks, counted each time a stack is followed."""


class _Ran(NamedTuple):
    """An instruction that events ran: its program, name, origin, operations and bytes."""

    program: str
    op: str
    instruction: Instruction
    flops: int | None
    accessed: int | None


class Programs:
    """The compiled programs of a profile, each decoded at its first event."""

    def __init__(self, planes: Sequence[Plane]) -> None:
        self._data: dict[tuple[str, int], pa.Scalar] = {}
        self._by_number: dict[int, tuple[str, int]] = {}
        self._numbers: dict[tuple[str, int, str, str], int] = {}
        self._found: list[_Ran] = []
        self._unreadable: set[tuple[str, int]] = set()
        self._programs: dict[tuple[str, int], Program | None] = {}
        for plane in planes:
            if plane.name == _PLANE and "Hlo Proto" in plane.stats.texts:
                self._collect(plane)

    def _collect(self, plane: Plane) -> None:
        contents = handler("Stat", "hlo").array_to_record_batch(plane.event_stats.values).column(0)
        offsets = plane.event_stats.offsets.to_numpy() - plane.event_stats.offsets[0].as_py()
        for name, first, last in zip(plane.events.texts[:-1], offsets[:-1], offsets[1:], strict=True):
            match = _NAMED.fullmatch(name)
            for row in range(first, last):
                if match and len(contents[row].as_buffer()):
                    key = (match["module"], int(match["program"][-20:]))
                    self._data[key] = contents[row]
                    self._by_number.setdefault(key[1], key)

    def of_events(self, values: Values, kernels: Sequence[str], kernel: np.ndarray) -> Sparse:
        """Find the instruction of each event; `kernel` has the index of its own name in `kernels`."""
        none = np.zeros(0, np.int64)
        if "hlo_op" not in values.names:
            return Sparse(none, none)
        ops = values.spread("hlo_op", len(kernel))
        rows = np.flatnonzero(ops >= 0)
        module = values.spread("hlo_module", len(kernel))[rows]
        program = values.numbers("program_id", len(kernel))[rows]
        columns = (ops[rows], module, program, kernel[rows])
        distinct = np.zeros(len(rows), np.int64)
        for column in columns:
            codes, texts = pd.factorize(column)
            distinct = pd.factorize(distinct * max(len(texts), 1) + codes)[0]
        _, examples = np.unique(distinct, return_index=True)
        words = [*values.vocabulary, ""]
        numbers = [
            self.number(words[module], program, words[op], kernels[own])
            for op, module, program, own in zip(
                *(column[examples].tolist() for column in columns), strict=True
            )
        ]
        number = np.array(numbers, np.int64)[distinct] if len(rows) else none
        return Sparse(rows[number >= 0], number[number >= 0])

    def number(
        self, module: str, program: int, op: str, kernel: str = "", costs: Sequence[int] = (-1, -1)
    ) -> int:
        """Return the number of an instruction; -1 if the event ran none.

        `costs` are XLA's own counts of its operations and accessed bytes, -1 if unknown.
        """
        if program == -1 or not op:
            return -1
        # An unsigned 64-bit number is read as a signed one.
        exact = (module, program % (1 << 64))
        key = exact if exact in self._data else self._by_number.get(exact[1], exact)
        one = (*key, op, kernel)
        if one not in self._numbers:
            self._numbers[one] = len(self._found)
            instruction = self._instruction(key, op, kernel) if key in self._data else Instruction()
            flops, accessed = (cost if cost >= 0 else None for cost in costs)
            self._found.append(_Ran(_name(*key), instruction.name or op, instruction, flops, accessed))
        return self._numbers[one]

    def run(self) -> dict[str, bytes]:
        """Return the programs that events ran, as serialised ``HloProto`` by name."""
        keys = dict.fromkeys(one[:2] for one in self._numbers)
        return {
            _name(*key): self._data[key].as_py()
            for key in keys
            if key in self._data and key not in self._unreadable
        }

    def own_functions(self) -> set[int]:
        """Return the `function_number` of JAX functions of the user's program.

        JAX leaves its own code, which it runs for eager work, out of stacks.
        """
        functions = set()
        for program, frames in {(one.program, one.instruction.frames) for one in self._found}:
            match = _JITTED.match(program)
            names = {function_number(frame.function.rpartition(".")[2]) for frame in frames}
            if match and (number := function_number(match["function"])) in names:
                functions.add(number)
        return functions

    def _instruction(self, key: tuple[str, int], op: str, kernel: str) -> Instruction:
        try:
            with gate("HloProto"):
                if key not in self._programs:
                    # Damaged programs are not tried again.
                    self._programs[key] = None
                    self._programs[key] = Program(self._data[key].as_py())
                program = self._programs[key]
                return program.find(op, kernel) if program else Instruction()
        except TraceFormatError:
            self._unreadable.add(key)
            return Instruction()

    def columns(
        self, sparse: Sparse, events: int, order: np.ndarray, notes: list[str]
    ) -> tuple[dict[str, pa.Array], StackTable | None]:
        """Make the nested columns of all events from the numbers of some, and return the stacks."""
        if self._unreadable:
            notes.append(Text("programs_unreadable", programs=len(self._unreadable)))
        if not self._found:
            return {}, None
        builder, stacks, cut, room = StackBuilder(), [], 0, _MOST_FRAMES
        for one in self._found:
            frames = one.instruction.frames
            whole = len(frames) <= room
            stacks.append(builder.stack(frames if whole else ()))  # noqa: PD013 - no table of pandas
            room -= len(frames) if whole else 0
            cut += one.instruction.cut or not whole
        if cut:
            notes.append(Text("stacks_cut", stacks=cut))
        number = np.full(events, -1, np.int64)
        number[sparse.rows] = sparse.numbers
        chosen = pa.array(number[order], mask=number[order] < 0)
        names = [one.instruction.op_name for one in self._found]
        texts: dict[str, list[str | None]] = {
            OP_NAME: [name or None for name in names],
            PHASE: phases(without_calls(pa.array(names, pa.string()))).to_pylist(),
            PROGRAM: [one.program for one in self._found],
            HLO_OP: [one.op for one in self._found],
        }
        counts: dict[str, list[int | None]] = {
            FLOPS: [one.flops for one in self._found],
            BYTES_ACCESSED: [one.accessed for one in self._found],
        }
        columns = {
            name: pa.array(values, pa.string()).dictionary_encode().take(chosen)
            for name, values in texts.items()
            if any(values)
        }
        columns |= {
            name: pa.array(values, pa.int64()).take(chosen)
            for name, values in counts.items()
            if any(value is not None for value in values)
        }
        table = builder.table()
        if not len(table):
            return columns, None
        columns[STACK] = pa.array([at if at >= 0 else None for at in stacks], pa.int32()).take(chosen)
        return columns, table


def _name(module: str, number: int) -> str:
    return f"{module}({number})" if module else str(number)
