"""The parts of a dataset as a store of events: bars in view, facts, searches, totals.

An answer never reads more than `MOST_READ` rows: Parquet's statistics give the row groups it needs, and their
rows are counted before reading. If there are too many, a coarser level is used.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.analysis.events.bar_categories import KERNELS
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.store.answers import Answer
from tfvis_nb.display.store.search import Codes, Found
from tfvis_nb.display.store.totals import Spans
from tfvis_nb.display.wire import bars as wire
from tfvis_nb.display.wire.header import Step, TimelineHeader, sent_lanes, timeline_header
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset.levels import SHIFTS, device_bars
from tfvis_nb.fleet.timeline.bar_columns import Bars, at_most, chosen, joined
from tfvis_nb.fleet.timeline.facts import EventFacts
from tfvis_nb.fleet.timeline.in_range import spans_in_range
from tfvis_nb.fleet.timeline.part import DatasetPart
from tfvis_nb.fleet.timeline.places import DatasetLayout
from tfvis_nb.fleet.timeline.row_groups import Shared, codes_of
from tfvis_nb.texts import Text

MOST_SHOWN = 4096
"""Maximum lanes in one query: far more than any screen has."""
MOST_IDS = 1_000_000
"""How many ids of found events are sent, for stepping from one to the next."""
MOST_SPANS = 2_000_000
"""Maximum time ranges of found events; with more, the time that they cover is unknown."""

NO_EVENT = 2**32 - 1
"""The id that means no event."""
MOST_BARS = 120_000
"""Maximum bars in the outline, or in an answer."""
MOST_READ = 6_000_000
"""Maximum rows of files that are read for one answer."""
READERS = 4
"""How many parts are read in parallel."""


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


class DatasetStore:
    """A dataset's parts, laid out; see `tfvis_nb.display.store.answers.EventStore`.

    `steps` are the numbers of the shown steps, None for all. `read_step` reads one step of a part as a trace.
    """

    def __init__(
        self,
        parts: Sequence[DatasetPart],
        places: DatasetLayout,
        shared: Shared,
        steps: frozenset[int] | None,
        read_step: Callable[[DatasetPart, int], Trace],
        notes: Sequence[str],
    ) -> None:
        self.parts = parts
        self.places = places
        self.origin, self.span = places.origin, places.span
        columns = (places.steps[name].tolist() for name in ("step", "start", "end", "events", "label"))
        self.steps: list[Step] = [
            {"step": step, "start": start, "end": end, "events": events, "label": label}
            for step, start, end, events, label in zip(*columns, strict=True)
        ]
        self.recorded = Trace(event_table.build({}, rows=0))
        self.events = int(places.steps["events"].sum())
        self.most_ids, self.most_spans = MOST_IDS, MOST_SPANS
        self._notes = notes
        self._shared = shared
        self._chosen = steps
        self._bars = DatasetBars(parts, places, steps)
        self._facts = EventFacts(parts, places, shared, read_step)
        self.ops = sorted({op for part in parts for op in part.described["ops"]})
        shared.ops.of(np.arange(len(self.ops)), pa.array(self.ops, pa.string()))

    def header(self, title: str) -> TimelineHeader:
        """Describe the timeline."""
        places = self.places
        lanes = sent_lanes(places.lanes)
        figures = (places.lanes[name].tolist() for name in ("busy", "rows"))
        for lane, busy, rows in zip(lanes, *figures, strict=True):
            lane["busy"], lane["rows"] = busy, rows
        for lane in lanes[len(lanes) - places.devices :]:
            lane["sums"] = True
        return timeline_header(
            title=title,
            origin=places.origin,
            span=places.span,
            lanes=lanes,
            steps=self.steps,
            ops=self.ops,
            notes=self._notes,
        )

    def outline(self) -> tuple[Bars, int]:
        """Return the lanes of devices."""
        return self._bars.outline()

    def window(self, start: int, end: int, shift: int, lanes: list[int] | None) -> tuple[Bars, int]:
        """Return the bars of some lanes; ValueError without any."""
        if lanes is None:
            raise ValueError(Text("unknown_question", kind="window"))
        return self._bars.window(lanes[:MOST_SHOWN], start + self.origin, end + self.origin, shift)

    def drawn(self, bars: Bars) -> tuple[wire.Bars, wire.PartOfTrace]:
        """Return bars with their texts."""
        places = self.places
        # A piece of a device's lane is not the event that gives it its name.
        is_event = places.slot_lane[bars["slot"]] < len(places.lanes) - places.devices
        numbers, name = np.unique(bars["name"], return_inverse=True)
        texts = self._shared.names.all()
        names = pa.array([texts[number] for number in numbers.tolist()], pa.large_string())
        drawn = wire.Bars(
            slot=bars["slot"],
            start=bars["start_ns"] - places.origin,
            end=bars["end_ns"] - places.origin,
            op=bars["op"],
            category=bars["category"],
            step=np.searchsorted(places.steps["step"], bars["step"]),
            name=names.take(pa.array(name)),
            # The parts do not have the others.
            optional={"wait": bars["wait_ns"]},
        )
        return drawn, wire.PartOfTrace(
            slot_lane=places.slot_lane,
            slot_row=places.slot_row,
            event=np.where(is_event, bars["event"], NO_EVENT),
            name_number=bars["name"],
            begin=bars["begin_ns"] - places.origin,
            duration=bars["duration_ns"],
            count=bars["count"],
            busy=bars["busy_ns"],
        )

    def batches(self) -> Iterator[GroupBatch]:
        """Return the row groups of all parts."""
        for number, part in enumerate(self.parts):
            first = int(self.places.first_event[number])
            for group in range(part.event_group_count):
                batch = GroupBatch(part, group, first)
                first += batch.count
                yield batch

    def listed(self, event: int) -> dict[str, Any]:
        """Return the name, op and lane of an event."""
        number = int(np.searchsorted(self.places.first_event, event, "right")) - 1
        part = self.parts[number]
        own = event - int(self.places.first_event[number])
        group = part.group_of(own)
        at = own - part.first_of(group)
        row = part.table(group, ["name", "op", "device", "lane"]).slice(at, 1)
        texts = {name: row[name][0].as_py() or "" for name in ("name", "op", "device", "lane")}
        lane = part.number_of[texts.pop("device"), texts.pop("lane")]
        return {**texts, "lane": int(self.places.lane_of[number][lane])}

    def lit(self, found: Found, bars: Bars) -> np.ndarray:
        """Mark the bars whose longest event was found: the files do not tell the others."""
        return found.marks(bars["event"])

    def steps_of(self, step: int | None) -> list[int] | None:
        """Return a step, or those that are shown.

        Events outside steps are shown with a step during which they run, unless steps are chosen.
        """
        if step is None:
            return None if self._chosen is None else sorted(self._chosen)
        return [step, NO_STEP] if self._chosen is None else [step]

    def spans(
        self, ends: tuple[float, float], lanes: list[int] | None, steps: Sequence[int] | None, by: str
    ) -> tuple[Spans, list[str]]:
        """Return the events that overlap a range, by op, name or lane."""
        return spans_in_range(self.parts, self.places, ends, lanes, steps, by, self._shared)

    def facts(self, events: Sequence[int], hops: int, holders: Sequence[int]) -> Answer:
        """Answer with all facts about events, read with their step."""
        return self._facts.answer(events, hops, holders)


class DatasetBars:
    """Reads the bars of lanes from all parts that have any."""

    def __init__(
        self, parts: Sequence[DatasetPart], places: DatasetLayout, steps: frozenset[int] | None
    ) -> None:
        self.parts = parts
        self.places = places
        self.steps = steps

    def outline(self) -> tuple[Bars, int]:
        """Return the bars of the devices' lanes, as fine as possible, and the shift of their buckets."""
        shift = SHIFTS[0]
        while shift < SHIFTS[-1] and self._stored(shift) > MOST_BARS:
            shift += 2
        first = len(self.places.lanes) - self.places.devices
        lanes = np.arange(first, len(self.places.lanes))
        return self._read(lanes, self.places.origin, self.places.origin + self.places.span + 1, shift)

    def window(self, lanes: Sequence[int], start: int, end: int, shift: int) -> tuple[Bars, int]:
        """Return the bars of lanes that overlap a time range, and the shift of their buckets.

        Times are epoch nanoseconds. The shift is 0 if all bars are single events.
        """
        while shift < SHIFTS[-1] and self._rows(lanes, start, end, shift) > MOST_READ:
            shift += 2
        return self._read(np.asarray(lanes), start, end, shift)

    def _stored(self, shift: int) -> int:
        """Return the number of bars in the outline; parts without such a fine level use their finest one."""
        total = 0
        for part in self.parts:
            for kind in (1,) if self.steps is None else (1, 2):
                finest = part.finest(shift, kind)
                every = [held for held, counts in part.held.items() if counts[kind] >= 0]
                total += part.held[min(every) if finest is None else finest][kind]
        return total

    def _own(self, number: int, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the requested lanes of a part, by number within the part: those of each kind of `finest`."""
        part = self.parts[number]
        own = np.flatnonzero(np.isin(self.places.lane_of[number], lanes))
        first = len(part.lanes)
        # Only if steps are chosen, bars of single steps are needed.
        mixed = [self.steps is not None and bool(device["mixed"]) for device in part.devices]
        of_steps = np.array([False] * first + mixed)[own]
        return own[own < first], own[(own >= first) & ~of_steps], own[of_steps]

    def _rows(self, lanes: Sequence[int], start: int, end: int, shift: int) -> int:
        rows = 0
        for number, part in enumerate(self.parts):
            exact = np.zeros(0, "i8")
            for kind, own in enumerate(self._own(number, np.asarray(lanes))):
                if not len(own):
                    continue
                level = part.finest(shift, kind)
                if level is None:
                    exact = part.event_groups(start, end)
                else:
                    stored = own + (kind == 2) * len(part.devices)
                    rows += part.rows_in(part.level_groups(level, stored, start, end), level=True)
            rows += part.rows_in(exact, level=False)
        return rows

    def _read(self, lanes: np.ndarray, start: int, end: int, shift: int) -> tuple[Bars, int]:
        def bars_of(number: int) -> list[Bars]:
            part = self.parts[number]
            parts_read: list[Bars] = []
            for kind, own in enumerate(self._own(number, lanes)):
                if not len(own):
                    continue
                level = part.finest(shift, kind)
                if level is None:
                    parts_read += self._exact(part, own, start, end, device=kind > 0)
                elif kind < 2:
                    parts_read += self._level(part, level, own, start, end)
                else:
                    parts_read += self._of_steps(part, level, own, start, end)
            return [self._placed(number, bars) for bars in parts_read]

        # Some threads read and unpack files while others process their data.
        with ThreadPoolExecutor(READERS) as pool:
            bars = joined(
                [each for parts_read in pool.map(bars_of, range(len(self.parts))) for each in parts_read]
            )
        is_exact = bool((bars["count"] == 1).all())
        return at_most(bars, 0 if is_exact else shift, MOST_BARS)

    def _level(self, part: DatasetPart, level: int, lanes: np.ndarray, start: int, end: int) -> list[Bars]:
        groups = []
        for group in part.level_groups(level, lanes, start, end).tolist():
            rows = part.bars(group)
            mask = (rows.columns["level"] == level) & np.isin(rows.columns["lane"], lanes)
            groups.append(rows.pick(mask & self._inside(rows.columns, start, end)))
        return groups

    def _of_steps(self, part: DatasetPart, level: int, lanes: np.ndarray, start: int, end: int) -> list[Bars]:
        """Read the devices' bars of the selected steps, and merge bars that overlap into one row."""
        further = len(part.devices)
        groups = self._level(part, level, lanes + further, start, end)
        bars = {name: np.concatenate([each[name] for each in groups]) for name in groups[0]} if groups else {}
        flat = []
        for lane in lanes.tolist() if bars else []:
            own = np.flatnonzero(bars["lane"] == lane + further)
            ordered = chosen(bars, own[np.argsort(bars["start_ns"][own], kind="stable")])
            pieces = device_bars({**ordered, "merged_ns": ordered["busy_ns"]}, lane)
            # Not longer than the merged bar was busy: which part of it that was is not known.
            flat.append({**pieces, "busy_ns": np.minimum(pieces["busy_ns"], pieces["merged_ns"])})
        return flat

    def _exact(
        self, part: DatasetPart, lanes: np.ndarray, start: int, end: int, *, device: bool
    ) -> list[Bars]:
        """Read single events, and the pieces that they form on lanes of devices."""
        first = len(part.lanes)
        of_device = [part.devices[lane - first]["members"] for lane in lanes.tolist()] if device else []
        members = np.unique(np.concatenate(of_device)) if device else lanes
        groups = []
        for group in part.event_groups(start, end).tolist():
            rows = part.drawn(group)
            mask = np.isin(rows.columns["lane"], members) & self._inside(rows.columns, start, end)
            groups.append(rows.pick(mask))
        if not groups:
            return []
        bars = {name: np.concatenate([each[name] for each in groups]) for name in groups[0]}
        bars |= {
            "busy_ns": bars["duration_ns"],
            "begin_ns": bars["start_ns"],
            "count": np.ones(len(bars["lane"]), "i8"),
        }
        if not device:
            return [bars]
        return [
            device_bars(chosen(bars, np.isin(bars["lane"], own)), lane)
            for lane, own in zip(lanes.tolist(), of_device, strict=True)
        ]

    def _inside(self, bars: Bars, start: int, end: int) -> np.ndarray:
        """Mark bars of shown steps that overlap a time range, or are in it without length."""
        low, high = bars["start_ns"], bars["end_ns"]
        inside: np.ndarray = (low < end) & ((high > start) | ((high == low) & (low >= start)))
        if self.steps is not None:
            inside &= np.isin(bars["step"], list(self.steps))
        return inside

    def _placed(self, number: int, bars: Bars) -> Bars:
        """Renumber slots and events as in the whole timeline."""
        slot = self.places.first_slot[number][bars["lane"]] + bars["row"]
        event = self.places.first_event[number] + bars["event"].astype("i8")
        return {**bars, "slot": slot, "event": event}
