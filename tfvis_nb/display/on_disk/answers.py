"""Answer queries of a dataset's timeline: bars in view, events, searches, totals.

The front end sends the same queries as to `tfvis_nb.display.large.queries` for a trace in memory.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.large.queries import Answer
from tfvis_nb.display.on_disk.bar_columns import Bars
from tfvis_nb.display.on_disk.bars_read import DatasetBars
from tfvis_nb.display.on_disk.facts import EventFacts
from tfvis_nb.display.on_disk.part import DatasetPart
from tfvis_nb.display.on_disk.places import DatasetLayout
from tfvis_nb.display.on_disk.row_groups import Shared
from tfvis_nb.display.on_disk.search import DatasetFound, find
from tfvis_nb.display.on_disk.totals import totals
from tfvis_nb.display.wire.bars import Bars as WireBars
from tfvis_nb.display.wire.bars import PartOfTrace, pack_part
from tfvis_nb.display.wire.code import code_bytes
from tfvis_nb.display.wire.counters import counter_bytes
from tfvis_nb.display.wire.header import timeline_header
from tfvis_nb.display.wire.memory import memory_bytes
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

MOST_SHOWN = 4096
"""Maximum lanes in one query: far more than any screen has."""


NO_EVENT = 2**32 - 1
"""The id that means no event."""


class DatasetAnswers:
    """A dataset's parts, laid out and ready for queries.

    `steps` are the numbers of the shown steps, None for all. `read_step` reads one step of a part as a trace.
    """

    def __init__(
        self,
        parts: Sequence[DatasetPart],
        places: DatasetLayout,
        shared: Shared,
        steps: frozenset[int] | None,
        read_step: Callable[[DatasetPart, int], Trace],
    ) -> None:
        self.parts = parts
        self.places = places
        self._shared = shared
        self._steps = steps
        self._bars = DatasetBars(parts, places, steps)
        self._facts = EventFacts(parts, places, shared, read_step)
        self._found: tuple[tuple[str, int | None], DatasetFound] | None = None
        self._ops = sorted({op for part in parts for op in part.described["ops"]})
        shared.ops.of(np.arange(len(self._ops)), pa.array(self._ops, pa.string()))
        self._outline, self._shift = self._bars.outline()

    def outline_bytes(self, title: str, notes: Sequence[str]) -> bytes:
        """Write the lanes of devices as bars, with the facts about the dataset for the front end."""
        places = self.places
        lanes = places.lanes.to_dict("records")
        for lane in lanes[len(lanes) - places.devices :]:
            lane["sums"] = True
        header = timeline_header(
            title=title,
            origin=places.origin,
            span=places.span,
            lanes=lanes,
            steps=places.steps.to_dict("records"),
            ops=self._ops,
            notes=notes,
        )
        own = {"rest": "lanes", "total": int(places.steps["events"].sum()), "bucket": 2**self._shift}
        return self._packed(self._outline, {**header, **own}, None)

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer one query with JSON and bytes; ValueError if the dataset lacks the requested data."""
        kind = question.get("kind")
        if kind == "window":
            return self._window(question)
        if kind == "events":
            return self._facts.answer(question)
        if kind == "search":
            result = self._search(str(question["text"]), question.get("step"))
            known = {name: getattr(result, name) for name in ("count", "total", "busy", "longest", "span")}
            matches = result.holds(self.places, self._outline["event"])
            return known, [result.ids.astype("u4").tobytes(), matches.tobytes()]
        if kind == "statistics":
            ends = (float(question["start"]), float(question["end"]))
            steps = self.steps_of(question["step"])
            by = question["by"] if question["by"] in ("op", "lane") else "name"
            summed = totals(self.parts, self.places, ends, question["lanes"], steps, by, self._shared)
            return {**summed, "counters": []}, []
        if kind in _UNKNOWN:
            return {}, [_UNKNOWN[kind]()]
        raise ValueError(Text("unknown_question", kind=kind))

    def steps_of(self, step: int | None) -> list[int] | None:
        """Return the steps whose events are shown with a step, or with all of them; None for all events.

        Events outside steps are shown with a step during which they run, unless steps are chosen.
        """
        if step is None:
            return None if self._steps is None else sorted(self._steps)
        return [step, NO_STEP] if self._steps is None else [step]

    def _search(self, text: str, step: int | None) -> DatasetFound:
        last = self._found
        if last is not None and last[0] == (text, step):
            return last[1]
        result = find(self.parts, self.places, text, self.steps_of(step))
        # A single assignment, so that a concurrent reader gets either the old or the new answer, each
        # complete.
        self._found = ((text, step), result)
        return result

    def _window(self, question: Mapping[str, Any]) -> Answer:
        start, end = int(question["start"]), int(question["end"])
        lanes = list(question["lanes"])[:MOST_SHOWN]
        shift = max(int(question["bucket"]).bit_length() - 1, 0)
        origin = self.places.origin
        bars, shift = self._bars.window(lanes, start + origin, end + origin, shift)
        text = str(question.get("text", ""))
        result = self._search(text, question.get("step")) if text else None
        lit = None if result is None else result.holds(self.places, bars["event"])
        return {}, [self._packed(bars, {"start": start, "end": end, "bucket": 2**shift}, lit)]

    def _packed(self, bars: Bars, header: dict[str, Any], lit: np.ndarray | None) -> bytes:
        places = self.places
        # A piece of a device's lane is not the event that gives it its name.
        is_event = places.slot_lane[bars["slot"]] < len(places.lanes) - places.devices
        numbers, name = np.unique(bars["name"], return_inverse=True)
        texts = self._shared.names.all()
        drawn = WireBars(
            slot=bars["slot"],
            start=bars["start_ns"] - places.origin,
            end=bars["end_ns"] - places.origin,
            op=bars["op"],
            category=bars["category"],
            step=np.searchsorted(places.steps["step"], bars["step"]),
            wait=bars["wait_ns"],
            # The parts do not have the turns.
            turn=bars["wait_ns"],
            name=pa.array([texts[number] for number in numbers.tolist()], pa.large_string()).take(
                pa.array(name)
            ),
        )
        part = PartOfTrace(
            slot_lane=places.slot_lane,
            slot_row=places.slot_row,
            event=np.where(is_event, bars["event"], NO_EVENT),
            name_number=numbers[name],
            begin=bars["begin_ns"] - places.origin,
            duration=bars["duration_ns"],
            count=bars["count"],
            busy=bars["busy_ns"],
            lit=lit,
        )
        return pack_part(drawn, header, part, (len(self._ops), len(places.steps)))


def _nothing() -> Trace:
    from tfvis_nb.events import build

    return Trace(build({}, rows=0))


_UNKNOWN: dict[Any, Callable[[], bytes]] = {
    "memory": lambda: memory_bytes(_nothing()),
    "counters": lambda: counter_bytes(_nothing(), 0, 0, most_values=1),
    "code": lambda: code_bytes(_nothing()),
}
"""Data that a dataset's parts do not have."""
