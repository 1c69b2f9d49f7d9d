"""Parse the inputs of ops from executor labels."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.nested_columns import OR
from tfvis_nb.core.tensor_senders import numbers

_INPUTS = r"(?s) = [^ (]+\((?P<inputs>.*)\)$"
_SUFFIX = r"(?:/_\d+|_S\d+)$"
"""The end of names of nodes that send or receive between two partitions of a graph."""


@dataclass
class Inputs:
    """The inputs of some rows, row by row."""

    row: np.ndarray  # The position of the row that lists the input
    # node, origin: Number of the named node, and of the node behind a transfer node (``c`` for ``c/_5``); -1:
    # none
    node: np.ndarray
    origin: np.ndarray
    control: np.ndarray  # Whether it is a control input
    choice: np.ndarray  # Of the inputs with the same number, an execution used one; -1: it used this one

    def joined(self, other: "Inputs") -> "Inputs":
        """Return these and those of `other`, without duplicates."""
        row, node, origin, control, choice = (
            np.concatenate(both) for both in zip(vars(self).values(), vars(other).values(), strict=True)
        )
        width = int(max(node.max(initial=0), origin.max(initial=0))) + 2
        which = np.where(node >= 0, node, width + origin)
        key = (row * 2 * width + which) * 2 + control
        _, first = np.unique(key * (int(choice.max(initial=-1)) + 2) + choice + 1, return_index=True)
        return Inputs(row[first], node[first], origin[first], control[first], choice[first])


def inputs(labels: pa.Array, names: pa.Array) -> Inputs:
    """Read the inputs from executor labels ``name = Op(input, input:1, ^control)``.

    A node's number is its index in the distinct `names`.
    """
    listed = pc.struct_field(pc.extract_regex(labels.cast(pa.large_string()), _INPUTS), "inputs")
    lists = pc.split_pattern(listed.fill_null(""), ", ")
    row = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    given = pc.list_flatten(lists)
    node, origin, control = _numbered(given, names)
    real = pc.not_equal(given, "").to_numpy(zero_copy_only=False)
    return Inputs(row[real], node[real], origin[real], control[real], np.full(int(real.sum()), -1))


def graph_nodes(row: np.ndarray, given: pa.Array, names: pa.Array) -> Inputs:
    """Return the inputs of rows from their graphs, such as ``a:1``, ``^a`` or ``a|b``."""
    lists = pc.split_pattern(given, OR)
    which = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    several = pc.greater(pc.list_value_length(lists), 1).to_numpy(zero_copy_only=False)
    choice = np.where(several[which], which, -1)
    return Inputs(row[which], *_numbered(pc.list_flatten(lists), names), choice)


def _numbered(given: pa.Array, names: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``node``, ``origin`` and ``control`` of `Inputs` for inputs such as ``a``, ``a:1`` or ``^a``."""
    encoded = given.dictionary_encode()
    texts = encoded.dictionary
    which = encoded.indices.to_numpy(zero_copy_only=False)
    control = pc.starts_with(texts, "^").to_numpy(zero_copy_only=False)
    node = pc.replace_substring_regex(texts, r"^\^|:\d+$", "")
    origin = origins(node)
    known = names.cast(pa.large_string())
    return numbers(node, known)[which], numbers(origin, known)[which], control[which]


def origins(names: pa.Array) -> pa.Array:
    """Return the node behind each node that sends or receives between two partitions; null for others.

    >>> origins(pa.array(["c/_5", "c"])).to_pylist()
    ['c', None]
    """
    # Few names have the suffix, and looking for it takes a tenth of the time of extracting.
    has_suffix = pc.match_substring_regex(names, _SUFFIX)
    nodes = pc.struct_field(pc.extract_regex(names.filter(has_suffix), f"^(?P<node>.+?){_SUFFIX}"), "node")
    return pc.replace_with_mask(pa.nulls(len(names), names.type), has_suffix, nodes)
