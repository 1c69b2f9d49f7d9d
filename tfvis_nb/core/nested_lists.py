"""Nested columns of a trace, lists of structs, as flat arrays."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table


def exploded(lists: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return which list each item is of, int64, and the items of all lists."""
    which = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return which.astype(np.int64), pc.list_flatten(lists)


def numbers(structs: pa.Array, name: str) -> np.ndarray:
    """Return one field of structs; 0 where it is missing."""
    if structs.type.get_field_index(name) < 0:
        return np.zeros(len(structs), np.int64)
    values: np.ndarray = pc.fill_null(pc.struct_field(structs, name), 0).to_numpy(zero_copy_only=False)
    return values


def categories(structs: pa.Array, name: str) -> pd.Categorical:
    """Return one field of structs as categories; empty where it is missing."""
    if structs.type.get_field_index(name) < 0:
        return coded(np.zeros(len(structs), np.int32), [""])
    texts = pc.fill_null(pc.struct_field(structs, name), "").dictionary_encode()
    return coded(texts.indices.to_numpy(zero_copy_only=False), texts.dictionary.to_pylist())


def coded(codes: np.ndarray, texts: list[str]) -> pd.Categorical:
    """Make categories of distinct texts and, for each row, the index of its own."""
    dtype = pd.CategoricalDtype(pd.Index(texts, dtype=event_table.TEXT))
    return pd.Categorical.from_codes(codes.astype(np.int32), dtype=dtype)
