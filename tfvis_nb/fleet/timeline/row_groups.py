"""Row groups that were read: their columns, texts by number, and a cache of the latest."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.display.store.search import Codes

CACHED_BYTES = 100_000_000
"""Maximum bytes of cached columns: panning and zooming need the same row groups repeatedly."""

Columns = dict[str, np.ndarray]


def codes_of(column: pa.ChunkedArray) -> Codes:
    """Convert a text column."""
    coded = column.combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = pa.concat_arrays(coded.chunks)
    if not isinstance(coded, pa.DictionaryArray):
        coded = coded.dictionary_encode()
    codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return Codes(codes, coded.dictionary)


class Texts:
    """Numbers for texts, in the order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, codes: np.ndarray, texts: pa.Array) -> np.ndarray:
        """Return the number of the text of each code; the code after the last means no text."""
        # A row group has thousands of names, but a picture shows only a few.
        used = np.zeros(len(texts) + 1, "?")
        used[codes] = True
        places = np.flatnonzero(used[:-1])
        numbers_of_used = np.zeros(len(used), "i4")
        with self._lock:
            for place, text in zip(places.tolist(), texts.take(pa.array(places)).to_pylist(), strict=True):
                numbers_of_used[place] = self._numbers.setdefault(text, len(self._numbers))
            if used[-1]:
                numbers_of_used[-1] = self._numbers.setdefault("", len(self._numbers))
        numbers: np.ndarray = numbers_of_used[codes]
        return numbers

    def all(self) -> list[str]:
        """Return the texts by number."""
        return list(self._numbers)


@dataclass(frozen=True)
class Rows:
    """A row group that was read: its columns, and its names and ops, which get numbers when picked."""

    columns: Columns
    name: Codes
    op: Codes
    names: Texts
    ops: Texts

    def pick(self, which: np.ndarray) -> Columns:
        """Select rows by mask or index, with numbers for ``name`` and ``op``."""
        picked = {name: column[which] for name, column in self.columns.items()}
        picked["name"] = self.names.of(self.name.codes[which], self.name.texts)
        picked["op"] = self.ops.of(self.op.codes[which], self.op.texts)
        return picked

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        # Broadcast arrays take the memory of one item.
        columns = sum(int(column.nbytes) for column in self.columns.values() if any(column.strides))
        return columns + sum(int(each.codes.nbytes + each.texts.nbytes) for each in (self.name, self.op))


class Cache:
    """The most recently read row groups."""

    def __init__(self) -> None:
        self._held: OrderedDict[Any, Rows] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Any) -> Rows | None:
        """Return the rows of a key."""
        with self._lock:
            rows = self._held.get(key)
            if rows is not None:
                self._held.move_to_end(key)
            return rows

    def put(self, key: Any, rows: Rows) -> None:
        """Store rows, replacing the least recently used ones."""
        with self._lock:
            if key in self._held:
                return
            self._held[key] = rows
            self._bytes += rows.nbytes
            while self._bytes > CACHED_BYTES and len(self._held) > 1:
                _, old = self._held.popitem(last=False)
                self._bytes -= old.nbytes


@dataclass
class Shared:
    """Data shared by the parts of a timeline: numbers for names and ops, and the cache."""

    names: Texts
    ops: Texts
    cache: Cache
