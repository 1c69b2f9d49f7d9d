"""Search the events of a store like the search field of the front end in ``js/model/search/``."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.events.bar_categories import named
from tfvis_nb.analysis.events.merging import pieces
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.display.store.query import Bound, Clause, Lines, Ranks, Steps, Term, Text
from tfvis_nb.display.wire.header import Step
from tfvis_nb.events import NO_STEP

MOST_LISTED = 50
"""How many of the longest events found are listed."""


class Codes(NamedTuple):
    """A text column: the index of each row's text, -1 or one after the last for none."""

    codes: np.ndarray
    texts: pa.Array

    def listed(self) -> list[str]:
        """Return the texts, followed by an empty one for rows without a text."""
        return [*self.texts.to_pylist(), ""]

    def marks(self, test: Callable[[pa.Array], pa.Array]) -> np.ndarray:
        """Mark the rows whose text passes a test; each distinct text is tested once."""
        held = test(self.texts).fill_null(False).to_numpy(zero_copy_only=False).astype("?")
        mask: np.ndarray = np.append(held, False)[self.codes]
        return mask


class Batch(Protocol):
    """Consecutive events, whose columns are read on demand."""

    first: int  # Number of its first event
    count: int
    lane_texts: list[str]  # Searched text of each lane

    def numbers(self, column: str) -> np.ndarray:
        """Return numbers of all events.

        ``step``, ``start_ns``, ``duration_ns``, ``bytes`` (missing ones are NaN), ``lane`` (an index in
        `lane_texts`), ``category``, ``line`` of the user's code (0 for none), ``critical`` (whether it is on
        the critical path).
        """

    def texts(self, column: str) -> Codes:
        """Return ``name``, ``op``, ``tensor`` or the ``file`` of the user's code."""

    def kernels(self, test: Callable[[pa.Array], pa.Array]) -> np.ndarray:
        """Mark the kernels whose label passes a test."""


class Searchable(Protocol):
    """Events in batches, in the order of their numbers."""

    most_ids: int  # How many numbers of found events are sent
    most_spans: int  # Of how many time ranges the union is computed
    origin: int
    steps: list[Step]

    def batches(self) -> Iterable[Batch]:
        """Return all events."""

    def listed(self, event: int) -> dict[str, Any]:
        """Return the ``name``, ``op`` and ``lane`` of an event."""


@dataclass(frozen=True)
class Found:
    """The events found by a search."""

    ids: np.ndarray  # The numbers of the first ones, in order
    count: int
    total: int  # Summed durations in ns
    busy: int | None  # Their union in ns; None if they are too many
    longest: list[dict[str, Any]]  # The best matches, of these the longest first
    span: dict[str, int] | None  # The first start and the last end, in ns from the origin
    # A bit for each event, and the first event and the first byte of each batch
    bits: np.ndarray
    first: np.ndarray
    at: np.ndarray

    def marks(self, events: np.ndarray) -> np.ndarray:
        """Mark the found ones among events (uint8)."""
        batch = np.searchsorted(self.first, events, "right") - 1
        own = events - self.first[batch]
        marks: np.ndarray = self.bits[self.at[batch] + (own >> 3)] >> (7 - (own & 7)) & 1
        return marks.astype("u1")


def find(store: Searchable, clauses: Sequence[Clause], steps: Sequence[int] | None) -> Found:
    """Find the events, in some steps or all, that match all clauses."""
    ranks = Ranks.of(clauses)
    sums = _Sums(store)
    bits, first, at, size = [np.zeros(0, "u1")], [], [], 0
    for batch in store.batches():
        mask = _matching(batch, clauses)
        if steps is not None and mask.any():
            mask &= _shown_with(batch, store, steps)
        own = np.flatnonzero(mask)
        if len(own):
            start, duration = (batch.numbers(name)[own] for name in ("start_ns", "duration_ns"))
            sums.add(batch.first + own, start, duration, _ranks(batch, ranks, own))
        bits.append(np.packbits(mask))
        first.append(batch.first)
        at.append(size)
        size += len(bits[-1])
    return sums.found(np.concatenate(bits), np.array(first, "i8"), np.array(at, "i8"))


def _shown_with(batch: Batch, store: Searchable, steps: Sequence[int]) -> np.ndarray:
    """Mark the events of some steps; with a single step, those outside steps only while it runs."""
    step = batch.numbers("step")
    shown = np.isin(step, steps)
    first, *others = steps
    if others == [NO_STEP] and first != NO_STEP:
        start, duration = (batch.numbers(name) for name in ("start_ns", "duration_ns"))
        during = np.zeros(batch.count, "?")
        for each in store.steps:
            if each["step"] == first:
                during = is_inside(start - store.origin, duration, each["start"], each["end"])
        shown &= (step == first) | during
    return shown


def _ranks(batch: Batch, ranks: Ranks, rows: np.ndarray) -> np.ndarray:
    """Return how well rows fit a search."""
    if not ranks.ops and not ranks.names:
        return np.zeros(len(rows), "u1")
    op, name = batch.texts("op"), batch.texts("name")
    used, at = np.unique(name.codes[rows], return_inverse=True)
    every = pa.concat_arrays([name.texts, pa.array([""], name.texts.type)])
    return ranks.rank(op.listed(), op.codes[rows], every.take(pa.array(used)).to_pylist(), at)


class _Sums:
    """Sums over the found events."""

    def __init__(self, store: Searchable) -> None:
        self._store = store
        self._ids: list[np.ndarray] = []
        self._covered: list[tuple[np.ndarray, np.ndarray]] | None = []
        self._held = 0
        self._count = self._total = 0
        self._first, self._last = np.iinfo("i8").max, np.iinfo("i8").min
        self._best = pd.DataFrame({"event": [], "duration": [], "rank": []}, dtype="i8")

    def add(self, event: np.ndarray, start: np.ndarray, duration: np.ndarray, rank: np.ndarray) -> None:
        """Add events, ordered by start."""
        if self._count < self._store.most_ids:
            self._ids.append(event[: self._store.most_ids - self._count])
        self._count += len(event)
        self._total += int(duration.sum())
        end = start + duration
        self._first, self._last = min(self._first, int(start[0])), max(self._last, int(end.max()))
        longest = np.lexsort((-duration, rank))[:MOST_LISTED]
        listed = {"event": event[longest], "duration": duration[longest], "rank": rank[longest].astype("i8")}
        best = pd.concat([self._best, pd.DataFrame(listed)])
        order = ["rank", "duration", "event"]
        self._best = best.sort_values(order, ascending=[True, False, True])[:MOST_LISTED]
        if self._covered is not None:
            self._covered.append((start, end))
            self._held += len(start)
            if self._held > self._store.most_spans:
                self._join()

    def _join(self) -> None:
        """Join the covered spans; drop them if they are still too many."""
        if self._covered is not None:
            joined = _covered(*zip(*self._covered, strict=True)) if self._covered else (NO_TIMES, NO_TIMES)
            self._held = len(joined[0])
            # With fewer than half, joining again is worth its time.
            self._covered = [joined] if self._held <= self._store.most_spans // 2 else None

    def found(self, bits: np.ndarray, first: np.ndarray, at: np.ndarray) -> Found:
        """Return the sums, with the bits of found events and the longest ones."""
        self._join()
        origin = self._store.origin
        rows = self._best[["event", "duration"]].itertuples(index=False)
        return Found(
            ids=np.concatenate(self._ids) if self._ids else np.zeros(0, "i8"),
            count=self._count,
            total=self._total,
            busy=None if self._covered is None else int(sum((b - a).sum() for a, b in self._covered)),
            longest=[
                {"event": event, **self._store.listed(event), "duration": duration}
                for event, duration in rows
            ],
            span={"start": self._first - origin, "end": self._last - origin} if self._count else None,
            bits=bits,
            first=first,
            at=at,
        )


NO_TIMES = np.zeros(0, "i8")


def _covered(starts: Sequence[np.ndarray], ends: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Join time ranges that touch or overlap."""
    start, end = np.concatenate(starts), np.concatenate(ends)
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    has, until = pieces(start, end)
    start = start[has]
    gap = np.flatnonzero(start[1:] > until[:-1])
    return start[np.append(0, gap + 1)], until[np.append(gap, len(until) - 1)]


def _matching(batch: Batch, clauses: Sequence[Clause]) -> np.ndarray:
    """Mark the events that match all clauses."""
    mask = np.full(batch.count, bool(clauses), "?")
    for terms, negated in clauses:
        has_term = np.zeros(len(mask), "?")
        for term in terms:
            has_term |= _holds(batch, term)
        mask &= ~has_term if negated else has_term
    return mask


def _holds(batch: Batch, term: Term) -> np.ndarray:
    """Mark the events that match a term."""
    mask: np.ndarray
    if isinstance(term, Text):
        return _has_text(batch, term.field, term.text)
    if isinstance(term, Steps):
        steps = batch.numbers("step")
        mask = (steps >= term.first) & (steps <= term.last)
    elif isinstance(term, Lines):
        lines = batch.numbers("line")
        mask = (lines >= max(term.first, 1)) & (lines <= term.last)
    elif isinstance(term, Bound):
        figures = batch.numbers("bytes" if term.of == "bytes" else "duration_ns")
        mask = figures > term.value if term.longer else figures < term.value
        if term.inclusive:
            mask |= figures == term.value
    else:
        mask = np.zeros(batch.count, "?")
    return mask


def _has_text(batch: Batch, field: str, text: str) -> np.ndarray:
    """Mark the events with `text` in a field."""

    def contains(texts: pa.Array) -> pa.Array:
        return pc.match_substring(pc.utf8_lower(texts), text)

    mask = np.zeros(batch.count, "?")
    for name in ("name", "op", "file"):
        if field == name or (field == "any" and name != "file"):
            mask |= batch.texts(name).marks(contains)
    if field in ("any", "lane"):
        held = np.array([text in each.lower() for each in batch.lane_texts])
        mask |= held[batch.numbers("lane")] if held.any() and not held.all() else held.all()
    if field == "kind":
        mask |= named(text)[batch.numbers("category")]
    if field == "is" and text in "critical":
        mask |= batch.numbers("critical")
    if field == "any":
        mask |= batch.texts("tensor").marks(contains)
        # Kernels are named after their ops; their own names are in their labels.
        mask |= batch.kernels(lambda labels: contains(_kernel_names(labels)))
    return mask


def _kernel_names(labels: pa.Array) -> pa.Array:
    """Return the text before launch parameters, or nothing if a label is an op with its inputs."""
    names = pc.list_element(pc.split_pattern(labels, " regs:", max_splits=1), 0)
    return pc.if_else(pc.match_substring(labels, " = "), "", names)
