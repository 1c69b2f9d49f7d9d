"""Functions that JAX compiles: their calls, and the tracing and lowering in each.

JAX records a call as ``PjitFunction(train)``, and the lowering of the traced function as a separate event.
Tracing has no event: it lasts from the start of the call to the lowering.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.core.categories import is_kind, map_categories
from tfvis_nb.core.step_spans import CALL
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.xspace.jitted import LOWERING, jitted_function


class JittedEvents(NamedTuple):
    """The events of JAX's functions, as masks of the events of a trace.

    - `calls`: Calls by the program, and calls while another function is traced that compile on their own.
    - `lowerings`: One for each time a function was traced and compiled.
    """

    calls: np.ndarray
    lowerings: np.ndarray


def jitted_events(trace: Trace) -> JittedEvents:
    """Find the calls of functions that JAX compiles."""
    events = trace.events
    is_host = is_kind(events, "host")
    lowerings = is_host & map_categories(events["op"], lambda text: text == LOWERING)
    called = is_host & map_categories(events["op"], lambda text: text.startswith(CALL))
    if not called.any():
        return JittedEvents(called, lowerings & called)
    outer = parents(events, called | lowerings)
    calls = called & (outer < 0)
    compiling = outer[lowerings]
    compiling = compiling[compiling >= 0]
    # JAX records a call twice, one nested in the other, if its fast path does not know the call.
    around = outer[compiling]
    name = events["name"].astype(object).to_numpy()
    twice = (around >= 0) & (name[around] == name[compiling])
    calls[np.where(twice, around, compiling)] = True
    return JittedEvents(calls & called, lowerings)


def count_jitted(calls: pd.DataFrame) -> None:
    """Mark the calls that trace a function called before, and use the functions' own names."""
    functions = calls["name"].map(jitted_function)
    jitted = functions.astype(bool)
    calls["name"] = calls["name"].where(~jitted, functions)
    before = calls.groupby(["task", "name"]).cumcount() > 0
    calls["again"] |= jitted & before & (calls["tracings"] > 0)


def add_python(events: pd.DataFrame, calls: pd.DataFrame, tracings: pd.DataFrame, outer: np.ndarray) -> None:
    """Start tracings of JAX with their calls: ``start_ns``, and ``own_ns`` without nested calls."""
    lowered = (tracings["name"] == LOWERING).to_numpy() & (tracings["call"] >= 0).to_numpy()
    if not lowered.any():
        return
    start = events["start_ns"].to_numpy(np.int64)
    duration = events["duration_ns"].to_numpy(np.int64)
    rows = tracings["event"].to_numpy(np.int64)[lowered]
    around = calls["event"].to_numpy(np.int64)[tracings["call"].to_numpy(np.int64)[lowered]]
    inner = calls["event"].to_numpy(np.int64)
    inner = inner[outer[inner] >= 0]
    within = np.zeros(len(events), np.int64)
    np.add.at(within, outer[inner], duration[inner])
    tracings.loc[lowered, "start_ns"] = start[around]
    tracings.loc[lowered, "own_ns"] = np.maximum(
        start[rows] + duration[rows] - start[around] - within[around], 0
    )
