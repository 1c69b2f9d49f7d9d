"""Replace each distinct text in columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core.nested_lists import as_lists

Replace = Callable[[str], str]


def replaced_series(column: pd.Series, replace: Replace) -> pd.Series:
    """Return a column of an event table, texts or categories, with its texts replaced; missing ones stay."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        # Unused categories would also contain names.
        used, new = np.unique(codes[codes >= 0], return_inverse=True)
        categories = [replace(text) for text in column.cat.categories[used].tolist()]
        numbered = np.full(len(codes), -1, np.int64)
        numbered[codes >= 0] = new
        return pd.Series(_merged(numbered, categories), index=column.index, name=column.name)
    numbers, texts = pd.factorize(column)
    others = np.array([*(replace(text) for text in texts), None], object)
    return pd.Series(others[numbers], dtype=column.dtype, index=column.index, name=column.name)


def _merged(codes: np.ndarray, categories: list[str]) -> pd.Categorical:
    """Make categories from texts that may contain duplicates."""
    distinct = list(dict.fromkeys(categories))
    place = {text: at for at, text in enumerate(distinct)}
    of_category = np.array([*(place[text] for text in categories), -1], np.int64)
    dtype = pd.CategoricalDtype(pd.Index(distinct, dtype=event_table.TEXT))
    return pd.Categorical.from_codes(of_category[codes].tolist(), dtype=dtype)


def replaced_array(array: pa.Array, replace: Replace) -> pa.Array:
    """Return an Arrow array with all texts replaced, including those in lists and structs."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(array.indices, replaced_array(array.dictionary, replace))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        coded = array.dictionary_encode()
        texts = [None if text is None else replace(text) for text in coded.dictionary.to_pylist()]
        return pa.array(texts, kind).take(coded.indices)
    if pa.types.is_list(kind) and _has_texts(kind):
        return as_lists(array, replaced_array(array.flatten(), replace))
    if pa.types.is_struct(kind) and _has_texts(kind):
        fields = [replaced_array(one, replace) for one in array.flatten()]
        return pa.StructArray.from_arrays(fields, [field.name for field in kind], mask=array.is_null())
    return array


def _has_texts(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _has_texts(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_texts(field.type) for field in kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))
