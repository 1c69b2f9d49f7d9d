"""The inputs that executor labels list, taken apart."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_INPUTS = r"(?s) = [^ (]+\((?P<inputs>.*)\)$"
PARTITIONED = r"^(?P<node>.+?)(?:/_\d+|_S\d+)$"
"""What a node is called that sends or receives between two partitions of a graph."""


@dataclass
class Inputs:
    """Every input of some rows, row after row."""

    row: np.ndarray  # The position of the row that lists the input
    # node, origin: Number of the node it names, and of the node that stands behind a partition's
    # transfer node (``c`` for ``c/_5``); -1 where there is none of that name
    node: np.ndarray
    origin: np.ndarray
    control: np.ndarray  # Whether it is a control input


def inputs(labels: pa.Array, names: pa.Array) -> Inputs:
    """Read the inputs from executor labels ``name = Op(input, input:1, ^control)``.

    A node's number is its index in the distinct `names`.
    """
    listed = pc.struct_field(pc.extract_regex(labels.cast(pa.large_string()), _INPUTS), "inputs")
    lists = pc.split_pattern(listed.fill_null(""), ", ")
    row = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    encoded = pc.list_flatten(lists).dictionary_encode()
    texts = encoded.dictionary
    which = encoded.indices.to_numpy(zero_copy_only=False)
    control = pc.starts_with(texts, "^").to_numpy(zero_copy_only=False)
    node = pc.replace_substring_regex(texts, r"^\^|:\d+$", "")
    origin = pc.struct_field(pc.extract_regex(node, PARTITIONED), "node")
    known = names.cast(pa.large_string())
    node_number = numbers(node, known)
    origin_number = numbers(origin, known)
    real = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)[which]
    return Inputs(row[real], node_number[which][real], origin_number[which][real], control[which][real])


def numbers(texts: pa.Array, names: pa.Array) -> np.ndarray:
    """Return the index of each text in `names`, -1 where it is not there or null (int64)."""
    indices = pc.index_in(texts.cast(names.type), names, skip_nulls=True).fill_null(-1)
    found: np.ndarray = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
