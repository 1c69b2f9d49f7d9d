"""Bars of a dataset's timeline, read from its parts: the outline of the whole, and the bars in view.

An answer never reads more than `MOST_READ` rows: Parquet's statistics give the row groups it needs, and their
rows are counted before reading. If there are too many, a coarser level is used.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tfvis_nb.fleet.dataset.levels import SHIFTS, device_bars
from tfvis_nb.fleet.timeline.bar_columns import Bars, at_most, chosen, joined
from tfvis_nb.fleet.timeline.part import DatasetPart
from tfvis_nb.fleet.timeline.places import DatasetLayout

MOST_BARS = 120_000
"""Maximum bars in the outline, or in an answer."""
MOST_READ = 6_000_000
"""Maximum rows of files that are read for one answer."""
READERS = 4
"""How many parts are read in parallel."""


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
        """Read the bars of the shown steps on devices, flattened to one row where they overlap."""
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
