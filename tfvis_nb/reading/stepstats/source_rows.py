"""The rows of all recorded steps, field by field."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tfvis_nb.core.devices import Place
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep, concat_arrays, concatenated


class Source:
    """The rows of one or more steps, in recorded order.

    An *entry* is one ``DeviceStepStats``: the rows ``bounds[e]`` to ``bounds[e + 1]``.

    - `step`: For each entry, its step (int64).
    - `devices`, `threads`, `places`: For each entry, its device string, thread names and parsed place.
    - `bounds`: Row numbers where entries start, and the total number of rows (int64).
    - `names`, `labels`: For each row, its node name and its label, the latter as in `RecordedStep`.
    - `details`: The labels to show; a reader may replace some.
    """

    def __init__(self, steps: Sequence[RecordedStep]) -> None:
        self.steps = steps
        self.step = np.repeat(np.arange(len(steps)), [len(step.devices) for step in steps])
        self.devices = [device for step in steps for device in step.devices]
        self.threads = [threads for step in steps for threads in step.threads]
        self.places: list[Place] = [place for step in steps for place in step.places]
        self.chunks = [chunk for step in steps for chunk in step.chunks]
        firsts = np.cumsum([0, *(len(step.devices) for step in steps)])
        self.entry = concat_arrays([step.entry + first for step, first in zip(steps, firsts, strict=False)])
        self.rows = len(self.entry)
        self.bounds = np.searchsorted(self.entry, np.arange(len(self.devices) + 1))
        self.names = concatenated([chunk.field("node_name") for chunk in self.chunks])
        self.labels = self.details = _end_to_end([chunk.field("timeline_label") for chunk in self.chunks])

    def numbers(self, field: str) -> np.ndarray:
        """Return an integer field of every row."""
        return concat_arrays([chunk.field(field).to_numpy() for chunk in self.chunks])

    def column(self, field: str) -> pa.ChunkedArray:
        """Return a field of all rows as chunked Arrow."""
        return pa.chunked_array([chunk.field(field) for chunk in self.chunks])

    def pick(self, texts: pa.Array, rows: np.ndarray) -> pa.Array:
        """Return the texts of some rows; contiguous rows are not copied."""
        if len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1:
            return texts.slice(int(rows[0]), len(rows))
        return texts.take(pa.array(rows))

    def labels_of(self, rows: np.ndarray) -> pa.DictionaryArray:
        """Return the labels of some rows, in a dictionary with only these."""
        indices = self.pick(self.labels.indices, rows).to_numpy()
        used = np.zeros(len(self.labels.dictionary), bool)
        used[indices] = True
        words = self.pick(self.labels.dictionary, np.flatnonzero(used))
        return pa.DictionaryArray.from_arrays(pa.array((np.cumsum(used) - 1)[indices]), words)

    def rows_of(self, entries: np.ndarray) -> np.ndarray:
        """Return the row numbers of some entries (`entries`: a bool for each), in order."""
        return np.flatnonzero(entries[self.entry])


def _end_to_end(pieces: Sequence[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Concatenate pieces and their dictionaries, without a search for duplicates."""
    firsts = np.cumsum([0, *(len(piece.dictionary) for piece in pieces)])
    indices = [piece.indices.to_numpy() + first for piece, first in zip(pieces, firsts, strict=False)]
    words = concatenated([piece.dictionary for piece in pieces])
    return pa.DictionaryArray.from_arrays(pa.array(concat_arrays(indices)), words)
