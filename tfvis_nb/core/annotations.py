"""Annotations of a trace: names and comments that users put on a time, a range of time or an event.

Events are identified by lane, start and name, so annotations still fit when the same trace is read again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.core.options import near
from tfvis_nb.events import TEXT
from tfvis_nb.texts import Text, text_of

KINDS = ("mark", "range", "event")

COLUMNS: dict[str, Any] = {
    "id": TEXT,
    "kind": TEXT,
    "start_ns": "int64",
    "end_ns": "int64",
    "step": "Int64",
    "lanes": "object",
    "event": "Int64",
    "event_name": TEXT,
    "name": TEXT,
    "text": TEXT,
}
"""Column name to dtype, in order.

Times are epoch nanoseconds. ``lanes`` has a list of (task, device, lane), empty for all lanes. An annotation
of an event has its row in ``trace.events`` as ``event``, missing if this trace has no such event, and its
node as ``event_name``. ``step`` is derived: the step of the event, or the one in which the annotation starts.
"""

MOST = 1000
"""Annotations of a trace."""
MOST_NAME, MOST_TEXT, MOST_ID = 200, 4000, 64
"""Characters."""
_MOST_LANES = 10_000

Row = dict[str, Any]


def build(values: Any, events: pd.DataFrame) -> pd.DataFrame:
    """Make a table of annotations of an event table.

    Parameters
    ----------
    values
        A table or a list of mappings with some of the columns of `COLUMNS`: ``name`` and either ``start_ns``
        or ``event``. The rest is derived. With ``end_ns`` it is a range, without it a mark at one time. None
        for no annotations.
    events
        The trace's events.

    Returns
    -------
    pandas.DataFrame
        With exactly the columns of `COLUMNS`, ordered by start.

    Raises
    ------
    TypeError
        If `values` is not a table, or a column is unknown.
    ValueError
        If a value is invalid for an annotation of these events; the message names the row.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> from tfvis_nb.core import annotations
    >>> table = events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"], "name": ["MatMul"]})
    >>> made = annotations.build([{"event": 0, "name": "slow"}], table)
    >>> made[["kind", "start_ns", "end_ns", "event_name", "name"]].values.tolist()
    [['event', 5, 8, 'MatMul', 'slow']]
    """
    rows = _rows(values)
    if not rows:
        return EMPTY
    if len(rows) > MOST:
        raise ValueError(Text("annotations_too_many", annotations=len(rows), most=MOST))
    known = _Known(events)
    return _table([known.given(row, number) for number, row in enumerate(rows)])


def from_json(values: Any, events: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the annotations that `to_json` wrote, and notes about those that are damaged.

    >>> from tfvis_nb import events
    >>> table, notes = from_json([{"name": 5}], events.build({}, rows=0))
    >>> len(table), [note.id for note in notes]
    (0, ['annotations_left_out'])
    """
    if not values:
        return EMPTY, []
    if not isinstance(values, list):
        return EMPTY, [Text("annotations_left_out", annotations=1, reason=f"a {type(values).__name__}")]
    known = _Known(events)
    rows: list[Row] = []
    reasons: list[str] = []
    for number, value in enumerate(values):
        try:
            if number >= MOST:
                raise ValueError(Text("annotations_too_many", annotations=len(values), most=MOST))  # noqa: TRY301
            rows.append(known.checked({str(key): value[key] for key in dict(value)}, number))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            reasons.append(text_of(error))
    if not reasons:
        return _table(rows), []
    return _table(rows), [Text("annotations_left_out", annotations=len(reasons), reason=reasons[0])]


def carried(tables: Iterable[pd.DataFrame], events: pd.DataFrame) -> pd.DataFrame:
    """Return the annotations that fit other events, such as a part of their trace.

    >>> from tfvis_nb import events
    >>> carried([EMPTY], events.build({}, rows=0)).empty
    True
    """
    return from_json([row for table in tables for row in to_json(table)], events)[0]


def divided(rows: list[Row], before: pd.DataFrame, events: pd.DataFrame) -> tuple[list[Row], list[Row]]:
    """Divide annotations of the events `before` into those that fit other events and those that do not.

    An annotation of an event fits if there is one with its lane, start and name. The others fit if both event
    tables are of the same recording, and have their lanes and times.

    >>> from tfvis_nb import events
    >>> columns = {"start_ns": [5], "duration_ns": [3], "kind": ["op"]}
    >>> table, renamed = (events.build({**columns, "name": [name]}) for name in ("MatMul", "Relu"))
    >>> rows = to_json(build([{"event": 0, "name": "slow"}], table))
    >>> [[len(part) for part in divided(rows, table, other)] for other in (table, renamed)]
    [[1, 0], [0, 1]]
    """
    known, is_same = _Known(events), _are_same(before, events)
    fitting: list[Row] = []
    others: list[Row] = []
    for number, row in enumerate(rows):
        try:
            made = known.checked(row, number)
        except ValueError:
            others.append(row)
            continue
        fits = is_same if row["event"] is None else made["event"] is not None
        (fitting if fits else others).append(made if fits else row)
    return fitting, others


def _are_same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether events are of one recording: the first and the last of the smaller table are in both."""
    smaller, larger = sorted((one, other), key=len)
    known = _Known(larger)
    ends = [smaller.iloc[row] for row in (0, -1)] if len(smaller) else []
    events = [known.find(int(each["start_ns"]), [_place(each)], str(each["name"]), None) for each in ends]
    return bool(events) and None not in events


def to_json(table: pd.DataFrame) -> list[Row]:
    """Return annotations as plain values: whole numbers, texts, lists and None.

    >>> to_json(EMPTY)
    []
    """
    return [
        {name: None if value is pd.NA else value for name, value in zip(COLUMNS, row, strict=True)}
        for row in table.astype(object).itertuples(index=False, name=None)
    ]


def _rows(values: Any) -> list[Row]:
    if values is None:
        return []
    if isinstance(values, pd.DataFrame):
        values = values.astype(object).to_dict("records")
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise TypeError(Text("annotations_no_table", values=values))
    rows = list(values)
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(Text("annotation_no_mapping", row=number, value=row))
        for name in map(str, row):
            if name not in COLUMNS:
                hint = near(name, COLUMNS) or "."
                columns = ", ".join(COLUMNS)
                raise TypeError(Text("annotation_column", row=number, name=name, hint=hint, columns=columns))
    return [{name: None if _is_missing(value) else value for name, value in row.items()} for row in rows]


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


class _Known:
    """Checks annotations against the events of their trace."""

    def __init__(self, events: pd.DataFrame) -> None:
        self._events = events
        self._start = events["start_ns"].to_numpy()
        self._origin = int(self._start[0]) if len(events) else 0
        self._end = int((self._start + events["duration_ns"].to_numpy()).max()) if len(events) else 0
        lanes = events[["task", "device", "lane"]].drop_duplicates().astype(str)
        self._lanes = set(lanes.itertuples(index=False, name=None))
        self._ids: set[str] = set()

    def given(self, given: Row, row: int) -> Row:
        """Return what `checked` does; ValueError if a user's annotation is of a step that the trace lacks."""
        made = self.checked(given, row)
        step = _whole(given, "step", row)
        if step not in (None, made["step"]) and step not in self._spans.index:
            raise ValueError(Text("annotation_step", row=row, step=step))
        return made

    def checked(self, given: Row, row: int) -> Row:
        """Return all columns of an annotation, or raise ValueError about its `row`."""
        made: Row = dict.fromkeys(COLUMNS)
        made["name"] = _text(given, "name", MOST_NAME, row).strip()
        if not made["name"]:
            raise ValueError(Text("annotation_without_name", row=row))
        made["text"] = _text(given, "text", MOST_TEXT, row)
        made["event_name"] = _text(given, "event_name", None, row)
        made["lanes"] = self._checked_lanes(given.get("lanes"), row)
        kind = given.get("kind")
        if kind is not None and kind not in KINDS:
            raise ValueError(Text("annotation_kind", row=row, kind=kind, kinds=", ".join(KINDS)))
        event = _whole(given, "event", row)
        start, end = _whole(given, "start_ns", row), _whole(given, "end_ns", row)
        if start is not None and (given.get("event_name") is not None or kind == "event") and event != -1:
            # The table may come from another reading of the file.
            event = self.find(start, made["lanes"], made["event_name"], event)
        if event is not None:
            made |= self._facts(event, row)
        elif start is None:
            raise ValueError(Text("annotation_without_time", row=row))
        else:
            made |= {"start_ns": start, "end_ns": start if end is None else end}
            made["step"] = self._step_at(start)
            made["kind"] = kind or ("mark" if end in (None, start) else "range")
            self._check_times(made, row)
        made["id"] = self._unused(_text(given, "id", MOST_ID, row))
        return made

    def find(self, start: int, lanes: list[Any], name: str, event: int | None) -> int | None:
        """Return the event with this start, lane and name; if there are several, the one with this number."""
        first, last = np.searchsorted(self._start, [start, start + 1])
        rows = [row for row in range(int(first), int(last)) if self._is_it(row, lanes, name)]
        return event if event in rows else next(iter(rows), None)

    def _is_it(self, row: int, lanes: list[Any], name: str) -> bool:
        event = self._events.iloc[row]
        return str(event["name"]) == name and [_place(event)] == lanes

    def _facts(self, event: int, row: int) -> Row:
        if not 0 <= event < len(self._events):
            raise ValueError(Text("annotation_event", row=row, event=event, events=len(self._events)))
        row_of_event = self._events.iloc[event]
        start = int(row_of_event["start_ns"])
        return {
            "kind": "event",
            "event": event,
            "event_name": str(row_of_event["name"]),
            "start_ns": start,
            "end_ns": start + int(row_of_event["duration_ns"]),
            "step": int(row_of_event["step"]) if row_of_event["step"] >= 0 else None,
            "lanes": [_place(row_of_event)],
        }

    def _step_at(self, time: int) -> int | None:
        """Return the step that runs at a time, the first of several; None outside steps."""
        running = self._spans[(self._spans["first"] <= time) & (time < self._spans["last"])]
        return next(iter(running.index.to_list()), None)

    @cached_property
    def _spans(self) -> pd.DataFrame:
        """The start and the end of each step."""
        steps = self._events["step"].to_numpy()
        spans = pd.DataFrame({"first": self._start, "last": self._start + self._events["duration_ns"]})
        return spans.groupby(steps).agg({"first": "min", "last": "max"}).query("index >= 0")

    def _check_times(self, made: Row, row: int) -> None:
        start, end = made["start_ns"], made["end_ns"]
        if end < start:
            raise ValueError(Text("annotation_reversed", row=row, start=start, end=end))
        if end < self._origin or start > self._end or end - start > 2**62:
            origin, last = self._origin, self._end
            raise ValueError(
                Text("annotation_outside", row=row, start=start, end=end, origin=origin, last=last)
            )

    def _checked_lanes(self, lanes: Any, row: int) -> list[tuple[str, str, str]]:
        if lanes is None:
            return []
        if not isinstance(lanes, list | tuple | np.ndarray):
            raise ValueError(Text("annotation_lanes", row=row, lanes=lanes))  # noqa: TRY004 - one error for all
        places: list[tuple[str, ...]] = []
        for lane in lanes:
            is_names = isinstance(lane, list | tuple | np.ndarray)
            places.append(tuple(str(part) for part in lane) if is_names else ())
            if places[-1] not in self._lanes:
                raise ValueError(Text("annotation_lanes", row=row, lanes=list(lane) if is_names else lane))
        if len(places) > _MOST_LANES:
            raise ValueError(Text("annotation_lanes", row=row, lanes=list(places[0])))
        return [(task, device, lane) for task, device, lane in places]

    def _unused(self, name: str) -> str:
        """Return an unused id."""
        if not name or name in self._ids:
            name = uuid.uuid4().hex[:12]
        self._ids.add(name)
        return name


def _place(event: pd.Series) -> tuple[str, str, str]:
    return (str(event["task"]), str(event["device"]), str(event["lane"]))


def _text(given: Row, column: str, most: int | None, row: int) -> str:
    value = given.get(column)
    if value is None:
        return ""
    if not isinstance(value, str) or (most is not None and len(value) > most):
        size = len(value) if isinstance(value, str) else type(value).__name__
        raise ValueError(Text("annotation_text", row=row, column=column, most=most, size=size))
    # A lone surrogate cannot be written to a file.
    return value.encode("utf-8", "replace").decode("utf-8")


def _whole(given: Row, column: str, row: int) -> int | None:
    value = given.get(column)
    if value is None:
        return None
    is_whole = isinstance(value, int | np.integer) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole or not abs(value) < 2**63:
        raise ValueError(Text("annotation_number", row=row, column=column, value=value))
    return int(value)


def _table(rows: list[Row]) -> pd.DataFrame:
    rows = sorted(rows, key=lambda row: (row["start_ns"], row["end_ns"]))
    columns = {name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in COLUMNS.items()}
    return pd.DataFrame(columns)


EMPTY = _table([])
"""A table without rows."""
