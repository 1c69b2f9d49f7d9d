"""Time of tracing and compiling functions again, by task and step."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.functions.calls import function_events
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP


@per_trace
def retraced(trace: Trace) -> np.ndarray:
    """Return the events in steps that trace functions again, or compile them in the same call."""
    found = function_events(trace)
    again = np.append(found.calls["again"].to_numpy(bool), False)
    compiled = found.compilations["event"][again[found.compilations["call"].to_numpy(np.int64)]]
    traced = found.tracings["event"][found.tracings["again"].to_numpy(bool)]
    rows = np.concatenate([traced.to_numpy(np.int64), compiled.to_numpy(np.int64)])
    within: np.ndarray = rows[trace.events["step"].to_numpy()[rows] != NO_STEP]
    return within


def retraced_in_steps(trace: Trace) -> list[tuple[str, str]]:
    """Return the task and name of each function that is traced again in a step."""
    found, step = function_events(trace), trace.events["step"].to_numpy()
    again = [table[table["again"].to_numpy(bool)] for table in found[:2]]
    within = [table[step[table["event"].to_numpy(np.int64)] != NO_STEP] for table in again]
    return [pair for table in within for pair in zip(table["task"], table["name"], strict=True)]


@per_trace
def retraced_times(trace: Trace) -> pd.Series:
    """Return the time of tracing functions again and compiling them, in ns, by task and step."""
    rows, events = retraced(trace), trace.events
    task = events["task"].iloc[rows].astype(object).fillna("").to_numpy()
    places = pd.DataFrame({"task": task, "step": events["step"].to_numpy()[rows]}).groupby(["task", "step"])
    start = events["start_ns"].to_numpy(np.int64)[rows]
    end = start + events["duration_ns"].to_numpy(np.int64)[rows]
    covered = union(places.ngroup().to_numpy(np.int64), start, end)
    return pd.Series(lengths(covered, len(places), 2)[:, 1], index=places.size().index, dtype=np.int64)
