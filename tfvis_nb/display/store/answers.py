"""Answer queries of the front end: parts of the run, events, searches, totals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.store.query import read_clauses
from tfvis_nb.display.store.search import Found, Searchable, find
from tfvis_nb.display.store.totals import Spans, totals_in
from tfvis_nb.display.wire.bars import Bars, PartOfTrace, pack_part
from tfvis_nb.display.wire.code import code_bytes
from tfvis_nb.display.wire.counters import MOST_VALUES, counter_bytes, counter_figures
from tfvis_nb.display.wire.memory import memory_bytes
from tfvis_nb.texts import Text

MOST_PART_VALUES = 200_000
"""Maximum values of counters in the answer about a part of the run."""

Answer = tuple[dict[str, Any], list[bytes]]
"""JSON and bytes."""

Held = TypeVar("Held")
"""Bars in the form in which a store holds them."""


class EventStore(Searchable, Protocol[Held]):
    """The events of a timeline. Times are nanoseconds from the origin."""

    events: int
    span: int
    ops: list[str]
    recorded: Trace  # Its memory, counters and code; an empty trace if the store has none

    def header(self, title: str) -> dict[str, Any]:
        """Describe the timeline; see `tfvis_nb.display.wire.header`."""

    def outline(self) -> tuple[Held, int]:
        """Return bars of the whole run, and the shift of their buckets."""

    def window(self, start: int, end: int, shift: int, lanes: list[int] | None, /) -> tuple[Held, int]:
        """Return bars of a part of the run, as fine as `shift` if they are not too many, and their shift."""

    def lit(self, found: Found, bars: Held) -> np.ndarray:
        """Mark the bars that represent a found event (uint8)."""

    def drawn(self, bars: Held) -> tuple[Bars, PartOfTrace]:
        """Return bars for the front end."""

    def steps_of(self, step: int | None) -> Sequence[int] | None:
        """Return the steps that a query is about: one or all that are shown; None for every event."""

    def spans(
        self, ends: tuple[float, float], lanes: list[int] | None, steps: Sequence[int] | None, by: str
    ) -> tuple[Spans, Sequence[str] | pa.Array]:
        """Return the events that overlap a range, and the labels by which they are summed.

        The labels of `by` are ops, names or lanes, and if the store has them layers, or lines of the user's
        code.
        """

    def facts(self, question: Mapping[str, Any]) -> Answer:
        """Answer with all facts about events, and for a single one about those up to ``hops`` edges away."""


class Answers(Generic[Held]):
    """Answers from a store.

    A notebook may send queries from two threads at once, so what is kept is replaced in single assignments: a
    concurrent reader gets either the old or the new answer, each complete.
    """

    def __init__(self, store: EventStore[Held]) -> None:
        self.store = store
        self.outline, self._shift = store.outline()
        self._found: tuple[Any, Found] | None = None

    def outline_bytes(self, title: str, rest: str) -> bytes:
        """Write the outline of the timeline.

        `rest` is how the front end gets the remaining events: ``"chunks"``, ``"windows"`` or ``"lanes"``.
        """
        own = {"rest": rest, "total": self.store.events, "bucket": 2**self._shift}
        return self._packed(self.outline, {**self.store.header(title), **own}, None)

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer one query with JSON and bytes; ValueError if the store lacks the requested data."""
        kind = question.get("kind")
        if kind == "window":
            return self._window(question)
        if kind == "events":
            return self.store.facts(question)
        if kind == "search":
            found = self._search(question)
            known = {name: getattr(found, name) for name in ("count", "total", "busy", "longest", "span")}
            return known, [found.ids.astype("u4").tobytes(), self.store.lit(found, self.outline).tobytes()]
        if kind == "statistics":
            ends = float(question["start"]), float(question["end"])
            steps = self.store.steps_of(question["step"])
            spans, labels = self.store.spans(ends, question["lanes"], steps, question["by"])
            counters = counter_figures(self.store.recorded, *ends)
            return {**totals_in(spans, labels, *ends), "counters": counters}, []
        if kind == "memory":
            return {}, [memory_bytes(self.store.recorded)]
        if kind == "counters":
            return {}, [counter_bytes(self.store.recorded, 0, self.store.span, most_values=MOST_VALUES)]
        if kind == "code":
            return {}, [code_bytes(self.store.recorded)]
        raise ValueError(Text("unknown_question", kind=kind))

    def _window(self, question: Mapping[str, Any]) -> Answer:
        start, end = int(question["start"]), int(question["end"])
        shift = max(int(question["bucket"]).bit_length() - 1, 0)
        bars, shift = self.store.window(start, end, shift, question.get("lanes"))
        lit = self.store.lit(self._search(question), bars) if question.get("clauses") is not None else None
        part = self._packed(bars, {"start": start, "end": end, "bucket": 2**shift}, lit)
        recorded = self.store.recorded
        if not len(recorded.counters):
            return {}, [part]
        return {}, [part, counter_bytes(recorded, start, end, most_values=MOST_PART_VALUES)]

    def _search(self, question: Mapping[str, Any]) -> Found:
        clauses, step = read_clauses(question.get("clauses")), question.get("step")
        last = self._found
        if last is not None and last[0] == (clauses, step):
            return last[1]
        found = find(self.store, clauses, self.store.steps_of(step))
        self._found = ((clauses, step), found)
        return found

    def _packed(self, bars: Held, header: Mapping[str, Any], lit: np.ndarray | None) -> bytes:
        drawn, part = self.store.drawn(bars)
        counts = len(self.store.ops), len(self.store.steps)
        return pack_part(drawn, header, replace(part, lit=lit), counts)
