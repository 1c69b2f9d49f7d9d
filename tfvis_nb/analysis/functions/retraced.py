"""Time of tracing and compiling functions again, by task and step."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.traced_calls import tracing_spans
from tfvis_nb.analysis.functions.calls import FunctionEvents, function_events
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP


@per_trace
def _in_steps(trace: Trace) -> FunctionEvents:
    """Return the calls that trace functions again, these tracings, and the compilations in these calls.

    Each has ``event``, ``task`` and ``name``. Those outside steps are left out: a call may be outside the
    step in which it compiles.
    """
    recorded, step = function_events(trace), trace.events["step"].to_numpy()
    calls, tracings = (table[table["again"].to_numpy(bool)] for table in recorded[:2])
    compilations = recorded.compilations.join(calls[["task", "name"]], on="call", how="inner")
    return FunctionEvents(
        *(table[step[table["event"]] != NO_STEP] for table in (calls, tracings, compilations))
    )


def retraced(trace: Trace) -> np.ndarray:
    """Return the events in steps that trace functions again, or compile them in the same call."""
    _, *tables = _in_steps(trace)
    return np.concatenate([table["event"].to_numpy(np.int64) for table in tables])


def retraced_in_steps(trace: Trace) -> list[tuple[str, str]]:
    """Return the task and name of each function that is traced again in a step, or compiled for it there."""
    return [pair for table in _in_steps(trace) for pair in zip(table["task"], table["name"], strict=True)]


@per_trace
def retraced_times(trace: Trace) -> pd.Series:
    """Return the time of tracing functions again and compiling them, in ns, by task and step.

    As in `function_events`, a tracing starts with its call. Time outside the step does not count.
    """
    tracings = function_events(trace).tracings
    start, end = _recorded(trace)
    start[tracings["event"]], end[tracings["event"]] = tracings["start_ns"], tracings["end_ns"]
    return _covered(trace, start, end)


@per_trace
def recompiled_times(trace: Trace) -> pd.Series:
    """Return the part of `retraced_times` that the breakdown counts as compiling, by task and step."""
    return _covered(trace, *tracing_spans(trace, *_recorded(trace)))


def _recorded(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    start = trace.events["start_ns"].to_numpy(np.int64).copy()
    return start, start + trace.events["duration_ns"].to_numpy(np.int64)


def _covered(trace: Trace, start: np.ndarray, end: np.ndarray) -> pd.Series:
    """Return how long retraced events with these times last in their steps, by task and step."""
    rows, events = retraced(trace), trace.events
    task = events["task"].iloc[rows].astype(object).fillna("").to_numpy()
    places = pd.DataFrame({"task": task, "step": events["step"].to_numpy()[rows]}).groupby(["task", "step"])
    steps = trace.steps.set_index("step").loc[events["step"].iloc[rows]]
    first, last = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    covered = union(
        places.ngroup().to_numpy(np.int64), np.maximum(start[rows], first), np.minimum(end[rows], last)
    )
    return pd.Series(lengths(covered, len(places), 2)[:, 1], index=places.size().index, dtype=np.int64)
