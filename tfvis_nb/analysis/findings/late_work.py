"""Whether a late task has more work than the others of its job."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.participants import participants
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.rule import Figures, Threshold
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.stacks import event_lines
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

WORK_RATIO = Threshold(
    1.5, "work of a straggler as a multiple of that of every other task of its job: it is late because of it"
)
LATENESS = Threshold(
    0.1, "the same work beyond theirs as a fraction of the time that they wait: less makes no task so late"
)

_NOUNS = {"device_compute": "kernels", "host_compute": "ops"}


def work(trace: Trace, task: str) -> dict[str, Any] | None:
    """Compare a task's computing with the other task of its job that computes most; None if there is none.

    Devices that meet in collectives are compared likewise.

    ``own_ns`` and ``other_ns`` are sums of durations: of kernels, or of ops if the job has no kernels.
    ``op`` is the op type with the largest difference, with its time and count on both, and ``line`` the line
    of the user's code with most of its time on this one; empty if unknown.
    """
    events = trace.events
    tasks = participants(trace).astype(object).fillna("")
    kin = _kin(task)
    peers = (tasks != "") & tasks.map(lambda name: _kin(name) == kin) & (events["step"] != NO_STEP)
    for computing in _NOUNS:
        rows = np.flatnonzero(peers.to_numpy() & (activity(trace) == NUMBER[computing]))
        sums = _sums(trace, rows, tasks.iloc[rows])
        totals = sums.groupby("task")["ns"].sum()
        others = totals.drop(task, errors="ignore")
        if totals.get(task, 0) and len(others):
            break
    else:
        return None
    other = str(others.idxmax())
    each = sums.set_index(["task", "op"])
    own, peer = each.loc[task], each.loc[other]
    difference = own["ns"].sub(peer["ns"], fill_value=0)
    op = str(difference.idxmax())
    compared = {
        "op": op,
        "noun": _NOUNS[computing],
        "line": _line(trace, rows[(tasks.iloc[rows] == task) & (events["op"].iloc[rows] == op)]),
        "own_ns": int(totals[task]),
        "other_ns": int(totals[other]),
    }
    for side, table in (("own", own), ("other", peer)):
        for name in ("ns", "count"):
            compared[f"{side}_op_{name}"] = int(table[name].get(op, 0))
    return compared | {"others": len(others)}


def _line(trace: Trace, rows: np.ndarray) -> str:
    if not len(rows):
        return ""
    return str(trace.events["duration_ns"].iloc[rows].groupby(event_lines(trace, rows)).sum().idxmax())


def _kin(name: str) -> tuple[str, bool]:
    """Return the job of a task or device, and whether it is a device."""
    return name.rpartition("/task:")[0], "/device:" in name


def _sums(trace: Trace, rows: np.ndarray, tasks: pd.Series) -> pd.DataFrame:
    """Return the ``ns`` and the ``count`` of each op type of each task."""
    chosen = trace.events.iloc[rows]
    op = chosen["op"].astype(object).fillna("")
    grouped = chosen.assign(task=tasks, op=op).groupby(["task", "op"])["duration_ns"]
    return grouped.agg(ns="sum", count="size").reset_index()


def is_more(compared: Figures | None, lateness_ns: int) -> bool:
    """Return whether a task has so much more work that this explains its lateness."""
    if compared is None:
        return False
    own, other = compared["own_ns"], compared["other_ns"]
    return bool(own >= WORK_RATIO.value * other and own - other >= LATENESS.value * lateness_ns)


def sentence(compared: Figures) -> str:
    """Describe how much more work the task has."""
    noun = compared["noun"]
    most = " at most" if compared["others"] > 1 else ""
    where = f", most of it at {compared['line']}" if compared.get("line") else ""
    return (
        f"; its {noun} take {format_duration(compared['own_ns'])} instead of{most}"
        f" {format_duration(compared['other_ns'])}{where}"
    )


def largest_difference(compared: Figures) -> str:
    """Name the op type that takes most of the difference."""
    noun = compared["noun"]
    return (
        f" The largest difference is {compared['op']}: {format_duration(compared['own_op_ns'])} in"
        f" {compared['own_op_count']:,} {noun} instead of {format_duration(compared['other_op_ns'])} in"
        f" {compared['other_op_count']:,}."
    )
