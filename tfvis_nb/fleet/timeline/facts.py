"""Facts about single events of a dataset, for the details panel.

For one event, the events of its step and task are read as a trace. Events outside steps, and several selected
events, are only read as rows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.large.trace_store import MOST_LISTED, TraceStore
from tfvis_nb.display.store.answers import Answer
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.timeline.part import DatasetPart
from tfvis_nb.fleet.timeline.places import DatasetLayout
from tfvis_nb.fleet.timeline.row_groups import Shared
from tfvis_nb.texts import Text


class EventFacts:
    """Answers queries about events, by their numbers in the whole timeline."""

    def __init__(
        self,
        parts: Sequence[DatasetPart],
        places: DatasetLayout,
        shared: Shared,
        read_step: Callable[[DatasetPart, int], Trace],
    ) -> None:
        self._parts = parts
        self._places = places
        self._shared = shared
        self._read_step = read_step
        self._last: tuple[tuple[int, int], tuple[TraceStore, np.ndarray]] | None = None

    def answer(self, events: Sequence[int], hops: int, holders: Sequence[int]) -> Answer:
        """Answer with all facts about events, and for a single one about those up to `hops` edges away."""
        asked = np.array(events[:MOST_LISTED], "i8")
        most = int(self._places.first_event[-1])
        if len(asked) == 0 or asked.min() < 0 or asked.max() >= most:
            raise ValueError(Text("no_such_events", events=asked.tolist(), most=most))
        windows, own = self._around(asked)
        where = {event: at for at, event in enumerate(own.tolist())}
        local = [where[event] for event in asked.tolist()]
        held = [where[event] for event in holders if event in where]
        numbers, buffers = windows.facts(local, hops, held)
        ids = np.array(numbers["events"])
        return {
            **self._numbers(own[ids]),
            **({"degrees": numbers["degrees"]} if "degrees" in numbers else {}),
            **({"holders": own[numbers["holders"]].tolist()} if "holders" in numbers else {}),
        }, buffers

    def rows(self, events: np.ndarray) -> pd.DataFrame:
        """Return events as rows of an event table, ordered by start and indexed by number."""
        frames = []
        for number, group, at in self._groups(np.unique(events)):
            part = self._parts[number]
            table = part.table(group, list(_FILED)).take(pa.array(at))
            frame = event_table.build(
                {**{name: table[name].to_pandas() for name in _FILED}, "task": [part.task] * len(at)}
            )
            first = int(self._places.first_event[number]) + part.first_of(group)
            frame.index = pd.Index(first + at)
            frames.append(frame)
        if not frames:
            return event_table.build({}, rows=0)
        return _joined(frames).sort_values("start_ns", kind="stable")

    def own_numbers(self, events: np.ndarray) -> dict[int, tuple[int, int]]:
        """Return of each event, given in order, its part and its number in the source."""
        numbers: dict[int, tuple[int, int]] = {}
        for number, group, at in self._groups(events):
            part = self._parts[number]
            own = part.table(group, ["event"])["event"].to_numpy()[at]
            first = int(self._places.first_event[number]) + part.first_of(group)
            for each, event in zip(at.tolist(), own.tolist(), strict=True):
                numbers[first + each] = number, event
        return numbers

    def _groups(self, events: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
        """Assign events, in order, to the row groups of the parts."""
        groups = []
        part = np.searchsorted(self._places.first_event, events, "right") - 1
        for number in np.unique(part).tolist():
            own = events[part == number] - self._places.first_event[number]
            group = np.array([self._parts[number].group_of(each) for each in own.tolist()])
            groups += [
                (number, each, own[group == each] - self._parts[number].first_of(each))
                for each in np.unique(group).tolist()
            ]
        return groups

    def _around(self, asked: np.ndarray) -> tuple[TraceStore, np.ndarray]:
        """Return a trace with the requested events, and the number of each event in the timeline."""
        number = int(np.searchsorted(self._places.first_event, asked[0], "right")) - 1
        part = self._parts[number]
        row = int(asked[0] - self._places.first_event[number])
        group = part.group_of(row)
        step = int(part.drawn(group).columns["step"][row - part.first_of(group)])
        if len(asked) > 1 or step == NO_STEP:
            rows = self.rows(asked)
            trace = Trace(rows.reset_index(drop=True))
            return _asked(trace), rows.index.to_numpy()
        last = self._last
        if last is not None and last[0] == (number, step):
            return last[1]
        own = np.flatnonzero(part.steps() == step) + self._places.first_event[number]
        around = (_asked(self._read_step(part, step)), own)
        self._last = ((number, step), around)
        return around

    def _numbers(self, events: np.ndarray) -> dict[str, Any]:
        """Renumber rows, lanes, names, steps and ops of events as in the whole timeline."""
        columns: dict[str, list[np.ndarray]] = {
            name: [] for name in ("rows", "lanes", "names", "steps", "ops")
        }
        places = self._places
        for number, group, at in self._groups(events):
            drawn = self._parts[number].drawn(group).pick(at)
            lane = drawn["lane"]
            whole = places.lane_of[number][lane]
            slot = places.first_slot[number][lane] + drawn["row"]
            columns["rows"].append(places.slot_row[slot])
            columns["lanes"].append(whole)
            columns["names"].append(drawn["name"])
            columns["steps"].append(np.searchsorted(places.steps["step"], drawn["step"]))
            columns["ops"].append(drawn["op"])
        return {"events": events.tolist()} | {
            name: np.concatenate(column).tolist() for name, column in columns.items()
        }


_FILED = tuple(name for name in event_table.COLUMNS if name != "task")


def _asked(trace: Trace) -> TraceStore:
    return TraceStore(lay_out(trace, order_lanes(trace.events)))


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate event tables; their text columns share the texts of all."""
    joined = pd.concat([frame.astype(dict.fromkeys(_CODED, "str")) for frame in frames])
    return joined.astype(dict.fromkeys(_CODED, "category"))


_CODED = tuple(name for name, dtype in event_table.COLUMNS.items() if dtype == "category")
