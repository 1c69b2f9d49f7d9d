"""The columns of an event table under construction: texts as codes, rows in parts of the same kind."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.events import TEXT


class Vocabulary:
    """The distinct texts of one categorical column; a row holds a text's number (int32)."""

    def __init__(self) -> None:
        self.texts = [""]
        self._numbers = {"": 0}

    def code(self, text: str) -> int:
        """Return the number of one text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def codes(self, texts: pa.Array) -> np.ndarray:
        """Return the number of each text (int32); null counts as empty."""
        encoded = texts if hasattr(texts, "indices") else texts.dictionary_encode()
        numbers = np.array([self.code(text or "") for text in encoded.dictionary.to_pylist()] + [0], np.int32)
        index = encoded.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)
        codes: np.ndarray = numbers[index]
        return codes

    def categorical(self, codes: np.ndarray) -> pd.Categorical:
        """Make a categorical of `codes` with only the texts that occur."""
        used = np.zeros(len(self.texts), bool)
        used[codes] = True
        renumbered = (np.cumsum(used) - 1).astype(np.int32)
        texts = [text for text, keep in zip(self.texts, used.tolist(), strict=True) if keep]
        dtype = pd.CategoricalDtype(pd.Index(texts, dtype=TEXT))
        return pd.Categorical.from_codes(renumbered[codes], dtype=dtype, validate=False)


class Vocabularies:
    """One `Vocabulary` for each categorical column of the event table."""

    def __init__(self) -> None:
        self.task = Vocabulary()
        self.device = Vocabulary()
        self.lane = Vocabulary()
        self.kind = Vocabulary()
        self.op = Vocabulary()
        self.source = Vocabulary()
        self.destination = Vocabulary()


CODED = ("task", "device", "lane", "kind", "op", "source", "destination")
WORDED = ("name", "tensor")


@dataclass
class EventColumns:
    """Rows of the source, with columns parsed from names and labels.

    `rows` are row numbers in the source. `CODED` columns are numbers in the `Vocabularies`. `WORDED` columns
    are Arrow texts, and so is `detail`, the label of the row. `size_bytes` is -1 if unknown.
    """

    rows: np.ndarray
    task: np.ndarray
    device: np.ndarray
    lane: np.ndarray
    kind: np.ndarray
    op: np.ndarray
    source: np.ndarray
    destination: np.ndarray
    name: pa.Array
    tensor: pa.Array
    detail: pa.Array
    size_bytes: np.ndarray


def blank_codes(rows: int) -> np.ndarray:
    """Return the codes of a column of empty texts."""
    return np.zeros(rows, np.int32)


def blank_texts(rows: int) -> pa.Array:
    """Return an Arrow column of empty texts."""
    return pa.repeat(pa.scalar("", pa.large_string()), rows)


def constant(rows: int, code: int) -> np.ndarray:
    """Return the codes of a column that holds one text."""
    return np.full(rows, code, np.int32)


def nullable(values: np.ndarray, known: np.ndarray) -> Any:
    """Make an ``Int64`` column; rows that are not `known` are NA."""
    return pd.arrays.IntegerArray(np.where(known, values, 0).astype(np.int64, copy=False), ~known)
