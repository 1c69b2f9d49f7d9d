"""Search the events of all parts, row group by row group; results take one bit per event."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.events.bar_categories import KERNELS, named
from tfvis_nb.analysis.events.merging import pieces
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.labels import lane_search_text
from tfvis_nb.display.large.query import Bound, Clause, Ranks, Steps, Term, Text, parse_query
from tfvis_nb.display.large.search import MOST_LISTED, kernel_names, within
from tfvis_nb.display.on_disk.part import DatasetPart
from tfvis_nb.display.on_disk.places import DatasetLayout
from tfvis_nb.display.on_disk.row_groups import codes_of
from tfvis_nb.events import NO_STEP

MOST_IDS = 1_000_000
"""How many ids of found events are sent, for stepping from one to the next."""
MOST_SPANS = 2_000_000
"""Maximum time ranges of found events; with more, the time that they cover is unknown."""


@dataclass(frozen=True)
class DatasetFound:
    """The events found by a search."""

    bits: list[np.ndarray]  # For each part one bit per event, packed
    ids: np.ndarray  # The ids of the first ones, in order
    count: int
    total: int
    busy: int | None
    longest: list[dict[str, Any]]
    span: dict[str, int] | None

    def holds(self, places: DatasetLayout, events: np.ndarray) -> np.ndarray:
        """Mark the found events, by id (uint8)."""
        part = np.searchsorted(places.first_event, events, "right") - 1
        own = events - places.first_event[part]
        held = np.zeros(len(events), "u1")
        for number in np.unique(part).tolist():
            here = part == number
            held[here] = self.bits[number][own[here] >> 3] >> (7 - (own[here] & 7)) & 1
        return held


def find(
    parts: Sequence[DatasetPart], places: DatasetLayout, text: str, steps: Collection[int] | None
) -> DatasetFound:
    """Find the events, in some steps or all, that match all words of `text`; see `parse_query`."""
    clauses = parse_query(text)
    ranks = Ranks.of(clauses)
    sums = _Sums(places)
    bits: list[np.ndarray] = []
    for number, part in enumerate(parts):
        masks = []
        for group in range(part.event_group_count if clauses else 0):
            rows = GroupRows(part, group)
            mask = rows.matching(clauses)
            if steps is not None and mask.any():
                mask &= _shown_with(rows, places, steps)
            masks.append(mask)
            own = np.flatnonzero(mask)
            if len(own):
                start, duration = (rows.column(name).to_numpy()[own] for name in ("start_ns", "duration_ns"))
                event = places.first_event[number] + part.first_of(group) + own
                sums.add(event, start, duration, rows.ranks(ranks, own))
        every = np.concatenate(masks) if masks else np.zeros(part.described["events"], "?")
        bits.append(np.packbits(every))
    return sums.all(
        bits,
        [_listed(parts, places, *row) for row in sums.best[["event", "duration"]].itertuples(index=False)],
    )


class _Sums:
    """Sums over the found events."""

    def __init__(self, places: DatasetLayout) -> None:
        self._origin = places.origin
        self._ids: list[np.ndarray] = []
        self._covered: list[tuple[np.ndarray, np.ndarray]] | None = []
        self._held = 0
        self._count = self._total = 0
        self._first, self._last = np.iinfo("i8").max, np.iinfo("i8").min
        self.best = pd.DataFrame({"event": [], "duration": [], "rank": []}, dtype="i8")

    def add(self, event: np.ndarray, start: np.ndarray, duration: np.ndarray, rank: np.ndarray) -> None:
        """Add events, ordered by start."""
        if self._count < MOST_IDS:
            self._ids.append(event[: MOST_IDS - self._count])
        self._count += len(event)
        self._total += int(duration.sum())
        end = start + duration
        self._first, self._last = min(self._first, int(start[0])), max(self._last, int(end.max()))
        longest = np.lexsort((-duration, rank))[:MOST_LISTED]
        listed = {"event": event[longest], "duration": duration[longest], "rank": rank[longest].astype("i8")}
        best = pd.concat([self.best, pd.DataFrame(listed)])
        self.best = best.sort_values(["rank", "duration", "event"], ascending=[True, False, True])[
            :MOST_LISTED
        ]
        if self._covered is not None:
            self._covered.append((start, end))
            self._held += len(start)
            if self._held > MOST_SPANS:
                self._join()

    def _join(self) -> None:
        """Join the covered spans; drop them if they are still too many."""
        if self._covered is not None:
            joined = _covered(*zip(*self._covered, strict=True)) if self._covered else (NO_TIMES, NO_TIMES)
            self._held = len(joined[0])
            # With fewer than half, joining again is worth its time.
            self._covered = [joined] if self._held <= MOST_SPANS // 2 else None

    def all(self, bits: list[np.ndarray], longest: list[dict[str, Any]]) -> DatasetFound:
        """Return the sums, with the bits of found events and the longest ones."""
        self._join()
        span = {"start": self._first - self._origin, "end": self._last - self._origin}
        return DatasetFound(
            bits=bits,
            ids=np.concatenate(self._ids) if self._ids else np.zeros(0, "i8"),
            count=self._count,
            total=self._total,
            busy=None if self._covered is None else int(sum((b - a).sum() for a, b in self._covered)),
            longest=longest,
            span=span if self._count else None,
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


def _listed(parts: Sequence[DatasetPart], places: DatasetLayout, event: int, duration: int) -> dict[str, Any]:
    number = int(np.searchsorted(places.first_event, event, "right")) - 1
    part = parts[number]
    own = event - int(places.first_event[number])
    group = part.group_of(own)
    at = own - part.first_of(group)
    row = part.table(group, ["name", "op", "device", "lane"]).slice(at, 1)
    texts = {name: row[name][0].as_py() or "" for name in ("name", "op", "device", "lane")}
    lane = part.number_of[texts.pop("device"), texts.pop("lane")]
    return {"event": event, **texts, "lane": int(places.lane_of[number][lane]), "duration": duration}


class GroupRows:
    """The rows of a row group, whose columns are read on demand."""

    def __init__(self, part: DatasetPart, group: int) -> None:
        self._part = part
        self._group = group
        self._read: dict[str, pa.ChunkedArray] = {}
        self.count = part.rows_in(np.array([group]), level=False)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column."""
        if name not in self._read:
            self._read[name] = self._part.table(self._group, [name])[name]
        return self._read[name]

    def ranks(self, ranks: Ranks, rows: np.ndarray) -> np.ndarray:
        """Return how well rows fit a search."""
        if not ranks.ops and not ranks.names:
            return np.zeros(len(rows), "u1")
        op, name = (codes_of(self.column(each)) for each in ("op", "name"))
        return ranks.rank([*op.listed(), ""], op.codes[rows], [*name.listed(), ""], name.codes[rows])

    def matching(self, clauses: Sequence[Clause]) -> np.ndarray:
        """Mark the rows that match all clauses."""
        mask = np.full(self.count, bool(clauses), "?")
        for terms, negated in clauses:
            has_term = np.zeros(len(mask), "?")
            for term in terms:
                has_term |= self._holds(term)
            mask &= ~has_term if negated else has_term
        return mask

    def _holds(self, term: Term) -> np.ndarray:
        if isinstance(term, Text):
            return self._has_text(term.field, term.text)
        if isinstance(term, Steps):
            steps = self.column("step").to_numpy()
            held: np.ndarray = (steps >= term.first) & (steps <= term.last)
            return held
        if isinstance(term, Bound):
            name = "bytes" if term.of == "bytes" else "duration_ns"
            return within(self.column(name).to_pandas().to_numpy("f8", na_value=np.nan), term)
        # The parts do not contain lines of code.
        return np.zeros(self.count, "?")

    def _has_text(self, field: str, text: str) -> np.ndarray:
        mask = np.zeros(self.count, "?")
        for name in ("name", "op"):
            if field in ("any", name):
                mask |= self._in(name, text)
        if field in ("any", "lane"):
            task = self._part.task
            mask |= self._by_lane(
                lambda lane: text in lane_search_text(task, lane["device"], lane["lane"]).lower()
            )
        if field == "kind":
            mask |= named(text)[self._categories()]
        if field == "any":
            mask |= self._in("tensor", text)
            # Kernels are named after their ops; their own names are in their labels.
            labelled = self._in("detail", text, kernel_names)
            if labelled.any():
                mask |= labelled & np.isin(self._categories(), KERNELS)
        return mask

    def _categories(self) -> np.ndarray:
        return self._part.categories(pa.table({name: self.column(name) for name in self._part.categorised}))

    def _by_lane(self, holds: Callable[[dict[str, Any]], bool]) -> np.ndarray:
        held = np.array([holds(lane) for lane in self._part.lanes])
        if held.all() or not held.any():
            return np.full(self.count, held.all(), "?")
        places = pa.table({name: self.column(name) for name in ("device", "lane")})
        marks: np.ndarray = held[self._part.lane_of(places)]
        return marks

    def _in(
        self, column: str, text: str, name: Callable[[pa.Array], pa.Array] = lambda texts: texts
    ) -> np.ndarray:
        """Mark the rows whose `name` result contains `text`; each distinct value is tested once."""
        codes, texts = codes_of(self.column(column))
        held = pc.match_substring(pc.utf8_lower(name(texts)), text).fill_null(False)
        marks = np.append(held.to_numpy(zero_copy_only=False).astype("?"), False)
        mask: np.ndarray = marks[codes]
        return mask


def _shown_with(rows: GroupRows, places: DatasetLayout, steps: Collection[int]) -> np.ndarray:
    """Mark the rows of some steps; with a single step, those outside steps only while it runs."""
    step = rows.column("step").to_numpy()
    shown = np.isin(step, list(steps))
    first, *others = steps
    if others == [NO_STEP] and first != NO_STEP:
        start, duration = (rows.column(name).to_numpy() for name in ("start_ns", "duration_ns"))
        span = places.steps.loc[places.steps["step"] == first, ["start", "end"]].to_numpy()[0]
        shown &= (step == first) | is_inside(start - places.origin, duration, *span)
    return shown
