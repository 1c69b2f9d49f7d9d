"""What slow steps do longer than the median step: an op, a call, Python, collections, a wait for a lock."""

from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.findings.idle_python import idle_python
from tfvis_nb.analysis.findings.python_batches import python_batches
from tfvis_nb.analysis.source.calling_thread import PYTHON_CALL
from tfvis_nb.analysis.source.lock_waits import lock_waits
from tfvis_nb.analysis.source.python_samples import collected_share, collecting_line, sampled_figures
from tfvis_nb.analysis.steps.op_statistics import op_statistics
from tfvis_nb.core.stacks import event_lines
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.core.trace import Trace

MOST = 0.5
"""The fraction from which a part counts as most of something."""
HOST_KINDS = ("op", "host")
_RARE = 0.02
"""An op that usually takes a smaller part of its extra time hardly runs in other steps."""


def larger_input(trace: Trace, steps: pd.Series, slow: pd.Series) -> list[int] | None:
    """Return the bytes copied to devices in the median step, and the minimum and maximum in slow ones.

    None unless each is larger by the factor that makes a step slow.
    """
    is_input = (activity(trace) == NUMBER["h2d"]) & trace.events["bytes"].notna().to_numpy()
    copies = trace.events.loc[is_input, ["step", "bytes"]].astype("int64")
    moved = copies.groupby("step")["bytes"].sum().reindex(steps, fill_value=0)
    typical, own = int(median_low(moved.tolist())), moved[slow]
    is_larger = typical > 0 and int(own.min()) >= SLOW_STEP_RATIO * typical
    return [typical, int(own.min()), int(own.max())] if is_larger else None


def lock_waited_for(trace: Trace, slow: pd.DataFrame, task: str) -> dict[str, Any] | None:
    """Return who holds the interpreter lock if a task waits for it as long as slow steps take in excess."""
    waits = lock_waits(trace).get(task)
    if waits is None or int((waits.end - waits.start).sum()) < int(slow["excess_ns"].clip(lower=0).sum()):
        return None
    return {"of_input": waits.of_input, "python": sampled_figures(waits.holder)}


def is_of_op(trace: Trace, slow: pd.DataFrame, longest: pd.Series) -> bool:
    """Return whether most of the steps' extra time is an op that takes hardly any time in the median step.

    An op that the median step runs as often takes longer by chance, unless it calls Python.
    """
    if pd.isna(longest.op_ns) or not longest.op:
        return False
    of_op = slow[(slow["op"] == longest.op) & (slow["op_kind"] == longest.op_kind)]
    is_most = int(of_op["op_ns"].sum()) >= MOST * int(slow["excess_ns"].sum())
    usual, here = (
        ops.loc[(ops["op"] == longest.op) & (ops["kind"] == longest.op_kind), ["self_ns", "count"]].sum()
        for ops in (op_statistics(trace, steps=[int(step)]) for step in (longest.median_step, longest.step))
    )
    is_more = here["count"] > usual["count"] or PYTHON_CALL.match(str(longest.op)) is not None
    return bool(is_most and is_more and int(usual["self_ns"]) <= _RARE * int(longest.op_ns))


def rare_call(trace: Trace, longest: pd.Series) -> dict[str, Any] | None:
    """Return the call of the runtime that is most of a step's extra time; None if it calls something."""
    if longest.activity != "runtime":
        return None
    own, known = self_times_of(trace)
    runs = known & (activity(trace) == NUMBER["runtime"])
    step, op = trace.events["step"].to_numpy(), trace.events["op"]
    here = np.flatnonzero(runs & (step == longest.step))
    if not len(here):
        return None
    event = int(here[own[here].argmax()])
    took = int(own[event])
    usual = own[runs & (step == longest.median_step) & (op == op.iloc[event]).to_numpy(bool)].sum()
    is_leaf = took == int(trace.events["duration_ns"].iloc[event])
    if not is_leaf or not op.iloc[event] or took < MOST * longest.excess_ns or usual > _RARE * took:
        return None
    return {
        "op": str(op.iloc[event]),
        "op_kind": str(trace.events["kind"].iloc[event]),
        "op_ns": took - int(usual),
        "op_event": event,
    }


def python_line(trace: Trace, slow: pd.DataFrame, longest: pd.Series) -> dict[str, Any] | None:
    """Return the line of Python that runs while nothing is recorded, if that is what slow steps do longer.

    If they wait longer for an iterator of Python, it is the line that makes its batches.
    """
    task = str(longest.activity_task)
    if longest.activity == "input":
        batches = python_batches(trace, task, steps=slow["step"].tolist())
        return batches and batches["python"]
    if longest.activity != "idle":
        return None
    line, calls_step = idle_python(trace, task, slow["step"])
    return None if calls_step else sampled_figures(line)


def collector_time(trace: Trace, slow: pd.DataFrame) -> dict[str, Any] | None:
    """Return how long Python's garbage collector runs in slow steps, if most of their extra time is that."""
    steps = trace.steps[trace.steps["step"].isin(slow["step"])].sort_values("start_ns", kind="stable")
    start, end = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    took = (collected_share(trace, start, end) or 0) * int((end - start).sum())
    if not took or took < MOST * int(slow["excess_ns"].clip(lower=0).sum()):
        return None
    return {"ns": round(took), "python": sampled_figures(collecting_line(trace, start, end))}


def line_of_op(trace: Trace, longest: pd.Series) -> str:
    """Return the line of the user's code of the op that differs most; empty if unknown."""
    events = longest_event(trace, longest)
    return str(event_lines(trace, np.array(events[:1]))[0]) if events else ""


def stalls(trace: Trace, longest: pd.Series) -> bool:
    """Return whether one event on the host is most of a step's extra time."""
    if longest.op_kind not in HOST_KINDS:
        return False
    durations = trace.events["duration_ns"]
    return any(
        int(durations.iloc[event]) >= MOST * longest.excess_ns for event in longest_event(trace, longest)
    )


def longest_event(trace: Trace, longest: pd.Series) -> list[int]:
    """Return the longest event of the activity that differs most, if the step has one."""
    if pd.isna(longest.op_event):
        return []
    event = int(longest.op_event)
    return [event] if int(trace.events["step"].iloc[event]) == int(longest.step) else []
