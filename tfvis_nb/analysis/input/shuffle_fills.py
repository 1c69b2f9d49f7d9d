"""How long a program waits while a shuffle buffer is filled before it hands out its first element."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.input.stage_calls import STAGE, stage_calls
from tfvis_nb.analysis.input.stage_names import integer
from tfvis_nb.core.intervals import Segments, overlap, union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

MANY_BATCHES = 4
"""Batches that a fill reads at least: a pipeline that prefetches two reads three before the second step."""
FEWEST_BATCHES = 4
"""Batches of an iterator, on average: if it hands out fewer, making it anew is the cause, not the buffer."""
LEAST_NS = 50_000_000
LEAST_SHARE = 0.05
"""The shortest reported wait for fills, and its share of the run."""
_SHUFFLE = r"(?:.*::)?Shuffle(?:AndRepeat)?(?:V\d+)?"


class ShuffleFills(NamedTuple):
    """The fills of a shuffle stage, and the waits for input during them."""

    task: str
    events: list[int]
    """The calls that filled the buffer, the longest first."""
    elements: int
    """Elements read by the longest fill."""
    buffer_size: int | None
    fill_ns: int
    """Time of all fills."""
    wait_ns: int
    """Time in which the task waits for input during a fill."""
    by_step: pd.Series
    """The wait in each step, indexed by step."""
    run_share: float
    """wait_ns / the time from the first event to the last."""

    @property
    def is_long(self) -> bool:
        """Whether findings report it."""
        return self.wait_ns >= LEAST_NS and self.run_share >= LEAST_SHARE

    @property
    def outside_ns(self) -> int:
        """The wait outside steps."""
        return self.wait_ns - int(self.by_step.sum())


@per_trace
def shuffle_fills(trace: Trace) -> ShuffleFills | None:
    """Return the fills of the shuffle stage for which a task waits longest; None if there are none.

    tf.data records no event for a fill. It is a call during which its own thread takes many elements from the
    stage below: later calls replace one element each.
    """
    calls = stage_calls(trace)
    if not calls["stage"].str.fullmatch(_SHUFFLE).any():
        return None
    calls = calls.assign(end_ns=calls["start_ns"] + calls["duration_ns"])
    fills = [
        _fills(trace, own, calls)
        for (_, stage, _), own in calls.groupby(STAGE, sort=False)
        if pd.Series([stage]).str.fullmatch(_SHUFFLE).all()
    ]
    return max((one for one in fills if one is not None), key=lambda one: one.wait_ns, default=None)


def _fills(trace: Trace, own: pd.DataFrame, calls: pd.DataFrame) -> ShuffleFills | None:
    task, stage = str(own["task"].iloc[0]), str(own["stage"].iloc[0])
    of_task = calls[calls["task"] == task]
    below = of_task[of_task["stage"].str.rpartition("::")[0] == stage]
    root = of_task["stage"] == stage.partition("::")[0]
    taken = np.zeros(len(own), np.int64)
    for lane, members in own.groupby("lane", sort=False).indices.items():
        starts = np.sort(below.loc[below["lane"] == lane, "start_ns"].to_numpy())
        first, last = (own[name].to_numpy()[members] for name in ("start_ns", "end_ns"))
        taken[members] = np.searchsorted(starts, last) - np.searchsorted(starts, first)
    batches = max(int(root.sum()), 1)
    fills = own.assign(elements=taken)[taken >= MANY_BATCHES * max(len(own) / batches, 1)]
    if fills.empty or len(fills) > max(batches / FEWEST_BATCHES, 1):
        return None
    fills = fills.sort_values("duration_ns", ascending=False, kind="stable")
    filling = union(np.zeros(len(fills), np.int64), fills["start_ns"].to_numpy(), fills["end_ns"].to_numpy())
    waits = _waits_during(trace, task, filling)
    steps = trace.steps[trace.steps["step"] != NO_STEP]
    start, end = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    by_step = pd.Series(overlap(waits, np.zeros(len(steps), np.int64), start, end), index=steps["step"])
    started = trace.events["start_ns"].to_numpy(np.int64)
    ended = started + trace.events["duration_ns"].to_numpy(np.int64)
    run_ns = int(ended.max() - started.min())
    facts = calls.attrs["facts"][int(fills["facts"].iloc[0])] if fills["facts"].iloc[0] >= 0 else {}
    return ShuffleFills(
        task,
        fills["event"].tolist(),
        int(fills["elements"].iloc[0]),
        integer(facts.get("buffer_size")),
        int(fills["duration_ns"].sum()),
        int(waits.length.sum()),
        by_step,
        int(waits.length.sum()) / max(run_ns, 1),
    )


def _waits_during(trace: Trace, task: str, filling: Segments) -> Segments:
    """Return where a task waits for input during fills; a stage without a task may belong to any."""
    events = trace.events
    chosen = activity(trace) == NUMBER["input"]
    if task:
        chosen &= (events["task"] == task).to_numpy(bool)
    start = events["start_ns"].to_numpy(np.int64)[chosen]
    end = start + events["duration_ns"].to_numpy(np.int64)[chosen]
    cut = [np.clip([start, end], *fill) for fill in zip(filling.start, filling.end, strict=True)]
    start, end = np.concatenate(cut, axis=1)
    return union(np.zeros(len(start), np.int64), start, end)
