"""The columns of a trace in memory that a search looks at."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.critical_path.critical_path import path_events
from tfvis_nb.analysis.events.bar_categories import KERNELS
from tfvis_nb.core.labels import lane_search_text
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.store.search import Codes


class TraceBatch:
    """All events of a trace; see `tfvis_nb.display.store.search.Batch`."""

    first = 0

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._events = layout.trace.events
        self.count = len(layout.event)
        lanes = layout.lanes.table
        self.lane_texts = list(map(lane_search_text, lanes["task"], lanes["device"], lanes["lane"]))

    def numbers(self, column: str) -> np.ndarray:
        """Return a column of numbers."""
        layout = self._layout
        if column == "lane":
            return layout.lanes.of_event
        if column == "category":
            return layout.category
        if column == "critical":
            return path_events(layout.trace)
        numbers: np.ndarray
        if column == "line":
            numbers = layout.lines[layout.own_frame]
        elif column == "bytes":
            numbers = self._events[column].to_numpy("f8", na_value=np.nan)
        else:
            numbers = self._events[column].to_numpy()
        return numbers

    def texts(self, column: str) -> Codes:
        """Return a column of texts."""
        layout = self._layout
        if column == "name":
            return Codes(layout.name, layout.names)
        if column == "op":
            return Codes(layout.op, pa.array(layout.ops, pa.string()))
        if column == "file":
            return Codes(layout.own_frame, pa.array(layout.files[:-1], pa.string()))
        return _coded(self._events[column])

    def kernels(self, test: Callable[[pa.Array], pa.Array]) -> np.ndarray:
        """Mark the kernels whose label passes a test; the labels of others are longer."""
        mask = np.zeros(self.count, "?")
        kernels = np.flatnonzero(np.isin(self._layout.category, KERNELS))
        mask[kernels] = _coded(self._events["detail"].iloc[kernels]).marks(test)
        return mask


def _coded(column: pd.Series) -> Codes:
    texts = pa.array(column, pa.large_string(), from_pandas=True)
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], texts.type)
    coded = texts.dictionary_encode()
    return Codes(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), coded.dictionary)
