"""Network transfers and copies: source, destination, bytes, wait time and transfer time."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import MOVING
from tfvis_nb.texts import Text

_FEWEST = 4
"""With fewer tensors, a rate depends more on when their ends were noticed than on the channel."""


class Moving(NamedTuple):
    """When each tensor started to move (epoch ns) and how long it moved: estimate, minimum, maximum (ns)."""

    start: np.ndarray
    length: np.ndarray
    least: np.ndarray
    most: np.ndarray


def moving(channel: np.ndarray, start: np.ndarray, end: np.ndarray, size: np.ndarray) -> Moving:
    """Return when each tensor moved; `channel` numbers connections, `size` is -1 if unknown.

    A channel serves tensors in the order of their ends, so each starts to move when the one before it ends
    (TicTac's rule). But tensors that arrive together are noticed within microseconds of each other; by that
    rule alone, megabytes would move at terabits per second. So a tensor faster than its channel is pooled
    with those before it until the pool is not faster. Within a pool, time is shared in proportion to bytes.

    Parameters
    ----------
    channel, start, end, size
        One value for each tensor (int64): channel, recorded start and end (ns), bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.analysis.communication.transfers import moving
    >>> ends = np.array([1000, 1010, 1020, 1030])
    >>> result = moving(np.zeros(4, int), np.zeros(4, int), ends, np.full(4, 500))
    >>> result.length.tolist(), result.most.tolist()
    ([258, 257, 257, 258], [1000, 1010, 1020, 1030])
    """
    order = np.lexsort((start, end, channel))
    channel, start, end, size = channel[order], start[order], end[order], size[order]
    is_first = np.diff(channel, prepend=channel[:1] - 1) != 0
    free = np.where(is_first, start, np.roll(end, 1))
    begin = np.maximum(start, free)
    length = end - begin
    least, most = length.copy(), length.copy()
    for burst in _bursts(is_first, start, end):
        if (size[burst] < 0).any():
            continue
        # Each tensor moved within its own time, so the channel is at least that fast.
        least_rate = float((size[burst] / np.maximum(end[burst] - start[burst], 1)).max())
        for pool, rate in _pools(size[burst], length[burst], least_rate):
            members = slice(burst.start + pool.start, burst.start + pool.stop)
            whole = end[members.stop - 1] - begin[members.start]
            share = np.cumsum(size[members]) / max(int(size[members].sum()), 1)
            edges = begin[members.start] + np.append(0, np.rint(share * whole)).astype(np.int64)
            if (edges[:-1] >= start[members]).all():
                begin[members], length[members] = edges[:-1], np.diff(edges)
            least[members] = np.minimum(length[members], np.ceil(size[members] / rate))
            # Before the first end, any tensor in transfer may have moved.
            since = begin[members.start] if pool.start else int(start[burst].min())
            most[members] = np.minimum(end[members] - start[members], end[members.stop - 1] - since)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Moving(begin[back], length[back], least[back], most[back])


def _bursts(is_first: np.ndarray, start: np.ndarray, end: np.ndarray) -> list[slice]:
    """Return the slice of each burst of several tensors; after a burst the channel is empty."""
    starts = [*np.flatnonzero(is_first).tolist(), len(start)]
    bursts = []
    for low, high in pairwise(starts):
        earliest = np.minimum.accumulate(start[low:high][::-1])[::-1]
        cuts = [0, *(np.flatnonzero(earliest[1:] >= end[low : high - 1]) + 1).tolist(), high - low]
        bursts += [slice(low + a, low + b) for a, b in pairwise(cuts) if b - a > 1]
    return bursts


def _pools(size: np.ndarray, length: np.ndarray, least_rate: float) -> list[tuple[slice, float]]:
    """Return the pools of a burst that have several tensors, and the channel's fastest rate (bytes/ns)."""
    rate = max(_fastest(size, length), least_rate)
    stack: list[tuple[int, int, int]] = []
    for pool in zip(range(len(size)), size.tolist(), length.tolist(), strict=True):
        stack.append(pool)
        while len(stack) > 1 and stack[-1][1] > rate * stack[-1][2] * (1 + 1e-9):
            _, amount, time = stack.pop()
            first, before, earlier = stack.pop()
            stack.append((first, before + amount, earlier + time))
    firsts = [first for first, _, _ in stack] + [len(size)]
    return [(slice(low, high), rate) for low, high in pairwise(firsts) if high - low > 1]


def _fastest(size: np.ndarray, length: np.ndarray) -> float:
    """Return the highest rate (bytes/ns) over more than half of a burst and at least `_FEWEST` tensors.

    The best ratio over all stretches, by Dinkelbach's method.
    """
    count = max(len(size) // 2 + 1, min(len(size), _FEWEST))
    moved, taken = (np.append(0, np.cumsum(one)).astype(np.float64) for one in (size, length))
    rate = moved[-1] / max(taken[-1], 1.0)
    while True:
        gain = moved - rate * taken
        lowest = np.minimum.accumulate(gain[: len(gain) - count])
        high = count + int(np.argmax(gain[count:] - lowest))
        low = int(np.argmin(gain[: high - count + 1]))
        better = (moved[high] - moved[low]) / max(taken[high] - taken[low], 1.0)
        if better <= rate * (1 + 1e-9):
            return float(rate)
        rate = better


_TICTAC = "TicTac's rule (TicTac, MLSys 2019, oracle.py)"
_POOLED = "for tensors that arrived together, a share of their time by bytes"

FIGURES: dict[str, str] = {
    "bytes": "The recorded size, in bytes.",
    "wait_ns": "For a tensor duration_ns - transfer_ns, for a copy its start minus its launch, at least "
    "0, in ns.",
    "transfer_ns": "For a tensor its end minus the later of its start and the end before it on its "
    f"channel, which is from one task to another, in order of ends: {_TICTAC}; {_POOLED}; for a copy its "
    "duration; in ns.",
    "transfer_least_ns": "transfer_ns where it is certain; otherwise bytes divided by the greatest rate of "
    "the channel over more than half of the tensors, at least 4, that were on their way at once, or of one "
    "over its duration_ns, in ns.",
    "transfer_most_ns": "transfer_ns where it is certain; otherwise the time of all that arrived together, "
    "at most duration_ns, in ns.",
    "turn_ns": "Since when it moved if the tensors of its channel moved in turn, in the order of their ends; "
    "for a copy its start; in epoch ns.",
    "bandwidth": "bytes / transfer_ns, in bytes per second.",
}

COLUMNS = (
    "event",
    "step",
    "kind",
    "source",
    "destination",
    "tensor",
    "bytes",
    "start_ns",
    "duration_ns",
    "wait_ns",
    "transfer_ns",
    "transfer_least_ns",
    "transfer_most_ns",
    "turn_ns",
    "bandwidth",
)


@validate_input
def transfers(trace: Trace) -> pd.DataFrame:
    """Return one row per tensor received and per copy, with wait time and transfer time.

    A channel (one task to another) serves its tensors one after the other, in the order of their ends: a
    tensor waits until the end of the previous one, then it moves. Tensors that arrived together, so that one
    would be faster than its channel, share their time in proportion to their bytes; ``transfer_least_ns`` and
    ``transfer_most_ns`` bound the transfer time of each. A copy waits from its launch to its start, if the
    launch is known. If a source does not record the devices of a tensor, both times are unknown.

    Parameters
    ----------
    trace
        Any trace; it keeps the result as ``trace.transfers``.

    Returns
    -------
    pandas.DataFrame
        ``event`` (int64, the row in ``trace.events``), ``step``, ``kind``, ``source``, ``destination``,
        ``tensor``, ``bytes``, ``start_ns``, ``duration_ns`` as there; ``wait_ns``, ``transfer_ns``,
        ``transfer_least_ns``, ``transfer_most_ns`` and ``turn_ns`` (Int64 ns, NA if unknown); ``bandwidth``
        (float64, bytes per second over ``transfer_ns``, NaN if unknown). `cannot_say` if nothing moved.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import transfers
    >>> table = events.build({
    ...     "start_ns": [0, 10], "duration_ns": [100, 190], "kind": ["transfer"] * 2, "bytes": [50, 50],
    ...     "source": ["/job:ps/task:0/device:CPU:0"] * 2,
    ...     "destination": ["/job:worker/task:0/device:CPU:0"] * 2,
    ... })
    >>> transfers(Trace(table))[["wait_ns", "transfer_ns", "bandwidth"]].values.tolist()
    [[0, 100, 500000000.0], [90, 100, 500000000.0]]
    """
    events = trace.events
    rows = np.flatnonzero(is_kind(events, *MOVING))
    table = events[list(COLUMNS[1:9])].take(rows).reset_index(drop=True)
    table.insert(0, "event", rows.astype(np.int64))
    table["kind"] = table["kind"].cat.remove_unused_categories()
    received = (table["kind"] == "transfer").to_numpy()
    start = table["start_ns"].to_numpy()
    length = table["duration_ns"].to_numpy().copy()
    scheduled = events["scheduled_ns"].iloc[rows].to_numpy(np.int64, na_value=0)
    launched = events["scheduled_ns"].iloc[rows].notna().to_numpy()
    waiting = np.where(launched, np.maximum(start - scheduled, 0), 0)
    least, most = length.copy(), length.copy()
    turn = start.copy()
    turn[received], length[received], least[received], most[received] = _moving(table[received])
    waiting[received] = (table["duration_ns"].to_numpy() - length)[received]
    nowhere = received & ~(_is_known(table["source"]) & _is_known(table["destination"]))
    unknown = nowhere | ~(received | launched)
    table["wait_ns"] = pd.arrays.IntegerArray(np.where(unknown, 0, waiting), unknown)
    times = {"transfer_ns": length, "transfer_least_ns": least, "transfer_most_ns": most, "turn_ns": turn}
    for name, time in times.items():
        table[name] = pd.arrays.IntegerArray(np.where(nowhere, 0, time), nowhere)
    size = table["bytes"].to_numpy(np.float64, na_value=np.nan)
    moves = ~nowhere & (length > 0)
    table["bandwidth"] = np.divide(size * 1e9, length, out=np.full(len(size), np.nan), where=moves)
    if table.empty:
        columns = {str(name): str(dtype) for name, dtype in table.dtypes.items()}
        return cannot_say(columns, Text("no_transfers"))
    return table


def _is_known(device: pd.Series) -> np.ndarray:
    """Return a mask of the rows that have a device."""
    known: np.ndarray = device.notna().to_numpy() & (device != "").to_numpy()
    return known


def _moving(table: pd.DataFrame) -> Moving:
    """Return when each received tensor moved."""
    channel = table["step"].to_numpy(np.int64)
    for column in ("source", "destination"):
        names = [task_of(str(name)) for name in table[column].cat.categories]
        # Missing values have the code -1, which indexes the last element.
        task = np.append(pd.factorize(np.array(names, object))[0], -1)[table[column].cat.codes]
        channel = channel * (len(names) + 1) + task + 1
    start = table["start_ns"].to_numpy(np.int64)
    end = start + table["duration_ns"].to_numpy(np.int64)
    return moving(channel, start, end, table["bytes"].to_numpy(np.int64, na_value=-1))
