"""Findings on tasks and what they say to one another: a late one, and communication as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication import stragglers
from tfvis_nb.analysis.communication.communication_overlap import communication_overlap
from tfvis_nb.analysis.findings.finding import (
    Finding,
    of_task,
    percent,
    span,
    step_range,
    step_times,
    task_name,
    whole_tasks,
)
from tfvis_nb.analysis.steps.breakdown import activity_times
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.format import format_bytes

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

LATE_LIMIT = 0.1
"""Part of the time that the others wait for one task, from which it is told."""
END_LIMIT = 0.25
"""Part of the time that one task still works when all others of its job are done, from which it is told."""
SURE = 2
"""A task is late when it comes so many times as long after the first as the collective's ends lie apart.

All tasks leave a collective at the same moment; by how much their rows say otherwise, clocks and threads
are off."""
WORKING = 0.5
"""Part of the time after the others in which a task does something, from which it is told."""
COMMUNICATION_LIMIT = 0.15
"""XProf calls communication of more than this part of a step high."""

_MOST_EVENTS = 50


def late_tasks(trace: Trace) -> list[Finding]:
    """Find the task that the others wait for: at collectives, or where there are none at the end of steps.

    Who comes last is what `tfvis_nb.analysis.stragglers` says.
    """
    table = stragglers.late_tasks(trace)
    if why_not(table):
        return []
    met = stragglers.stragglers(trace)
    return _late_to_collectives(trace, table, met) or _last_at_the_end(trace, table, met)


def _latest(
    table: pd.DataFrame, met: pd.DataFrame, kind: str, limit: float
) -> tuple[pd.Series, pd.DataFrame] | None:
    """Return the task that the others wait for longest at barriers of a kind, and those it came last to."""
    rows = table[table["kind"] == kind]
    if rows.empty or float(rows["share"].iloc[0]) < limit:
        return None
    first = rows.iloc[0].astype(object)
    return first, met[(met["kind"] == kind) & (met["task"].astype(str) == first["task"]) & met["last"]]


def _late_to_collectives(trace: Trace, table: pd.DataFrame, met: pd.DataFrame) -> list[Finding]:
    found = _latest(table, met, "collective", LATE_LIMIT)
    if found is None:
        return []
    latest, late = found
    events = trace.events
    end = (events["start_ns"] + events["duration_ns"]).to_numpy(np.int64)
    together = met[met["barrier"].isin(late["barrier"])]
    ends = pd.Series(end[together["event"]]).groupby(together["barrier"].to_numpy())
    if late["behind_ns"].mean() < SURE * (ends.max() - ends.min()).mean():
        return []
    worst = late.iloc[int(late["behind_ns"].to_numpy().argmax())]
    there = together[together["barrier"] == int(worst["barrier"])]
    return [
        Finding(
            "late task",
            f"{_called(latest['task'])} keeps the others waiting",
            f"It comes last to {latest['last']} of {latest['barriers']} collectives, and the"
            f" others wait for it alone for {span(latest['awaited_ns'])}, {percent(latest['share'])} of the"
            f" steps' time; longest in step {worst['step']}, {span(worst['behind_ns'])} at"
            f" {worst['name']}.",
            "Give it less to do, or find out what it does in that time: more work in a batch, a slower "
            "machine, another process on it, input that comes later.",
            float(latest["share"]),
            int(worst["step"]),
            int(there["arrived_ns"].min()),
            int(end[there["event"]].max()),
            there["event"].tolist()[:_MOST_EVENTS],
        )
    ]


def _last_at_the_end(trace: Trace, table: pd.DataFrame, met: pd.DataFrame) -> list[Finding]:
    found = _latest(table, met, "end", END_LIMIT)
    if found is None:
        return []
    latest, late = found
    worst = late.iloc[int(late["late_ns"].to_numpy().argmax())]
    task, end = str(latest["task"]), int(worst["arrived_ns"])
    start = end - int(worst["late_ns"])
    spent = _spent(trace, task, int(worst["step"]), start, end)
    idle = spent.pop("none", 0)
    if not spent or idle > (1 - WORKING) * (end - start):
        return []
    most = max(spent, key=lambda name: spent[name])
    kind = task_name(task).partition(" ")[0]
    here = f"most of it {most.replace('_', ' ')}, {span(spent[most])}"
    several = len(step_times(trace)) > 1
    whole = (
        f"the steps' time; in step {worst['step']} for {span(worst['late_ns'])}"
        if several
        else "the step's time"
    )
    received = _received(trace, task, int(worst["step"])) if most == "communication" else ""
    return [
        Finding(
            "late task",
            f"{_called(task)} is done long after the others",
            f"It still works when every other {kind} is done, for {span(latest['awaited_ns'])},"
            f" {percent(latest['share'])} of {whole}, {here}.{received}",
            "Give it less to do, or find out what it does in that time: more work in a batch, a slower "
            "machine, a slower way to its parameters.",
            float(latest["share"]),
            int(worst["step"]),
            start,
            end,
            _events_between(trace, task, start, end),
        )
    ]


def _received(trace: Trace, task: str, step: int) -> str:
    """Say how much a task received in a step, where that is more than any other of its job did."""
    moved = trace.transfers
    moved = moved[(moved["step"] == step) & (moved["kind"] == "transfer") & moved["bytes"].notna()]
    receivers = moved["destination"].astype(object).map(task_of, na_action="ignore")
    groups = moved["bytes"].astype("int64").groupby(receivers)
    sums, counts = groups.sum(), groups.size()
    job = task.rpartition("/task:")[0]
    others = sums[sums.index.str.startswith(f"{job}/task:") & (sums.index != task)]
    if task not in sums.index or others.empty or int(sums[task]) <= int(others.max()):
        return ""
    most = str(others.idxmax())
    at_most = " at most" if len(others) > 1 else ""
    return (
        f" It receives {format_bytes(int(sums[task]))} in {int(counts[task]):,} tensors, the others"
        f" {format_bytes(int(others[most]))} in {int(counts[most]):,}{at_most}."
    )


def _spent(trace: Trace, task: str, step: int, start: int, end: int) -> dict[str, int]:
    """Return how long a task did what in a part of a step, in ns."""
    table = activity_times(trace)
    own = (table["step"] == step) & (table["device"].astype(str) == "") & (table["task"].astype(str) == task)
    rows = table[own]
    begin = rows["start_ns"].clip(lower=start)
    length = ((rows["start_ns"] + rows["duration_ns"]).clip(upper=end) - begin).clip(lower=0)
    return {
        str(name): int(total)
        for name, total in length.groupby(rows["activity"], observed=True).sum().items()
        if total
    }


def _events_between(trace: Trace, task: str, start: int, end: int) -> list[int]:
    events = trace.events
    begins = events["start_ns"].to_numpy()
    inside = of_task(trace, task) & (begins < end)
    rows = np.flatnonzero(inside & (begins + events["duration_ns"].to_numpy() > start))
    order = np.argsort(-events["duration_ns"].to_numpy()[rows], kind="stable")
    return [int(row) for row in rows[order][:_MOST_EVENTS]]


def communicating_tasks(trace: Trace) -> pd.DataFrame:
    """Return the ``share`` of its steps that each task communicates while nothing of it computes.

    What computes are its accelerators; of a task without those, or of which it is not known what they did,
    its ops. Without parameter servers, which only answer, and where some tasks have accelerators that
    compute, without the others.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.findings.peers import communicating_tasks
    >>> table = events.build({"start_ns": [0, 4], "duration_ns": [5, 16], "kind": ["transfer", "op"],
    ...                       "task": ["/job:worker/task:0"] * 2})
    >>> communicating_tasks(Trace(table))["share"].to_dict()
    {'/job:worker/task:0': 0.2}
    """
    table = _communicating(trace)
    columns = ["alone_ns", "exposed_ns", "step_ns", "device_compute_ns"]
    sums = table.groupby(table["task"].astype(str))[columns].sum()
    answers = sums.index.str.startswith("/job:ps/")
    sums = sums[~answers] if not answers.all() else sums
    computes = sums["device_compute_ns"] > 0
    sums = sums[computes] if computes.any() else sums
    sums = sums[sums["alone_ns"] > 0]
    return sums.assign(share=sums["alone_ns"] / sums["step_ns"])


def _communicating(trace: Trace) -> pd.DataFrame:
    """Return the whole tasks with ``exposed_ns`` of `communication`, and ``alone_ns`` of what computes."""
    table = whole_tasks(trace).astype({"task": str})
    exposed = communication_overlap(trace).astype({"task": str})[["step", "task", "exposed_ns"]]
    table = table.merge(exposed, on=["step", "task"], how="left").fillna({"exposed_ns": 0})
    devices = table.groupby("task")["device_compute_ns"].transform("sum") > 0
    least = table[["communication_ns", "exposed_ns"]].min(axis=1)
    return table.assign(alone_ns=table["communication_ns"].where(devices, least).astype("int64"))


def communication_exposed(trace: Trace) -> list[Finding]:
    """Find communication behind which nothing computes, of the task that waits least for others.

    What other tasks communicate longer is waiting for that one. A trace of one task does not say that.
    """
    table, sums = _communicating(trace), communicating_tasks(trace)
    if sums.empty or float(sums["share"].min()) < COMMUNICATION_LIMIT:
        return []
    task, share = str(sums["share"].idxmin()), float(sums["share"].min())
    alone = len(table["task"].unique()) == 1
    who = task_name(task) or (task if not alone else "") or "the task"
    who = f"even the task that waits least, {who}," if len(sums) > 1 else who
    others = " How much of that is waiting for others, a trace of one task does not say." if alone else ""
    less = (
        "Send less or earlier: larger batches, gradients of half precision, transfers in the order in"
        " which they are needed; or a faster network."
    )
    together = "Read the traces of all tasks together, which tells whether they wait for a late one. "
    own = table[table["task"].astype(str) == task]
    row = own.iloc[int(own["alone_ns"].to_numpy().argmax())].astype(object)
    own_sums = sums.loc[[task]]
    on_devices = bool((own_sums["device_compute_ns"] > 0).any())
    meanwhile = "while no accelerator of it computes" if on_devices else "while no op of it computes"
    exposed = float(own_sums["exposed_ns"].sum() / own_sums["step_ns"].sum())
    behind = ""
    if on_devices and exposed < share:
        behind = f" During {percent(exposed)} no op on its CPU runs, either (exposed_ns of communication)."
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
            f"{percent(share)} of the steps' time {who} receives or reduces tensors {meanwhile}:"
            f" in step {row['step']} {span(int(row['alone_ns']))} of {span(int(row['step_ns']))}."
            f"{behind}{others}",
            (together if alone else "") + less,
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
