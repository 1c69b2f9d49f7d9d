"""The nodes of serialised graphs and their inputs, as Arrow columns."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.protobuf.schema import Field, register

PACKAGE = "tfvis_nb.graphs"

MESSAGES: dict[str, tuple[Field, ...]] = {
    "NodeDef": (("name", 1, "bytes"), ("input", 3, "*bytes")),
    "GraphDef": (("node", 1, "*NodeDef"),),
}
"""Of TensorFlow's ``graph.proto`` and ``node_def.proto`` only what is read; constants are skipped."""


def node_inputs(graphs: Sequence[bytes]) -> tuple[pa.Array, pa.Array]:
    """Return the inputs of all nodes of some serialised ``GraphDef`` messages; ValueError if one is damaged.

    For each input the name of the node that has it, and the input as it stands there, such as ``a:1``
    or ``^a`` (large_binary).
    """
    nodes = _handler().list_to_record_batch(list(graphs)).column("node")
    node = pc.list_flatten(nodes)
    lists = pc.struct_field(node, "input")
    owner = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    names = pc.struct_field(node, "name").cast(pa.large_binary())
    return names.take(pa.array(owner)), pc.list_flatten(lists).cast(pa.large_binary())


@cache
def _handler() -> Any:
    from ptars import HandlerPool

    descriptor = register(PACKAGE, MESSAGES, {})["GraphDef"]
    return HandlerPool([descriptor.file]).get_for_message(descriptor)
