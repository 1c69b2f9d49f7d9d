"""Stacks for events without their own, taken from the events that contain or launched them."""

import numpy as np

from tfvis_nb.analysis.dataflow.recorded_links import launches
from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.trace import Trace

_CONVERSIONS = ("convert_to_tensor", "tf.constant", "EagerExecute")
"""Calls around the op of a line that has no call of its own, each inside the previous one."""


def inherited(trace: Trace, has: np.ndarray) -> np.ndarray:
    """Return for each event the event whose stack it gets: itself, another, or -1.

    A call gets the stack of the op around it, a kernel or copy that of the op that launched it. Calls that
    wait for a function get no stack. `has` marks the events with their own stacks.
    """
    holder = np.where(has, np.arange(len(has)), -1)
    parent = parents(trace.events)
    _from_conversions(trace, holder, parent)
    _from_outer(holder, parent)
    # A function call waits while its ops run on other threads, which have their own lines.
    host = is_kind(trace.events, "host")
    waits = holder[(trace.events["name"] == "FunctionRun").to_numpy(bool)]
    holder[host & np.isin(holder, waits[waits >= 0])] = -1
    source, target = launches(trace)
    new = holder[target] < 0
    holder[target[new]] = holder[source[new]]
    return holder


def _from_conversions(trace: Trace, holder: np.ndarray, parent: np.ndarray) -> None:
    """Give calls that convert a value to a tensor the holder of the nested op that creates it."""
    around = np.append(trace.events["name"].isin(_CONVERSIONS).to_numpy(bool), False)
    for _ in _CONVERSIONS:
        inner = np.flatnonzero((holder >= 0) & around[parent])
        inner = inner[holder[parent[inner]] < 0]
        holder[parent[inner]] = holder[inner]


def _from_outer(holder: np.ndarray, parent: np.ndarray) -> None:
    """Give each event without a holder that of the nearest enclosing event with one."""
    outer = parent.copy()
    while len(todo := np.flatnonzero((holder < 0) & (outer >= 0))):
        holder[todo] = holder[outer[todo]]
        # Each round doubles the distance.
        outer[todo] = np.where(outer[outer[todo]] >= 0, outer[outer[todo]], -1)
