"""Operations of TensorFlow's ops: compared with TensorFlow and with loops; unknown cases."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tfvis_nb import read_trace
from tfvis_nb.analysis.graph.op_flops import FORMULAS, Op, Tensor, op_bytes, op_flops
from tfvis_nb.analysis.hardware.op_work import op_work

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def floats(*shape: int) -> Tensor:
    return Tensor("FLOAT", shape)


def flops(
    kind: str, *inputs: Tensor, output: Tensor | None = None, attributes: Mapping[str, Any] | None = None
) -> int | None:
    return op_flops(Op(kind, inputs, (output,) if output else (), attributes))


def _graph(tf: Any) -> dict[Any, Any]:
    """Return the values to feed, by placeholder; the graph has an op of each registered type."""
    v1, raw = tf.compat.v1, tf.raw_ops
    x, y = (v1.placeholder(tf.float32, [2, 8, 8, 4]) for _ in range(2))
    weights, small = (v1.placeholder(tf.float32, shape) for shape in ([3, 3, 4, 6], [2, 4, 4, 6]))
    for one in ["Reciprocal", "Square", "Rsqrt", "Log", "Neg"]:
        getattr(raw, one)(x=x)
    raw.Softmax(logits=x)
    raw.L2Loss(t=x)
    for one in ["Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "SquaredDifference"]:
        getattr(raw, one)(x=x, y=y)
        getattr(raw, one)(x=x[:, :1], y=y[..., :1])
    for one in ["GreaterEqual", "Greater", "LessEqual", "Less", "Equal", "NotEqual"]:
        getattr(raw, one)(x=x, y=y)
    raw.RsqrtGrad(y=x, dy=y)
    variable = v1.get_variable("v", initializer=tf.zeros([5, 7]), use_resource=False)
    v1.assign_add(variable, tf.ones([5, 7]))
    v1.assign_sub(variable, tf.ones([5, 7]))
    for one in ["Mean", "Sum"]:
        getattr(raw, one)(input=x, axis=[1, 2])
    for one in ["ArgMax", "ArgMin"]:
        getattr(raw, one)(input=x, dimension=2)
    raw.AddN(inputs=[x, y, x])
    bias = v1.placeholder(tf.float32, [4])
    raw.BiasAdd(value=x, bias=bias)
    raw.BiasAddGrad(out_backprop=x)
    for turned in product((False, True), repeat=2):
        a, b = (
            v1.placeholder(tf.float32, shape[::-1] if one else shape)
            for shape, one in zip(([8, 3], [3, 5]), turned, strict=True)
        )
        raw.MatMul(a=a, b=b, transpose_a=turned[0], transpose_b=turned[1])
    a, b = (v1.placeholder(tf.float32, shape) for shape in ([6, 1, 8, 3], [6, 2, 5, 3]))
    raw.BatchMatMulV2(x=a, y=b, adj_y=True)
    raw.BatchMatMulV3(x=a, y=b, Tout=tf.float32, adj_y=True)
    raw.BatchMatMul(x=b, y=b, adj_y=True)
    same = {"strides": [1, 2, 2, 1], "padding": "SAME"}
    raw.Conv2D(input=x, filter=weights, **same)
    raw.Conv2D(input=x, filter=weights, strides=[1, 1, 1, 1], padding="VALID")
    raw.Conv2DBackpropInput(input_sizes=[2, 8, 8, 4], filter=weights, out_backprop=small, **same)
    raw.Conv2DBackpropFilter(input=x, filter_sizes=[3, 3, 4, 6], out_backprop=small, **same)
    raw.DepthwiseConv2dNative(input=x, filter=v1.placeholder(tf.float32, [3, 3, 4, 2]), **same)
    raw.Dilation2D(input=x, filter=v1.placeholder(tf.float32, [3, 3, 4]), rates=[1, 1, 1, 1], **same)
    deep = {"strides": [1, 1, 2, 2, 1], "padding": "SAME"}
    raw.Conv3D(input=x[None], filter=weights[None], **deep)
    pool = {"ksize": [1, 3, 3, 1], **same}
    pooled = raw.MaxPool(input=x, **pool)
    raw.MaxPoolGrad(orig_input=x, orig_output=pooled, grad=pooled, **pool)
    grad = raw.AvgPool(value=x, **pool)
    raw.AvgPoolGrad(orig_input_shape=[2, 8, 8, 4], grad=grad, **pool)
    graph = v1.get_default_graph()
    asked = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
    return {one: [1.0] * one.shape.num_elements() for one in asked}


@pytest.mark.tensorflow
@pytest.mark.slow
def test_as_many_operations_as_tensorflow_registers() -> None:
    import numpy as np
    import tensorflow as tf
    from tensorflow.core.protobuf import rewriter_config_pb2
    from tensorflow.python.framework.ops import get_stats_for_node_def
    from tensorflow.python.profiler.internal.flops_registry import IMPLEMENTED_OPS

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        fed = {one: np.reshape(value, one.shape) for one, value in _graph(tf).items()}
        config = v1.ConfigProto(graph_options={"optimizer_options": {"opt_level": -1}})
        rewriting = config.graph_options.rewrite_options
        rewriting.disable_meta_optimizer = True
        rewriting.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
        recorded = v1.RunMetadata()
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            wanted = [op for op in graph.get_operations() if op.type in FORMULAS]
            session.run(wanted, fed, options, recorded)
    trace = read_trace(recorded)
    work = op_work(trace)
    found = dict(zip(trace.events["name"].iloc[work["event"]], work["flops"], strict=True))
    registered = {}
    for op in wanted:
        stats = get_stats_for_node_def(graph, op.node_def, "flops").value
        if stats is not None:
            registered[op.name] = stats
    assert {name: found.get(name) for name in registered} == registered
    types = {op.type for op in wanted if op.name in registered}
    assert types >= {*IMPLEMENTED_OPS, "BatchMatMulV2", "Conv3D"}


def test_gradients_of_convolutions_by_loops() -> None:
    batch, size, window, inputs, outputs, multiplier = 2, 5, 3, 3, 4, 2
    left = size - window + 1
    dense = depthwise = deep = 0
    for _ in product(range(batch), range(left), range(left), range(window), range(window)):
        for _ in product(range(inputs), range(outputs)):
            dense += 2
        for _ in product(range(inputs), range(multiplier)):
            depthwise += 2
    for _ in product(range(batch), range(left), range(left), range(left), *[range(window)] * 3):
        for _ in product(range(inputs), range(outputs)):
            deep += 2
    image, sizes = floats(batch, size, size, inputs), Tensor("INT32", (4,))
    weights, result = floats(window, window, inputs, outputs), floats(batch, left, left, outputs)
    assert flops("Conv2DBackpropInput", sizes, weights, result, output=image) == dense
    assert flops("Conv2DBackpropFilter", image, sizes, result, output=weights) == dense
    # The layout of images is another on a GPU, that of weights is not.
    result = floats(batch, outputs, left, left)
    assert flops("Conv2DBackpropInput", sizes, weights, result, output=image) == dense
    weights = floats(window, window, inputs, multiplier)
    result = floats(batch, left, left, inputs * multiplier)
    assert flops("DepthwiseConv2dNativeBackpropInput", sizes, weights, result, output=image) == depthwise
    assert flops("DepthwiseConv2dNativeBackpropFilter", image, sizes, result, output=weights) == depthwise
    image, weights = floats(batch, *[size] * 3, inputs), floats(*[window] * 3, inputs, outputs)
    result = floats(batch, *[left] * 3, outputs)
    assert flops("Conv3DBackpropInputV2", sizes, weights, result, output=image) == deep
    assert flops("Conv3DBackpropFilterV2", image, sizes, result, output=weights) == deep


def test_fused_ops_add_up() -> None:
    a, b, bias, result = floats(8, 3), floats(3, 5), floats(5), floats(8, 5)
    fused = {"fused_ops": ["BiasAdd", "Relu"]}
    parts = (
        flops("MatMul", a, b, output=result) or 0,
        flops("BiasAdd", result, bias, output=result) or 0,
        flops("Relu", result, output=result) or 0,
    )
    assert flops("_FusedMatMul", a, b, bias, output=result, attributes=fused) == sum(parts) > 0
    assert flops("_FusedMatMul", a, b, bias, output=result) is None
    norm, scale = floats(2, 4, 4, 3), floats(3)
    (trained, inferred), elements = (
        (
            flops("FusedBatchNormV3", norm, scale, scale, output=norm, attributes={"is_training": one})
            for one in (True, False)
        ),
        96,
    )
    assert (trained, inferred) == (4 * elements, 2 * elements)


def test_ops_of_onednn_count_as_those_in_whose_place_they_are(data: Path) -> None:
    trace = read_trace(data / "local_mlp_step1.pb")
    work = op_work(trace).join(trace.events[["name", "op"]], on="event")
    found = work[work["op"].astype(str).str.startswith("_Mkl")].set_index("name")["flops"].to_dict()
    batch, inputs, hidden, classes = 512, 784, 256, 10
    forward, logits = 2 * batch * inputs * hidden, 2 * batch * hidden * classes
    assert found == {
        "Relu": forward + 2 * batch * hidden,
        "logits": logits,
        "gradients/logits_grad/MatMul": logits,
        "gradients/logits_grad/MatMul_1": logits,
        "gradients/MatMul_grad/MatMul_1": forward,
    }


def test_without_attributes_one_way_to_multiply_has_to_be_left() -> None:
    assert flops("MatMul", floats(8, 3), floats(3, 5)) == 240
    assert flops("MatMul", floats(3, 8), floats(3, 5)) == 240
    assert flops("MatMul", floats(4, 4), floats(4, 4)) == 128
    # 4 x 8 times its transpose, or the other way round.
    assert flops("MatMul", floats(4, 8), floats(4, 8)) is None
    assert flops("MatMul", floats(4, 8), floats(4, 8), output=floats(8, 8)) == 512
    assert flops("MatMul", floats(4, 8), floats(5, 9)) is None


def test_unknown_values_are_not_zero() -> None:
    assert flops("Conv2D", floats(2, 8, 8, 4), floats(3, 3, 4, 6)) is None
    assert flops("AvgPool", floats(2, 8, 8, 4), output=floats(2, 4, 4, 4), attributes={"ksize": 3}) is None
    assert flops("Unheard", floats(2)) is None
    assert flops("Mul", Tensor("COMPLEX64", (2,)), Tensor("COMPLEX64", (2,))) is None
    assert flops("Mul", floats(1 << 40), floats(1 << 40, 1)) is None
    assert flops("Add", Tensor("INT32", (2,)), Tensor("INT32", (2,))) == 0
    assert op_bytes(Op("Relu", (None,), (floats(4),))) is None
    assert op_bytes(Op("Relu", (Tensor("STRING", (4,)),))) is None
    assert op_bytes(Op("AddV2", (floats(4, 1), floats(5)))) == 4 * (4 + 5 + 20)
    variable = Tensor("RESOURCE", ())
    assert op_bytes(Op("AssignAddVariableOp", (variable, Tensor("HALF", (8,))))) == 3 * 16
