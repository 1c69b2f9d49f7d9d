"""What a change would save, as a share of step time, where the replay can be trusted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import pandas as pd

from tfvis_nb.analysis.prediction.predicted import fastest_times, slowest_times, step_times
from tfvis_nb.analysis.prediction.replay import no_change, replay, unchanged
from tfvis_nb.analysis.prediction.trust import MOST_DRIFT, doubt
from tfvis_nb.analysis.prediction.typical import FEWEST_STEPS, HIGHEST, LOWEST, possible
from tfvis_nb.analysis.prediction.what_if import requested
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.prediction import BETWEEN, ON_TIME
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

MOST_EVENTS = 100_000
"""Larger traces are not replayed for findings, nor in the What if tab: each replay takes 25 ms for 10,000
events. A loop of eager ops, or a pipeline that maps elements, has tens of thousands in a few steps."""

UNKNOWN = float("nan")


class Gain(NamedTuple):
    """The share of step time, or of a loop, that a change saves, from 0 to 1."""

    share: float
    """`UNKNOWN` if nothing can be predicted, or the steps take no time."""
    low: float = UNKNOWN
    """The 10 % quantile of the shares of single steps or rounds, without `Altered.core_factor`; `UNKNOWN` for
    fewer than `FEWEST_STEPS`."""
    high: float = UNKNOWN
    """The 90 % quantile of the shares or, if it is larger, the share if all work is as short as with
    `at_its_fastest`, before the change and after it: the rest of a step is often faster without the removed
    work."""
    reason: Text | None = None
    """Why the replay is not trusted."""
    saved_ns: pd.Series | None = None
    """What each step of the trace saves, by its number; None if nothing can be predicted."""


def gain(trace: Trace, changes: Mapping[str, Any], steps: Collection[int], *, of_loop: bool = False) -> Gain:
    """Return what a change saves in some steps, or in the rounds of the loop that start with them.

    `changes` has the arguments of `tfvis_nb.analysis.what_if`.
    """
    changes = dict(changes)
    on_time, between_steps = (changes.pop(name, None) for name in (ON_TIME, BETWEEN))
    try:
        altered = requested(trace, changes, on_time, between_steps)
    except ValueError:
        return Gain(UNKNOWN)
    whole, _, longer = step_times(trace, replay(trace, altered), of_loop=of_loop or altered.of_loop)
    chosen = whole["step"].isin(steps)
    times = whole[chosen]
    recorded = int(times["recorded_ns"].sum())
    reason = doubt(trace, altered, times)
    if longer > MOST_DRIFT and not altered.adds_work:
        reason = reason or Text("replay_lacks_dependencies", longer=format_percent(longer))
    if reason or not recorded:
        return Gain(UNKNOWN, reason=reason)
    predicted = possible(trace, altered, whole)
    saved, shares = _saved(predicted[chosen], of_loop)
    saved_ns = predicted.set_index("step")["saved_ns"]
    if len(times) < FEWEST_STEPS:
        return Gain(saved, saved_ns=saved_ns)
    fastest, slowest = (
        possible(trace, altered, each)
        for each in (fastest_times(trace, altered, whole), slowest_times(trace, altered, whole))
    )
    before = _fastest(trace)
    fastest = fastest.assign(**{f"recorded{of}_ns": before[f"predicted{of}_ns"] for of in ("", "_loop")})
    most, least = (_saved(each[each["step"].isin(steps)], of_loop) for each in (fastest, slowest))
    low, high = float(least[1].quantile(LOWEST)), float(shares.quantile(HIGHEST))
    return Gain(saved, min(low, saved), max(high, saved, most[0]), saved_ns=saved_ns)


@per_trace
def _fastest(trace: Trace) -> pd.DataFrame:
    """Return the times of steps without a change if all work is as short as with `at_its_fastest`."""
    return fastest_times(trace, no_change(trace), step_times(trace, unchanged(trace))[0])


def _saved(times: pd.DataFrame, of_loop: bool) -> tuple[float, pd.Series]:
    """Return the share that all steps or rounds save together, and those of single ones."""
    before, after = (times[f"{name}_ns"].astype("float64") for name in ("recorded", "predicted"))
    single = before > 0
    if of_loop:
        # The loop ends with the last step.
        single &= times["recorded_loop_ns"].notna()
        before, after = (
            times[f"{name}_loop_ns"].astype("float64").fillna(step)
            for name, step in (("recorded", before), ("predicted", after))
        )
    saved = before - after
    return float(saved.sum() / before.sum()), (saved / before)[single]
