"""Nested columns of a trace (lists of structs) as flat arrays."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table


def exploded(lists: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the index of each item's list (int64), and the items of all lists."""
    which = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return which.astype(np.int64), pc.list_flatten(lists)


def numbers(structs: pa.Array, name: str) -> np.ndarray:
    """Return one field of structs; 0 if missing."""
    if structs.type.get_field_index(name) < 0:
        return np.zeros(len(structs), np.int64)
    values: np.ndarray = pc.fill_null(pc.struct_field(structs, name), 0).to_numpy(zero_copy_only=False)
    return values


def categories(structs: pa.Array, name: str) -> pd.Categorical:
    """Return one field of structs as categories; empty if missing."""
    if structs.type.get_field_index(name) < 0:
        return coded(np.zeros(len(structs), np.int32), [""])
    texts = pc.fill_null(pc.struct_field(structs, name), "").dictionary_encode()
    return coded(texts.indices.to_numpy(zero_copy_only=False), texts.dictionary.to_pylist())


def coded(codes: np.ndarray, texts: list[str]) -> pd.Categorical:
    """Make a categorical of distinct texts and the index of each row's text."""
    dtype = pd.CategoricalDtype(pd.Index(texts, dtype=event_table.TEXT))
    return pd.Categorical.from_codes(codes.astype(np.int32), dtype=dtype)


def as_lists(lists: pa.Array, items: pa.Array) -> pa.ListArray:
    """Put other items into lists of the same lengths."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, items, mask=pc.is_null(lists))


def with_same_fields(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Give structs in columns of the same name the same fields, null where a table lacks one.

    Before version 17, pyarrow only concatenates structs with the same fields.
    """
    fields: dict[str, dict[str, pa.DataType]] = {}
    for table in tables:
        for column in table.schema:
            if _is_list_of_structs(column.type):
                known = fields.setdefault(column.name, {})
                known |= {
                    field.name: field.type for field in column.type.value_type if field.name not in known
                }
    return [_with_fields(table, fields) for table in tables]


def _with_fields(table: pa.Table, fields: dict[str, dict[str, pa.DataType]]) -> pa.Table:
    for number, column in enumerate(table.schema):
        wanted = fields.get(column.name, {})
        if not _is_list_of_structs(column.type) or [field.name for field in column.type.value_type] == [
            *wanted
        ]:
            continue
        lists = table[number].combine_chunks()
        structs = pc.list_flatten(lists)
        columns = [
            pc.struct_field(structs, name)
            if structs.type.get_field_index(name) >= 0
            else pa.nulls(len(structs), kind)
            for name, kind in wanted.items()
        ]
        table = table.set_column(
            number, column.name, as_lists(lists, pa.StructArray.from_arrays(columns, [*wanted]))
        )
    return table


def _is_list_of_structs(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_struct(kind.value_type))
