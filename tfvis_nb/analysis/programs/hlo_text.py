"""HLO instructions as text: XLA's notation, and their kinds of work."""

from __future__ import annotations

import re
from typing import Any

from tfvis_nb.analysis.programs.hlo_flops import ARITHMETIC
from tfvis_nb.analysis.programs.hlo_module import Computation
from tfvis_nb.analysis.programs.hlo_shapes import shape_text
from tfvis_nb.reading.protobuf.wire import text

_MOST_OPERANDS = 8
_FORMATTING = frozenset((b"transpose", b"copy", b"reshape", b"dynamic-reshape"))
_ELEMENTWISE = ARITHMETIC | frozenset(
    b"and bitcast-convert clamp compare complex convert count-leading-zeros is-finite not or popcnt select"
    b" shift-left shift-right-arithmetic shift-right-logical stochastic-convert xor".split()
)
_KIND = re.compile(r"k([A-Z]\w*)")


def category(instruction: Any) -> str:
    """Return XLA's category of an instruction, such as ``loop fusion``."""
    opcode = instruction.opcode
    if opcode in _FORMATTING:
        return "data formatting"
    if opcode in _ELEMENTWISE:
        return "non-fusion elementwise"
    kind = _KIND.fullmatch(text(instruction.fusion_kind))
    return f"{kind[1].lower()} fusion" if opcode == b"fusion" and kind else text(opcode)


def expression(computation: Computation, instruction: Any) -> str:
    """Format an instruction like XLA: result, opcode and operands, without layouts."""
    operands = computation.operands(instruction)
    shown = [f"{shape_text(one.shape)} {text(one.name)}" for one in operands[:_MOST_OPERANDS]]
    arguments = ", ".join([*shown, *["..."][: len(operands) - len(shown)]])
    kind = f", kind={text(instruction.fusion_kind)}" if instruction.fusion_kind else ""
    target = f', custom_call_target="{text(instruction.custom_call_target)}"'
    return (
        f"{shape_text(instruction.shape)} {text(instruction.opcode)}({arguments}){kind}"
        f"{target if instruction.custom_call_target else ''}"
    )
