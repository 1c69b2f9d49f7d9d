"""Deliver a trace to the front end: whole, in chunks after an outline, or in the parts in view."""

import threading
from collections.abc import Mapping
from typing import Any

from tfvis_nb.analysis.events.lane_order import LaneOrder
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.large.level_of_detail import Entries
from tfvis_nb.display.large.trace_store import TraceStore
from tfvis_nb.display.messages import Part, Replies
from tfvis_nb.display.store.answers import Answer, Answers, Rest
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.details import details
from tfvis_nb.texts import Text

WHOLE_BYTES = 4_000_000
"""Up to this size the drawing is part of the widget's state, which some notebooks save."""
MOST_HELD = 2_000_000
"""Maximum events held by a browser; of a larger trace it only gets the parts in view."""
CHUNK_BYTES = 4_000_000
"""Size of one message: tens of megabytes at once would delay all later messages."""


class Delivery:
    """Sends a trace to the front end in parts.

    The overview has the differences from a base `against`.

    `first` is drawn first, as `tfvis_nb.display.wire.bars`.
    `rest` is how the front end gets the rest, empty if there is none.
    """

    def __init__(self, trace: Trace, lanes: LaneOrder, title: str, against: Trace | None = None) -> None:
        self._trace = trace
        self._against = against
        self._lanes = lanes
        self._answers: Answers[Entries] | None = None
        self._details = b""
        self._finding = threading.Lock()
        self._whole = b"" if len(trace.events) > MOST_HELD else bar_bytes(trace, lanes, title=title)
        if self._whole and len(self._whole) <= WHOLE_BYTES:
            self.rest: str = ""
            self.first = self._whole
            return
        rest: Rest = "chunks" if self._whole else "windows"
        self.rest = rest
        self._answers = Answers(TraceStore(lay_out(trace, lanes)))
        self.first = self._answers.outline_bytes(title, rest)

    @property
    def payloads(self) -> dict[str, bytes | None]:
        """The complete ``"drawn"`` and ``"details"`` parts, as far as they have been made."""
        return {"drawn": self._whole or None, "details": self._details or None}

    def details(self) -> bytes:
        """Everything that the details panel shows."""
        # Pushed by the thread of the cells and requested on another: one of them waits.
        with self._finding:
            self._details = self._details or details(self._trace, self._lanes, against=self._against)
            return self._details

    def chunks(self, part: Part) -> Replies:
        """Yield ``"drawn"`` or ``"details"`` in pieces, each with a message."""
        data = self.details() if part == "details" else self._whole
        starts = range(0, len(data), CHUNK_BYTES)
        for index, start in enumerate(starts):
            message = {"part": part, "index": index, "of": len(starts)}
            yield message, [data[start : start + CHUNK_BYTES]]

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer a query of the front end; see `tfvis_nb.display.store.answers`."""
        if self._answers is None:
            raise ValueError(Text("sent_whole"))
        return self._answers.answer(question)
