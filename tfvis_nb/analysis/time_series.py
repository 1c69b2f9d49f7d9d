"""Values over time: recorded counters, and buffer levels derived from events."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.input.stage_calls import stage_calls
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core import counters as counter_table
from tfvis_nb.core.time_ranges import TimeRange, range_ends
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "value": "The value of a series starting with time_ns, until its next value; its last one lasts until "
    "the last event of the trace ends. For a tf.data buffer: the elements in it when it was called.",
    "least": "The smallest value that a series has at some time of the range.",
    "mean": "Time-weighted mean of a series: sum of value * its time in the range / the time of the "
    "range in which it has a value; the value itself if that is 0 ns.",
    "most": "The largest value that a series has at some time of the range.",
    "changes": "Number of values of a series in the range, with the one that lasts when the range starts.",
}

_SUMMARY = {
    **dict.fromkeys(counter_table.SERIES, "category"),
    "changes": "int64",
    "least": "float64",
    "mean": "float64",
    "most": "float64",
}
COUNTER = "tf.data buffer"


@validate_input
def counters(trace: Trace) -> pd.DataFrame:
    """Return values over time that are not events: recorded counters, and the fill of tf.data's buffers.

    Parameters
    ----------
    trace
        Any trace. Chrome traces have counters as events ``"ph": "C"``; profiles have them if a device was
        sampled or a tf.data pipeline has buffers.

    Returns
    -------
    pandas.DataFrame
        One row per value: ``task``, ``device``, ``counter``, ``series``, ``unit`` (category; empty if
        unknown), ``time_ns`` (int64 epoch nanoseconds) and ``value`` (float64), ordered by series and time.
        `cannot_say` if there are none.

    Examples
    --------
    >>> from tfvis_nb.analysis import counters
    >>> from tfvis_nb import read_trace
    >>> bar = b'{"ph": "X", "name": "work", "ts": 5, "dur": 9}'
    >>> value = b'{"ph": "C", "name": "queue", "ts": 5, "args": {"size": 3}}'
    >>> result = counters(read_trace(b"[" + bar + b"," + value + b"]"))
    >>> result[["counter", "series", "time_ns", "value"]].values.tolist()
    [['queue', 'size', 5000, 3.0]]
    """
    table = counter_table.joined([trace.recorded_counters, buffer_fill(trace)])
    return table if len(table) else cannot_say(counter_table.COLUMNS, Text("no_counters"))


@validate_input
def counter_statistics(trace: Trace, time_range: TimeRange | None = None) -> pd.DataFrame:
    """Return the minimum, mean and maximum of each counter series in a time range.

    Parameters
    ----------
    trace
        Any trace; see `counters`.
    time_range
        Such as ``"10ms:25ms"``, as in `tfvis_nb.Trace.between`; None for the whole trace, from the first
        start to the last end.

    Returns
    -------
    pandas.DataFrame
        One row per series with a value in the range: ``task``, ``device``, ``counter``, ``series``, ``unit``
        (category), ``changes`` (int64), ``least``, ``mean`` and ``most`` (float64) as in `FIGURES`.
        `cannot_say` if the trace has no counters.

    Raises
    ------
    ValueError
        If `time_range` is no range.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import counter_statistics
    >>> from tfvis_nb.core.counters import build
    >>> queue = build({"counter": ["queue"] * 2, "time_ns": [0, 6], "value": [5, 1]})
    >>> table = events.build({"start_ns": [0], "duration_ns": [8], "kind": ["host"]})
    >>> counter_statistics(Trace(table, recorded_counters=queue))[["least", "mean", "most"]].values.tolist()
    [[1.0, 4.0, 5.0]]
    """
    table = counters(trace)
    if not len(table):
        return cannot_say(_SUMMARY, Text("no_counters"))
    start, end = _whole(trace) if time_range is None else range_ends(time_range, *_whole(trace))
    part = counter_table.within(table, start, end)
    if not len(part):
        none = part["value"].to_numpy()
        return part[list(counter_table.SERIES)].assign(changes=0, least=none, mean=none, most=none)
    first = counter_table.series_starts(part)
    changes = np.diff(np.append(first, len(part)))
    time, value = part["time_ns"].to_numpy(), part["value"].to_numpy()
    until = np.append(time[1:], end)
    until[np.append(first[1:] - 1, -1)] = end
    lasts = (until - time).astype(np.float64)
    known = np.add.reduceat(lasts, first)
    least, most = np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)
    # Scale by the largest value, so that sums stay finite.
    scale = np.maximum(np.abs(least), np.abs(most))
    scale[scale == 0] = 1
    share = value / np.repeat(scale, changes) * lasts / np.repeat(np.maximum(known, 1), changes)
    mean = np.where(known > 0, np.add.reduceat(share, first) * scale, value[first])
    series = part[list(counter_table.SERIES)].take(first).reset_index(drop=True)
    # Rounding must not take the mean beyond the values.
    return series.assign(changes=changes, least=least, mean=np.clip(mean, least, most), most=most)


def _whole(trace: Trace) -> tuple[int, int]:
    events = trace.events
    end = (events["start_ns"] + events["duration_ns"]).max()
    return (int(events["start_ns"].iloc[0]), int(end)) if len(events) else (0, 0)


@validate_input
def buffer_fill(trace: Trace) -> pd.DataFrame:
    """Return the number of elements in the buffer of each stage at each call, as a table of counters.

    Stages with the same name in several datasets get the dataset appended.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 5], "kind": ["host"] * 2,
    ...                       "name": ["Iterator::Root::Prefetch"] * 2,
    ...                       "detail": ["buffered_elements=2", "buffered_elements=0"]})
    >>> buffer_fill(Trace(table))[["series", "time_ns", "value"]].values.tolist()
    [['Root::Prefetch', 0, 2.0], ['Root::Prefetch', 9, 0.0]]
    """
    calls = stage_calls(trace)
    calls = calls[calls["buffered"].notna()]
    if calls.empty:
        return counter_table.EMPTY.copy()
    datasets = calls.groupby(["task", "device", "stage"], dropna=False)["dataset"].transform("nunique")
    several = calls["stage"] + " " + calls["dataset"]
    return counter_table.build(
        {
            "task": calls["task"],
            "device": calls["device"],
            "counter": [COUNTER] * len(calls),
            "series": calls["stage"].where(datasets <= 1, several),
            "unit": ["elements"] * len(calls),
            "time_ns": calls["start_ns"],
            "value": calls["buffered"],
        }
    )
