"""The columns of a row group that a search looks at."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tfvis_nb.analysis.events.bar_categories import KERNELS
from tfvis_nb.display.on_disk.part import DatasetPart
from tfvis_nb.display.on_disk.row_groups import codes_of
from tfvis_nb.display.store.search import Codes


class GroupBatch:
    """The events of a row group; see `tfvis_nb.display.store.search.Batch`."""

    def __init__(self, part: DatasetPart, group: int, first: int) -> None:
        self._part = part
        self._group = group
        self._read: dict[str, pa.ChunkedArray] = {}
        self.first = first
        self.count = part.rows_in(np.array([group]), level=False)
        self.lane_texts = part.lane_texts

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self._read:
            self._read[name] = self._part.table(self._group, [name])[name]
        return self._read[name]

    def numbers(self, column: str) -> np.ndarray:
        """Return a column of numbers."""
        read = self._column(column)
        numbers: np.ndarray = (
            read.to_pandas().to_numpy("f8", na_value=np.nan) if column == "bytes" else read.to_numpy()
        )
        return numbers

    def texts(self, column: str) -> Codes:
        """Return a column of texts; the parts do not have the user's code."""
        if column == "file":
            return Codes(np.full(self.count, -1), pa.array([], pa.string()))
        return codes_of(self._column(column))

    def kernels(self, test: Callable[[pa.Array], pa.Array]) -> np.ndarray:
        """Mark the kernels whose label passes a test; mostly none does."""
        marks = self.texts("detail").marks(test)
        return marks & np.isin(self.categories, KERNELS) if marks.any() else marks

    @property
    def lanes(self) -> np.ndarray:
        """The lane of each event, as numbered in the part."""
        return self._part.lane_of(pa.table({name: self._column(name) for name in ("device", "lane")}))

    @property
    def categories(self) -> np.ndarray:
        """The category of each event."""
        return self._part.categories(pa.table({name: self._column(name) for name in self._part.categorised}))

    @property
    def lines(self) -> np.ndarray:
        """No line, because the parts do not have the user's code."""
        return np.zeros(self.count, "i8")

    @property
    def critical(self) -> np.ndarray:
        """No event, because the parts do not have the critical path."""
        return np.zeros(self.count, "?")
