"""The typical step of a prediction, with a range from the steps of the same trace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.prediction.replay import Altered
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

FEWEST_STEPS = 5
"""Fewer steps show no range."""
LOWEST, HIGHEST = 0.1, 0.9
"""The range leaves out the same share of steps on either side."""

_COLD = 4
"""How many times slower small work can run after a wait. On two cores that other programs used too, a
pause of 12 ms alone made plain Python 3.2 times and a small ``tf.function`` up to 4 times slower (TensorFlow
2.21), and the range must hold that."""
_REFILL = 1_600_000
"""The most time (ns) that a row loses. Python and the runtime follow pointers: they load a second-level cache
of 1 MB by lines of 64 bytes, each in 0.1 us."""


class Typical(NamedTuple):
    """The median step, in ns (float64)."""

    recorded_ns: float
    predicted_ns: float
    low_ns: float
    """The 10 % quantile of the predicted steps or, if it is smaller, their median with `at_its_fastest`; NaN
    for fewer than `FEWEST_STEPS` steps."""
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


def typical_loop(times: pd.DataFrame, fastest: pd.DataFrame) -> Typical | None:
    """Return the mean round of a loop; `fastest` are the times with `at_its_fastest`. None without rounds."""
    recorded, predicted, least = (
        each[f"{name}_loop_ns"].dropna().to_numpy(np.float64)
        for each, name in ((times, "recorded"), (times, "predicted"), (fastest, "predicted"))
    )
    if not len(recorded):
        return None
    low = high = float("nan")
    if len(recorded) >= FEWEST_STEPS:
        parts = [float(part.mean()) for part in np.array_split(predicted, FEWEST_STEPS)]
        low, high = min(*parts, float(least.mean())), max(parts)
    return Typical(float(recorded.mean()), float(predicted.mean()), low, high)


def at_its_fastest(trace: Trace, altered: Altered, times: pd.DataFrame) -> Altered:
    """Return a change in which all work of steps also takes as long as its fastest recording.

    After a long wait, work runs slower: caches have other contents, and processors save power. A step without
    the wait is faster by that, but the trace has no such steps. The fastest recording of the same row, by its
    place in the step, is the best that the trace shows. If less than half of ``times`` is left, what a change
    leaves of the host's work also ran after the wait, so it may be faster still.
    """
    own, table = self_times_of(trace)[0] * _fastest(trace), backtracker(trace).dependencies
    factor, lag_factor = altered.factor * _fastest(trace), altered.lag_factor
    if times["predicted_ns"].median() < times["recorded_ns"].median() / 2:
        on_host = ~accelerators(trace.events) & (altered.factor == 1)
        lag = (table.satisfied_at - table.released_at).astype(np.float64)
        handed = on_host[table.source] & on_host[table.target]
        factor = factor * np.where(on_host, _warm(own), 1)
        lag_factor = lag_factor * np.where(handed, _warm(lag), 1)
    return altered._replace(factor=factor, lag_factor=lag_factor)


def _warm(duration: np.ndarray) -> np.ndarray:
    """Return the smallest factor of times (ns) without the wait before them."""
    least: np.ndarray = np.maximum(1 / _COLD, 1 - _REFILL / np.maximum(duration, 1))
    return least


@per_trace
def same_rows(trace: Trace) -> np.ndarray:
    """Return a number for each event (int64): that of the same row, by its place in the step, of any step."""
    events = trace.events
    row = [events[name].cat.codes.to_numpy() for name in ("task", "device", "kind", "op")]
    key = pd.MultiIndex.from_arrays([*row, events["name"].to_numpy()]).factorize()[0]
    step = events["step"].to_numpy()
    place = pd.Series(key).groupby([key, step]).cumcount().to_numpy()
    # Rows outside of steps are the same as no others.
    alone = np.where(step == NO_STEP, np.arange(len(events)), -1)
    rows: np.ndarray = pd.MultiIndex.from_arrays([key, place, alone]).factorize()[0]
    return rows


@per_trace
def _fastest(trace: Trace) -> np.ndarray:
    """Return the shortest self time of the same row in any step / the self time of each event."""
    own = self_times_of(trace)[0].astype(np.float64)
    factors = np.ones(len(own))
    took = own > 0
    shortest = pd.Series(own[took]).groupby(same_rows(trace)[took]).transform("min")
    factors[took] = shortest.to_numpy() / own[took]
    return factors
