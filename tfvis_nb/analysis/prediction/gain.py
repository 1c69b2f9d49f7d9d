"""The most that a change would save, as a share of step time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tfvis_nb.analysis.prediction.predicted import step_times
from tfvis_nb.analysis.prediction.replay import replay
from tfvis_nb.analysis.prediction.what_if import MOST_DRIFT, requested
from tfvis_nb.core.trace import Trace

MOST_EVENTS = 20_000
"""Larger traces are not replayed for findings: each finding takes 25 ms for 10,000 events."""

UNKNOWN = float("nan")


def gain(trace: Trace, changes: Mapping[str, Any], steps: Collection[int]) -> float:
    """Return the share of step time that a change saves, from 0 to 1.

    `changes` has the arguments of `tfvis_nb.analysis.what_if`. `UNKNOWN` if nothing can be predicted, the
    trace is large, or the steps take no time.
    """
    if len(trace.events) > MOST_EVENTS:
        return UNKNOWN
    changes = dict(changes)
    on_time = changes.pop("on_time", None)
    try:
        altered = requested(trace, changes, on_time)
        times, drift, longer = step_times(trace, replay(trace, altered))
    except ValueError:
        return UNKNOWN
    unsure = drift > MOST_DRIFT or (longer > MOST_DRIFT and not altered.adds_work)
    times = times[times["step"].isin(steps)]
    recorded = int(times["recorded_ns"].sum())
    return UNKNOWN if unsure or not recorded else float(times["saved_ns"].sum()) / recorded
