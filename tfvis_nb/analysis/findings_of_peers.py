"""Findings on tasks and what they say to one another: a late one, and communication as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.arrivals import late_ranks
from tfvis_nb.analysis.evidence import (
    Finding,
    of_task,
    percent,
    span,
    step_range,
    step_times,
    task_name,
    whole_tasks,
)

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

LATE_LIMIT = 0.1
"""Part of the time that the others wait for one task, from which it is told."""
END_LIMIT = 0.25
"""Part of the time that one task still works when all others of its job are done, from which it is told."""
COMMUNICATION_LIMIT = 0.15
"""XProf calls communication of more than this part of a step high."""

_MOST_EVENTS = 50


def late_tasks(trace: Trace) -> list[Finding]:
    """Find the task that the others wait for: at collectives, or where there are none at the end of steps."""
    found = _late_to_collectives(trace)
    return found or _last_at_the_end(trace)


def _late_to_collectives(trace: Trace) -> list[Finding]:
    arrived = trace.arrivals
    known = arrived[arrived["wait_ns"].notna() & (arrived["step"] >= 0)]
    if known.empty:
        return []
    ranks = late_ranks(known)
    total = int(step_times(trace)["duration_ns"].sum())
    sums = ranks.groupby(ranks["task"].astype(str))[["awaited_ns", "last", "collectives"]].sum().reset_index()
    counted = sums.iloc[int(sums["awaited_ns"].to_numpy().argmax())]
    task, share = str(counted["task"]), int(counted["awaited_ns"]) / total
    if share < LATE_LIMIT:
        return []
    late = known[(known["last"].astype(str) == task) & (known["task"].astype(str) != task)]
    worst = late.iloc[int(late["wait_ns"].to_numpy("int64").argmax())]
    together = arrived[arrived["collective"] == worst["collective"]]
    start = int(together["start_ns"].min())
    return [
        Finding(
            "late task",
            f"{_called(task)} keeps the others waiting",
            f"It comes last to {counted['last']} of {counted['collectives']} collectives, and the"
            f" others wait for it alone for {span(int(counted['awaited_ns']))}, {percent(share)} of the"
            f" steps' time; longest in step {worst['step']}, {span(int(worst['wait_ns']))} at"
            f" {worst['name']}.",
            "Give it less to do, or find out what it does in that time: more work in a batch, a slower "
            "machine, another process on it, input that comes later.",
            share,
            int(worst["step"]),
            start,
            int((together["start_ns"] + together["duration_ns"]).max()),
            together["event"].tolist()[:_MOST_EVENTS],
        )
    ]


def _last_at_the_end(trace: Trace) -> list[Finding]:
    events = trace.events
    counted = ((events["step"] >= 0) & (events["kind"] != "host")).to_numpy()
    rows = events.loc[counted, ["step", "task", "start_ns", "duration_ns"]]
    end = rows["start_ns"] + rows["duration_ns"]
    ends = end.groupby([rows["step"], rows["task"]], observed=True).max().rename("end").reset_index()
    ends["task"] = ends["task"].astype(str)
    ends["job"] = ends["task"].str.extract(r"/job:([^/]+)", expand=False)
    ends = ends.dropna(subset=["job"]).sort_values(["step", "job", "end"], kind="stable")
    together = ends.groupby(["step", "job"])
    last = ends[together["task"].transform("size") > 1].groupby(["step", "job"]).tail(2)
    if last.empty:
        return []
    pairs = last.groupby(["step", "job"])
    late = pd.DataFrame(
        {"task": pairs["task"].last(), "before": pairs["end"].first(), "end": pairs["end"].last()}
    ).reset_index()
    late["late"] = late["end"] - late["before"]
    total = int(step_times(trace)["duration_ns"].sum())
    sums = late.groupby("task")["late"].sum()
    task, share = str(sums.idxmax()), float(sums.max()) / total
    if share < END_LIMIT:
        return []
    own = late[late["task"] == task]
    worst = own.iloc[int(own["late"].to_numpy().argmax())]
    kind = task_name(task).rpartition(" ")[0]
    return [
        Finding(
            "late task",
            f"{_called(task)} is done long after the others",
            f"It still works when every other {kind} is done, for {span(float(sums.max()))}, {percent(share)}"
            f" of the steps' time; in step {worst['step']} {span(float(worst['late']))}."
            f"{_spends(trace, task)}",
            "Give it less to do, or find out what it does in that time: more work in a batch, a slower "
            "machine, a slower way to its parameters.",
            share,
            int(worst["step"]),
            int(worst["before"]),
            int(worst["end"]),
            _events_between(trace, task, int(worst["before"]), int(worst["end"])),
        )
    ]


def _spends(trace: Trace, task: str) -> str:
    """Say what a task does most."""
    table = whole_tasks(trace)
    own = table[table["task"].astype(str) == task].drop(columns=["step", "task", "device"]).sum()
    total = int(own.pop("step_ns"))
    largest = str(own.astype("float64").idxmax())
    named = largest.removesuffix("_ns").replace("_", " ")
    return f" Most of its time is {named}, {percent(float(own[largest]) / total)}."


def _events_between(trace: Trace, task: str, start: int, end: int) -> list[int]:
    events = trace.events
    begins = events["start_ns"].to_numpy()
    inside = of_task(trace, task) & (begins < end)
    rows = np.flatnonzero(inside & (begins + events["duration_ns"].to_numpy() > start))
    order = np.argsort(-events["duration_ns"].to_numpy()[rows], kind="stable")
    return [int(row) for row in rows[order][:_MOST_EVENTS]]


def communication_exposed(trace: Trace) -> list[Finding]:
    """Find communication behind which nothing computes, of the task that waits least for others.

    What other tasks communicate longer is waiting for that one.
    """
    table = whole_tasks(trace)
    table = table[table["communication_ns"] > 0]
    if table.empty:
        return []
    sums = table.groupby(table["task"].astype(str))[
        ["communication_ns", "step_ns", "device_compute_ns"]
    ].sum()
    # A parameter server computes nothing and only answers.
    working = sums[sums["device_compute_ns"] > 0] if (sums["device_compute_ns"] > 0).any() else sums
    shares = working["communication_ns"] / working["step_ns"]
    task, share = str(shares.idxmin()), float(shares.min())
    if share < COMMUNICATION_LIMIT:
        return []
    own = table[table["task"].astype(str) == task]
    row = own.iloc[int(own["communication_ns"].to_numpy().argmax())].astype(object)
    events = trace.events
    mine = events["kind"].isin(["transfer", "collective"]) & (events["step"] == row["step"])
    rows = np.flatnonzero(mine.to_numpy() & of_task(trace, task))
    rows = rows[np.argsort(-events["duration_ns"].to_numpy()[rows], kind="stable")][:_MOST_EVENTS]
    start = events["start_ns"].to_numpy()[rows]
    end = start + events["duration_ns"].to_numpy()[rows]
    step_start, step_end = step_range(trace, int(row["step"]))
    return [
        Finding(
            "communication",
            "Communication is not hidden behind computing",
            f"{percent(share)} of the steps' time even the task that waits least, {task_name(task) or task},"
            f" receives or reduces tensors and computes nothing meanwhile: in step {row['step']}"
            f" {span(int(row['communication_ns']))} of {span(int(row['step_ns']))}.",
            "Send less or earlier: larger batches, gradients of half precision, transfers in the order in"
            " which they are needed; or a faster network.",
            share,
            int(row["step"]),
            int(start.min()) if len(rows) else step_start,
            int(end.max()) if len(rows) else step_end,
            rows.tolist(),
        )
    ]


def _called(task: str) -> str:
    """Name a task at the begin of a sentence."""
    name = task_name(task) or task or "the task"
    return name[:1].upper() + name[1:]
