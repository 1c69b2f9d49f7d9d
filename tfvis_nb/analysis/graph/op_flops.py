"""Floating-point operations and bytes of TensorFlow's ops, from the shapes of their inputs and outputs.

The formulas are TensorFlow's own (``flops_registry.py``, ``nn_ops.py``) where it has any, and Grappler's for
batch normalisation. Otherwise gradients of a convolution count as many operations as the convolution, other
arithmetic one per element of the result, and copying 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product, zip_longest
from typing import Any, NamedTuple

from tfvis_nb.core.data_types import DATA_TYPES, REFERENCE

_SIZES = {
    name: size
    for size, names in {
        1: "UINT8 INT8 BOOL QINT8 QUINT8 FLOAT8_E5M2 FLOAT8_E4M3FN",
        2: "INT16 BFLOAT16 QINT16 QUINT16 UINT16 HALF",
        4: "FLOAT INT32 QINT32 UINT32",
        8: "DOUBLE COMPLEX64 INT64 UINT64",
        16: "COMPLEX128",
    }.items()
    for name in names.split()
}
_TYPES = {"DOUBLE": "f64", "FLOAT": "f32", "HALF": "f16", "BFLOAT16": "bf16"}
_MOST = 1 << 62
_RANK = 254


class Tensor(NamedTuple):
    """The shape of a tensor, and the name of its type in ``DATA_TYPES``."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Number of its elements."""
        return math.prod(self.shape)


class _UnknownError(Exception):
    """A value that a formula needs is unknown."""


class Op(NamedTuple):
    """An execution of an op; unknown values are None."""

    kind: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor | None, ...] = ()
    attributes: Mapping[str, Any] | None = None

    def input(self, index: int) -> Tensor:
        """Return an input."""
        return _known(self.inputs, index)

    def output(self, index: int = 0) -> Tensor:
        """Return an output."""
        return _known(self.outputs, index)

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute; its default if the graph does not have it."""
        value = None if self.attributes is None else self.attributes.get(name, default)
        if type(value) is not type(default):
            raise _UnknownError
        return value


def type_of_numbers(op: Op) -> str:
    """Return XLA's name of the number type that an op computes with; empty if it is not a float type.

    >>> type_of_numbers(Op("AddV2", (Tensor("HALF", (8,)),) * 2))
    'f16'
    """
    known = [one.dtype for one in (*op.inputs, *op.outputs) if one]
    return next((_TYPES[name] for name in known if name in _TYPES), "")


def op_flops(op: Op) -> int | None:
    """Return the floating-point operations of one execution; None if unknown.

    >>> op_flops(Op("MatMul", (Tensor("FLOAT", (8, 4)), Tensor("FLOAT", (4, 2)))))
    128
    """
    known = [one for one in (*op.inputs, *op.outputs) if one]
    if op.kind in _COPIES:
        return 0
    if op.kind not in FORMULAS or not known or any("COMPLEX" in one.dtype for one in known):
        return None
    if not type_of_numbers(op):
        return 0 if len(known) == len(op.inputs) + len(op.outputs) else None
    try:
        count = FORMULAS[op.kind](op)
    except _UnknownError:
        return None
    return count if 0 <= count < _MOST else None


def op_bytes(op: Op) -> int | None:
    """Return the bytes of all inputs and outputs; None if a shape is unknown.

    >>> op_bytes(Op("MatMul", (Tensor("FLOAT", (8, 4)), Tensor("FLOAT", (4, 2)))))
    224
    """
    try:
        if op.kind in _UPDATES_OF_VARIABLES:
            # The variable is read and written, but only known as a resource.
            moved = [op.input(1)] * 3
        else:
            outputs = op.outputs or (Tensor(op.input(0).dtype, _result(op)),)
            moved = [_known((one,), 0) for one in (*op.inputs, *outputs)]
    except _UnknownError:
        return None
    if not all(one.dtype in _SIZES for one in moved):
        return None
    count = sum(one.elements * _SIZES[one.dtype] for one in moved)
    return count if count < _MOST else None


def _known(tensors: tuple[Tensor | None, ...], index: int) -> Tensor:
    one = tensors[index] if index < len(tensors) else None
    if one is None:
        raise _UnknownError
    return one


def _result(op: Op) -> tuple[int, ...]:
    """Return the shape of the first output, derived from the inputs if unknown."""
    if op.outputs:
        return op.output().shape
    if op.kind in _MATRIX_PRODUCTS:
        return _matrix_product(op)[1]
    if op.kind not in _ELEMENTWISE and op.kind not in _OF_INPUT:
        raise _UnknownError
    shape = op.input(0).shape
    for index in range(1, len(op.inputs) if op.kind in _ELEMENTWISE else 1):
        shape = _broadcast(shape, op.input(index).shape)
    return shape


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise _UnknownError
    return tuple(b if a == 1 else a for a, b in reversed(pairs))


def _matrix_product(op: Op) -> tuple[int, tuple[int, ...]]:
    """Return the operations and the shape of the result.

    Attributes record transpositions; without them, the shapes must allow only one possibility.
    """
    a, b = op.input(0).shape, op.input(1).shape
    if not 2 <= min(len(a), len(b)) <= max(len(a), len(b)) <= _RANK:
        raise _UnknownError
    products = set()
    for turned in product(_flags(op, "transpose_a", "adj_x"), _flags(op, "transpose_b", "adj_y")):
        (rows, depth), (same, columns) = (
            one[-2:][::-1] if flag else one[-2:] for one, flag in zip((a, b), turned, strict=True)
        )
        result = (*_broadcast(a[:-2], b[:-2]), rows, columns)
        if depth == same and (not op.outputs or result == op.output().shape):
            products.add((2 * depth * math.prod(result), result))
    if len(products) != 1:
        raise _UnknownError
    return products.pop()


def _flags(op: Op, *names: str) -> tuple[bool, ...]:
    if op.attributes is None:
        return (False, True)
    return (any(op.attributes.get(name, False) for name in names),)


def _convolution(result: Tensor, weights: Tensor, *, depthwise: bool = False) -> int:
    """Count two operations per weight for each element of the result, padding included."""
    # Weights are [..., inputs, outputs], whatever the layout of the images.
    outputs = math.prod(weights.shape[-2:] if depthwise else weights.shape[-1:])
    return 2 * result.elements * weights.elements // max(outputs, 1)


def _fused(op: Op, first: int) -> int:
    """Count the operations fused to a product."""
    names = op.attribute("fused_ops", [])
    return first + op.output().elements * sum(2 if name == "FusedBatchNorm" else 1 for name in names)


def _batch_norm(op: Op) -> int:
    elements = op.input(0).elements
    count = elements * (4 if op.attribute("is_training", True) else 2)
    if op.kind == "_FusedBatchNormEx":
        count += elements * (op.attribute("activation_mode", "Identity") != "Identity")
        count += elements * (op.attribute("num_side_inputs", 0) > 0)
    return count


def _window(op: Op) -> int:
    sizes = op.attribute("ksize", [])
    if not 0 < len(sizes) <= _RANK or any(not isinstance(size, int) or size < 0 for size in sizes):
        raise _UnknownError
    return math.prod(sizes)


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


_ELEMENTWISE = _words(
    "Abs Acos Acosh Add AddV2 Asin Asinh AssignAdd AssignSub Atan Atan2 Atanh Ceil Cos Cosh Div DivNoNan Elu"
    " EluGrad Equal Erf Erfc Exp Expm1 Floor FloorDiv FloorMod Greater GreaterEqual Inv InvGrad LeakyRelu"
    " LeakyReluGrad Less LessEqual Log Log1p Maximum Minimum Mod Mul MulNoNan Neg NotEqual Pow RealDiv"
    " Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Rint Round Rsqrt RsqrtGrad Selu SeluGrad"
    " Sigmoid SigmoidGrad Sign Sin Sinh Softplus SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square Sub"
    " SquaredDifference Tan Tanh TanhGrad Xdivy Xlogy"
)
_MATRIX_PRODUCTS = _words("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3")
_OF_INPUT = _words("BiasAdd Softmax LogSoftmax")
_UPDATES_OF_VARIABLES = _words("AssignAddVariableOp AssignSubVariableOp")

_Formula = Callable[[Op], int]

FORMULAS: Mapping[str, _Formula] = {
    **dict.fromkeys(_ELEMENTWISE, lambda op: math.prod(_result(op))),
    **dict.fromkeys(("SquaredDifference", "Rsqrt"), lambda op: 2 * math.prod(_result(op))),
    "RsqrtGrad": lambda op: 4 * math.prod(_result(op)),
    **dict.fromkeys(_UPDATES_OF_VARIABLES, lambda op: op.input(1).elements),
    "AddN": lambda op: op.input(0).elements * (len(op.inputs) - 1),
    "BiasAdd": lambda op: op.input(0).elements,
    "L2Loss": lambda op: 3 * op.input(0).elements - 1,
    **dict.fromkeys(("Softmax", "LogSoftmax"), lambda op: 5 * op.input(0).elements),
    **dict.fromkeys(
        _words("Sum Prod Max Min ArgMax ArgMin BiasAddGrad"),
        lambda op: max(op.input(0).elements - op.output().elements, 0),
    ),
    "Mean": lambda op: op.input(0).elements,
    **dict.fromkeys(_MATRIX_PRODUCTS, lambda op: _matrix_product(op)[0]),
    "_FusedMatMul": lambda op: _fused(op, _matrix_product(op)[0]),
    **dict.fromkeys(("Conv2D", "Conv3D", "Dilation2D"), lambda op: _convolution(op.output(), op.input(1))),
    "_FusedConv2D": lambda op: _fused(op, _convolution(op.output(), op.input(1))),
    **dict.fromkeys(
        ("Conv2DBackpropInput", "Conv3DBackpropInput", "Conv3DBackpropInputV2"),
        lambda op: _convolution(op.input(2), op.input(1)),
    ),
    **dict.fromkeys(
        ("Conv2DBackpropFilter", "Conv3DBackpropFilter", "Conv3DBackpropFilterV2"),
        lambda op: _convolution(op.input(2), op.output()),
    ),
    "DepthwiseConv2dNative": lambda op: _convolution(op.output(), op.input(1), depthwise=True),
    "_FusedDepthwiseConv2dNative": lambda op: _fused(
        op, _convolution(op.output(), op.input(1), depthwise=True)
    ),
    "DepthwiseConv2dNativeBackpropInput": lambda op: _convolution(op.input(2), op.input(1), depthwise=True),
    "DepthwiseConv2dNativeBackpropFilter": lambda op: _convolution(op.input(2), op.output(), depthwise=True),
    **dict.fromkeys(
        ("AvgPool", "MaxPool", "AvgPool3D", "MaxPool3D"), lambda op: _window(op) * op.output().elements
    ),
    **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), lambda op: 2 * _window(op) * op.input(1).elements),
    **dict.fromkeys(("MaxPoolGrad", "MaxPool3DGrad"), lambda op: (_window(op) + 1) * op.input(1).elements),
    **dict.fromkeys(
        ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx"), _batch_norm
    ),
    **dict.fromkeys(
        ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"),
        lambda op: 11 * op.input(1).elements,
    ),
}
"""Counting rules by op type."""

_ONEDNN = "_Mkl"
"""Prefix of op types that TensorFlow 2.9+ substitutes on the CPU where oneDNN is faster."""

_COPIES = _words("Cast ConcatV2 Pad PadV2 Pack Reverse ReverseV2 Select SelectV2 Tile Transpose")
"""Ops that read and write all of their inputs and outputs, and compute nothing."""

_NAMES = dict(enumerate(DATA_TYPES))


def counted_as(kind: str) -> str:
    """Return the op type whose formula applies to an op type; empty if there is none.

    >>> counted_as("Relu"), counted_as("_MklMatMul"), counted_as("_MklNativeFusedConv2D"), counted_as("NoOp")
    ('Relu', 'MatMul', '_FusedConv2D', '')
    """
    plain = kind.removeprefix(_ONEDNN).removeprefix("Native") if kind.startswith(_ONEDNN) else kind
    return next((one for one in (plain, f"_{plain}") if one in FORMULAS or one in _COPIES), "")


def tensor(dtype: int, shape: Sequence[int | None] | None) -> Tensor | None:
    """Return a tensor from the number of a type and a shape; None if the shape is invalid.

    >>> tensor(1, [8, 4]), tensor(1, [-1]), tensor(1, None)
    (Tensor(dtype='FLOAT', shape=(8, 4)), None, None)
    """
    if shape is None or len(shape) > _RANK:
        return None
    sizes = tuple(size for size in shape if size is not None and size >= 0)
    return Tensor(_NAMES.get(dtype % REFERENCE, ""), sizes) if len(sizes) == len(shape) else None
