"""Floating-point operations of matrix products and convolutions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfvis_nb.analysis.programs.hlo_shapes import elements, is_floating

_MOST_POSITIONS = 1 << 22
"""Limit on the positions of a convolution's kernel, in one dimension, that are examined one by one."""

GEMMS = (b"__cublas$gemm", b"__cublas$lt$matmul", b"__cublas$lt$matmul$f8")
"""cuBLAS calls whose configuration contains the multiplied dimensions."""


def product(*counts: int | None) -> int | None:
    """Multiply counts; None if one is unknown."""
    known = [count for count in counts if count is not None]
    return math.prod(known) if len(known) == len(counts) else None


def _dot(operands: Sequence[Any], instruction: Any) -> int | None:
    """Count a multiplication and an addition for each element and each summed index."""
    contracting = instruction.dot_dimension_numbers.lhs_contracting_dimensions
    return _contraction(operands, instruction, list(contracting))


def _contraction(operands: Sequence[Any], instruction: Any, dimensions: Sequence[int]) -> int | None:
    if not operands or not is_floating(instruction.shape):
        return 0 if operands else None
    sizes = operands[0].shape.dimensions
    if not all(0 <= one < len(sizes) for one in dimensions):
        return None
    return product(2, elements(instruction.shape), *(max(sizes[one], 0) for one in dimensions))


def _library(operands: Sequence[Any], instruction: Any) -> int | None:
    """Count a library call: matrix products of cuBLAS; all others are unknown."""
    if instruction.custom_call_target not in GEMMS:
        return None
    try:
        config = json.loads(instruction.backend_config)["gemm_backend_config"]
        named = config["dot_dimension_numbers"]["lhs_contracting_dimensions"]
        return _contraction(operands, instruction, [int(one) for one in named])
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError):
        return None


def _convolution(operands: Sequence[Any], instruction: Any) -> int | None:
    """Count like a dot, for the positions of the kernel on the input, not on its padding."""
    named = instruction.convolution_dimension_numbers
    if len(operands) != 2:
        return None
    sizes, kernel = (list(one.shape.dimensions) for one in operands)
    result = list(instruction.shape.dimensions)
    try:
        on_input = [
            _positions(sizes[one], kernel[other], result[third], window)
            for one, other, third, window in zip(
                named.input_spatial_dimensions,
                named.kernel_spatial_dimensions,
                named.output_spatial_dimensions,
                instruction.window.dimensions,
                strict=True,
            )
        ]
        features = sizes[named.input_feature_dimension] // max(instruction.feature_group_count, 1)
        batch = sizes[named.input_batch_dimension] // max(instruction.batch_group_count, 1)
        outputs = kernel[named.kernel_output_feature_dimension]
    except (IndexError, ValueError):
        return None
    return product(2, *on_input, features, batch, outputs) if min(features, batch, outputs) >= 0 else None


def _positions(size: int, kernel: int, result: int, window: Any) -> int | None:
    """Count the pairs of kernel index and result index that meet an element of the input."""
    if min(size, kernel, result) < 0 or kernel * result > _MOST_POSITIONS:
        return None
    stride, dilation, base = (
        max(one, 1) for one in (window.stride, window.window_dilation, window.base_dilation)
    )
    if max(stride, dilation, base, abs(window.padding_low), size) >= 1 << 31:
        return None
    at = (
        np.arange(kernel, dtype=np.int64)[:, None] * dilation
        + np.arange(result, dtype=np.int64) * stride
        - window.padding_low
    )
    return int(((at >= 0) & (at % base == 0) & (at // base < size)).sum())


PRODUCTS: Mapping[bytes, Callable[[Sequence[Any], Any], int | None]] = {
    b"dot": _dot,
    b"convolution": _convolution,
    b"custom-call": _library,
}
"""For each product instruction, the function that counts its operations, given its operands and itself."""
