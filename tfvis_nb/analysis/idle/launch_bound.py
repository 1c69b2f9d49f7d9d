"""How long each accelerator waits for the host to launch its work, and in which stretches."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.step_devices import StepDevices
from tfvis_nb.analysis.idle.idle_gaps import idle_gaps
from tfvis_nb.analysis.idle.launch_gaps import PARTS as GAP_PARTS
from tfvis_nb.analysis.idle.launch_gaps import gaps_between, on_devices, why_unknown
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.intervals import Segments, overlap, union
from tfvis_nb.core.step_spans import STEP_NS
from tfvis_nb.core.trace import Trace

FIGURES: dict[str, str] = {
    "step_ns": STEP_NS,
    "busy_ns": "Time during which at least one kernel, copy, memset or collective ran on the device, in ns.",
    "launching_ns": "Time during which the device had nothing to do while the host was launching, in ns: "
    "summed over its gaps, up to the late launch.",
    "latency_ns": "Time from the start of a late launch to the start of the launched event, in ns: summed"
    " over the gaps of the device.",
    "host_other_ns": "Time during which the device had nothing to do and the host launched nothing, in "
    "ns: summed over its gaps, up to the late launch.",
    "queued_ns": "Time during which nothing ran although the next event had been launched before the gap,"
    " in ns.",
    "unknown_ns": "Gaps before events whose launch is not recorded, in ns.",
    "before_ns": "From the start of the step to the first event on the device, in ns.",
    "after_ns": "From the last end on the device to the end of the step, in ns.",
    "launches": "Number of events on the device.",
    "late": "Number of events that were launched after everything before them on the device had ended.",
    "launch_share": "(launching_ns + latency_ns) / step_ns, from 0 to 1: the most that faster launching "
    "could save.",
    "duration_ns": "Length of a stretch, in ns: from the start of its first late gap to the end of its last.",
    "launch_wait_ns": "The idle time of the stretch whose cause is late launch, in ns; see idle_gaps.",
    "share": "launch_wait_ns / duration_ns, more than 0.5.",
    "ops": "The op types in the stretch that the device waited for longest, the longest first.",
}

PARTS = ("busy_ns", *GAP_PARTS, "before_ns", "after_ns")
"""The columns of `launch_bound` whose sum is ``step_ns``, to the nanosecond."""

_WHERE = {"step": "int64", "task": "category", "device": "category"}
_COLUMNS = (
    _WHERE
    | {"step_ns": "int64"}
    | dict.fromkeys(PARTS, "int64")
    | {"launches": "int64", "late": "int64", "launch_share": "float64"}
)
_STRETCH = (
    _WHERE
    | {"start_ns": "int64", "duration_ns": "int64", "launch_wait_ns": "int64"}
    | {"late": "int64", "share": "float64", "ops": "str"}
)
_MOST_OPS = 3


@validate_input
def launch_bound(trace: Trace) -> pd.DataFrame:
    """Divide the steps of each accelerator into running, waiting for launches, and other waits.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per step, task and device: ``step`` (int64), ``task``, ``device`` (category), ``step_ns``,
        `PARTS` (int64 ns), ``launches``, ``late`` (int64) and ``launch_share`` (float64), as in
        `FIGURES`. `cannot_say` if no GPU has rows, or none records when it was launched.

    Notes
    -----
    A large ``launch_share`` means that the host prepares work more slowly than the device runs it: small ops,
    or Python between them. A large ``host_other_ns`` means that launches are late because the host did other
    work. `tfvis_nb.analysis.launch_gaps` shows why a launch is late.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import launch_bound
    >>> table = events.build({"start_ns": [0, 10, 30], "duration_ns": [28, 9, 5], "lane": ["ops", "s", "s"],
    ...                       "kind": ["op", "kernel", "kernel"], "device": ["GPU:0"] * 3,
    ...                       "scheduled_ns": [None, 2, 27]})
    >>> result = launch_bound(Trace(table)).loc[0]
    >>> [int(result[name]) for name in ("busy_ns", "launching_ns", "latency_ns", "before_ns", "step_ns")]
    [14, 8, 3, 10, 35]
    """
    ran = on_devices(trace)
    if reason := why_unknown(ran):
        return cannot_say(_COLUMNS, reason)
    assert ran is not None
    gaps = gaps_between(trace, ran)
    here, row_count = ran.here, len(ran.here.table)
    sums = {part: _added_up(gaps["device_row"], gaps[part], row_count) for part in GAP_PARTS}
    first, last = np.full(row_count, np.iinfo(np.int64).max), np.full(row_count, np.iinfo(np.int64).min)
    np.minimum.at(first, ran.device_row, ran.start)
    np.maximum.at(last, ran.device_row, ran.end)
    rows = np.flatnonzero(last >= first)
    idle = np.sum(list(sums.values()), axis=0)
    table = here.table.take(rows).reset_index(drop=True)
    table["step_ns"] = (here.last - here.first)[rows]
    table["busy_ns"] = last[rows] - first[rows] - idle[rows]
    for part, total in sums.items():
        table[part] = total[rows]
    table["before_ns"] = (first - here.first)[rows]
    table["after_ns"] = (here.last - last)[rows]
    table["launches"] = np.bincount(ran.device_row, minlength=row_count)[rows]
    table["late"] = _added_up(gaps["device_row"], _is_late(gaps), row_count)[rows]
    waited = table["launching_ns"] + table["latency_ns"]
    table["launch_share"] = np.where(table["step_ns"] > 0, waited / table["step_ns"].clip(lower=1), np.nan)
    return table


@validate_input
def launch_stretches(trace: Trace) -> pd.DataFrame:
    """Return the stretches of time in which an accelerator mostly waited for late launches.

    A stretch starts and ends with a late gap whose main cause in `idle_gaps` is ``late launch``: a gap can
    also end with a launch that was late because the host waited for the network or for input. From either end
    to any point in the stretch, more than half of the time is such waiting. No longer range of time has this
    property.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per stretch, the one with the largest ``launch_wait_ns`` first: ``step`` (int64), ``task``,
        ``device`` (category), ``start_ns``, ``duration_ns``, ``launch_wait_ns``, ``late`` (int64), ``share``
        (float64), ``ops`` (str; at most three, separated by commas). `cannot_say` as in `launch_bound`.

    Notes
    -----
    The maximal scoring subsequences of Ruzzo and Tompa (ISMB 1999), where a nanosecond of waiting for a
    launch in a late gap counts 1 and any other -1.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import launch_stretches
    >>> table = events.build({"start_ns": [0, 0, 10, 30, 90], "duration_ns": [28, 3, 4, 5, 1],
    ...                       "kind": ["op"] + ["kernel"] * 4, "lane": ["ops"] + ["s"] * 4,
    ...                       "device": ["/device:GPU:0"] * 5, "op": ["Loop", "A", "B", "C", "D"],
    ...                       "scheduled_ns": [None, 0, 9, 27, 5]})
    >>> launch_stretches(Trace(table))[["start_ns", "duration_ns", "late", "ops"]].values.tolist()
    [[3, 27, 2, 'C, B']]
    """
    ran = on_devices(trace)
    if reason := why_unknown(ran):
        return cannot_say(_STRETCH, reason)
    assert ran is not None
    gaps = gaps_between(trace, ran)
    gaps = gaps[_is_late(gaps)]
    waits = _launch_waits(trace, ran.here)
    gaps = gaps.assign(wait_ns=_inside(waits, gaps))
    gaps = gaps[2 * gaps["wait_ns"] > gaps["duration_ns"]].reset_index(drop=True)
    begin, length, wait = (gaps[name].to_numpy() for name in ("start_ns", "duration_ns", "wait_ns"))
    device_row = gaps["device_row"].to_numpy()
    first, last = _stretches(device_row, begin, begin + length, 2 * wait - length)
    table = ran.here.table.take(device_row[first]).reset_index(drop=True)
    table["start_ns"] = begin[first]
    table["duration_ns"] = (begin + length)[last] - begin[first]
    # All such waits in the stretch, including those in gaps that end with a launch in time.
    inside = table.assign(device_row=device_row[first])
    table["launch_wait_ns"] = _inside(waits, inside)
    table["late"] = last - first + 1
    table["share"] = table["launch_wait_ns"] / table["duration_ns"]
    op = trace.events["op"].iloc[gaps["event"].to_numpy()]
    table["ops"] = pd.array(_most(op, np.repeat(np.arange(len(first)), last - first + 1), wait, len(first)))
    table["ops"] = table["ops"].astype(event_table.TEXT)
    order = np.argsort(-table["launch_wait_ns"].to_numpy(), kind="stable")
    return table.loc[order, list(_STRETCH)].reset_index(drop=True)


def _is_late(gaps: pd.DataFrame) -> np.ndarray:
    late: np.ndarray = (gaps["queued_ns"] + gaps["unknown_ns"] == 0).to_numpy()
    return late


def _launch_waits(trace: Trace, here: StepDevices) -> Segments:
    """Return the gaps with the cause ``late launch``, by row of `here`."""
    idle = idle_gaps(trace)
    idle = idle[(idle["cause"] == "late launch").to_numpy()]
    # A whole task is named like its events without a device.
    of_device = np.flatnonzero(here.whole != np.arange(len(here.table)))
    rows, wanted = (
        pd.MultiIndex.from_frame(table[list(_WHERE)].astype({"task": "str", "device": "str"}))
        for table in (here.table.iloc[of_device], idle)
    )
    device_row = of_device[rows.get_indexer(wanted)]
    begin = idle["start_ns"].to_numpy()
    return union(device_row, begin, begin + idle["duration_ns"].to_numpy())


def _inside(waits: Segments, gaps: pd.DataFrame) -> np.ndarray:
    """Return how much of each gap (``device_row``, ``start_ns``, ``duration_ns``) the waits cover, in ns."""
    start = gaps["start_ns"].to_numpy()
    return overlap(waits, gaps["device_row"].to_numpy(), start, start + gaps["duration_ns"].to_numpy())


def _added_up(device_row: pd.Series, value: pd.Series | np.ndarray, row_count: int) -> np.ndarray:
    total = np.zeros(row_count, np.int64)
    np.add.at(total, device_row.to_numpy(), np.asarray(value, np.int64))
    return total


def _stretches(
    device_row: np.ndarray, begin: np.ndarray, end: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Join gaps, ordered by device and time, into stretches; return the first and last gap of each."""
    first = last = np.arange(len(device_row))
    while len(first) > 1:
        # Neighbours that both score more than the time between them always belong together.
        between = begin[first[1:]] - end[last[:-1]]
        joins = (
            (device_row[first[1:]] == device_row[last[:-1]]) & (between < score[1:]) & (between < score[:-1])
        )
        if not joins.any():
            break
        head = np.flatnonzero(np.append(True, ~joins))
        score = np.add.reduceat(score - np.append(0, np.where(joins, between, 0)), head)
        first, last = first[head], last[np.append(head[1:], len(first)) - 1]
    maximal = _maximal(device_row[first], begin[first], end[last], score)
    return first[[stretch.first for stretch in maximal]], last[[stretch.last for stretch in maximal]]


class _Stretch(NamedTuple):
    """A candidate: its parts, the sums of scores before and after it, and the nearest one with less."""

    first: int
    last: int
    before: int
    after: int
    less: int


def _maximal(device_row: np.ndarray, begin: np.ndarray, end: np.ndarray, score: np.ndarray) -> list[_Stretch]:
    """Return the maximal scoring subsequences; the time between parts counts negative."""
    stretches: list[_Stretch] = []
    columns = (device_row.tolist(), begin.tolist(), end.tolist(), score.tolist())
    last_device, total, reached, low = -1, 0, 0, 0
    for number, (device, start, stop, gain) in enumerate(zip(*columns, strict=True)):
        if device != last_device:
            last_device, total, reached, low = device, 0, start, len(stretches)
        before = total - (start - reached)
        total, reached = before + gain, stop
        first, less = number, len(stretches) - 1
        while True:
            while less >= low and stretches[less].before >= before:
                less = stretches[less].less
            if less < low or stretches[less].after >= total:
                break
            first, before = stretches[less].first, stretches[less].before
            del stretches[less:]
            less = len(stretches) - 1
        stretches.append(_Stretch(first, number, before, total, less))
    return stretches


def _most(op: pd.Series, stretch: np.ndarray, value: np.ndarray, stretches: int) -> list[str]:
    """Name the ops with the largest amounts in each stretch."""
    codes = op.cat.codes.to_numpy(np.int64)
    op_names = [*(str(op_name) for op_name in op.cat.categories), ""]
    width = len(op_names)
    pair, pairs = pd.factorize(stretch * width + codes % width)
    total = np.zeros(len(pairs), np.int64)
    np.add.at(total, pair, value)
    stretch_of = pairs // width
    order = np.lexsort((-total, stretch_of))
    rank = np.arange(len(order)) - np.searchsorted(stretch_of[order], stretch_of[order])
    ops: list[list[str]] = [[] for _ in range(stretches)]
    for pair_number in order[rank < _MOST_OPS].tolist():
        ops[stretch_of[pair_number]].append(op_names[pairs[pair_number] % width])
    return [", ".join(filter(None, names)) for names in ops]
