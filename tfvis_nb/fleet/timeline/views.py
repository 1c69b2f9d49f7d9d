"""Views of a dataset's timeline."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfvis_nb.display.shaping.views import Views
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.timeline.source import DatasetSource
from tfvis_nb.texts import Text


class DatasetViews(Views):
    """Converts views of a part of a dataset.

    The numbers of events in a timeline depend on the chosen tasks and steps. Views name an event by its
    source and its number there instead, which are the same in every timeline of the dataset.
    """

    def __init__(self, source: DatasetSource) -> None:
        self._source = source
        self._places = source.places
        super().__init__(self._places.origin, self._places.origin + self._places.span)

    def recorded_time(self, drawn: int) -> int:
        """Add the origin."""
        return self._places.origin + drawn

    def drawn_time(self, time: int) -> int:
        """Subtract the origin."""
        return time - self._places.origin

    def recorded_selection(self, selection: dict[str, Any] | None) -> Any:
        """Return a list of (source, event), or a range in epoch nanoseconds."""
        if selection is None:
            return None
        if "events" in selection:
            return self._source.origins_of(selection["events"]) or None
        return tuple(self.recorded_time(int(selection[end])) for end in ("start", "end"))

    def drawn_selection(self, value: Any) -> dict[str, Any] | None:
        """Take the same, or what `DatasetTimeline.selection` takes."""
        if isinstance(value, list) and value and isinstance(value[0], Sequence):
            value = self._numbers(value)
        return self._source.selection_of(value)

    def _numbers(self, events: Sequence[Any]) -> list[int]:
        of_source: dict[str, set[int]] = {}
        for source, event in filter(_is_event, events):
            of_source.setdefault(source, set()).add(event)
        known = {source: self._source.numbers_of(source, own) for source, own in of_source.items()}
        for event in events:
            if not _is_event(event) or event[1] not in known[event[0]]:
                expected = "a list of (source, event) of this timeline"
                raise ValueError(Text("view_value", name="selection", value=event, expected=expected))
        return [known[source][event] for source, event in events]

    def lanes(self) -> Iterable[tuple[str, str, str]]:
        """Those of the chosen tasks."""
        table = self._places.lanes[: len(self._places.lanes) - self._places.devices]
        return table[["task", "device", "lane"]].itertuples(index=False, name=None)

    def extent(self, step: int | None) -> tuple[int, int] | None:
        """Find the step by its number in the dataset."""
        if step is None:
            return 0, self._places.span
        steps = self._places.steps
        own = steps[(steps["step"] == step) & (step != NO_STEP)]
        return None if own.empty else (int(own["start"].iloc[0]), int(own["end"].iloc[0]))


def _is_event(value: Any) -> bool:
    is_pair = isinstance(value, Sequence) and len(value) == 2
    return (
        is_pair
        and isinstance(value[0], str)
        and isinstance(value[1], int | np.integer)
        and not isinstance(value[1], bool)
    )
