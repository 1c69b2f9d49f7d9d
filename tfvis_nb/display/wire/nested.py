"""Lists of records in `Trace.nested` as flat columns."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class NestedRows:
    """One nested column of a trace, its lists concatenated."""

    # The records of event i are rows ``offsets[i]`` to ``offsets[i + 1]``
    offsets: np.ndarray
    # Field name to one value per record; without any record, the fields may be missing
    fields: dict[str, pa.Array]

    def whole(self, name: str) -> np.ndarray:
        """The values of a field as int64; 0 if missing."""
        if name not in self.fields:
            return np.zeros(int(self.offsets[-1]), "i8")
        values = pc.fill_null(self.fields[name].cast(pa.int64()), 0)
        numbers: np.ndarray = values.to_numpy(zero_copy_only=False)
        return numbers

    def texts(self, name: str) -> pa.Array:
        """The values of a field as text; empty if missing."""
        if name not in self.fields:
            return pa.array([""] * int(self.offsets[-1]), pa.string())
        return pc.fill_null(self.fields[name].cast(pa.string()), "")


def nested_rows(nested: pa.Table | None, column: str, events: int) -> NestedRows:
    """Return one column of a trace's nested table; no records if it has no such column."""
    if nested is None or column not in nested.column_names:
        return NestedRows(np.zeros(events + 1, "u4"), {})
    values = nested[column]
    lists = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    records = pc.list_flatten(lists)
    names = [field.name for field in records.type]
    fields = dict(zip(names, records.flatten(), strict=True))
    return NestedRows(np.concatenate([[0], np.cumsum(lengths)]).astype("u4"), fields)


def shape_texts(shapes: pa.Array, names: pa.Array | None = None) -> pa.Array:
    """Format shapes as text, with the `names` of dimensions that have one.

    ``[32, 784]``, ``[batch=?, 3]`` with an unknown dimension, ``?`` for an unknown shape.
    """
    sizes = pc.list_flatten(shapes)
    written = pc.if_else(pc.less(sizes, 0), "?", sizes.cast(pa.string()))
    named = None if names is None else pc.list_flatten(names)
    if named is not None and len(named) == len(written):
        marked = pc.binary_join_element_wise(named, written, "=")
        written = pc.if_else(pc.fill_null(pc.equal(named, ""), True), written, marked)
    lengths = pc.fill_null(pc.list_value_length(shapes), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), written), ", ")
    texts = pc.binary_join_element_wise("[", joined, "]", "")
    return pc.if_else(shapes.is_null(), "?", texts)


def id_texts(lists: pa.Array) -> pa.Array:
    """Format lists of whole numbers as text: ``3, 12``; empty if there are none."""
    return pc.fill_null(pc.binary_join(lists.cast(pa.list_(pa.string())), ", "), "")
