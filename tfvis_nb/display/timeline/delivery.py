"""How a trace gets to the front end: whole, in chunks after an outline, or by the parts looked at."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from tfvis_nb.analysis.events.lane_order import LaneOrder
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.large.queries import Answer, Windows
from tfvis_nb.display.wire.details import details
from tfvis_nb.display.wire.drawn import drawn
from tfvis_nb.texts import Text

WHOLE_BYTES = 4_000_000
"""The drawing is part of the widget's state up to this size: some notebooks save that state."""
MOST_HELD = 2_000_000
"""Events that a browser is made to hold; of a longer trace it gets the parts that are looked at."""
CHUNK_BYTES = 4_000_000
"""Size of one message: tens of megabytes at once would hold up everything behind them."""


class Delivery:
    """Sends a trace to the front end in parts.

    `first` is drawn at first, a container as of `tfvis_nb.display.wire.drawn` or
    `tfvis_nb.display.large.entries`. `rest` is how the front end gets what `first` lacks: ``""`` (nothing),
    ``"chunks"`` or ``"windows"``.
    """

    def __init__(self, trace: Trace, lanes: LaneOrder, title: str) -> None:
        self._trace = trace
        self._lanes = lanes
        self._windows: Windows | None = None
        self._details = b""
        self._finding = threading.Lock()
        self._whole = b"" if len(trace.events) > MOST_HELD else drawn(trace, lanes, title=title)
        if self._whole and len(self._whole) <= WHOLE_BYTES:
            self.rest = ""
            self.first = self._whole
            return
        self.rest = "chunks" if self._whole else "windows"
        self._windows = Windows(lay_out(trace, lanes))
        self.first = self._windows.outline_bytes(title, self.rest)

    @property
    def payloads(self) -> dict[str, bytes | None]:
        """Everything that is ``"drawn"``, and all ``"details"``, as far as they have been made."""
        return {"drawn": self._whole or None, "details": self._details or None}

    def details(self) -> bytes:
        """Everything that the details panel shows."""
        # Pushed by the thread of the cells, and asked for on another: one of them waits.
        with self._finding:
            self._details = self._details or details(self._trace, self._lanes)
            return self._details

    def chunks(self, part: str) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield ``"drawn"`` or ``"details"`` in pieces, each with its message."""
        data = self.details() if part == "details" else self._whole
        starts = range(0, len(data), CHUNK_BYTES)
        for index, start in enumerate(starts):
            message = {"part": part, "index": index, "of": len(starts)}
            yield message, data[start : start + CHUNK_BYTES]

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer a question of the front end; see `tfvis_nb.display.large.queries`."""
        if self._windows is None:
            raise ValueError(Text("sent_whole"))
        return self._windows.answer(question)
