"""The user's own tracks, drawn below the lanes: bars, or values over time.

The front end (``OwnTrack`` in ``js/model/wire/own_tracks.ts``) has times in nanoseconds since the earliest
start drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.row_packing import pack_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.shaping.gap_compression import moved_time
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.texts import Text

MOST_ROWS = 20_000
"""Limit on the rows of all tracks of a timeline."""
_MOST_NAME = 200
_BARS = {"start_ns", "duration_ns", "end_ns", "name"}
_VALUES = {"time_ns", "value", "unit"}
_FARTHEST = 2**62


class OwnTrack(NamedTuple):
    """A track, ordered by `start` (epoch ns): bars have `duration` and `names`, values `value` and `unit`."""

    name: str
    start: np.ndarray
    duration: np.ndarray | None
    names: list[str]
    value: np.ndarray | None
    unit: str

    @property
    def rows(self) -> np.ndarray:
        """The row of each bar: overlapping bars are in different rows."""
        duration = np.zeros_like(self.start) if self.duration is None else self.duration
        return pack_rows(self.start, duration, np.array([len(self.start)]))

    def reaches(self, first: int, last: int) -> bool:
        """Return whether a row lies within times (epoch ns), at least partly."""
        ends = self.start if self.duration is None else self.start + self.duration
        return bool(((self.start <= last) & (ends >= first)).any())

    @property
    def table(self) -> pd.DataFrame:
        """A table that makes the same track."""
        if self.duration is not None:
            columns = {"start_ns": self.start, "duration_ns": self.duration, "name": self.names}
            return pd.DataFrame(columns)
        return pd.DataFrame({"time_ns": self.start, "value": self.value, "unit": self.unit})


def checked_tracks(tables: Any, trace: Trace) -> dict[str, OwnTrack]:
    """Return tracks of a trace by name; TypeError or ValueError names an invalid value."""
    if tables is None:
        return {}
    if not isinstance(tables, Mapping):
        raise TypeError(Text("tracks_no_dict", tracks=tables))
    checked = {}
    for name, table in tables.items():
        if not isinstance(name, str) or not name.strip() or len(name) > _MOST_NAME:
            raise ValueError(Text("track_name", name=name, most=_MOST_NAME))
        checked[name] = table if isinstance(table, OwnTrack) else _checked(name, table, trace)
    rows = sum(len(track.start) for track in checked.values())
    if rows > MOST_ROWS:
        raise ValueError(Text("too_many_track_rows", rows=rows, most=MOST_ROWS))
    return checked


def drawn_tracks(tracks: Mapping[str, OwnTrack], trace: Trace, shown: Trace) -> list[dict[str, Any]]:
    """Return tracks for the front end; `shown` has the events of the trace, or of a part, as drawn."""
    origin = origin_ns(shown.events)

    def moved(times: np.ndarray) -> list[int]:
        return [moved_time(trace, shown, time) - origin for time in times.tolist()]

    drawn: list[dict[str, Any]] = []
    for track in tracks.values():
        start = moved(track.start)
        if track.value is not None:
            drawn.append(
                {"name": track.name, "unit": track.unit, "times": start, "values": track.value.tolist()}
            )
            continue
        ends = moved(track.start + track.duration)
        lengths = [end - begin for begin, end in zip(start, ends, strict=True)]
        bars = {"starts": start, "lengths": lengths, "names": track.names, "rows": track.rows.tolist()}
        drawn.append({"name": track.name, **bars})
    return drawn


def _checked(name: str, table: Any, trace: Trace) -> OwnTrack:
    if isinstance(table, Mapping | list):
        try:
            if isinstance(table, list) and not all(isinstance(row, Mapping) for row in table):
                raise ValueError("its rows are not dicts of columns")  # noqa: TRY301
            table = pd.DataFrame(table)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(Text("track_unreadable", name=name, reason=_reason(table, error))) from error
    if not isinstance(table, pd.DataFrame):
        raise TypeError(Text("track_no_table", name=name, type=type(table).__name__))
    names = [str(column) for column in table.columns]
    columns = {*names}
    is_values = "time_ns" in columns
    known, needed = (_VALUES, {"time_ns", "value"}) if is_values else (_BARS, {"start_ns"})
    has_length = is_values or len(columns & {"duration_ns", "end_ns"}) == 1
    if not needed <= columns <= known or not has_length or len(columns) < len(names):
        raise ValueError(Text("track_columns", name=name, columns=", ".join(sorted(names)) or "no columns"))
    table = table.reset_index(drop=True)
    start = _times(name, table, "time_ns" if is_values else "start_ns")
    order = np.argsort(start, kind="stable")
    if is_values:
        value = _numbers(table["value"]).to_numpy(np.float64, na_value=np.nan)
        _refuse(name, table, "value", ~np.isfinite(value), "a finite number")
        units = sorted(set(_texts(table, "unit")))
        if len(units) > 1:
            raise ValueError(Text("track_units", name=name, units=", ".join(units)))
        track = OwnTrack(name, start[order], None, [], value[order], next(iter(units), ""))
    else:
        column = "end_ns" if "end_ns" in columns else "duration_ns"
        length = _times(name, table, column) - (start if column == "end_ns" else 0)
        expected = "not before start_ns" if column == "end_ns" else "0 or more"
        _refuse(name, table, column, length < 0, expected)
        names = _texts(table, "name")
        track = OwnTrack(name, start[order], length[order], [names[at] for at in order], None, "")
    _check_place(track, trace)
    return track


def _reason(table: Any, error: Exception) -> object:
    """Return why data are no table, in words of the user's instead of pandas' arrays and indices."""
    columns = table.values() if isinstance(table, Mapping) else ()
    lengths = {len(column) for column in columns if pd.api.types.is_list_like(column)}
    if columns and not lengths:
        return "its columns are single values, not lists"
    return "its columns have different lengths" if len(lengths) > 1 else error


def _times(name: str, table: pd.DataFrame, column: str) -> np.ndarray:
    numbers = _numbers(table[column])
    if pd.api.types.is_bool_dtype(table[column].dtype):
        numbers = numbers * np.nan
    values = numbers.to_numpy(np.float64, na_value=np.nan)
    _refuse(name, table, column, ~np.isfinite(values), "a whole number of nanoseconds")
    _refuse(name, table, column, np.abs(values) >= _FARTHEST, "nanoseconds between -2**62 and 2**62")
    # Not through float64, which cannot hold today's nanoseconds exactly.
    exact = pd.api.types.is_integer_dtype(numbers.dtype)
    nanoseconds: np.ndarray = numbers.to_numpy(np.int64) if exact else np.rint(values).astype(np.int64)
    return nanoseconds


def _numbers(column: pd.Series) -> pd.Series:
    """Return a column as numbers; complex ones, which lose a part as floats, and other values are missing."""
    if pd.api.types.is_complex_dtype(column.dtype):
        return pd.Series(np.nan, column.index)
    numbers: pd.Series = pd.to_numeric(column, errors="coerce")
    return pd.Series(np.nan, column.index) if pd.api.types.is_complex_dtype(numbers.dtype) else numbers


def _texts(table: pd.DataFrame, column: str) -> list[str]:
    if column not in table:
        return [""] * len(table) if column == "name" else []
    texts = table[column].astype(object).where(table[column].notna(), "")
    # A lone surrogate cannot be encoded in a page.
    return [str(text)[:1000].encode("utf-8", "replace").decode("utf-8") for text in texts]


def _refuse(name: str, table: pd.DataFrame, column: str, wrong: np.ndarray, expected: str) -> None:
    if not wrong.any():
        return
    row = int(np.flatnonzero(wrong)[0])
    value = table[column].iloc[row]
    raise ValueError(
        Text("track_value", name=name, column=column, row=row, value=str(value)[:60], expected=expected)
    )


def _check_place(track: OwnTrack, trace: Trace) -> None:
    """Refuse a track outside the trace's times, such as one in seconds."""
    events = trace.events
    if not len(events) or not len(track.start):
        return
    first, last = origin_ns(events), int((events["start_ns"] + events["duration_ns"]).max())
    if not track.reaches(first, last):
        raise ValueError(Text("track_outside", name=track.name, first=first, last=last))
