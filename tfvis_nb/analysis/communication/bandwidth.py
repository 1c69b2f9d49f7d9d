"""Bandwidth over time, of the network and between hosts and devices."""

from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

Channel = Literal["direction", "device", "task"]
CHANNELS = get_args(Channel)
"""The groups of `bandwidth`."""

FIGURES: dict[str, str] = {
    "moving": "Number of tensors and copies that move at once.",
    "bandwidth": "Sum of bytes / transfer time over the tensors and copies that move, in bytes per "
    "second. Called memory bandwidth in Holistic Trace Analysis (trace_counters.py); here it includes the"
    " network.",
    "bytes": "bandwidth times time, in bytes: the data moved in that time if each transfer is even.",
    "busy_ns": "Length of the union of the times during which data moved, in ns.",
}

MOST_BINS = 1_000_000
"""The limit on the number of bins."""

_NAMES = {"channel": "category"}
_TIMES = {"start_ns": "int64", "duration_ns": "int64"}
_STEPS = _NAMES | _TIMES | {"moving": "int64", "bandwidth": "float64"}
_BINS = _NAMES | _TIMES | {"busy_ns": "int64", "bytes": "float64", "bandwidth": "float64"}


@validate_input
def bandwidth(trace: Trace, by: Channel = "direction") -> pd.DataFrame:
    """Return the bandwidth in bytes per second, as a step function of time.

    The bytes of a tensor or copy are spread evenly over the time it moves, without its wait (see
    `tfvis_nb.analysis.transfers`).

    Parameters
    ----------
    trace
        Any trace.
    by
        One of `CHANNELS`: ``direction`` groups by op type (``RecvTensor``, ``MemcpyH2D``), ``device`` and
        ``task`` by source and destination.

    Returns
    -------
    pandas.DataFrame
        One row per ``channel`` (category) and stretch of time in which the same transfers run: ``start_ns``,
        ``duration_ns``, ``moving`` (int64) and ``bandwidth`` (float64, bytes per second), as in `FIGURES`;
        ordered by channel and time. Nothing moves where there is no row. Transfers without a size or a
        recorded time are left out; ``attrs["left_out"]`` counts them. `cannot_say` if none is left.

    Raises
    ------
    ValueError
        If `by` is not one of `CHANNELS`.

    Notes
    -----
    Times of received tensors are known to the microsecond, and a tensor may arrive before its channel is
    free, so short tensors seem faster than any network. `binned_bandwidth` evens that out.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import bandwidth
    >>> table = events.build({"start_ns": [0, 50], "duration_ns": [100, 100], "kind": ["memcpy"] * 2,
    ...                       "op": ["MemcpyH2D"] * 2, "bytes": [200, 300]})
    >>> result = bandwidth(Trace(table))
    >>> result[["start_ns", "duration_ns", "moving", "bandwidth"]].values.tolist()
    [[0.0, 50.0, 1.0, 2000000000.0], [50.0, 50.0, 2.0, 5000000000.0], [100.0, 50.0, 1.0, 3000000000.0]]
    """
    moved = _moved(trace, by)
    if not len(moved.start):
        return _left_out(cannot_say(_STEPS, Text("no_transfer_rates")), trace, moved)
    rates = _rates(moved)
    table = pd.DataFrame({"channel": _channel(moved.channels, rates.channel)})
    table["start_ns"] = rates.start
    table["duration_ns"] = rates.end - rates.start
    table["moving"] = rates.moving
    table["bandwidth"] = rates.rate
    return _left_out(table, trace, moved)


@validate_input
def binned_bandwidth(trace: Trace, bin_ns: int, by: Channel = "direction") -> pd.DataFrame:
    """Return how many bytes moved in each bin of time.

    Parameters
    ----------
    trace
        Any trace.
    bin_ns
        Length of a bin, in nanoseconds. The first bin starts at the first event.
    by
        As in `bandwidth`.

    Returns
    -------
    pandas.DataFrame
        One row per ``channel`` (category) and bin in which something moved: ``start_ns``, ``duration_ns``
        (`bin_ns`), ``busy_ns`` (int64), ``bytes`` and ``bandwidth`` (float64; bytes / duration), as in
        `FIGURES`. Bytes add up to those of all rows that are not left out. Otherwise like `bandwidth`.

    Raises
    ------
    ValueError
        If `by` is not one of `CHANNELS`, `bin_ns` is not positive or there would be more than
        `MOST_BINS`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import binned_bandwidth
    >>> table = events.build({"start_ns": [0], "duration_ns": [100], "kind": ["memcpy"], "bytes": [200]})
    >>> binned_bandwidth(Trace(table), 80)[["start_ns", "busy_ns", "bytes"]].values.tolist()
    [[0.0, 80.0, 160.0], [80.0, 20.0, 40.0]]
    """
    if bin_ns < 1:
        raise ValueError(Text("bin_not_positive", bin_ns=bin_ns))
    moved = _moved(trace, by)
    if not len(moved.start):
        return _left_out(cannot_say(_BINS, Text("no_transfer_rates")), trace, moved)
    origin = int(trace.events["start_ns"].iloc[0])
    bins = int(moved.end.max() - origin - 1) // bin_ns + 1
    if bins * len(moved.channels) > MOST_BINS:
        channels = len(moved.channels)
        raise ValueError(Text("too_many_bins", bins=bins, channels=channels))
    pieces, interval = _cut(_rates(moved), origin, bin_ns)
    cell, length = pieces.channel * bins + interval, pieces.end - pieces.start
    size = np.bincount(cell, pieces.rate * length / 1e9)
    busy = np.zeros(len(size), np.int64)
    np.add.at(busy, cell, length)
    some = np.flatnonzero(busy)
    table = pd.DataFrame({"channel": _channel(moved.channels, some // bins)})
    table["start_ns"] = origin + some % bins * bin_ns
    table["duration_ns"] = bin_ns
    table["busy_ns"] = busy[some]
    table["bytes"] = size[some]
    table["bandwidth"] = size[some] * 1e9 / bin_ns
    return _left_out(table, trace, moved)


class _Moved(NamedTuple):
    """Transfers: channel number, start, end and bytes, and the names of the channels."""

    channel: np.ndarray
    start: np.ndarray
    end: np.ndarray
    size: np.ndarray
    channels: list[str]


def _moved(trace: Trace, by: Channel) -> _Moved:
    """Return tensors and copies that have a size and a duration."""
    if by not in CHANNELS:
        raise ValueError(Text("not_one_of", choices=", ".join(CHANNELS), by=by))
    table = transfers(trace)
    time = table["transfer_ns"].to_numpy(np.int64, na_value=0)
    kept = np.flatnonzero((time > 0) & table["bytes"].notna().to_numpy())
    table, time = table.iloc[kept], time[kept]
    if by == "direction":
        called = trace.events["op"].iloc[table["event"]].astype(object).fillna("").astype(str).to_numpy()
    else:
        ends = [
            table[column].astype(object).fillna("").astype(str).map(task_of if by == "task" else str)
            for column in ("source", "destination")
        ]
        called = np.where((ends[0] == "") & (ends[1] == ""), "", ends[0] + " -> " + ends[1])
    channel, names = pd.factorize(np.asarray(called, object), sort=True)
    start, size = (table[name].to_numpy(np.int64) for name in ("turn_ns", "bytes"))
    return _Moved(channel, start, start + time, size, [str(name) for name in names])


class _Rates(NamedTuple):
    """Stretches of time in which the same transfers run: channel, their number, and their total rate."""

    channel: np.ndarray
    start: np.ndarray
    end: np.ndarray
    moving: np.ndarray
    rate: np.ndarray


def _rates(moved: _Moved) -> _Rates:
    """Add up the rates of simultaneous transfers."""
    rate = moved.size * 1e9 / (moved.end - moved.start)
    channel, time = np.concatenate([moved.channel] * 2), np.concatenate([moved.start, moved.end])
    order = np.lexsort((time, channel))
    channel, time = channel[order], time[order]

    def added(value: np.ndarray) -> np.ndarray:
        total: np.ndarray = np.cumsum(np.concatenate([value, -value])[order])
        return total

    # Integers, so that adding and removing a rate cancels exactly.
    scale = 2.0 ** np.floor(np.log2((1 << 61) / max(float(added(rate).max()), 1.0)))
    total = added(np.rint(rate * scale).astype(np.int64))
    count = added(np.ones(len(rate), np.int64))
    # Only the last of several changes at a time counts; nothing moves after the last change of a channel.
    begin = np.flatnonzero((count[:-1] > 0) & (time[:-1] < time[1:]))
    return _Rates(channel[begin], time[begin], time[begin + 1], count[begin], total[begin] / scale)


def _cut(rates: _Rates, origin: int, bin_ns: int) -> tuple[_Rates, np.ndarray]:
    """Cut stretches at the ends of bins, and return the bin of each piece."""
    first = (rates.start - origin) // bin_ns
    count = (rates.end - origin - 1) // bin_ns - first + 1
    whole = np.repeat(np.arange(len(first)), count)
    interval = np.arange(len(whole)) - np.repeat(np.cumsum(count) - count, count) + first[whole]
    pieces = _Rates(*(column[whole] for column in rates))
    edge = origin + interval * bin_ns
    start, end = np.maximum(pieces.start, edge), np.minimum(pieces.end, edge + bin_ns)
    return pieces._replace(start=start, end=end), interval


def _channel(channels: list[str], codes: np.ndarray) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, categories=pd.Index(channels, dtype=event_table.TEXT))


def _left_out(table: pd.DataFrame, trace: Trace, moved: _Moved) -> pd.DataFrame:
    table.attrs["left_out"] = len(transfers(trace)) - len(moved.start)
    return table
