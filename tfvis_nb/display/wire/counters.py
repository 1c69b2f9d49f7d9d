"""Counters in the timeline: a track for each series.

``js/model/wire/counters.ts`` reads it.
"""

from typing import NamedTuple, NotRequired, TypedDict

import numpy as np
import pandas as pd

from tfvis_nb.analysis.time_series import counter_statistics
from tfvis_nb.core.counters import SERIES, series_starts, within
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.display.wire.lane_times import length_column

MOST_TRACKS = 100
"""If there are more series, only the first are drawn."""
MOST_VALUES = 1_000_000
"""If there are more values in total, each time bucket only sends those that draw the same line."""
_PER_BUCKET = 4


class CounterHeader(TypedDict):
    """A series of a counter; times in ns from the origin."""

    task: str
    device: str  # It may have no lanes
    counter: str
    series: str
    unit: str  # Such as "bytes" or "%"; empty if unknown
    least: float  # Of all values
    most: float
    at: int  # The time of the first maximum
    first: int  # The time of the first value here
    reduced: NotRequired[bool]  # Whether values are left out


class CounterFigures(TypedDict):
    """Figures of a series in a range of time; the mean is weighted by time."""

    least: float
    mean: float
    most: float


class CounterTracks(NamedTuple):
    """The tracks of a trace with their columns, ``counter_0_gap`` and so on; `unsent` series have none."""

    header: list[CounterHeader]
    columns: dict[str, WireColumn]
    unsent: int = 0


def counter_tracks(
    trace: Trace, start: int | None = None, end: int | None = None, *, most_values: int = MOST_VALUES
) -> CounterTracks:
    """Return the tracks of a trace, with their values from `start` to `end` (ns from the origin), or all."""
    tracks_sent = CounterTracks([], {})
    shown = _numbered(trace)
    if not len(shown):
        return tracks_sent
    origin = origin_ns(trace.events)
    last = int((trace.events["start_ns"] + trace.events["duration_ns"]).max()) - origin
    shown = shown.assign(time_ns=shown["time_ns"] - origin)
    part = within(shown, 0 if start is None else start, last if end is None else end)
    tracks = int(shown["track"].iloc[-1]) + 1
    buckets = max(most_values // (_PER_BUCKET * tracks), 1) if len(part) > most_values else 0
    ends = np.searchsorted(part["track"].to_numpy(), np.arange(tracks + 1))
    whole = np.searchsorted(shown["track"].to_numpy(), np.arange(tracks + 1))
    times, values = part["time_ns"].to_numpy(), part["value"].to_numpy()
    all_times, all_values = shown["time_ns"].to_numpy(), shown["value"].to_numpy()
    for track in range(tracks):
        own, every = slice(*ends[track : track + 2]), slice(*whole[track : track + 2])
        time, value = times[own], values[own]
        if buckets:
            kept = reduced(time, value, buckets)
            time, value = time[kept], value[kept]
        task, device, counter, series, unit = (str(shown[name].iloc[every.start]) for name in SERIES)
        levels = all_values[every]
        header: CounterHeader = {
            "task": task,
            "device": device,
            "counter": counter,
            "series": series,
            "unit": unit,
            "least": float(levels.min()),
            "most": float(levels.max()),
            "at": int(all_times[every][levels.argmax()]),
            "first": int(time[0]) if len(time) else 0,
        }
        if len(time) < own.stop - own.start:
            header["reduced"] = True
        tracks_sent.header.append(header)
        gap = np.diff(time, prepend=time[:1])
        tracks_sent.columns[f"counter_{track}_gap"] = length_column(gap)
        tracks_sent.columns[f"counter_{track}_level"] = _levels(value)
    return tracks_sent._replace(unsent=len(series_starts(trace.counters)) - tracks)


def counter_bytes(trace: Trace, start: int, end: int, *, most_values: int) -> bytes:
    """Write `counter_tracks` as a separate container, for a front end that holds parts of a trace."""
    tracks = counter_tracks(trace, start, end, most_values=most_values)
    header = {"counters": tracks.header, "counters_unsent": tracks.unsent}
    return pack(header, tracks.columns)


def counter_figures(trace: Trace, start: float, end: float) -> list[CounterFigures | None]:
    """Return the figures of each track from `start` to `end` (ns from the origin)."""
    shown = _numbered(trace)
    if not len(shown):
        return []
    origin = origin_ns(trace.events)
    statistics = counter_statistics(trace, (origin + round(start), origin + round(end)))
    by_series: dict[tuple[str, ...], CounterFigures] = {}
    for *key, least, mean, most in zip(
        *(statistics[name] for name in (*SERIES, "least", "mean", "most")), strict=True
    ):
        by_series[tuple(map(str, key))] = {"least": least, "mean": mean, "most": most}
    names = shown.take(series_starts(shown))[list(SERIES)].itertuples(index=False, name=None)
    return [by_series.get(tuple(map(str, name))) for name in names]


def _numbered(trace: Trace) -> pd.DataFrame:
    """Return the drawn counters, with the track number of each value."""
    table = trace.counters
    if not len(table) or not len(trace.events):
        return pd.DataFrame()
    first = series_starts(table)
    track = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(table))))
    return table.assign(track=track)[track < MOST_TRACKS]


def reduced(time: np.ndarray, value: np.ndarray, buckets: int) -> np.ndarray:
    """Return the indexes of the first, last, lowest and highest value in each of `buckets` parts of the time.

    A line through these has the same pixels as a line through all values, if no pixel is narrower than a
    part: M4 (Jugel et al., VLDB 2014).
    """
    if len(time) <= _PER_BUCKET * buckets:
        return np.arange(len(time))
    part = ((time - time[0]) * (buckets / (int(time[-1] - time[0]) + 1))).astype(np.int64)
    heads = np.flatnonzero(np.diff(part, prepend=-1))
    lasts = np.append(heads[1:], len(time)) - 1
    by_value = np.lexsort((value, part))
    kept: np.ndarray = distinct_numbers(np.concatenate([heads, lasts, by_value[heads], by_value[lasts]]))
    return kept


def _levels(value: np.ndarray) -> WireColumn:
    """Store values; neighbouring whole numbers differ little."""
    is_small = (value == np.floor(value)) & (value >= 0) & (value < 2**32)
    return WireColumn(value.astype("u4"), "delta-shuffle") if is_small.all() else WireColumn(value)
