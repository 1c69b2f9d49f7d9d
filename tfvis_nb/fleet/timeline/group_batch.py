"""The columns of a row group that a search looks at."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tfvis_nb.analysis.events.bar_categories import KERNELS
from tfvis_nb.display.store.search import Codes
from tfvis_nb.fleet.timeline.part import DatasetPart
from tfvis_nb.fleet.timeline.row_groups import codes_of


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

    def _table(self, names: list[str]) -> pa.Table:
        return pa.table({name: self._column(name) for name in names})

    def numbers(self, column: str) -> np.ndarray:
        """Return a column of numbers; the parts have neither the user's code nor the critical path."""
        if column in ("line", "critical"):
            return np.zeros(self.count, "?")
        if column == "lane":
            return self._part.lane_of(self._table(["device", "lane"]))
        if column == "category":
            return self._part.categories(self._table(self._part.categorised))
        numbers: np.ndarray
        read = self._column(column)
        numbers = read.to_pandas().to_numpy("f8", na_value=np.nan) if column == "bytes" else read.to_numpy()
        return numbers

    def texts(self, column: str) -> Codes:
        """Return a column of texts; the parts do not have the user's code."""
        if column == "file":
            return Codes(np.full(self.count, -1), pa.array([], pa.string()))
        return codes_of(self._column(column))

    def kernels(self, test: Callable[[pa.Array], pa.Array]) -> np.ndarray:
        """Mark the kernels whose label passes a test; mostly none does."""
        marks = self.texts("detail").marks(test)
        return marks & np.isin(self.numbers("category"), KERNELS) if marks.any() else marks
