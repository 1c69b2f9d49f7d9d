"""The slowest transfers and copies, from the op that produced the tensor to the one that used it."""

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.unavailable import cannot_say, why_not
from tfvis_nb.core.text_rows import text_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "bytes": "The recorded size, in bytes.",
    "wait_ns": "Time before it moved, in ns: for a tensor until its channel was free, for a copy since "
    "its launch.",
    "transfer_ns": "Time during which it moved, in ns.",
    "total_ns": "wait_ns + transfer_ns, in ns, as far as they are known; otherwise the duration.",
    "bandwidth": "bytes / transfer_ns, in bytes per second.",
    "producer": "The event that made the tensor.",
    "launcher": "The event that launched the copy, unless the copy was for a tensor between two devices.",
    "send_delay_ns": "Start of the transfer minus end of its producer, in ns: the time until the tensor "
    "was requested and sent. Negative if the producer is an op on a GPU, which ends before its kernels "
    "do, or if clocks disagree.",
    "consumer": "The event that used it first.",
    "consumers": "How many events used it.",
    "use_delay_ns": "Start of the consumer minus end of the transfer, in ns: the time until everything "
    "else that the consumer needs was ready and it ran.",
    "edge_ns": "Start of the consumer minus end of the producer, in ns: send_delay_ns + duration + "
    "use_delay_ns.",
    "last_input": "Whether no other known input of the consumer arrived later: a faster transfer would "
    "let it start earlier.",
}

_COLUMNS = {
    "event": "int64",
    "step": "int64",
    "kind": "category",
    "source": "category",
    "destination": "category",
    "tensor": "str",
    "bytes": "Int64",
    "wait_ns": "Int64",
    "transfer_ns": "Int64",
    "total_ns": "int64",
    "bandwidth": "float64",
    "producer": "Int64",
    "producer_name": "str",
    "launcher": "Int64",
    "send_delay_ns": "Int64",
    "consumer": "Int64",
    "consumer_name": "str",
    "consumers": "int64",
    "use_delay_ns": "Int64",
    "edge_ns": "Int64",
    "last_input": "boolean",
}


@validate_input
def slowest_transfers(trace: Trace, most: int | None = None) -> pd.DataFrame:
    """Return transfers and copies, the slowest first, with producer and consumers.

    Parameters
    ----------
    trace
        Any trace.
    most
        How many rows to return; None for all.

    Returns
    -------
    pandas.DataFrame
        One row per tensor received and per copy: ``event`` and ``step`` (int64), ``kind``, ``source``,
        ``destination`` (category), ``tensor`` (str), and the columns of `FIGURES`: times and sizes Int64
        (``total_ns`` int64), event ids Int64, ``consumers`` int64, ``bandwidth`` float64, ``last_input``
        boolean, with ``producer_name`` and ``consumer_name`` (str). NA, NaN or empty if not recorded.
        Ordered by ``total_ns``, longest first. `cannot_say` if nothing was received or copied.

    Raises
    ------
    TypeError, ValueError
        If `most` is not a whole number, or is negative.

    Notes
    -----
    Producers and consumers come from ``trace.edges``, found by name within a step; see
    `tfvis_nb.analysis.dataflow.edges`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import slowest_transfers
    >>> ps, worker = "/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"
    >>> table = events.build({
    ...     "start_ns": [0, 20, 70], "duration_ns": [10, 40, 5], "kind": ["op", "transfer", "op"],
    ...     "name": ["w", "RecvTensor", "y"], "device": [ps, worker, worker], "source": [None, ps, None],
    ...     "destination": [None, worker, None], "tensor": ["", "edge_5_w", ""],
    ...     "detail": ["w = Variable()", "", "y = Neg(w_S3)"],
    ... })
    >>> slow = slowest_transfers(Trace(table))
    >>> slow[["producer_name", "send_delay_ns", "total_ns", "use_delay_ns", "consumer_name"]].values.tolist()
    [['w', 10, 40, 10, 'y']]
    """
    if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer)):
        raise TypeError(Text("most_no_number", most=most))
    if most is not None and most < 0:
        raise ValueError(Text("most_negative", most=most))
    moved = transfers(trace)
    if reason := why_not(moved):
        return cannot_say(_COLUMNS, reason)
    duration = moved["duration_ns"].to_numpy(np.int64)
    start = moved["start_ns"].to_numpy(np.int64)
    waited, took = (moved[name].to_numpy(np.int64, na_value=-1) for name in ("wait_ns", "transfer_ns"))
    total = np.where(took < 0, duration, np.maximum(waited, 0) + took)
    order = np.lexsort((start, -total))[:most]
    table = moved.iloc[order].reset_index(drop=True)
    table["step"] = table["step"].astype("int64")
    table["total_ns"] = total[order]
    ends = _Ends(trace, table["event"].to_numpy(np.int64))
    begun, ended = start[order], start[order] + duration[order]
    kept, unused = begun - ends.end[ends.producer], ends.start[ends.consumer] - ended
    made, used = ends.producer >= 0, ends.consumer >= 0
    table["producer"], table["consumer"] = _nullable(ends.producer, made), _nullable(ends.consumer, used)
    table["producer_name"], table["consumer_name"] = ends.names(ends.producer), ends.names(ends.consumer)
    table["launcher"] = _nullable(ends.launcher, ends.launcher >= 0)
    table["send_delay_ns"], table["use_delay_ns"] = _nullable(kept, made), _nullable(unused, used)
    table["edge_ns"] = _nullable(kept + duration[order] + unused, made & used)
    table["consumers"] = ends.consumers
    last = ends.latest_input[ends.consumer] <= ended
    table["last_input"] = pd.arrays.BooleanArray(np.where(used, last, False), ~used)
    return table[list(_COLUMNS)]


class _Ends:
    """The producer and the consumer of each of some events, -1 if unknown; times of all events."""

    def __init__(self, trace: Trace, event: np.ndarray) -> None:
        self._names = trace.events["name"]
        edges = edges_of(trace)
        source, target = (edges[name].to_numpy(np.int64) for name in ("source", "target"))
        launch = (edges["kind"] == "launch").to_numpy()
        count, rows = len(self._names), len(event)
        # Index -1 means no event.
        self.start = np.append(trace.events["start_ns"].to_numpy(np.int64), 0)
        self.end = self.start + np.append(trace.events["duration_ns"].to_numpy(np.int64), 0)
        self.latest_input = np.full(count + 1, np.iinfo(np.int64).min)
        np.maximum.at(self.latest_input, target[~launch], self.end[source[~launch]])
        index = np.full(count, -1, np.int64)
        index[event] = np.arange(rows)
        into, out = (np.flatnonzero(index[ends] >= 0) for ends in (target, source))
        made, by = into[~launch[into]], into[launch[into]]
        self.producer = _first(index[target[made]], source[made], -self.end[source[made]], rows)
        self.launcher = _first(index[target[by]], source[by], -self.end[source[by]], rows)
        self.consumer = _first(index[source[out]], target[out], self.start[target[out]], rows)
        self.consumers = np.bincount(index[source[out]], minlength=rows).astype(np.int64)

    def names(self, event: np.ndarray) -> pd.Series:
        """Return the names of events; empty for -1."""
        of_events = text_rows(self._names, np.maximum(event, 0)).astype(object).to_numpy()
        named: pd.Series = pd.Series(np.where(event >= 0, of_events, ""), dtype=event_table.TEXT)
        return named


def _first(index: np.ndarray, event: np.ndarray, rank: np.ndarray, rows: int) -> np.ndarray:
    """Return for each index the first event with the lowest rank; -1 if there is none."""
    firsts = np.full(rows, -1, np.int64)
    order = np.lexsort((event, rank, index))[::-1]
    firsts[index[order]] = event[order]
    return firsts


def _nullable(values: np.ndarray, known: np.ndarray) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(np.where(known, values, 0).astype(np.int64), ~known)
