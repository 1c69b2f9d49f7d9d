"""Floating-point operations of HLO instructions, counted from their shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfvis_nb.analysis.programs.hlo_module import Computation, HloModule
from tfvis_nb.analysis.programs.hlo_products import PRODUCTS, product
from tfvis_nb.analysis.programs.hlo_shapes import elements, is_floating

_DEEPEST = 32
"""Depth to which computations that call each other are followed."""

ARITHMETIC = frozenset(
    b"abs acos acosh add asin asinh atan2 atanh cbrt ceil cosh cosine divide erf exponential"
    b" exponential-minus-one floor imag log log-plus-one logistic maximum minimum multiply negate power"
    b" real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt sign sine sinh sqrt"
    b" subtract tan tanh".split()
)
"""Instructions that compute each element of the result with one operation."""

_NONE = frozenset(
    b"add-dependency after-all all-gather all-gather-done all-gather-start all-to-all and bitcast"
    b" bitcast-convert broadcast clamp collective-broadcast collective-permute collective-permute-done"
    b" collective-permute-start compare complex concatenate constant convert copy copy-done copy-start"
    b" count-leading-zeros domain dynamic-reshape dynamic-slice dynamic-update-slice gather"
    b" get-dimension-size get-tuple-element infeed iota is-finite not opt-barrier or outfeed pad parameter"
    b" partition-id popcnt ragged-all-to-all recv recv-done replica-id reshape reverse rng"
    b" rng-bit-generator rng-get-and-update-state select send send-done set-dimension-size shift-left"
    b" shift-right-arithmetic shift-right-logical slice sort stochastic-convert topk transpose tuple xor"
    b" all-reduce-done async-update async-done".split()
)


class Flops:
    """Counts the operations of a program's instructions; each computation is counted once."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._counted: dict[int, int | None] = {}
        self._depth = 0

    def of(self, computation: Computation, instruction: Any) -> int | None:
        """Return the floating-point operations of one run of an instruction; None if unknown."""
        opcode = instruction.opcode
        if opcode in _NONE:
            return 0
        if opcode in ARITHMETIC:
            return elements(instruction.shape) if is_floating(instruction.shape) else 0
        operands = computation.operands(instruction)
        if opcode in PRODUCTS:
            return PRODUCTS[opcode](operands, instruction)
        times = _times(operands, instruction)
        return None if times is None else product(times, self.called(instruction))

    def called(self, instruction: Any) -> int | None:
        """Return the operations of one run of everything an instruction calls; None for recursive calls."""
        computations = self._module.called(instruction)
        if not computations or self._depth == _DEEPEST:
            return None
        self._depth += 1
        counts = [self._sum(computation) for computation in computations]
        self._depth -= 1
        return _sum(counts)

    def _sum(self, computation: Computation) -> int | None:
        key = id(computation)
        if key not in self._counted:
            # Unknown while it is being counted, so that a cycle ends.
            self._counted[key] = None
            self._counted[key] = _sum(
                [self.of(computation, one) for one in computation.instructions.values()]
            )
        return self._counted[key]


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _times(operands: Sequence[Any], instruction: Any) -> int | None:
    """Return how often one run applies the called computation; None if unknown, as for a loop."""
    match instruction.opcode:
        case b"fusion" | b"call" | b"async-start":
            return 1
        case b"map" | b"all-reduce" | b"all-reduce-start" | b"reduce-scatter":
            return elements(instruction.shape)
        case b"scatter":
            return elements(operands[-1].shape) if operands else None
        case b"reduce":
            before, after = elements(operands[0].shape) if operands else None, elements(instruction.shape)
            return None if before is None or after is None else max(before - after, 0)
        case b"reduce-window":
            window = math.prod(max(one.size, 0) for one in instruction.window.dimensions[:64])
            return product(elements(instruction.shape), max(window - 1, 0))
    return None
