"""The layer of a node, by its name scopes."""

import re
from collections.abc import Collection

from tfvis_nb.core.phases import GRADIENTS, without_calls

_REPLICA = re.compile(r"(?:^|(?<=/))replica_\d+/")
"""The scope that tf.distribute gives each replica after the first, in which the same layers run."""
_OF_JAX = re.compile(r"(?:^|/)p?jit\(|jvp\(|vmap\(")
_FUNCTIONS = re.compile(r"p?jit\([^()]*\)")
_TRANSFORMS = re.compile(r"[A-Za-z_]\w*\(|\)")
_CONTROL = frozenset(
    (
        *("while", "body", "cond", "closed_call", "checkpoint", "remat", "rematted_computation"),
        *("custom_jvp_call", "custom_vjp_call", "shard_map", "pjit", "scan"),
    )
)
_GRADIENT_OF = re.compile(r"_grad(?:_\d+)?$")
_UPDATE = re.compile(r"[^/]+/update_(?P<variable>.+?)/(?:Resource)?(?:Sparse)?Apply[^/]*(?:/.*)?", re.DOTALL)
_OF_OPS = re.compile(
    r"(?:(?:Batch)?MatMul(?:V\d)?|Conv\dD\w*|DepthwiseConv\w+|BiasAdd|FusedBatchNorm\w*|Tensordot|Relu6?"
    r"|(?:Sparse)?SoftmaxCrossEntropyWithLogits|convolution|moments|batchnorm|add)(?:_\d+)?"
)
"""Scopes that TensorFlow creates for its own ops or functions, even if the op was fused."""


def layer_of(name: str, phase: str, nodes: Collection[str]) -> str:
    """Return the layer of a node, which is its scope, or an empty text.

    `nodes` are the names of all nodes: an op in the scope of a node is part of that node. Ops of an optimizer
    belong to the layer whose variable they update if their name has it, otherwise to the optimizer.

    >>> layer_of("gradient_tape/model/dense_1/MatMul/MatMul_1", "backward", {"model/dense_1/MatMul"})
    'model/dense_1'
    >>> layer_of("jit(f)/transpose(jvp(Dense_0))/dot_general", "backward", ())
    'Dense_0'
    >>> layer_of("Adam/update_fc/kernel/ResourceApplyAdam", "optimizer", ())
    'fc'
    """
    if _OF_JAX.search(name):
        parts = _TRANSFORMS.sub("", _FUNCTIONS.sub("", name)).split("/")[:-1]
        return "/".join(part for part in parts if part and part not in _CONTROL)
    name = _REPLICA.sub("", without_calls(name))
    if match := GRADIENTS.search(name):
        name = name[match.end() :]
        parts = name.split("/")
        at = next((at for at, part in enumerate(parts) if _GRADIENT_OF.search(part)), len(parts) - 1)
        layer = "/".join(parts[:at])
    elif phase == "optimizer":
        update = _UPDATE.fullmatch(name)
        return (_scope(update["variable"]) if update else "") or name.partition("/")[0]
    else:
        layer = _scope(name)
    while layer and (layer in nodes or _OF_OPS.fullmatch(layer.rpartition("/")[2])):
        layer = _scope(layer)
    return layer


def _scope(name: str) -> str:
    return name.rpartition("/")[0]
