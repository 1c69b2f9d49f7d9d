"""Stacks for events without their own, taken from the events that contain or launched them."""

import numpy as np

from tfvis_nb.analysis.dataflow.recorded_links import launches
from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.trace import Trace

_CONVERSIONS = ("convert_to_tensor", "tf.constant", "EagerExecute")
"""Calls around the op of one line that has no call of its own, each within the one before."""


def inherited(trace: Trace, has: np.ndarray) -> np.ndarray:
    """Return for each event the one whose stack it has: itself, or another, or -1.

    A call has the stack of the op around it, a kernel or copy that of the op that launched it. Calls that
    wait for a function to run get no stack. `has` marks the events that have stacks of their own.
    """
    holder = np.where(has, np.arange(len(has)), -1)
    parent = parents(trace.events)
    _from_conversions(trace, holder, parent)
    _from_outer(holder, parent)
    # A call of a function waits while its ops run on other threads: they have their own lines.
    host = is_kind(trace.events, "host")
    waits = holder[(trace.events["name"] == "FunctionRun").to_numpy(bool)]
    holder[host & np.isin(holder, waits[waits >= 0])] = -1
    source, target = launches(trace)
    new = holder[target] < 0
    holder[target[new]] = holder[source[new]]
    return holder


def _from_conversions(trace: Trace, holder: np.ndarray, parent: np.ndarray) -> None:
    """Give calls that make a value a tensor the holder of the op within that makes it."""
    around = np.append(trace.events["name"].isin(_CONVERSIONS).to_numpy(bool), False)
    for _ in _CONVERSIONS:
        inner = np.flatnonzero((holder >= 0) & around[parent])
        inner = inner[holder[parent[inner]] < 0]
        holder[parent[inner]] = holder[inner]


def _from_outer(holder: np.ndarray, parent: np.ndarray) -> None:
    """Give each event without a holder that of the nearest event around it that has one."""
    outer = parent.copy()
    while len(todo := np.flatnonzero((holder < 0) & (outer >= 0))):
        holder[todo] = holder[outer[todo]]
        # Twice as far in each round.
        outer[todo] = np.where(outer[outer[todo]] >= 0, outer[outer[todo]], -1)
