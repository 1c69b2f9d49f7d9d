"""The nodes of serialised graphs and their inputs, as Arrow columns; constants are skipped."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.protobuf.schema import handler


def node_inputs(graphs: Sequence[bytes]) -> tuple[pa.Array, pa.Array]:
    """Return the inputs of all nodes of some serialised ``GraphDef`` messages; ValueError if one is damaged.

    For each input the name of the node that has it, and the input as it stands there, such as ``a:1``
    or ``^a`` (large_binary).
    """
    nodes = handler("GraphDef", "graphs").list_to_record_batch(list(graphs)).column("node")
    node = pc.list_flatten(nodes)
    lists = pc.struct_field(node, "input")
    owner = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    names = pc.struct_field(node, "name").cast(pa.large_binary())
    return names.take(pa.array(owner)), pc.list_flatten(lists).cast(pa.large_binary())
