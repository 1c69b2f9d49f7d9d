"""Estimate clock offsets between tasks, from events whose order is certain.

A tensor is not received before it is made, and no rank leaves a collective before the last one has entered
it. Each such fact bounds the difference of two clocks from one side; together they give an interval for each
clock. Contradictory facts are not averaged: such a clock is left unchanged.
"""

import re

import numpy as np
import pandas as pd

from tfvis_nb.clocks.constraints import Evidence, collectives, transfers
from tfvis_nb.clocks.shift import records_moved
from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.events import TIMES
from tfvis_nb.texts import Text

_ROUNDING = 2_000
"""Tolerance in ns between times in whole microseconds."""

_FAR = 1_000_000
"""Clocks that may be this many ns apart get a note."""
_MOST_NAMED = 8

MOST_TASKS = 512
"""Clocks of more tasks are not compared, because each pair is bounded through all others."""


def clock_offsets(trace: Trace) -> pd.DataFrame:
    """Return how far the clock of each task is ahead of that of the first task, one row per task.

    ``low_ns`` and ``high_ns`` (float64) are the interval in which the offset lies, infinite if nothing bounds
    it. ``offset_ns`` (int64) is the one to use: 0 if the interval allows it. ``collectives`` and
    ``transfers`` count the evidence; if it is ``contradicting`` (bool), the offset is 0. Above `MOST_TASKS`
    tasks, no clock but the first is bounded.

    >>> from tfvis_nb import Trace, events
    >>> table = events.build({
    ...     "task": ["/job:w/task:0", "/job:w/task:1"], "start_ns": [0, 50000], "duration_ns": [10000] * 2,
    ...     "kind": ["collective"] * 2, "name": ["sum"] * 2, "lane": ["collective"] * 2,
    ... })
    >>> clock_offsets(Trace(table))[["low_ns", "high_ns", "offset_ns"]].values.tolist()
    [[0.0, 0.0, 0.0], [40000.0, 60000.0, 50000.0]]
    """
    tasks = _tasks(trace)
    if len(tasks) > MOST_TASKS:
        return _unbounded(tasks)
    evidence = [collectives(trace, tasks), transfers(trace, tasks)]
    most = np.minimum(evidence[0].most, evidence[1].most)
    nearest, refused = _closed(most)
    low, high = (0.0 - nearest[:1]).ravel(), nearest[:, :1].ravel()
    offsets = [
        _used(low[task], high[task], evidence, task) if task and not refused[task] else 0
        for task in range(len(tasks))
    ]
    return pd.DataFrame(
        {
            "task": pd.array(tasks, dtype="str"),
            "low_ns": low,
            "high_ns": high,
            "offset_ns": np.array(offsets, np.int64),
            "collectives": evidence[0].counts,
            "transfers": evidence[1].counts,
            "contradicting": refused,
        }
    )


def _tasks(trace: Trace) -> list[str]:
    return [task for task in trace.events["task"].cat.remove_unused_categories().cat.categories if task]


def _unbounded(tasks: list[str]) -> pd.DataFrame:
    others = np.append(0.0, np.full(len(tasks) - 1, np.inf))
    none = np.zeros(len(tasks), np.int64)
    return pd.DataFrame(
        {
            "task": pd.array(tasks, dtype="str"),
            "low_ns": -others,
            "high_ns": others,
            "offset_ns": none,
            "collectives": none,
            "transfers": none,
            "contradicting": none.astype(bool),
        }
    )


def _closed(most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Follow bounds over other tasks; return the closest bounds, and which tasks' contradict themselves.

    ``most[a, b]`` is how much the clock of a can at most be ahead of the clock of b.
    """
    nearest = most.copy()
    np.fill_diagonal(nearest, 0)
    both = nearest + nearest.T
    refused = np.zeros(len(most), bool)
    # A contradictory pair does not affect other tasks.
    one, other = np.nonzero(both < -_ROUNDING)
    nearest[one, other] = np.inf
    refused[np.maximum(one, other)] = True
    for middle in range(len(nearest)):
        nearest = np.minimum(nearest, nearest[:, [middle]] + nearest[[middle]])
    refused |= np.diagonal(nearest) < -_ROUNDING
    nearest[refused] = np.inf
    nearest[:, refused] = np.inf
    np.fill_diagonal(nearest, 0)
    return nearest, refused


def _used(low: float, high: float, evidence: list[Evidence], task: int) -> int:
    """Choose an offset in an interval; a clock that may be right is not changed."""
    low, high = min(low, high), max(low, high)
    if low - _ROUNDING <= 0 <= high + _ROUNDING:
        return 0
    if np.isinf(low) or np.isinf(high):
        return round(high if np.isinf(low) else low)
    # All ranks leave a collective almost together, but may enter it at any time.
    leaving = evidence[0].leaving[task]
    return round((low + high) / 2 if np.isnan(leaving) else float(np.clip(leaving, low, high)))


def aligned(trace: Trace) -> Trace:
    """Return the trace with aligned clocks, and a note on each clock that was moved.

    Its ``clock_bounds`` state how far they may still be apart. A note names clocks left unaligned although
    they may be far apart.
    """
    from tfvis_nb.events import order

    if len(_tasks(trace)) > MOST_TASKS:
        trace.notes.append(Text("clocks_not_compared", tasks=len(_tasks(trace)), most=MOST_TASKS))
        return trace
    offsets = clock_offsets(trace)
    notes = [*filter(None, (_note(offsets.iloc[index]) for index in range(1, len(offsets)))), *_kept(offsets)]
    bounds = _remaining(offsets)
    if not offsets["offset_ns"].any():
        trace.notes.extend(notes)
        trace.clock_bounds = bounds
        return trace
    of_task = dict(zip(offsets["task"], offsets["offset_ns"], strict=True))
    by_code = np.array([of_task.get(task, 0) for task in trace.events["task"].cat.categories], np.int64)
    offset = by_code[trace.events["task"].cat.codes]
    table = trace.events.copy(deep=False)
    for name in TIMES:
        table[name] = table[name] - offset
    table, before = order(table)
    nested = records_moved(trace.nested, offset)
    nested = None if nested is None else nested.take(before)
    counters = trace.recorded_counters
    of_counter = np.array([of_task.get(task, 0) for task in counters["task"].cat.categories], np.int64)
    return replaced(
        trace,
        table,
        nested=nested,
        notes=[*trace.notes, *notes],
        clock_bounds=bounds,
        recorded_counters=counters.assign(
            time_ns=counters["time_ns"] - of_counter[counters["task"].cat.codes]
        ),
    )


def _remaining(offsets: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return how far each clock may still be ahead of the first task's after subtracting its offset."""
    evident = offsets[(offsets["collectives"] > 0) | (offsets["transfers"] > 0)]
    # Rounding of times may exclude the offset used.
    low = np.minimum(evident["low_ns"] - evident["offset_ns"], 0).tolist()
    high = np.maximum(evident["high_ns"] - evident["offset_ns"], 0).tolist()
    bounds = dict(zip(evident["task"].tolist(), zip(low, high, strict=True), strict=True))
    first = offsets["task"].iloc[0] if len(offsets) else ""
    bounds.pop(first, None)
    return {first: (0.0, 0.0), **bounds} if bounds else {}


def _kept(offsets: pd.DataFrame) -> list[str]:
    """Return a note on clocks left as recorded, although they may be far apart."""
    kept = []
    for _, row in offsets.iloc[1:].iterrows():
        if row["contradicting"] or row["offset_ns"] or max(-row["low_ns"], row["high_ns"]) < _FAR:
            continue
        known = np.isfinite(row[["low_ns", "high_ns"]].astype(float)).any()
        by = f"{_bounds(row)}, according to {_evidence(row)}" if known else "unknown"
        kept.append(f"{_short(row['task'])} (offset {by})")
    if not kept:
        return []
    more = f" and {len(kept) - _MOST_NAMED} more" if len(kept) > _MOST_NAMED else ""
    named = f"{', '.join(kept[:_MOST_NAMED])}{more}"
    return [Text("clocks_kept", first=_short(offsets["task"].iloc[0]), tasks=named)]


def _evidence(row: pd.Series) -> str:
    counts = [
        f"{row[what]} {what if row[what] != 1 else what.removesuffix('s')}"
        for what in ("collectives", "transfers")
        if row[what]
    ]
    return " and ".join(counts)


def _note(row: pd.Series) -> str:
    task, evidence = _short(row["task"]), _evidence(row)
    if row["contradicting"]:
        return Text("clock_contradicted", task=task, evidence=evidence)
    if not row["offset_ns"]:
        return ""
    moved = _milliseconds(row["offset_ns"])
    return Text("clock_moved", task=task, offset_ms=moved, bounds=_bounds(row), evidence=evidence)


def _bounds(row: pd.Series) -> Text:
    """Format the interval of a bounded clock."""
    low, high = _milliseconds(row["low_ns"]), _milliseconds(row["high_ns"])
    bounded = np.isfinite(row["low_ns"]), np.isfinite(row["high_ns"])
    return (
        Text("offset_between", low_ms=low, high_ms=high)
        if all(bounded)
        else Text("offset_at_least", low_ms=low)
        if bounded[0]
        else Text("offset_at_most", high_ms=high)
    )


def _short(task: str) -> str:
    match = re.fullmatch(r"/job:([^/]+)(?:/replica:\d+)?/task:(\d+)", task)
    return f"{match[1]} {match[2]}" if match else task


def _milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:+.3f}".rstrip("0").rstrip(".")
