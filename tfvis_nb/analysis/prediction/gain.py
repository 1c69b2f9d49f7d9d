"""What a change would save, as a share of step time, where the replay can be trusted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.unattributed import WAITING_CALLS
from tfvis_nb.analysis.prediction.predicted import step_times
from tfvis_nb.analysis.prediction.replay import Altered, no_change, replay, unchanged
from tfvis_nb.analysis.prediction.typical import FEWEST_STEPS, HIGHEST, LOWEST
from tfvis_nb.analysis.prediction.what_if import MOST_DRIFT, requested
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.labels import printable
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

MOST_EVENTS = 20_000
"""Larger traces are not replayed for findings: each finding takes 25 ms for 10,000 events."""

UNKNOWN = float("nan")

_FEW = 0.05
"""Shares of step time up to this one may be lost to the order of work."""
_RELEASED = 0.5
"""The smallest part by which a wait gets shorter without all work that ran during it."""


class Gain(NamedTuple):
    """The share of step time that a change saves, from 0 to 1."""

    share: float
    """`UNKNOWN` if nothing can be predicted, the trace is large, or the steps take no time."""
    low: float = UNKNOWN
    """The 10 % quantile of the shares of single steps; `UNKNOWN` for fewer than `FEWEST_STEPS`."""
    high: float = UNKNOWN
    """The 90 % quantile likewise."""
    reason: Text | None = None
    """Why the replay is not trusted."""


def gain(trace: Trace, changes: Mapping[str, Any], steps: Collection[int]) -> Gain:
    """Return what a change saves in some steps.

    `changes` has the arguments of `tfvis_nb.analysis.what_if`.
    """
    if len(trace.events) > MOST_EVENTS:
        return Gain(UNKNOWN)
    changes = dict(changes)
    on_time = changes.pop("on_time", None)
    try:
        altered = requested(trace, changes, on_time)
    except ValueError:
        return Gain(UNKNOWN)
    times, _, longer = step_times(trace, replay(trace, altered))
    reason = not_trusted(trace)
    if longer > MOST_DRIFT and not altered.adds_work:
        reason = reason or Text("replay_lacks_dependencies", longer=format_percent(longer))
    times = times[times["step"].isin(steps)]
    recorded = int(times["recorded_ns"].sum())
    alone = _alone(trace, altered, times["step"].to_numpy())
    if alone > max(2 * int(times["saved_ns"].sum()), _FEW * recorded):
        reason = reason or Text("work_not_awaited", alone=format_percent(alone / max(recorded, 1)))
    times = _possible(trace, altered, times)
    if reason or not recorded:
        return Gain(UNKNOWN, reason=reason)
    low = high = UNKNOWN
    if len(times) >= FEWEST_STEPS:
        of_step = times["saved_ns"] / times["recorded_ns"].where(times["recorded_ns"] > 0)
        low, high = (float(of_step.quantile(share)) for share in (LOWEST, HIGHEST))
    share = float(times["saved_ns"].sum()) / recorded
    return Gain(share, min(low, share), max(high, share))


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


def _possible(trace: Trace, altered: Altered, times: pd.DataFrame) -> pd.DataFrame:
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
    return times.assign(predicted_ns=predicted, saved_ns=times["recorded_ns"] - predicted)


@per_trace
def not_trusted(trace: Trace) -> Text | None:
    """Return why replays of a trace cannot be trusted, from two checks on what was recorded; else None.

    A replay without a change must give the recorded steps. And the call in which steps wait longest, of
    median duration, must get shorter without all work of other threads and devices during it, by at least
    half of the time that this work covers. Else the trace does not record what the call waits for.
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
    during &= (times.start >= start) & (times.start < end)
    rows = np.flatnonzero(during)
    spans = union(np.zeros(len(rows), np.int64), times.start[rows], np.minimum(times.end[rows], end))
    covered = int(lengths(spans, 1, 2)[0, 1])
    found = replay(trace, no_change(trace)._replace(factor=np.where(during, 0.0, 1.0)))
    shorter = (end - start) - (found.end[call] - found.start[call])
    return None if shorter >= _RELEASED * covered else Text("wait_not_recorded", call=printable(longest, 60))
