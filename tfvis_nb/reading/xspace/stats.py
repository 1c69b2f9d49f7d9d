"""The stats of events: the values of requested ones, and all others as text.

A stat is a few bytes: the id of its name, and a number, a text, or a reference to a text. Only ids are read
for all stats. Values are only decoded for requested stats, and texts are built once for each distinct set of
stats.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.protobuf.to_arrow import handler
from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.reading.xspace.planes import Names

_FIRST_TAG = 0x08
"""The byte before a stat's id."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Values:
    """Some stats, decoded.

    - `owner`: The event of each (int64).
    - `key`: The index of its name in the plane's stat names (int32).
    - `integer`, `real`: Its number (int64, with the bits of unsigned ones; float64), 0 if it is not a number.
    - `unsigned`: Whether it was written as an unsigned number.
    - `code`: The index of its text in `vocabulary`, -1 if it is not a text (int64).
    """

    owner: np.ndarray
    key: np.ndarray
    integer: np.ndarray
    unsigned: np.ndarray
    real: np.ndarray
    code: np.ndarray
    vocabulary: list[str]
    names: list[str]

    def integers(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the events with a stat of this name, and the number of each."""
        mask = self._mask(name)
        return self.owner[mask], self.integer[mask]

    def reals(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the events with a stat of this name, and the number of each (float64)."""
        mask = self._mask(name)
        return self.owner[mask], self.real[mask] + self.integer[mask]

    def texts(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the events with a text of this name, and the index of each in `vocabulary`."""
        mask = self._mask(name) & (self.code >= 0)
        return self.owner[mask], self.code[mask]

    def spread(self, name: str, rows: int) -> np.ndarray:
        """Return the index in `vocabulary` of the text of this name for each of `rows` events, -1 if none."""
        codes = np.full(rows, -1, np.int64)
        owner, code = self.texts(name)
        codes[owner] = code
        return codes

    def numbers(self, name: str, rows: int) -> np.ndarray:
        """Return the number of this name for each of `rows` events, -1 if none."""
        spread = np.full(rows, -1, np.int64)
        owner, number = self.integers(name)
        spread[owner] = number
        return spread

    def _mask(self, name: str) -> np.ndarray:
        mask: np.ndarray = self.key == self.names.index(name) if name in self.names else self.key == -1
        return mask


class Stats:
    """The stats of a run of events: for each event its stats, serialised (list of binary)."""

    def __init__(self, lists: pa.ListArray, names: Names) -> None:
        self._lists = lists
        offsets = lists.offsets.to_numpy()
        self._offsets = (offsets - offsets[0]).astype(np.int64)
        self._raw = pc.list_flatten(lists)
        self._names = names
        self.key = names.indexes(_ids(self._raw))

    @cached_property
    def owner(self) -> np.ndarray:
        """The event of each stat (int32)."""
        counts = np.diff(self._offsets)
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    def take(self, events: np.ndarray) -> Stats:
        """Return the stats of some events."""
        return Stats(self._lists.take(pa.array(events)), self._names)

    def values(self, wanted: Collection[str]) -> Values:
        """Decode the stats with the `wanted` names."""
        return self._decode(np.flatnonzero(self._of(wanted)))

    def _of(self, names: Collection[str]) -> np.ndarray:
        listed = np.array([name in names for name in self._names.texts], bool)
        mask: np.ndarray = listed[self.key]
        return mask

    def _decode(self, chosen: np.ndarray) -> Values:
        batch = handler("Stat", "xspace").array_to_record_batch(self._raw.take(pa.array(chosen)))
        unsigned = batch.column("uint64_value").to_numpy().view(np.int64)
        reference = batch.column("ref_value").to_numpy().view(np.int64)
        vocabulary = self._names.texts
        code = np.where(reference != 0, self._names.indexes(reference), -1).astype(np.int64)
        written = batch.column("str_value").dictionary_encode()
        if len(written.dictionary) > 1 or (len(written) and written.dictionary[0].as_py()):
            local = np.array([len(vocabulary) + index for index in range(len(written.dictionary))], np.int64)
            filled = np.array([bool(value) for value in written.dictionary.to_pylist()])
            number = written.indices.to_numpy()
            code = np.where(filled[number], local[number], code)
            vocabulary = [*vocabulary, *(text(value) for value in written.dictionary.to_pylist())]
        return Values(
            owner=self.owner[chosen].astype(np.int64),
            key=self.key[chosen],
            integer=batch.column("int64_value").to_numpy() | unsigned,
            unsigned=unsigned != 0,
            real=batch.column("double_value").to_numpy(),
            code=code,
            vocabulary=vocabulary,
            names=self._names.texts,
        )

    def described(self, hidden: Collection[str]) -> tuple[np.ndarray, list[str]]:
        """Format the stats of each event as ``name=value name=value``, without those that are `hidden`.

        Return the index of each event's text (int32), and the texts; the first one is empty.
        """
        chosen = np.flatnonzero(~self._of(hidden))
        events = len(self._offsets) - 1
        if not len(chosen):
            return np.zeros(events, np.int32), [""]
        alike = self._raw.take(pa.array(chosen)).dictionary_encode().indices.to_numpy()
        owner = self.owner[chosen]
        # Equal stats at equal positions in the list have equal hash sums; with 64 bits, others differ.
        turn = (chosen - self._offsets[owner]).astype(np.uint64)
        mixed = (alike.astype(np.uint64) + np.uint64(1)) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(29))) * (turn + turn + np.uint64(0xBF58476D1CE4E5B9))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed)])
        first = np.searchsorted(owner, np.arange(events + 1))
        numbers, distinct = pd.factorize(sums[first[1:]] - sums[first[:-1]])
        example = np.empty(len(distinct), np.int64)
        example[numbers[::-1]] = np.arange(events)[::-1]
        return numbers.astype(np.int32) + 1, ["", *self._written(chosen, first, example)]

    def _written(self, rows: np.ndarray, first: np.ndarray, examples: np.ndarray) -> list[str]:
        """Format the stats of some events; those of event e are ``rows[first[e]:first[e + 1]]``."""
        counts = first[examples + 1] - first[examples]
        ends = np.cumsum(counts)
        within = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
        chosen = rows[np.repeat(first[examples], counts) + within]
        values = self._decode(chosen)
        shown = pa.array(values.integer).cast(pa.string())
        high = pa.array(values.unsigned & (values.integer < 0))
        shown = pc.if_else(high, pa.array(values.integer.view(np.uint64)).cast(pa.string()), shown)
        shown = pc.if_else(pa.array(values.real != 0), pa.array(values.real).cast(pa.string()), shown)
        vocabulary = pa.array(values.vocabulary, pa.string())
        is_text = values.code >= 0
        shown = pc.if_else(pa.array(is_text), vocabulary.take(pa.array(np.maximum(values.code, 0))), shown)
        # An empty text is stored as no value; other stats of its name show that it is a text.
        blank = (
            ~is_text & (values.integer == 0) & (values.real == 0) & np.isin(values.key, values.key[is_text])
        )
        shown = pc.if_else(pa.array(blank), "", shown)
        keys = pa.array([f"{name}=" for name in values.names], pa.string()).take(pa.array(values.key))
        pairs = pc.binary_join_element_wise(keys, shown, "")
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(offsets), pairs)
        written: list[str] = pc.binary_join(lists, " ").to_pylist()
        return written


def _ids(raw: pa.Array) -> np.ndarray:
    """Return the id of the name of each serialised stat (int64)."""
    if not len(raw):
        return np.zeros(0, np.int64)
    _, offsets, content = raw.buffers()
    ends = np.frombuffer(offsets, np.int32)[raw.offset : raw.offset + len(raw) + 1]
    data = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(1, np.uint8)
    start, end = ends[:-1], ends[1:]
    last = len(data) - 1
    low = data[np.minimum(start + 1, last)]
    plain = (data[np.minimum(start, last)] == _FIRST_TAG) & (end - start >= 2)
    ids = (low & 0x7F).astype(np.int64)
    long = np.flatnonzero(plain & (low >= 0x80))
    if len(long):
        high = data[np.minimum(start[long] + 2, last)]
        ids[long] |= (high & 0x7F).astype(np.int64) << 7
        plain[long[(high >= 0x80) | (end[long] - start[long] < 3)]] = False
    strange = np.flatnonzero(~plain)
    if len(strange):
        batch = handler("Stat", "xspace").array_to_record_batch(raw.take(pa.array(strange)))
        ids[strange] = batch.column("metadata_id").to_numpy()
    return ids
