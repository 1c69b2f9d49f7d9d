"""The critical path of each step: the chain of events that determines how long it takes."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.critical_path.backtrack import WAITS, PathSegments, backtracker
from tfvis_nb.analysis.critical_path.dependency_table import KINDS
from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.analysis.unavailable import cannot_say, why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

CATEGORIES = (*ACTIVITIES[1:], "other", *WAITS)
"""Categories of the pieces of a path; see `FIGURES`."""

FIGURES: dict[str, str] = {
    "duration_ns": "How long the step waited for this piece of its path, in ns; the pieces of a step "
    "follow each other without gaps and add up to its duration exactly.",
    "share": "duration_ns / the step's duration.",
    "device_compute": "Kernels and memsets on the path, in ns.",
    "d2h": "Copies from a device to the host on the path, in ns.",
    "d2d": "Copies within and between devices on the path, in ns.",
    "h2d": "Copies from the host to a device on the path, in ns.",
    "input": "Waiting for the next batch on the path, including the work of the input pipeline, in ns.",
    "communication": "Tensors received and collectives on the path, in ns, without waiting for senders "
    "and other ranks, because the path continues with those.",
    "launch": "Launching kernels and copies, and executing an accelerator's ops, on the path, in ns.",
    "compile": "Tracing and compiling functions on the path, in ns.",
    "host_compute": "Ops on a CPU on the path, in ns.",
    "runtime": "Python and the runtime around ops on the path, in ns.",
    "preprocessing": "Threads of the input pipeline on the path, in ns: the step waited for them, so "
    "nothing hides them.",
    "other": "Ops on the path that only wait or call others, in ns.",
    "transfer_wait": "From the end of the event that made a tensor until the tensor is on its way to its "
    "receiver, in ns.",
    "launch_latency": "From the call that launched a kernel or copy until it starts, although its stream "
    "is free, in ns.",
    "kernel_gap": "From the end of a kernel or copy to the start of the next one in its stream, or of one"
    " that uses its output, if that one is known to have been launched before, in ns.",
    "queueing": "From when an op was ready until it started, in ns: it waited for a thread.",
    "scheduling": "From the end of what an event waited for until the event was ready or started, in ns.",
    "unknown": "No record shows what was waited for, in ns.",
}
"""Meanings of the categories. Activities are those of `tfvis_nb.analysis.events.activity.activity`."""

_COLUMNS = {
    "step": "int64",
    "start_ns": "int64",
    "duration_ns": "int64",
    "category": "category",
    "event": "int64",
    "by": "category",
}
_CATEGORY, _BY = pd.CategoricalDtype(list(CATEGORIES)), pd.CategoricalDtype(list(KINDS))
_LENGTHS = {"step": "int64", "category": "category", "duration_ns": "int64", "share": "float64"}


@validate_input
def critical_path(trace: Trace, step: int | None = None) -> pd.DataFrame:
    """Return the segments of each step's critical path, in order of time.

    The path goes back from the event that ends a step, always to the event that released it last, to the
    start of the step. Between two events is the time until the later one started, such as its launch.

    Parameters
    ----------
    trace
        Any trace.
    step
        One of its steps; all by default.

    Returns
    -------
    pandas.DataFrame
        One row per piece of a path, ordered by step and time: ``step`` (int64), ``start_ns``, ``duration_ns``
        (int64; the pieces of a step cover it from its start to its end exactly), ``category`` (category of
        `CATEGORIES`), ``event`` (int64 id of the event that ran, or, in ``transfer_wait`` and the pieces
        after it, that had not started yet) and ``by`` (category of
        `tfvis_nb.analysis.critical_path.dependency_table.KINDS`: how the path continues from here, NaN at its
        end). `cannot_say` if no event belongs to a step.

    Raises
    ------
    ValueError
        If there is no such step.

    Notes
    -----
    `tfvis_nb.analysis.critical_path.dependencies.dependencies` defines what an event waits for. Pipit and
    Holistic Trace Analysis also find the path by going back to the last arrival; if each event starts as soon
    as it can, this is the longest path. Here every kind of wait between two events has its own category.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> table = events.build({
    ...     "start_ns": [0, 0, 60], "duration_ns": [50, 20, 30], "kind": ["op"] * 3, "lane": ["ops"] * 3,
    ...     "name": ["a", "b", "c"], "detail": ["a = Const()", "b = Const()", "c = Add(a, b)"],
    ... })
    >>> Trace(table).critical_path[["duration_ns", "category", "event"]].values.tolist()
    [[50, 'host_compute', 0], [10, 'scheduling', 2], [30, 'host_compute', 2]]
    """
    steps = trace.steps[trace.steps["step"] != NO_STEP]
    if step is not None:
        steps = steps[steps["step"] == step]
        if steps.empty:
            raise ValueError(Text("no_step", step=step))
    if steps.empty:
        return cannot_say(_COLUMNS, Text("no_steps"))
    number, first, last = (steps[name].to_numpy(np.int64) for name in ("step", "start_ns", "end_ns"))
    paths = backtracker(trace)
    pieces = paths.trace_back(final_events(trace, number), last, first)
    pieces = PathSegments(*(column[np.lexsort((pieces.start, pieces.walk))] for column in pieces))
    return pd.DataFrame(
        {
            "step": number[pieces.walk],
            "start_ns": pieces.start,
            "duration_ns": pieces.end - pieces.start,
            "category": pd.Categorical.from_codes(categories(paths.activity, pieces), dtype=_CATEGORY),
            "event": pieces.event,
            "by": pd.Categorical.from_codes(pieces.kind.astype(np.int8), dtype=_BY),
        }
    )


@validate_input
def path_lengths(trace: Trace) -> pd.DataFrame:
    """Return the length of each category of each step's critical path.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        ``step`` (int64), ``category``, ``duration_ns`` (int64) and ``share`` (float64): the longest first
        within a step. Lengths add up exactly to the step. `cannot_say` as in `critical_path`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import path_lengths
    >>> table = events.build({"start_ns": [0, 60], "duration_ns": [50, 40], "kind": ["op"] * 2})
    >>> path_lengths(Trace(table))[["category", "duration_ns", "share"]].values.tolist()
    [['host_compute', 90, 0.9], ['unknown', 10, 0.1]]
    """
    path = critical_path(trace)
    if why_not(path):
        return cannot_say(_LENGTHS, why_not(path))
    table = path.groupby(["step", "category"], observed=True)["duration_ns"].sum().reset_index()
    table["share"] = table["duration_ns"] / table.groupby("step")["duration_ns"].transform("sum")
    order = np.lexsort((-table["duration_ns"], table["step"]))
    return table.take(order).reset_index(drop=True)


@validate_input
def path_events(trace: Trace) -> np.ndarray:
    """Return a mask of the events on the critical path of a step."""
    mask = np.zeros(len(trace.events), bool)
    path = critical_path(trace)
    if not path.empty:
        mask[path["event"].to_numpy(np.int64)[~path["category"].isin(WAITS).to_numpy()]] = True
    return mask


def categories(activity: np.ndarray, pieces: PathSegments) -> np.ndarray:
    """Return the index in `CATEGORIES` of each piece (int8)."""
    other = len(ACTIVITIES) - 1
    running = activity[pieces.event]
    numbers = np.where(pieces.wait >= 0, pieces.wait + other + 1, np.where(running > 0, running - 1, other))
    return numbers.astype(np.int8)


@validate_input
def final_events(trace: Trace, steps: np.ndarray) -> np.ndarray:
    """Return the event of each step that ends it; of several, the one that started last (int64 ids).

    Rows that repeat others count only if a step has no other. Rows that end after the step do not end it.
    """
    times = backtracker(trace).times
    known = trace.steps["step"].to_numpy(np.int64)
    last = trace.steps["end_ns"].to_numpy(np.int64)[np.searchsorted(known, times.step)]
    rows = np.flatnonzero((times.step != NO_STEP) & (times.end <= last))
    rows = rows[np.lexsort((rows, times.end[rows], times.counts[rows], times.step[rows]))]
    return rows[np.searchsorted(times.step[rows], steps, "right") - 1]
