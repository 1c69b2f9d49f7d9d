"""A selection of a dataset as the source of a timeline's events."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.core.labels import natural, shown_task
from tfvis_nb.core.time_ranges import is_time_range, range_ends
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.messages import Part, Replies
from tfvis_nb.display.shaping.gap_compression import LONGEST_NS
from tfvis_nb.display.store.answers import Answer, Answers
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset import TraceDataset
from tfvis_nb.fleet.dataset.levels import FOLDER
from tfvis_nb.fleet.dataset.manifest import STEPS_APART
from tfvis_nb.fleet.dataset.read_back import Chosen, parts_of, read_back
from tfvis_nb.fleet.dataset.stored_parts import PartFile
from tfvis_nb.fleet.timeline.bar_columns import Bars
from tfvis_nb.fleet.timeline.dataset_store import DatasetStore
from tfvis_nb.fleet.timeline.facts import EventFacts
from tfvis_nb.fleet.timeline.in_range import rows_in_range
from tfvis_nb.fleet.timeline.part import DatasetPart
from tfvis_nb.fleet.timeline.places import places_of
from tfvis_nb.fleet.timeline.row_groups import Cache, Shared, Texts
from tfvis_nb.texts import Text

MOST_SELECTED = 1_000_000
"""Maximum rows of a selection."""
MOST_WHOLE = 2_000_000
"""Maximum events that are read at once to write them to a file."""
_MANY_TASKS, _MANY_STEPS = 16, 100
"""How many of them a timeline shows before a note names the options that show fewer."""
_DAY_NS = 86_400 * 10**9


class DatasetSource:
    """The traces of some tasks and steps of one run.

    Parameters
    ----------
    dataset
        The dataset.
    run, tasks, steps
        The parts to show: the name of a run, names of tasks, numbers of steps; None for all.

    Raises
    ------
    ValueError
        If there is no such run, task or step, if there are several runs and `run` is None, if it is too
        much to show, or if `steps` are chosen and an earlier version has ingested the dataset.
    OSError
        If a part of the dataset is damaged.
    """

    rest = "lanes"

    def __init__(
        self,
        dataset: TraceDataset,
        run: str | None,
        tasks: Collection[str] | str | None,
        steps: Collection[int] | int | None,
    ) -> None:
        self._path = dataset.path
        self._is_whole = tasks is None and steps is None
        self._chosen = dataset.choose(run, tasks, steps)
        self.run = self._chosen[0].entry.run
        wanted = self._chosen[0].steps
        self._steps = None if wanted is None else frozenset(wanted)
        older = [chosen.entry.source for chosen in self._chosen if chosen.entry.version < STEPS_APART]
        if older and self._steps is not None:
            raise ValueError(Text("dataset_older", path=str(dataset.path), source=older[0]))
        shared = Shared(Texts(), Texts(), Cache())
        pairs = sorted(
            ((task, chosen) for chosen in self._chosen for task in chosen.tasks),
            key=lambda pair: (natural(pair[0]), min(pair[1].entry.steps, default=0)),
        )
        self._task_of = [Chosen(chosen.entry, [task], chosen.steps) for task, chosen in pairs]
        self.parts = [self._part(chosen, shared) for chosen in self._task_of]
        self.places = places_of(self.parts, self._steps)
        if self.places.span > LONGEST_NS:
            days = self.places.span // _DAY_NS
            raise ValueError(Text("dataset_too_long", days=days, most=LONGEST_NS // _DAY_NS))
        store = DatasetStore(self.parts, self.places, shared, self._steps, self._read_step, self._notes())
        self._answers: Answers[Bars] = Answers(store)
        self._facts = EventFacts(self.parts, self.places, shared, self._read_step)

    def _part(self, chosen: Chosen, shared: Shared) -> DatasetPart:
        (task,) = chosen.tasks
        (events,), (levels,) = (parts_of(chosen.entry, table, task) for table in ("events", FOLDER))
        of_events, of_levels = (
            PartFile(self._path, part, chosen.entry.parts[part]) for part in (events, levels)
        )
        return DatasetPart(of_events, of_levels, task, shared)

    def _read_step(self, part: DatasetPart, step: int) -> Trace:
        entry, tasks, _ = self._task_of[self.parts.index(part)]
        return read_back(self._path, [Chosen(entry, tasks, {step})])

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len({part.task for part in self.parts})

    @property
    def events(self) -> int:
        """The number of events."""
        return int(self.places.steps["events"].sum())

    def outline(self, title: str) -> bytes:
        """Return the bytes that are drawn first."""
        return self._answers.outline_bytes(title, "lanes")

    def _notes(self) -> list[Text]:
        counts = {"tasks": self.tasks, "steps": int((self.places.steps["step"] != NO_STEP).sum())}
        notes = [Text("clocks_as_recorded", tasks=self.tasks)] if self.tasks > 1 else []
        if self._is_whole and (counts["tasks"] >= _MANY_TASKS or counts["steps"] >= _MANY_STEPS):
            step = int(self.places.steps["step"].max()) if counts["steps"] else None
            task = shown_task(self.parts[0].task)
            notes.append(Text("dataset_shown_whole", **counts, task=task, step=step))
        return notes

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer a query of the front end."""
        return self._answers.answer(question)

    def whole_trace(self) -> Trace:
        """Read everything as one trace; ValueError if that is more than `MOST_WHOLE`."""
        if self.events > MOST_WHOLE:
            raise ValueError(Text("dataset_too_much", events=self.events, most=MOST_WHOLE))
        return read_back(self._path, self._chosen)

    def rows(self, selection: Mapping[str, Any] | None) -> tuple[pd.DataFrame, int]:
        """Return the events of a checked selection, and the number left out."""
        if selection is None:
            return self._facts.rows(np.zeros(0, "i8")), 0
        if "events" in selection:
            return self._facts.rows(np.array(selection["events"], "i8")), 0
        ends = (float(selection["start"]), float(selection["end"]))
        steps = self._answers.store.steps_of(selection["step"])
        in_range = rows_in_range(self.parts, self.places, ends, selection["lanes"], steps)
        ids = [
            self.places.first_event[number] + columns["event"].astype("i8") for number, columns in in_range
        ]
        every = np.concatenate(ids) if ids else np.zeros(0, "i8")
        rows = self._facts.rows(every[:MOST_SELECTED])
        origin = self.places.origin
        rows.attrs["range_ns"] = (origin + int(ends[0]), origin + int(ends[1]))
        return rows, max(len(every) - MOST_SELECTED, 0)

    def validate_ids(self, ids: Any) -> list[int]:
        """Return numbers of events; ValueError if they do not exist."""
        array = np.asarray(ids)
        if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
            raise ValueError(Text("event_ids_no_list", values=ids))
        most = int(self.places.first_event[-1])
        outside = array[(array < 0) | (array >= most)]
        if len(outside):
            raise ValueError(Text("no_such_event", event=outside[0], events=most))
        return [int(each) for each in array]

    def selection_of(self, value: Any) -> dict[str, Any] | None:
        """Return a selection for the front end: rows, numbers of events, or a time range."""
        if value is None:
            return None
        if is_time_range(value):
            first = self.places.origin
            return self.range_of(*range_ends(value, first, first + self.places.span))
        if isinstance(value, pd.DataFrame):
            value = value.index
        if not isinstance(value, list | pd.Index | pd.Series | np.ndarray):
            raise TypeError(Text("cannot_select_in_dataset", type=type(value).__name__))
        ids = self.validate_ids(value)
        return {"events": ids} if ids else None

    def origins_of(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        """Return the source of each event, and its number there."""
        own = self._facts.own_numbers(np.unique(np.array(ids, "i8")))
        return [(self._task_of[own[each][0]].entry.source, own[each][1]) for each in ids]

    def numbers_of(self, source: str, events: Collection[int]) -> dict[int, int]:
        """Return the number in this timeline of each event of a source that it has."""
        numbers: dict[int, int] = {}
        for number, chosen in enumerate(self._task_of):
            if chosen.entry.source == source:
                first = int(self.places.first_event[number])
                own = self.parts[number].places_of(events)
                numbers |= {event: first + place for event, place in own.items()}
        return numbers

    @property
    def lanes(self) -> int:
        """The number of lanes."""
        return len(self.places.lanes) - self.places.devices

    def range_of(self, start: int, end: int) -> dict[str, Any]:
        """Return the selection of a time range in epoch ns; ValueError if it is outside."""
        origin, last = self.places.origin, self.places.origin + self.places.span
        if end < origin or start > last:
            raise ValueError(Text("range_outside", start=start, end=end, origin=origin, last=last))
        return {"start": start - origin, "end": end - origin, "lanes": None, "step": None}

    def details(self) -> bytes:
        """Nothing, because details are requested event by event."""
        return b""

    def chunks(self, part: Part) -> Replies:
        """Yield nothing, because the rest is requested in parts."""
        raise ValueError(Text("unknown_question", kind=part))
