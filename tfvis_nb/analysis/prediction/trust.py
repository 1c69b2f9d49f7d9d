"""Whether a replay can be trusted: what the trace shows of who waits for whom."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.unattributed import WAITING_CALLS
from tfvis_nb.analysis.prediction.predicted import step_times
from tfvis_nb.analysis.prediction.replay import Altered, no_change, replay, unchanged
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.labels import printable
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

MOST_DRIFT = 0.1
"""If the replay of the recorded durations is off by more, nothing is predicted."""

_FEW = 0.05
"""Shares of step time up to this one may be lost to the order of work."""
_RELEASED = 0.5
"""The smallest part by which a wait gets shorter without all work that ran during it."""


def doubt(trace: Trace, altered: Altered, times: pd.DataFrame) -> Text | None:
    """Return why the prediction of a change is not trusted in the steps of ``times``; None if it is."""
    recorded = int(times["recorded_ns"].sum())
    alone = _alone(trace, altered, times["step"].to_numpy())
    if alone > max(2 * int(times["saved_ns"].sum()), _FEW * recorded):
        return _not_trusted(trace) or Text("work_not_awaited", alone=format_percent(alone / max(recorded, 1)))
    return _not_trusted(trace)


@per_trace
def _not_trusted(trace: Trace) -> Text | None:
    """Return why replays of a trace cannot be trusted, from two checks on what was recorded; else None.

    A replay without a change must give the recorded steps. And the call in which steps wait longest, of
    median duration, must get shorter without all work of its step on other threads and devices during it, by
    at least half of the time that this work covers. Else the trace does not record what the call waits for.
    A generator that prepares a later element during the call is outside of the step.
    """
    _, drift, _ = step_times(trace, unchanged(trace))
    if drift > MOST_DRIFT:
        return Text("replay_drifts", drift=format_percent(drift))
    times, events = backtracker(trace).times, trace.events
    waits = is_kind(events, "host") & beginning(events["op"], WAITING_CALLS)
    waited = pd.Series(times.end - times.start)[waits & times.thread & (times.step != NO_STEP)]
    if waited.empty:
        return None
    op = events["op"].astype(str).iloc[waited.index]
    longest = str(waited.groupby(op.to_numpy()).sum().idxmax())
    of_op = waited[(op == longest).to_numpy()].sort_values(kind="stable")
    call = int(of_op.index[(len(of_op) - 1) // 2])
    start, end = times.start[call], times.end[call]
    during = times.counts & (times.task == times.task[call]) & (times.lane != times.lane[call])
    during &= (times.step == times.step[call]) & (times.start >= start) & (times.start < end)
    rows = np.flatnonzero(during)
    spans = union(np.zeros(len(rows), np.int64), times.start[rows], np.minimum(times.end[rows], end))
    covered = int(lengths(spans, 1, 2)[0, 1])
    replayed = replay(trace, no_change(trace)._replace(factor=np.where(during, 0.0, 1.0)))
    shorter = (end - start) - (replayed.end[call] - replayed.start[call])
    return None if shorter >= _RELEASED * covered else Text("wait_not_recorded", call=printable(longest, 60))


def _alone(trace: Trace, altered: Altered, steps: np.ndarray) -> int:
    """Return how long nothing but removed work runs in steps, in ns: all that waits for it starts earlier."""
    times = backtracker(trace).times
    removed = times.counts & (altered.factor == 0)
    runs = times.counts & (removed | (activity(trace) != NUMBER["none"])) & np.isin(times.step, steps)
    if not removed.any():
        return 0
    covered = []
    for chosen in (runs, runs & ~removed):
        rows = np.flatnonzero(chosen)
        group = np.searchsorted(np.sort(steps), times.step[rows])
        covered.append(
            int(lengths(union(group, times.start[rows], times.end[rows]), len(steps), 2)[:, 1].sum())
        )
    return covered[0] - covered[1]
