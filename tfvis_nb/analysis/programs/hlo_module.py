"""The instructions of a compiled program, found by name and by reference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tfvis_nb.analysis.programs.hlo_products import GEMMS
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.protobuf.schema import hlo_class
from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.reading.xspace.hlo_program import Program

_LARGEST = 1 << 27
"""In bytes; larger programs, of which none is known, are not decoded."""


class Computation:
    """The instructions of one computation, by id; dangling references are left out."""

    def __init__(self, proto: Any) -> None:
        self.instructions: dict[int, Any] = {one.id: one for one in proto.instructions}
        self._root = proto.root_id

    @property
    def root(self) -> Any | None:
        """The instruction whose result is that of the computation."""
        return self.instructions.get(self._root)

    def operands(self, instruction: Any) -> list[Any]:
        """Return the operands of an instruction, in order."""
        operands = map(self.instructions.get, instruction.operand_ids)
        return [one for one in operands if one is not None]

    @cached_property
    def users(self) -> Mapping[int, list[Any]]:
        """For the id of each instruction, the instructions that use its result."""
        users: dict[int, list[Any]] = {}
        for one in self.instructions.values():
            for number in dict.fromkeys(one.operand_ids):
                users.setdefault(number, []).append(one)
        return users


class HloModule:
    """One decoded ``HloProto``."""

    def __init__(self, proto: Any) -> None:
        self._computations = {one.id: one for one in proto.hlo_module.computations}
        self._decoded: dict[int, Computation] = {}
        self.assignment = proto.buffer_assignment
        """Its ``BufferAssignmentProto``."""

    def computation(self, number: int) -> Computation | None:
        """Return a computation by its id, None if there is none."""
        if number in self._computations and number not in self._decoded:
            self._decoded[number] = Computation(self._computations[number])
        return self._decoded.get(number)

    def computations(self) -> list[Computation]:
        """Return all computations in the order of the program; the entry computation comes last."""
        parsed = map(self.computation, self._computations)
        return [one for one in parsed if one is not None]

    def find(self, name: str) -> tuple[Computation, Any] | None:
        """Return an instruction by name, and its computation."""
        number, key = self._named.get(name, (0, 0))
        computation = self.computation(number) if name in self._named else None
        return None if computation is None else (computation, computation.instructions[key])

    def defining(self, number: int, name: str) -> Any | None:
        """Return the instruction that defines a buffer, by name or else by number."""
        if name:
            place = self.find(name)
            return None if place is None else place[1]
        # The number combines those of computation and instruction, or is unique in the whole program.
        computation = self.computation(number >> 32)
        local = None if computation is None else computation.instructions.get(number & 0xFFFFFFFF)
        return local or self._numbered.get(number)

    def called(self, instruction: Any) -> list[Computation]:
        """Return the computations that an instruction calls."""
        computations = map(self.computation, dict.fromkeys(instruction.called_computation_ids))
        return [one for one in computations if one is not None]

    @cached_property
    def _named(self) -> dict[str, tuple[int, int]]:
        return {
            text(one.name): (number, one.id)
            for number, computation in self._computations.items()
            for one in computation.instructions
        }

    @cached_property
    def _numbered(self) -> dict[int, Any]:
        return {
            one.id: one for computation in self._computations.values() for one in computation.instructions
        }


class Modules:
    """The programs of a trace, each decoded on demand."""

    def __init__(self, programs: Mapping[str, bytes]) -> None:
        self._programs = programs
        self._decoded: dict[str, HloModule | None] = {}
        self._origins: dict[str, Program | None] = {}

    def __reduce__(self) -> tuple[type[Modules], tuple[Mapping[str, bytes]]]:
        # Decoded programs cannot be pickled, and decoding again is fast.
        return Modules, (self._programs,)

    def get(self, name: str) -> HloModule | None:
        """Return a program by name, None if it is unknown or damaged."""
        if name not in self._decoded:
            self._decoded[name] = _decoded(self._programs.get(name, b""))
        return self._decoded[name]

    def source(self, name: str, instruction: str) -> str:
        """Return file and line of the user's code that made an instruction; empty if unknown."""
        try:
            with gate("HloProto"):
                if name not in self._origins:
                    # Damaged programs are not tried again.
                    self._origins[name] = None
                    self._origins[name] = Program(self._programs[name])
                origin = self._origins[name]
                frames = origin.find(instruction, "").frames if origin else ()
        except TraceFormatError:
            return ""
        return next((f"{one.file}:{one.line}" for one in reversed(frames) if one.own), "")


def without_sources(data: bytes) -> bytes:
    """Return an ``HloProto`` with only the fields used here, so without lines; empty if damaged."""
    try:
        with gate("HloProto"):
            proto = hlo_class().FromString(data)
            proto.DiscardUnknownFields()
            for computation in proto.hlo_module.computations:
                for one in computation.instructions:
                    # Other configurations contain whole programs.
                    if one.custom_call_target not in GEMMS:
                        one.ClearField("backend_config")
            kept: bytes = proto.SerializeToString()
            return kept
    except TraceFormatError:
        return b""


@per_trace
def modules(trace: Trace) -> Modules:
    """Return the programs of a trace."""
    return Modules(trace.programs)


def _decoded(data: bytes) -> HloModule | None:
    try:
        with gate("HloProto"):
            return HloModule(hlo_class().FromString(data)) if 0 < len(data) <= _LARGEST else None
    except TraceFormatError:
        return None
