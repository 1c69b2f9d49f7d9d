"""The layers of nodes, by their name scopes."""

import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.phases import GRADIENTS

_REPLICA = r"(^|/)(?:replica_\d+/)+"
"""The scope that tf.distribute gives each replica after the first, in which the same layers run."""
_OF_JAX = r"(?:^|/)p?jit\(|jvp\(|vmap\("
_TRANSFORMS = r"p?jit\([^()]*\)", r"[A-Za-z_]\w*\(|\)"
_CONTROL = (
    r"(^|/)(?:(?:while|body|cond|closed_call|checkpoint|remat|rematted_computation|custom_jvp_call"
    r"|custom_vjp_call|shard_map|pjit|scan)?/)+"
)
_GRADIENT_OF = r"(?s)(?:^|/)[^/]*_grad(?:_\d+)?(?:/.*)?$"
_UPDATE = r"(?s)^[^/]+/update_(?P<variable>.+?)/(?:Resource)?(?:Sparse)?Apply[^/]*(?:/.*)?$"
_OF_OPS = (
    r"(?:^|/)(?:(?:Batch)?MatMul(?:V\d)?|Conv\dD\w*|DepthwiseConv\w+|BiasAdd|FusedBatchNorm\w*|Tensordot|Relu6?"
    r"|(?:Sparse)?SoftmaxCrossEntropyWithLogits|convolution|moments|batchnorm|add)(?:_\d+)?$"
)
"""Scopes that TensorFlow creates for its own ops or functions, even if the op was fused."""


def layer_names(nodes: pa.Array, phases: pa.Array, known: pa.Array) -> pa.Array:
    """Return the layers of nodes, which are their scopes, or empty texts.

    Ops of an optimizer belong to the layer whose variable they update if their name has it, otherwise to the
    optimizer.

    Parameters
    ----------
    nodes, phases
        Names of nodes, as `tfvis_nb.core.phases.without_calls` returns them, and their phases.
    known
        The names of all nodes: an op in the scope of a node is part of that node.

    Examples
    --------
    >>> import pyarrow as pa
    >>> nodes = ["gradient_tape/model/dense_1/MatMul/MatMul_1", "jit(f)/transpose(jvp(Dense_0))/dot_general",
    ...          "Adam/update_fc/kernel/ResourceApplyAdam"]
    >>> phases = ["backward", "backward", "optimizer"]
    >>> layer_names(pa.array(nodes), pa.array(phases), pa.array(["model/dense_1/MatMul"])).to_pylist()
    ['model/dense_1', 'Dense_0', 'fc']
    """
    of_jax = pc.match_substring_regex(nodes, _OF_JAX)
    gradient = pc.match_substring_regex(nodes, GRADIENTS)
    update = pc.and_not(pc.fill_null(pc.equal(phases, "optimizer"), fill_value=False), gradient)
    names = pc.replace_substring_regex(nodes, _REPLICA, r"\1")
    layers = pc.replace_with_mask(_scopes(names), gradient, _of_gradients(names.filter(gradient)))
    encoded = layers.dictionary_encode()
    layers = encoded.dictionary
    while True:
        is_op = pc.or_(pc.is_in(layers, known), pc.match_substring_regex(layers, _OF_OPS))
        is_op = pc.and_(is_op, pc.not_equal(layers, ""))
        if not is_op.true_count:
            break
        layers = pc.if_else(is_op, _scopes(layers), layers)
    layers = layers.take(encoded.indices)
    layers = pc.replace_with_mask(layers, update, _of_updates(names.filter(update)))
    return pc.replace_with_mask(layers, of_jax, _of_jax(nodes.filter(of_jax)))


def _scopes(names: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(names, r"(?:^|/)[^/]*$", "")


def _of_gradients(names: pa.Array) -> pa.Array:
    forward = pc.replace_substring_regex(names, rf"(?s)^.*?{GRADIENTS}", "")
    return pc.replace_substring_regex(_scopes(forward), _GRADIENT_OF, "")


def _of_updates(names: pa.Array) -> pa.Array:
    variables = _scopes(pc.struct_field(pc.extract_regex(names, _UPDATE), "variable"))
    optimizers = pc.replace_substring_regex(names, "(?s)/.*", "")
    return pc.if_else(pc.fill_null(pc.not_equal(variables, ""), fill_value=False), variables, optimizers)


def _of_jax(names: pa.Array) -> pa.Array:
    for pattern in _TRANSFORMS:
        names = pc.replace_substring_regex(names, pattern, "")
    # Each part ends with a slash, so that one pattern removes empty parts and control flow.
    scopes = pc.replace_substring_regex(names, r"[^/]*$", "")
    return pc.ascii_rtrim(pc.replace_substring_regex(scopes, _CONTROL, r"\1"), "/")
