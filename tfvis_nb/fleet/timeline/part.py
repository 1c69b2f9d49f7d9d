"""The files of one part of a dataset: its description, and the rows needed for a query."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.analysis.events.activity import NUMBER, by_kind
from tfvis_nb.analysis.events.bar_categories import categorise
from tfvis_nb.core.categories import map_categories
from tfvis_nb.core.labels import lane_search_text
from tfvis_nb.fleet.dataset.levels import BAR_BOUNDS, EVENT_BOUNDS, KEY
from tfvis_nb.fleet.dataset.stored_parts import PartFile, naming_part, unreadable_part
from tfvis_nb.fleet.timeline.row_groups import Columns, Rows, Shared, codes_of

_PLACES = ("device", "lane")
_TEXTS = (*_PLACES, "kind", "activity", "name", "op", "tensor", "detail")
_DRAWN = [*_PLACES, "name", "op", "step", "start_ns", "duration_ns", "row", "waited_ns"]


class DatasetPart:
    """The files of one source file in a dataset.

    `task` is the name of the task. Row groups are read as columns with numbers for the lane within this part,
    for the name and for the op.
    """

    def __init__(self, events: PartFile, levels: PartFile, task: str, shared: Shared) -> None:
        self._events = events
        self._levels = levels
        self._shared = shared
        self.task = task
        self.groups_read = 0
        with naming_part(levels.path):
            self._describe()

    def _describe(self) -> None:
        self.described: dict[str, Any] = json.loads(self._levels.metadata.metadata[KEY])
        self.held = {int(shift): counts for shift, counts in self.described["levels"].items()}
        self.lanes: list[dict[str, Any]] = self.described["lanes"]
        self.devices: list[dict[str, Any]] = self.described["devices"]
        self._check_description()
        self._bounds = {
            self._levels: _bounds(self._levels, self.described, "bar_groups", BAR_BOUNDS),
            self._events: _bounds(self._events, self.described, "event_groups", EVENT_BOUNDS),
        }

    def _check_description(self) -> None:
        """Raise ValueError unless counts are those of the file: they determine how much memory is needed."""
        events, lanes, steps = (self.described[name] for name in ("events", "lanes", "steps"))
        rows = [lane["rows"] for lane in lanes]
        counts = [each["events"] for each in (*lanes, *steps)]
        known = all(type(count) is int and count > 0 for count in (*rows, *counts))
        is_whole = known and events == sum(counts[: len(lanes)]) == sum(counts[len(lanes) :])
        if not is_whole or any(lane["rows"] > lane["events"] for lane in lanes):
            raise ValueError("counts that do not agree")
        if events != sum(self._events.group_rows):
            raise ValueError("counts of other events")

    @property
    def event_group_count(self) -> int:
        """The number of row groups of ``events``."""
        return len(self._bounds[self._events]["rows"])

    def finest(self, shift: int, kind: int) -> int | None:
        """Return the coarsest level for buckets of ``2 ** shift``; None if only events are fine enough.

        `kind` is 0 for lanes, 1 for those of devices, 2 for those of their steps, if steps overlap.
        """
        fit = [held for held, counts in self.held.items() if held <= shift and counts[kind] >= 0]
        return max(fit, default=None)

    def figures_of(self, steps: Collection[int]) -> np.ndarray:
        """Return the events of some steps in each lane, also of devices, and their busy time (ns)."""
        sums = np.zeros((len(self.lanes) + len(self.devices), 2), "i8")
        for step in self.described["steps"]:
            for lane, *figures in step["lanes"] if step["step"] in steps else ():
                sums[lane] += figures
        return sums

    def level_groups(self, shift: int, lanes: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return the row groups that may contain bars of a level, some lanes and a time range."""
        bounds = self._bounds[self._levels]
        wanted = np.sort(lanes)
        if not len(wanted):
            return np.zeros(0, "i8")
        inside = (bounds["level_low"] <= shift) & (bounds["level_high"] >= shift)
        inside &= (bounds["start_ns_low"] < end) & (bounds["end_ns_high"] > start)
        # In a group of several levels, lanes are not ordered.
        first = np.searchsorted(wanted, bounds["lane_low"])
        inside &= (first < len(wanted)) & (wanted[np.minimum(first, len(wanted) - 1)] <= bounds["lane_high"])
        return np.flatnonzero(inside)

    def event_groups(self, start: int, end: int) -> np.ndarray:
        """Return the row groups with events that overlap a time range (epoch ns), including both ends."""
        bounds = self._bounds[self._events]
        return np.flatnonzero((bounds["start_ns_low"] <= end) & (bounds["end_ns_high"] >= start))

    def rows_in(self, groups: np.ndarray, *, level: bool) -> int:
        """Return the number of rows in row groups."""
        return int(self._bounds[self._levels if level else self._events]["rows"][groups].sum())

    def bars(self, group: int) -> Rows:
        """Return a row group of ``levels``."""
        key = (self._levels.name, group)
        rows = self._shared.cache.get(key)
        if rows is None:
            table = self._read(self._levels, group, None, ["name", "op"])
            texts = ("name", "op")
            with naming_part(self._levels.path):
                columns = {name: table[name].to_numpy() for name in table.column_names if name not in texts}
                self._check_bounds(self._levels, group, columns)
                rows = self._rows(columns, table)
            self._shared.cache.put(key, rows)
        return rows

    def drawn(self, group: int) -> Rows:
        """Return a row group of ``events``, as bars of one event each."""
        key = (self._events.name, group)
        rows = self._shared.cache.get(key)
        if rows is None:
            with naming_part(self._events.path):
                table = self.table(group, list(dict.fromkeys([*_DRAWN, *self.categorised])))
                start, wait = table["start_ns"].to_numpy(), table["waited_ns"].to_numpy()
                columns = {
                    "lane": self.lane_of(table),
                    "row": table["row"].to_numpy(),
                    "start_ns": start,
                    "duration_ns": table["duration_ns"].to_numpy(),
                    "end_ns": start + table["duration_ns"].to_numpy(),
                    "event": self.first_of(group) + np.arange(len(start), dtype="u4"),
                    "step": table["step"].to_numpy(),
                    "category": self.categories(table),
                    "wait_ns": wait if wait.any() else np.broadcast_to(np.int64(0), len(wait)),
                }
                self._check_bounds(self._events, group, columns)
                rows = self._rows(columns, table)
            self._shared.cache.put(key, rows)
        return rows

    @cached_property
    def categorised(self) -> list[str]:
        """The columns of ``events`` that decide categories; parts of early versions have no activities."""
        stored = "activity" in self._events.metadata.schema.names
        return ["kind", "activity"] if stored else ["kind", "op", "lane"]

    def categories(self, table: pa.Table) -> np.ndarray:
        """Return the category of each event of a table with these columns."""
        events = table.select(self.categorised).to_pandas()
        stored = "activity" in events
        numbers = (
            map_categories(events["activity"], lambda name: NUMBER.get(name, 0))
            if stored
            else by_kind(events)
        )
        return categorise(events["kind"], numbers)

    def _rows(self, columns: Columns, table: pa.Table) -> Rows:
        name, op = (codes_of(table[text]) for text in ("name", "op"))
        return Rows(columns, name, op, self._shared.names, self._shared.ops)

    def first_of(self, group: int) -> int:
        """Return the number of the first event of a row group."""
        return int(self._bounds[self._events]["rows"][:group].sum())

    def group_of(self, event: int) -> int:
        """Return the row group of an event."""
        return int(np.searchsorted(np.cumsum(self._bounds[self._events]["rows"]), event, "right"))

    def places_of(self, events: Collection[int]) -> dict[int, int]:
        """Return the number in this part of each event of the source that it has."""
        places: dict[int, int] = {}
        for group in range(self.event_group_count):
            own = self.table(group, ["event"])["event"].to_numpy()
            at = np.flatnonzero(np.isin(own, list(events)))
            places |= zip(own[at].tolist(), (self.first_of(group) + at).tolist(), strict=True)
        return places

    def steps(self) -> np.ndarray:
        """Return the step of every event."""
        groups = [self.table(group, ["step"])["step"].to_numpy() for group in range(self.event_group_count)]
        return np.concatenate(groups)

    def table(self, group: int, columns: list[str]) -> pa.Table:
        """Return columns of a row group of ``events``."""
        texts = [name for name in columns if name in _TEXTS]
        return self._read(self._events, group, columns, texts)

    def _read(self, part: PartFile, group: int, columns: list[str] | None, texts: list[str]) -> pa.Table:
        self.groups_read += 1
        part.check_version()
        table = part.read_group(group, columns, texts)
        if len(table) != self._bounds[part]["rows"][group]:
            raise unreadable_part(part.path, ValueError("a row group without some of its rows"))
        return table

    def _check_bounds(self, part: PartFile, group: int, columns: Columns) -> None:
        """Raise OSError unless the rows of a row group have the described bounds, by which it was found."""
        for name, bounds in self._bounds[part].items():
            column, _, side = name.rpartition("_")
            if name == "rows":
                continue
            value = columns[column].min() if side == "low" else columns[column].max()
            if value != bounds[group]:
                raise unreadable_part(
                    part.path, ValueError(f"rows outside their bounds: {column} is {value}")
                )

    @cached_property
    def number_of(self) -> dict[tuple[str, str], int]:
        """The number of each lane within the part, by device and name."""
        return {(lane["device"], lane["lane"]): at for at, lane in enumerate(self.lanes)}

    @cached_property
    def lane_texts(self) -> list[str]:
        """The text of each lane that searches look at."""
        return [lane_search_text(self.task, lane["device"], lane["lane"]) for lane in self.lanes]

    def lane_of(self, table: pa.Table) -> np.ndarray:
        """Return the lane of each event of a table with ``device`` and ``lane``, as numbered in the part."""
        device, lane = (codes_of(table[name]) for name in _PLACES)
        keys = [*product(device.listed(), lane.listed())]
        numbers = np.array([self.number_of.get(key, 0) for key in keys], "u2")
        lanes: np.ndarray = numbers[device.codes.astype("i8") * (len(lane.texts) + 1) + lane.codes]
        return lanes


def _bounds(part: PartFile, described: Mapping[str, Any], groups: str, names: Sequence[str]) -> Columns:
    """Return the ``rows`` of each row group and its described bounds; ValueError if the file has others."""
    heads, *bounds = np.array(described[groups], "i8").reshape(-1, 1 + len(names)).T
    written = part.group_rows
    rows = np.diff(heads, append=sum(written))
    table = {"rows": rows, **dict(zip(names, bounds, strict=True))}
    span = table["start_ns_low"].min(), table["end_ns_high"].max()
    if heads[0] or rows.tolist() != written or span != (described["start"], described["end"]):
        raise ValueError(f"{groups} that do not agree")
    return table
