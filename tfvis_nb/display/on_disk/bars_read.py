"""Bars of a dataset's timeline, read from its parts: the outline of the whole, and the bars in view.

An answer never reads more than `MOST_READ` rows: Parquet's statistics give the row groups it needs, and their
rows are counted before reading. If there are too many, a coarser level is used.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tfvis_nb.dataset.levels import SHIFTS, device_bars
from tfvis_nb.display.on_disk.bar_columns import Bars, at_most, chosen, joined
from tfvis_nb.display.on_disk.part import Part
from tfvis_nb.display.on_disk.places import Places

MOST_BARS = 120_000
"""Maximum bars in the outline, or in an answer."""
MOST_READ = 6_000_000
"""Maximum rows of files that are read for one answer."""
READERS = 4
"""How many parts are read in parallel."""


class DatasetBars:
    """Reads the bars of lanes from all parts that have any."""

    def __init__(self, parts: Sequence[Part], places: Places, steps: frozenset[int] | None) -> None:
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
        counts = 0
        for part in self.parts:
            finest = part.finest(shift, device=True)
            level = (
                min(held for held, each in part.held.items() if each[1] >= 0) if finest is None else finest
            )
            counts += part.held[level][1]
        return counts

    def _own(self, number: int, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the requested lanes, and lanes of devices, of a part, by number within the part."""
        own = np.flatnonzero(np.isin(self.places.lane_of[number], lanes))
        count = len(self.parts[number].lanes)
        return own[own < count], own[own >= count]

    def _rows(self, lanes: Sequence[int], start: int, end: int, shift: int) -> int:
        rows = 0
        for number, part in enumerate(self.parts):
            exact = np.zeros(0, "i8")
            for own, device in zip(self._own(number, np.asarray(lanes)), (False, True), strict=True):
                level = part.finest(shift, device=device)
                if not len(own):
                    continue
                if level is None:
                    exact = part.event_groups(start, end)
                else:
                    rows += part.rows_in(part.level_groups(level, own, start, end), level=True)
            rows += part.rows_in(exact, level=False)
        return rows

    def _read(self, lanes: np.ndarray, start: int, end: int, shift: int) -> tuple[Bars, int]:
        def bars_of(number: int) -> list[Bars]:
            part = self.parts[number]
            found: list[Bars] = []
            for own, device in zip(self._own(number, lanes), (False, True), strict=True):
                level = part.finest(shift, device=device)
                if level is not None:
                    found += self._level(part, level, own, start, end)
                elif len(own):
                    found += self._exact(part, own, start, end, device=device)
            return [self._placed(number, bars) for bars in found]

        # Some threads read and unpack files while others process their data.
        with ThreadPoolExecutor(READERS) as pool:
            bars = joined([each for found in pool.map(bars_of, range(len(self.parts))) for each in found])
        is_exact = bool((bars["count"] == 1).all())
        return at_most(bars, 0 if is_exact else shift, MOST_BARS)

    def _level(self, part: Part, level: int, lanes: np.ndarray, start: int, end: int) -> list[Bars]:
        found = []
        for group in part.level_groups(level, lanes, start, end).tolist():
            rows = part.bars(group)
            mask = (rows.columns["level"] == level) & np.isin(rows.columns["lane"], lanes)
            found.append(rows.pick(mask & self._inside(rows.columns, start, end)))
        return found

    def _exact(self, part: Part, lanes: np.ndarray, start: int, end: int, *, device: bool) -> list[Bars]:
        """Read single events, and the pieces that they form on lanes of devices."""
        first = len(part.lanes)
        of_device = [part.devices[lane - first]["members"] for lane in lanes.tolist()] if device else []
        members = np.unique(np.concatenate(of_device)) if device else lanes
        found = []
        for group in part.event_groups(start, end).tolist():
            rows = part.drawn(group)
            mask = np.isin(rows.columns["lane"], members) & self._inside(rows.columns, start, end)
            found.append(rows.pick(mask))
        if not found:
            return []
        bars = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
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
