"""Network transfers and copies: from where, to where, how many bytes, how long waiting, how long moving."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.trace import Trace

_TICTAC = "TicTac's rule (TicTac, MLSys 2019, oracle.py)"

FIGURES: dict[str, str] = {
    "bytes": "The recorded size, in bytes.",
    "wait_ns": "For a tensor duration_ns - transfer_ns, for a copy its start minus its launch, at least "
    "0, in ns.",
    "transfer_ns": "For a tensor its end minus the later of its start and the end before it on its "
    f"channel, which is from one task to another, in order of ends: {_TICTAC}; for a copy its duration; in"
    " ns.",
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
    "bandwidth",
)


@validate_input
def transfers(trace: Trace) -> pd.DataFrame:
    """Return one row per tensor received and per copy, with wait time and transfer time.

    A receiver handles the tensors of one channel (one task to another) one after the other. In the
    order of their ends, a transfer moves from the end of the one before, and waits until then. A copy
    waits from its launch to its start, where the launch is known. If a source does not record between which
    devices a tensor went, neither is known.

    Parameters
    ----------
    trace
        Any trace; it keeps the result as ``trace.transfers``.

    Returns
    -------
    pandas.DataFrame
        ``event`` (int64, the row in ``trace.events``), ``step``, ``kind``, ``source``, ``destination``,
        ``tensor``, ``bytes``, ``start_ns``, ``duration_ns`` as there; ``wait_ns`` and
        ``transfer_ns`` (Int64 ns, NA where not known); ``bandwidth`` (float64, bytes per second over
        ``transfer_ns``, NaN where not known).

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import transfers
    >>> table = events.build({
    ...     "start_ns": [0, 10], "duration_ns": [100, 190], "kind": ["transfer"] * 2, "bytes": [50, 100],
    ...     "source": ["/job:ps/task:0/device:CPU:0"] * 2,
    ...     "destination": ["/job:worker/task:0/device:CPU:0"] * 2,
    ... })
    >>> transfers(Trace(table))[["wait_ns", "transfer_ns", "bandwidth"]].values.tolist()
    [[0, 100, 500000000.0], [90, 100, 1000000000.0]]
    """
    events = trace.events
    kind = events["kind"].astype(object).to_numpy()
    rows = np.flatnonzero((kind == "transfer") | (kind == "memcpy"))
    table = events[list(COLUMNS[1:9])].take(rows).reset_index(drop=True)
    table.insert(0, "event", rows.astype(np.int64))
    table["kind"] = table["kind"].cat.remove_unused_categories()
    received = (table["kind"] == "transfer").to_numpy()
    start = table["start_ns"].to_numpy()
    moving = table["duration_ns"].to_numpy().copy()
    scheduled = events["scheduled_ns"].iloc[rows].to_numpy(np.int64, na_value=0)
    launched = events["scheduled_ns"].iloc[rows].notna().to_numpy()
    waiting = np.where(launched, np.maximum(start - scheduled, 0), 0)
    moving[received] = _moving(table[received])
    waiting[received] = table["duration_ns"].to_numpy()[received] - moving[received]
    nowhere = received & ~(_is_known(table["source"]) & _is_known(table["destination"]))
    unknown = nowhere | ~(received | launched)
    table["wait_ns"] = pd.arrays.IntegerArray(np.where(unknown, 0, waiting), unknown)
    table["transfer_ns"] = pd.arrays.IntegerArray(np.where(nowhere, 0, moving), nowhere)
    size = table["bytes"].to_numpy(np.float64, na_value=np.nan)
    moves = ~nowhere & (moving > 0)
    table["bandwidth"] = np.divide(size * 1e9, moving, out=np.full(len(size), np.nan), where=moves)
    return table


def _is_known(device: pd.Series) -> np.ndarray:
    """Tell which rows have a device."""
    known: np.ndarray = device.notna().to_numpy() & (device != "").to_numpy()
    return known


def _moving(table: pd.DataFrame) -> np.ndarray:
    """Return how long each received tensor moved: from when its channel became free, or its start, on."""
    tasks = {}
    for column in ("source", "destination"):
        names = [task_of(str(name)) for name in table[column].cat.categories]
        # Missing values have the code -1, which is the last.
        tasks[column] = np.append(pd.factorize(np.array(names, object))[0], -1)[table[column].cat.codes]
    start, end = table["start_ns"].to_numpy(), (table["start_ns"] + table["duration_ns"]).to_numpy()
    channel = (table["step"].to_numpy(np.int64), tasks["source"], tasks["destination"])
    order = np.lexsort((start, end, *channel))
    same = np.ones(len(order), bool)
    same[:1] = False
    for part in channel:
        same[1:] &= part[order][1:] == part[order][:-1]
    free = np.where(same, np.concatenate([start[:1], end[order][:-1]]), start[order])
    moving = np.empty(len(order), np.int64)
    moving[order] = end[order] - np.maximum(start[order], free)
    return moving
