"""The typical step of a prediction, with a range from the steps of the same trace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.prediction.replay import Altered
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

FEWEST_STEPS = 5
"""Fewer steps show no range."""
LOWEST, HIGHEST = 0.1, 0.9
"""The range leaves out the same share of steps on either side."""


class Typical(NamedTuple):
    """The median step, in ns (float64)."""

    recorded_ns: float
    predicted_ns: float
    low_ns: float
    """The 10 % quantile of the predicted steps or, if it is smaller, their median if all work is as fast as
    its fastest recording; NaN for fewer than `FEWEST_STEPS` steps."""
    high_ns: float
    """The 90 % quantile of the predicted steps; NaN likewise."""


def typical(times: pd.DataFrame, fastest: pd.DataFrame) -> Typical:
    """Return the typical step of ``times`` of a prediction; `fastest` are those with `at_its_fastest`."""
    recorded, predicted = (times[name].astype("float64") for name in ("recorded_ns", "predicted_ns"))
    low = high = float("nan")
    if len(times) >= FEWEST_STEPS:
        low, high = (float(predicted.quantile(share)) for share in (LOWEST, HIGHEST))
        low = min(low, float(fastest["predicted_ns"].median()))
    return Typical(float(recorded.median()), float(predicted.median()), low, high)


def at_its_fastest(trace: Trace, altered: Altered) -> Altered:
    """Return a change in which all work of steps also takes as long as its fastest recording.

    After a long wait, work runs slower: caches have other contents, and processors save power. A step without
    the wait is faster by that, but the trace has no such steps. The fastest recording of the same row, by its
    place in the step, is the best that the trace shows.
    """
    return altered._replace(factor=altered.factor * _fastest(trace))


@per_trace
def _fastest(trace: Trace) -> np.ndarray:
    """Return the shortest self time of the same row in any step / the self time of each event."""
    events = trace.events
    own = self_times_of(trace)[0].astype(np.float64)
    row = [events[name].cat.codes.to_numpy() for name in ("task", "device", "kind", "op")]
    key = pd.MultiIndex.from_arrays([*row, events["name"].to_numpy()]).factorize()[0]
    step = events["step"].to_numpy()
    place = pd.Series(key).groupby([key, step]).cumcount().to_numpy()
    inside = (step != NO_STEP) & (own > 0)
    shortest = pd.Series(own[inside]).groupby([key[inside], place[inside]]).transform("min")
    found = np.ones(len(events))
    found[inside] = shortest.to_numpy() / own[inside]
    return found
