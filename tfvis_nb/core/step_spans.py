"""When the steps of a trace start and end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import beginning
from tfvis_nb.events import NO_STEP

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

CALL = "PjitFunction"
"""The op of the event of a call of a function that JAX compiled."""

STEP_NS = (
    "Latest end minus earliest start of all events of the step, on all tasks, in ns; a step of JAX starts "
    "when the step before it ends, even if its events start earlier."
)


def step_spans(events: pd.DataFrame) -> pd.DataFrame:
    """Return the start and end of each step: ``start_ns``, ``end_ns`` and ``events``, indexed by ``step``.

    JAX returns from a call before the call has run, so the events of a step can start while earlier steps
    run: a call that compiles, or the launches of a loop that waits for no result. In such a trace a step
    starts at the end of the step that ended before it, if that is later than its first event. So each point
    in time belongs to at most one step, and the durations of steps add up to no more than the run.

    >>> from tfvis_nb import events
    >>> columns = {"start_ns": [0, 10], "duration_ns": [20, 40], "kind": ["host", "host"], "step": [0, 1]}
    >>> step_spans(events.build(columns | {"op": ["PjitFunction", "op"]})).to_numpy().tolist()
    [[0, 20, 1], [20, 50, 1]]
    """
    # On few events `groupby` takes ten times as long.
    codes, steps = pd.factorize(events["step"].to_numpy(), sort=True)
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(steps))
    first = np.cumsum(counts) - counts
    start = events["start_ns"].to_numpy(np.int64)[order]
    end = start + events["duration_ns"].to_numpy(np.int64)[order]
    spans = {
        "start_ns": np.minimum.reduceat(start, first),
        "end_ns": np.maximum.reduceat(end, first),
        "events": counts,
    }
    return in_turn(events, pd.DataFrame(spans, index=pd.Index(steps, name="step")))


def in_turn(events: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """Start steps with the end of the previous one where calls of JAX let them overlap; see `step_spans`."""
    if not _calls_of_jax(events):
        return spans
    own = spans[spans.index != NO_STEP].sort_values(["end_ns", "start_ns"])
    start = spans["start_ns"].copy()
    start[own.index] = np.maximum(own["start_ns"], own["end_ns"].shift(fill_value=own["start_ns"].min()))
    return spans.assign(start_ns=start)


def within_steps(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end of each event, without what lies outside its step (int64 ns)."""
    events, steps = trace.events, trace.steps
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    step = np.searchsorted(steps["step"].to_numpy(np.int64), events["step"].to_numpy(np.int64))
    limits = [steps[name].to_numpy(np.int64)[step] for name in ("start_ns", "end_ns")]
    return np.clip(start, *limits), np.clip(end, *limits)


def _calls_of_jax(events: pd.DataFrame) -> bool:
    """Return whether a step has a call of JAX."""
    if not any(str(op).startswith(CALL) for op in events["op"].cat.categories):
        return False
    return bool((beginning(events["op"], re.compile(CALL)) & (events["step"] != NO_STEP).to_numpy()).any())
