"""Network transfers and copies: source, destination, bytes, wait time and transfer time."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.channels import Moving, moving
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.trace import Trace

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
        (float64, bytes per second over ``transfer_ns``, NaN if unknown).

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
    kind = events["kind"].astype(object).to_numpy()
    rows = np.flatnonzero((kind == "transfer") | (kind == "memcpy"))
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
