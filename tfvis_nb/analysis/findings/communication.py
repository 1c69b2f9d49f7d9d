"""Communication runs while nothing computes."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.communication.communication_overlap import communication_overlap, computes
from tfvis_nb.analysis.communication.phases import phases
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.findings.clocks import clocks_sentence, uncertain_clocks
from tfvis_nb.analysis.findings.finding import (
    Finding,
    longest_events,
    of_task,
    step_range,
    step_times,
    whole_tasks,
)
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    capital,
    example,
    step_time,
)
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.format import (
    format_bandwidth,
    format_bytes,
    format_duration,
    format_number,
    format_percent,
)
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import NETWORK

_MOST_PHASES = 3
_LONGEST_NAME = 40

SHARE = Threshold(
    0.15,
    "share of step time of `communication_ns` of the breakdown, of the task that waits least; for tasks"
    " without accelerators only while none of their ops computes (`exposed_ns` of `communication_overlap`);"
    " XProf calls it high",
)


@per_trace
def _communicating(trace: Trace) -> pd.DataFrame:
    """Return the whole tasks with ``exposed_ns``, and ``alone_ns`` while nothing computes.

    Accelerators compute; in a task without them, or without their records, its ops do.
    """
    table = whole_tasks(trace).astype({"task": str})
    exposed = communication_overlap(trace).astype({"task": str})[["step", "task", "exposed_ns"]]
    table = table.merge(exposed, on=["step", "task"], how="left").fillna({"exposed_ns": 0})
    devices = table.groupby("task")["device_compute_ns"].transform("sum") > 0
    least = table[["communication_ns", "exposed_ns"]].min(axis=1)
    return table.assign(alone_ns=table["communication_ns"].where(devices, least).astype("int64"))


@per_trace
def _shares(trace: Trace) -> pd.DataFrame:
    """Return the ``share`` of its steps in which each task communicates while nothing of it computes.

    Parameter servers are left out because they only answer. If some tasks have computing accelerators, the
    others are also left out.
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


def _find(trace: Trace) -> list[Finding]:
    """Find the communication of the task that waits least for others.

    Other tasks communicate longer because they wait for that one. A trace of one task does not show that.
    """
    table = _communicating(trace)
    sums = _shares(trace)
    if sums.empty or float(sums["share"].min()) < SHARE.value:
        return []
    task, share = str(sums["share"].idxmin()), float(sums["share"].min())
    own = table[table["task"].astype(str) == task]
    row = own.iloc[int(own["alone_ns"].to_numpy().argmax())].astype(object)
    step = int(row["step"])
    own_sums = sums.loc[[task]]
    figures = {
        "share": share,
        "task": task,
        "tasks": len(table["task"].unique()),
        "communicating_tasks": len(sums),
        "on_devices": bool((own_sums["device_compute_ns"] > 0).any()),
        "exposed_share": float(own_sums["exposed_ns"].sum() / own_sums["step_ns"].sum()),
        "step": step,
        "steps": len(own),
        "here_ns": int(row["alone_ns"]),
        "step_ns": int(row["step_ns"]),
        "moved": _moved(trace),
        "phases": phases(trace, of_task(trace, task) & (trace.events["step"] == step).to_numpy()),
        "computes": bool(computes(trace.events).any()),
        "ranks_known": not collective_waits(trace).empty,
        "clocks_ns": uncertain_clocks(trace, int(row["alone_ns"])) if len(sums) > 1 else None,
    }
    events = trace.events
    in_step = is_kind(events, *NETWORK) & (events["step"] == step).to_numpy()
    rows = longest_events(trace, in_step & of_task(trace, task))
    start = events["start_ns"].to_numpy()[rows]
    end = start + events["duration_ns"].to_numpy()[rows]
    step_start, step_end = step_range(trace, step)
    return [
        Finding(
            "communication",
            share,
            figures,
            step,
            int(start.min()) if rows else step_start,
            int(end.max()) if rows else step_end,
            rows,
        )
    ]


def _phases_sentence(figures: Figures) -> str:
    parts = figures["phases"]
    if len(parts) < 2:
        return ""
    names = [printable(one["op"], _LONGEST_NAME) for one in parts[:_MOST_PHASES]]
    times = [format_duration(one["ns"]) for one in parts[:_MOST_PHASES]]
    whole = format_percent(parts[0]["ns"] / max(figures["step_ns"], 1))
    each = [f"{name} {time}" for name, time in zip(names, times, strict=True)]
    each[0] = f"{names[0]} takes {times[0]} ({whole})"
    rest = len(parts) - len(names)
    more = "" if not rest else f"; {rest:,} other phase{'s take' if rest > 1 else ' takes'} less"
    where = f"In step {figures['step']}" if figures["steps"] > 1 else "Of that"
    return f" {where}, {', '.join(each[:-1])} and {each[-1]}{more}."


def _moved(trace: Trace) -> dict[str, Any] | None:
    """Return the tensors received in steps, and the share of step time in which any of them moves."""
    table = transfers(trace)
    table = table[((table["kind"] == "transfer") & (table["step"] != NO_STEP)).to_numpy(bool)]
    source, destination = (
        table[name].astype(object).fillna("").map(task_of).to_numpy() for name in ("source", "destination")
    )
    table = table[(source != destination) & table["transfer_ns"].notna().to_numpy()]
    moving = table["transfer_ns"].to_numpy(np.int64)
    if not moving.sum() or not table["bytes"].sum():
        return None
    steps = step_times(trace)
    end = (table["start_ns"] + table["duration_ns"]).to_numpy(np.int64)
    group = np.searchsorted(steps.index.to_numpy(), table["step"].to_numpy(np.int64))
    covered = lengths(union(group, end - moving, end), len(steps), 2)[:, 1].sum()
    total = int(table["bytes"].sum())
    return {
        "share": int(covered) / int(steps["duration_ns"].sum()),
        "bytes": total,
        "tensors": len(table),
        "bandwidth": total / int(moving.sum()) * 1e9,
    }


def _moved_sentence(figures: Figures) -> str:
    moved = figures["moved"]
    if moved is None:
        return ""
    return (
        f" Tensors move between tasks during {step_time(figures, moved['share'])}:"
        f" {format_bytes(moved['bytes'])} in {format_number(moved['tensors'], 'tensor')},"
        f" {format_bandwidth(moved['bandwidth'])} from task to task."
    )


def _headline(figures: Figures) -> str:
    several = figures["communicating_tasks"] > 1
    task = task_label(figures["task"]) or (figures["task"] if several else "") or "the task"
    if not figures["computes"]:
        return f"Communication takes {step_time(figures)}"
    return f"{capital(task)} communicates for {step_time(figures)} while nothing computes"


def _word(_key: str, figures: Figures) -> Texts:
    alone, task = figures["tasks"] == 1, figures["task"]
    subject = task_label(task) or (task if not alone else "") or "the task"
    idle = "its devices idle" if figures["on_devices"] else "no op computes"
    spends = f"{capital(subject)} communicates while {idle}"
    how = ""
    if figures["communicating_tasks"] > 1:
        how = " The other tasks communicate longer, because they also wait for this one."
        if figures["computes"]:
            how += " The estimate without any communication leaves out that of all tasks."
    if not figures["computes"]:
        spends = "The trace shows only communication"
        how += " The trace does not show when anything computes."
    text = f"{spends}: {example(figures)}."
    how = f"{_phases_sentence(figures)}{how}"
    if figures["on_devices"] and figures["exposed_share"] < figures["share"]:
        how += f" For {step_time(figures, 'exposed_share')} its CPU is idle as well."
    how += _moved_sentence(figures)
    how += clocks_sentence(figures["clocks_ns"])
    alone &= not figures["ranks_known"]
    if alone:
        how += " A trace of one task cannot show how much of that is waiting for other tasks."
    if figures["is_below"]:
        how += " The straggler ranks first because part of this time is waiting for it."
    advice = "Send less (larger batches, half-precision gradients), send earlier, or use a faster network."
    if alone:
        advice = "Read the traces of all tasks together to see whether they wait for a straggler."
    title = "is not hidden behind computing" if figures["computes"] else "takes much of the time"
    return Texts(f"Communication {title}", text, advice, how.strip())


def _removed(figures: Figures) -> dict[str, Any]:
    # Without recorded computing nothing would be left of a step.
    return {"activities": {"communication": 0}} if figures["computes"] else {}


def _measure(trace: Trace) -> Measurement:
    sums = _shares(trace)
    share = 0.0 if sums.empty else float(sums["share"].min())
    figures = {"share": share, "threshold": SHARE.value, "communicating_tasks": len(sums)}
    return Measurement(share, SHARE.value, figures)


def _summarise(figures: Figures) -> str:
    if not figures["communicating_tasks"]:
        return "No task receives tensors from others or takes part in collectives."
    return f"Communication that computing does not hide takes {step_time(figures)}{beyond(figures)}."


RULE = Rule(
    "communication",
    {"SHARE": SHARE},
    _find,
    _word,
    _measure,
    _summarise,
    below=("late task",),
    remedy=Remedy("Without any communication", _removed),
    headline=_headline,
)
