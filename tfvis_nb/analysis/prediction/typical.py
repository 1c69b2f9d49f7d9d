"""The typical step of a prediction, with a range from the steps of the same trace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.prediction.replay import Altered
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.row_numbers import number_rows
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
"""The most time (ns) that a thread loses in a step. Python and the runtime follow pointers: they load a
second-level cache of 1 MB by lines of 64 bytes, each in 0.1 us."""


class Typical(NamedTuple):
    """The median step, in ns (float64)."""

    recorded_ns: float
    predicted_ns: float
    """Of the step that is the median one as recorded, as in the What if tab."""
    low_ns: float
    """The 10 % quantile of the predicted steps or, if it is smaller, their median with `at_its_fastest`; NaN
    for fewer than `FEWEST_STEPS` steps."""
    high_ns: float
    """The 90 % quantile of the predicted steps without `Altered.core_factor`; NaN likewise."""


def typical(times: pd.DataFrame, fastest: pd.DataFrame, slowest: pd.DataFrame, step: int | None) -> Typical:
    """Return the median step, which has the number `step`, given ``times`` of a prediction.

    `fastest` are those with `at_its_fastest`, and `slowest` those without `Altered.core_factor`.
    """
    shown = times.set_index("step")[["recorded_ns", "predicted_ns"]].astype("float64").reindex([step])
    recorded, predicted = shown.iloc[0].tolist()
    low = high = float("nan")
    if len(times) >= FEWEST_STEPS:
        # One step can be outside of the range of all.
        least = (times["predicted_ns"].quantile(LOWEST), fastest["predicted_ns"].median(), predicted)
        low = float(min(least))
        high = float(max(slowest["predicted_ns"].quantile(HIGHEST), predicted))
    return Typical(recorded, predicted, low, high)


def typical_loop(times: pd.DataFrame, fastest: pd.DataFrame, slowest: pd.DataFrame) -> Typical | None:
    """Return the mean round of a loop, given the same times as `typical`; None without rounds."""
    recorded, predicted, least, most = (
        each[f"{name}_loop_ns"].dropna().to_numpy(np.float64)
        for each, name in (
            (times, "recorded"),
            (times, "predicted"),
            (fastest, "predicted"),
            (slowest, "predicted"),
        )
    )
    if not len(recorded):
        return None
    low = high = float("nan")
    if len(recorded) >= FEWEST_STEPS:
        means = [
            [float(part.mean()) for part in np.array_split(each, FEWEST_STEPS)]
            for each in (predicted, least, most)
        ]
        low, high = min(*means[0], *means[1]), max(means[2])
    return Typical(float(recorded.mean()), float(predicted.mean()), low, high)


def possible(trace: Trace, altered: Altered, times: pd.DataFrame) -> pd.DataFrame:
    """Let no predicted step be shorter than the work that stays on a device: its streams share the device."""
    own = backtracker(trace).times
    kept = np.flatnonzero(own.device & own.counts & (altered.factor == 1) & ~altered.hidden)
    device = own.device_number[kept] + (int(own.device_number.max(initial=0)) + 2) * (own.task[kept] + 1)
    place = pd.DataFrame({"step": own.step[kept], "device": device}).groupby(["step", "device"])
    busy = lengths(union(place.ngroup().to_numpy(np.int64), own.start[kept], own.end[kept]), len(place), 2)[
        :, 1
    ]
    least = pd.Series(busy, index=place.size().index, dtype=np.int64).groupby("step").max()
    least = times["step"].map(least).fillna(0).clip(upper=times["recorded_ns"]).astype("int64")
    predicted = times["predicted_ns"].clip(lower=least)
    loop = times["predicted_loop_ns"].clip(lower=least)
    return times.assign(
        predicted_ns=predicted, saved_ns=times["recorded_ns"] - predicted, predicted_loop_ns=loop
    )


def at_its_fastest(trace: Trace, altered: Altered, times: pd.DataFrame) -> Altered:
    """Return a change in which all work of steps also takes as long as its fastest recording.

    After a long wait, or work on other data, work runs slower: caches have other contents, and processors
    save power. A step without it is faster by that, but the trace has no such steps. The fastest time of the
    same row with the change, by its place in the step, is the best that the trace shows. Work on the host
    that does not change may be faster still, if the change removes work: a thread reloads no more than
    removed work had loaded, so it gains at most the time that its step or round saves, and at most `_REFILL`.
    """
    own, table = self_times_of(trace)[0] * altered.factor, backtracker(trace).dependencies
    fastest = _fastest(trace, own)
    on_host = ~accelerators(trace.events) & (altered.factor == 1)
    handed = on_host[table.source] & on_host[table.target]
    lag = (table.satisfied_at - table.released_at).astype(np.float64)
    most = _most_lost(trace, times) * altered.removes
    return altered._replace(
        factor=altered.factor * fastest * np.where(on_host, _warm(trace, own * fastest, on_host, most), 1),
        lag_factor=altered.lag_factor * np.where(handed, _least(lag, most[table.target]), 1),
    )


def _most_lost(trace: Trace, times: pd.DataFrame) -> np.ndarray:
    """Return how much time each event's thread may have lost in its step (ns)."""
    saved = [
        (times[f"recorded{part}_ns"] - times[f"predicted{part}_ns"]).fillna(0).to_numpy(np.float64)
        for part in ("", "_loop")
    ]
    lost = np.clip(np.maximum(*saved), 0, _REFILL)
    of_step = pd.Series(lost, times["step"]).reindex(trace.events["step"].to_numpy(np.int64))
    most: np.ndarray = of_step.fillna(float(np.median(lost))).to_numpy()
    return most


def _least(duration: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the smallest factor of times (ns) that lose at most some time."""
    least: np.ndarray = np.maximum(1 / _COLD, 1 - most / np.maximum(duration, 1))
    return least


def _warm(trace: Trace, own: np.ndarray, on_host: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the smallest factor of each event's own work; all work of a thread in a step shares a loss."""
    events = trace.events
    rows = np.flatnonzero(on_host & (events["step"] != NO_STEP).to_numpy())
    lost = own * (1 - _least(own, most))
    thread, _ = number_rows(*(events[name].iloc[rows] for name in ("step", "task", "device", "lane")))
    total = np.bincount(thread, lost[rows])[thread]
    lost[rows] *= np.minimum(1, most[rows] / np.maximum(total, 1))
    warm: np.ndarray = 1 - lost / np.maximum(own, 1)
    return warm


@per_trace
def same_rows(trace: Trace) -> np.ndarray:
    """Return a number for each event (int64): that of the same row, by its place in the step, of any step."""
    events = trace.events
    key, _ = number_rows(*(events[name] for name in ("task", "device", "kind", "op", "name")))
    step = events["step"].to_numpy()
    place = pd.Series(key).groupby([key, step]).cumcount().to_numpy()
    # Rows outside of steps are the same as no others.
    alone = np.where(step == NO_STEP, np.arange(len(events)), -1)
    return number_rows(key, place, alone)[0]


def _fastest(trace: Trace, own: np.ndarray) -> np.ndarray:
    """Return the factor of each event's own time down to that of the same row in fast steps.

    Its `LOWEST` quantile counts, because rows are hardly all at their very fastest in one step.
    """
    factors = np.ones(len(own))
    took = own > 0
    short = pd.Series(own[took]).groupby(same_rows(trace)[took]).transform("quantile", LOWEST)
    factors[took] = np.minimum(short.to_numpy() / own[took], 1)
    return factors
