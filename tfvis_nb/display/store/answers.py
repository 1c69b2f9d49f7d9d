"""Answer queries of the front end: parts of the run, events, searches, totals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar

import numpy as np
import pyarrow as pa

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.messages import By, Clauses, Question, answered, message, message_in
from tfvis_nb.display.store.query import read_clauses
from tfvis_nb.display.store.search import Found, Searchable, find
from tfvis_nb.display.store.totals import Spans, totals_in
from tfvis_nb.display.wire.bars import Bars, PartOfTrace, pack_part
from tfvis_nb.display.wire.code import code_bytes
from tfvis_nb.display.wire.counters import MOST_VALUES, counter_bytes, counter_figures
from tfvis_nb.display.wire.header import TimelineHeader
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

    def header(self, title: str) -> TimelineHeader:
        """Describe the timeline."""

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

    def facts(self, events: Sequence[int], hops: int, holders: Sequence[int]) -> Answer:
        """Answer with all facts about events, and for a single one about those up to `hops` edges away."""


class PartHeader(TypedDict):
    """A part of a timeline: its times in ns from the origin, and the length of its buckets."""

    start: int
    end: int
    bucket: int


Rest = Literal["chunks", "windows", "lanes"]
"""How the front end gets the other events: all at once, time ranges, or those of lanes in view."""


class OutlineHeader(TimelineHeader):
    """The outline of a timeline, merged in buckets of so many nanoseconds."""

    rest: Rest
    total: int  # All events
    bucket: int


class Answers(Generic[Held]):
    """Answers from a store.

    A notebook may send queries from two threads at once, so what is kept is replaced in single assignments: a
    concurrent reader gets either the old or the new answer, each complete.
    """

    def __init__(self, store: EventStore[Held]) -> None:
        self.store = store
        self.outline, self._shift = store.outline()
        self._found: tuple[Any, Found] | None = None

    def outline_bytes(self, title: str, rest: Rest) -> bytes:
        """Write the outline of the timeline."""
        header: OutlineHeader = {
            **self.store.header(title),
            "rest": rest,
            "total": self.store.events,
            "bucket": 2**self._shift,
        }
        return self._packed(self.outline, header, None)

    def answer(self, question: Question) -> Answer:
        """Answer one query with JSON and bytes; ValueError if the store lacks the requested data."""
        asked = message_in(type(self), question)
        if asked is None:
            raise ValueError(Text("unknown_question", kind=question.get("kind")))
        answer: Answer = answered(self, asked, question)
        return answer

    @message()
    def _on_window(
        self,
        start: int,
        end: int,
        bucket: int,
        lanes: list[int] | None,
        clauses: Clauses | None,
        step: int | None,
    ) -> Answer:
        """Bars of a part of the run (ns), of some lanes or of all; with clauses, also which of them match."""
        start, end = int(start), int(end)
        shift = max(int(bucket).bit_length() - 1, 0)
        bars, shift = self.store.window(start, end, shift, lanes)
        lit = None if clauses is None else self.store.lit(self._search(clauses, step), bars)
        header: PartHeader = {"start": start, "end": end, "bucket": 2**shift}
        part = self._packed(bars, header, lit)
        recorded = self.store.recorded
        if not len(recorded.counters):
            return {}, [part]
        return {}, [part, counter_bytes(recorded, start, end, most_values=MOST_PART_VALUES)]

    @message()
    def _on_events(self, events: list[int], hops: int = 1, holders: list[int] | None = None) -> Answer:
        """All about events, by id; of a single one also about those up to ``hops`` edges away.

        And about ``holders`` of its buffers, and the events that read any of these.
        """
        return self.store.facts(events, int(hops), holders or [])

    @message()
    def _on_search(self, clauses: Clauses, step: int | None) -> Answer:
        """The events that match all clauses."""
        found = self._search(clauses, step)
        known = {name: getattr(found, name) for name in ("count", "total", "busy", "longest", "span")}
        return known, [found.ids.astype("u4").tobytes(), self.store.lit(found, self.outline).tobytes()]

    @message()
    def _on_statistics(
        self, start: float, end: float, lanes: list[int] | None, step: int | None, by: By
    ) -> Answer:
        """Totals of a part of the run (ns)."""
        ends = float(start), float(end)
        spans, labels = self.store.spans(ends, lanes, self.store.steps_of(step), by)
        counters = counter_figures(self.store.recorded, *ends)
        return {**totals_in(spans, labels, *ends), "counters": counters}, []

    @message()
    def _on_memory(self) -> Answer:
        """The memory of each allocator."""
        return {}, [memory_bytes(self.store.recorded)]

    @message()
    def _on_counters(self) -> Answer:
        """The values of counters."""
        return {}, [counter_bytes(self.store.recorded, 0, self.store.span, most_values=MOST_VALUES)]

    @message()
    def _on_code(self) -> Answer:
        """The user's code."""
        return {}, [code_bytes(self.store.recorded)]

    def _search(self, sent: Clauses, step: int | None) -> Found:
        clauses = read_clauses(sent)
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
