"""Bytes that HLO instructions read and write, counted from their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfvis_nb.analysis.programs.hlo_module import Computation, HloModule
from tfvis_nb.analysis.programs.hlo_shapes import size_bytes

_FREE = frozenset(
    b"add-dependency after-all bitcast constant domain get-tuple-element opt-barrier parameter partition-id"
    b" replica-id tuple".split()
)
"""Instructions that touch no memory."""

_UNKNOWN = frozenset((b"while", b"conditional", b"call"))
"""Instructions whose memory is that of the instructions they call."""

_PART = frozenset((b"slice", b"dynamic-slice", b"gather"))
"""Instructions that read only as much of their first operand as they return."""


def accessed_bytes(module: HloModule, computation: Computation, instruction: Any) -> int | None:
    """Return the bytes that one run of an instruction reads and writes; None if unknown.

    Each operand is read once and the result is written once. If the instruction or its fusion only slices,
    gathers or updates part of an array, only that part counts.
    """
    opcode = instruction.opcode
    if opcode in _FREE:
        return 0
    if opcode in _UNKNOWN:
        return None
    operands = computation.operands(instruction)
    written = _written(computation, instruction)
    inside = module.called(instruction)[0] if opcode == b"fusion" and module.called(instruction) else None
    if inside is not None:
        parameters = _parameters(inside)
        read = [
            _read_of(inside, parameters[at]) if at in parameters else size_bytes(one.shape)
            for at, one in enumerate(operands)
        ]
        written = size_bytes(instruction.shape) if inside.root is None else _written(inside, inside.root)
    else:
        read = [_read(instruction, operands, at) for at in range(len(operands))]
    distinct = dict(zip((one.id for one in operands), read, strict=True))
    known = [size for size in (written, *distinct.values()) if size is not None]
    return sum(known) if len(known) == 1 + len(distinct) else None


def _read(instruction: Any, operands: Sequence[Any], at: int) -> int | None:
    if at == 0 and instruction.opcode in _PART:
        return size_bytes(instruction.shape)
    if at == 0 and instruction.opcode == b"dynamic-update-slice":
        return 0
    if at == 0 and instruction.opcode == b"scatter":
        return size_bytes(operands[-1].shape)
    return size_bytes(operands[at].shape)


def _written(computation: Computation, instruction: Any) -> int | None:
    operands = computation.operands(instruction)
    if instruction.opcode == b"dynamic-update-slice" and len(operands) > 1:
        return size_bytes(operands[1].shape)
    if instruction.opcode == b"scatter" and operands:
        return size_bytes(operands[-1].shape)
    return size_bytes(instruction.shape)


def _parameters(computation: Computation) -> Mapping[int, Any]:
    return {
        one.parameter_number: one for one in computation.instructions.values() if one.opcode == b"parameter"
    }


def _read_of(computation: Computation, parameter: Any) -> int | None:
    """Return the bytes of a parameter that its users in a fusion read: all, unless each reads only a part."""
    whole, parts = size_bytes(parameter.shape), 0
    for user in computation.users.get(parameter.id, ()):
        operands = computation.operands(user)
        part = _read(user, operands, [one.id for one in operands].index(parameter.id))
        if part is None or part == whole:
            return whole
        parts += part
    return parts if whole is None else min(parts, whole)
