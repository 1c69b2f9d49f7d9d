"""A timeline's selection, converted between the front end's form and the Python user's.

The front end (``Selection`` in ``js/model/types.ts``) holds ``None``, ``{"events": [event ids]}``
or a range ``{"start", "end", "lanes", "step"}`` in nanoseconds from the trace's
earliest start. Python users get and pass rows of ``trace.events``.
"""

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype

from tfvis_nb.analysis.events.lane_order import LaneOrder
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.time_ranges import is_time_range, recorded_range
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.shaping.gap_compression import shown_range
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.events import COLUMNS, NO_STEP
from tfvis_nb.texts import Text

Selection = dict[str, Any]

_FARTHEST = 2**62


def selected_rows(events: pd.DataFrame, lanes: LaneOrder, selection: Selection | None) -> pd.DataFrame:
    """Return the rows of `events` for a checked selection of the front end.

    For a range, these are the rows that overlap it, with its ends in epoch ns as
    ``attrs["range_ns"]``. A range counts lanes by their index in `lanes`; in a step it has events outside
    steps as well.
    """
    if selection is None:
        return events.iloc[:0]
    if "events" in selection:
        return events.take(selection["events"])
    origin = origin_ns(events)
    first, last = selection["start"], selection["end"]
    inside = is_inside(events["start_ns"].to_numpy() - origin, events["duration_ns"].to_numpy(), first, last)
    if selection["lanes"] is not None:
        inside &= np.isin(lanes.of_event, selection["lanes"])
    if selection["step"] is not None:
        inside &= np.isin(events["step"].to_numpy(), [selection["step"], NO_STEP])
    rows = events.take(np.flatnonzero(inside))
    rows.attrs["range_ns"] = (origin + int(first), origin + int(last))
    return rows


def validate_selection(events: pd.DataFrame, lanes: LaneOrder, selection: Any) -> Selection | None:
    """Return a selection from the front end, or raise ValueError if it does not fit this trace."""
    if selection is None:
        return None
    if isinstance(selection, dict) and set(selection) == {"events"}:
        return {"events": _validate_ids(events, selection["events"])}
    return validate_drawn_range(selection, len(lanes.table))


def validate_drawn_range(selection: Any, lanes: int) -> Selection:
    """Return a range from the front end, or raise ValueError; `lanes` is the number of lanes."""
    if not isinstance(selection, dict) or set(selection) != {"start", "end", "lanes", "step"}:
        raise ValueError(Text("no_selection", selection=selection))
    start, end, chosen, step = (selection[name] for name in ("start", "end", "lanes", "step"))
    if not is_drawn_time(start) or not is_drawn_time(end) or start > end:
        raise ValueError(Text("range_of_other_types", start=start, end=end))
    if chosen is not None and not are_lanes(chosen, lanes):
        raise ValueError(Text("no_such_lanes", chosen=chosen, most=lanes))
    if step is not None and type(step) is not int:
        raise ValueError(Text("no_selection", selection=selection))
    return selection


def is_drawn_time(value: Any) -> bool:
    """Return whether a value from the front end can be a time in nanoseconds.

    >>> is_drawn_time(-0.5), is_drawn_time(float("inf")), is_drawn_time("5")
    (True, False, False)
    """
    return type(value) in (int, float) and abs(value) < _FARTHEST


def are_lanes(value: Any, lanes: int) -> bool:
    """Return whether a value from the front end is a list of numbers of lanes, of which there are `lanes`.

    >>> are_lanes([0, 1], 2), are_lanes([2], 2), are_lanes([[]], 2)
    (True, False, False)
    """
    return isinstance(value, list) and all(type(each) is int and 0 <= each < lanes for each in value)


def selection_of(events: pd.DataFrame, value: Any) -> Selection | None:
    """Convert a Python user's selection to the front end's form; ValueError if it is not of this trace.

    `value` may be rows of `events`, or of a table with their ids in a column ``event``, such as
    ``trace.transfers``; a boolean mask over `events`; event ids (a list, array or index); a time range,
    ``"10ms:25ms"`` or a tuple of two times; or None.
    """
    if value is None:
        return None
    if is_time_range(value):
        return _range(events, value)
    if isinstance(value, pd.DataFrame):
        ids = _ids_of_rows(events, value)
    elif isinstance(value, pd.Series | np.ndarray | pd.api.extensions.ExtensionArray) and is_bool_dtype(
        value.dtype
    ):
        ids = _masked(events, value)
    elif isinstance(value, pd.Series) and value.name in COLUMNS:
        raise ValueError(Text("column_selected", name=value.name))
    elif isinstance(value, list | pd.Series | pd.Index | np.ndarray | pd.api.extensions.ExtensionArray):
        ids = _validate_ids(events, value)
    else:
        raise ValueError(Text("cannot_select", type=type(value).__name__, value=value))
    return {"events": ids} if ids else None


def drawn_selection(trace: Trace, shown: Trace, value: Any) -> Selection | None:
    """Convert what `selection_of` takes, in times of `trace`; `shown` has them as drawn."""
    if is_time_range(value):
        ends = recorded_range(trace.events, value)
        return selection_of(shown.events, shown_range(trace, shown, ends))
    return selection_of(trace.events, value)


def _ids_of_rows(events: pd.DataFrame, table: pd.DataFrame) -> list[int]:
    """Return the event ids of a table's rows; ValueError if it belongs to another trace."""
    known = [name for name in table.columns if name in COLUMNS]
    by_column = "event" in table.columns
    if not by_column and (not known or "events" in table.columns):
        names = ", ".join(map(str, table.columns[:6]))
        raise ValueError(Text("table_selected", columns=names or "no columns"))
    ids = _validate_ids(events, table["event"] if by_column else table.index)
    # The start identifies rows; a table without it, such as trace.edges, must agree in its columns.
    compared = ["start_ns"] if "start_ns" in known else [] if by_column else known
    for name in compared:
        given, recorded = table[name], events[name].take(ids)
        if name != "start_ns":
            given, recorded = given.astype(str), recorded.astype(str)
        if not np.array_equal(given.to_numpy(), recorded.to_numpy()):
            raise ValueError(Text("rows_of_another_trace", column=name))
    return ids


def _masked(events: pd.DataFrame, mask: Any) -> list[int]:
    if len(mask) != len(events):
        raise ValueError(Text("mask_length", mask=len(mask), events=len(events)))
    if isinstance(mask, pd.Series) and not mask.index.equals(events.index):
        if not mask.index.sort_values().equals(events.index):
            raise ValueError(Text("mask_index"))
        mask = mask.reindex(events.index)
    chosen: list[int] = np.flatnonzero(pd.array(mask, dtype="boolean").fillna(value=False)).tolist()
    return chosen


def _validate_ids(events: pd.DataFrame, values: Any) -> list[int]:
    array = np.asarray(values)
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise ValueError(Text("event_ids_no_list", values=values))
    outside = array[(array < 0) | (array >= len(events))]
    if len(outside):
        raise ValueError(Text("no_such_event", event=outside[0], events=len(events)))
    ids: list[int] = array.tolist()
    return ids


def _range(events: pd.DataFrame, ends: tuple[Any, ...]) -> Selection:
    start, end = recorded_range(events, ends)
    origin = origin_ns(events)
    return {"start": start - origin, "end": end - origin, "lanes": None, "step": None}
