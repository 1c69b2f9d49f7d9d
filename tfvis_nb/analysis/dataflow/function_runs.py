"""The runs of functions that the ops of a profile belong to."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.dataflow.recorded_links import link_numbers, recorded_links
from tfvis_nb.analysis.events.nesting import parents_of
from tfvis_nb.core.text_rows import text_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_EXECUTOR = "ExecutorState::Process"
_CALL = "KernelAndDeviceFunc::Run"
"""The call of a function, which runs the part of each device on its own."""
_ROUNDS = 8
"""How often work of a run is handed on between threads, such as to those of collectives."""


class FunctionRuns(NamedTuple):
    """The runs of functions and graphs in a profile.

    - `number`: The run of each event, -1 if it is not known.
    - `callers`: The innermost event on the calling thread for each run, -1 if it is not known.
    """

    number: np.ndarray
    callers: np.ndarray


def function_runs(trace: Trace, parent: np.ndarray | None = None) -> FunctionRuns:
    """Find the runs of functions. `parent` has the `parents` of the events, if they are known.

    An executor works for one run at a time, and the profile links it to the call that started the run.
    """
    number = np.full(len(trace.events), -1)
    rows, consumed = link_numbers(trace.nested, "consumed")
    ran = (text_rows(trace.events["name"], rows) == _EXECUTOR).to_numpy(bool)
    if not ran.any():
        return FunctionRuns(number, np.zeros(0, np.int64))
    parent = parents_of(trace) if parent is None else parent
    part, run = pd.factorize(consumed[ran])
    callers = _callers(trace, run)
    around = np.append(parent, -1)[callers]
    is_call = (text_rows(trace.events["name"], around) == _CALL).to_numpy(bool) & (around >= 0)
    _, first, group = np.unique(
        np.where(is_call, around, -2 - np.arange(len(run))), return_index=True, return_inverse=True
    )
    number[rows[ran]] = group[part]
    _spread(trace, number, parent)
    return FunctionRuns(number, callers[first])


def _callers(trace: Trace, run: np.ndarray) -> np.ndarray:
    """Return the event that started each run; -1 if there are none or several."""
    rows, produced = link_numbers(trace.nested, "produced")
    called = pd.Index(run).get_indexer(produced)
    starts = pd.Series(rows[called >= 0]).groupby(called[called >= 0]).agg(["first", "size"])
    callers = np.full(len(run), -1)
    callers[starts.index] = np.where(starts["size"] == 1, starts["first"], -1)
    return callers


def _spread(trace: Trace, number: np.ndarray, parent: np.ndarray) -> None:
    """Number the events inside executors, and work that other threads took over from these."""
    links = recorded_links(trace)
    links = links[(links["kind"] == "control").to_numpy()]
    source, target = (links[name].to_numpy(np.int64) for name in ("source", "target"))
    for _ in range(_ROUNDS):
        outer = parent.copy()
        while len(todo := np.flatnonzero((number < 0) & (outer >= 0))):
            number[todo] = number[outer[todo]]
            # Each round doubles the distance.
            outer[todo] = np.where(outer[outer[todo]] >= 0, outer[outer[todo]], -1)
        new = (number[target] < 0) & (number[source] >= 0)
        if not new.any():
            break
        number[target[new]] = number[source[new]]
    # The last executor may still work when the profile ends, so it has no event.
    step = trace.events["step"].to_numpy(np.int64)
    known = (number >= 0) & (step != NO_STEP)
    runs = pd.Series(number[known]).groupby(step[known]).agg(["min", "max"])
    alone = runs["min"][runs["min"] == runs["max"]].reindex(step, fill_value=-1).to_numpy()
    number[number < 0] = alone[number < 0]
