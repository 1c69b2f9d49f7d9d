"""A device is idle for most of the step."""

import re
from typing import Any

import pandas as pd

from tfvis_nb.analysis.findings.clocks import clocks_sentence, uncertain_clocks
from tfvis_nb.analysis.findings.finding import Finding
from tfvis_nb.analysis.findings.idle_causes import ACROSS_TASKS, waits_for, while_idle
from tfvis_nb.analysis.findings.launch_bound import device_name, tracing_figures, tracing_sentence, waits
from tfvis_nb.analysis.findings.program import faster_input, fewer_launches, less_host_work, recorded
from tfvis_nb.analysis.findings.rule import Figures, Measurement, Rule, Texts, Threshold, per_step, step_time
from tfvis_nb.analysis.idle.idle_gaps import idle_gaps
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.labels import task_label
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import id_of

IDLE_SHARE = Threshold(0.5, "share of step time in which a device is idle, 1 - `busy_share`")

_TASKS = ("late task", "communication")
_EXPLAINED_BY = {
    "input": ("input",),
    **dict.fromkeys(ACROSS_TASKS, _TASKS),
    "copy": ("copies",),
}
"""Kinds of findings that explain a cause: if there is one, the idle device is only an observation."""
_ADVICE = {
    "recv wait": "Look at the task that sends: read the traces of all tasks together.",
    "recv transfer": "Send less or earlier, or use a faster network.",
    "dependency on another device": "Balance the work among the devices and tasks.",
    "kernel gap": "Use larger batches, or fuse small kernels.",
    "copy": "Keep data on the device, and prefetch what it needs.",
    "unknown": "Trace with host events to record what the device waits for.",
}
_NUMBER = re.compile(r" \d+$")
_REPLACED = (
    "Write the file again with timeline.py's op_time='schedule', its default, which keeps the times of ops."
)
_NOT_RECORDED = "Select the longest idle stretch in the timeline to see what the host did around it."
_OTHER_TASKS = ", and read the traces of all tasks together: it may wait for another task."
_ADVICE_FOR_PROGRAM = {"input": faster_input, "late launch": fewer_launches, "host": less_host_work}


def _idle(trace: Trace) -> pd.DataFrame:
    """Return the devices that are idle for most of the step and that no other finding reports."""
    table = waits(trace)
    return (
        table if why_not(table) else table[(table["busy_share"] < 1 - IDLE_SHARE.value) & ~table["reported"]]
    )


def _find(trace: Trace) -> list[Finding]:
    table = _idle(trace)
    return [] if why_not(table) else [_finding(trace, rows) for _, rows in table.groupby("cause", sort=False)]


def _finding(trace: Trace, rows: pd.DataFrame) -> Finding:
    """Report devices with the same main cause; the least busy one stands for them."""
    row = rows.iloc[int(rows["busy_share"].to_numpy().argmin())]
    task, device, cause = str(row["task"]), str(row["device"]), str(row["cause"])
    launches = None if pd.isna(row["launches"]) else float(row["launches"]) / int(row["steps"])
    figures: dict[str, Any] = {
        "share": float(row["cause_share"]),
        "task": task,
        "device": device,
        "devices": len(rows),
        "busy_share": float(row["busy_share"]),
        "most_busy_share": float(rows["busy_share"].max()),
        "cause": cause,
        "explained_by": list(_EXPLAINED_BY.get(cause, ())),
        "launches_per_step": launches,
        **tracing_figures(
            trace,
            None if launches is None else launches * int(row["steps"]),
            int(row["step_ns"]),
            float(row["launch_wait_ns"]) / int(row["step_ns"]),
        ),
        "clocks_ns": uncertain_clocks(trace, float(row["cause_ns"]) / int(row["steps"]))
        if cause in ACROSS_TASKS
        else None,
        **recorded(trace),
    }
    gaps = idle_gaps(trace)
    own = gaps[(gaps["task"] == task) & (gaps["device"] == device) & (gaps["cause"] == cause)]
    longest = own.nlargest(1, "duration_ns").iloc[0]
    figures["work"] = _host_work(trace, own) if cause == "host" else None
    figures["replaced"] = any(id_of(note) == "op_times_replaced" for note in trace.notes)
    figures["host_events"] = int(is_kind(trace.events, "host").sum())
    tasks = set(trace.events["task"].astype(object).fillna(""))
    figures["other_tasks"] = len(tasks) == 1 and bool(task_label(task))
    start = int(longest["start_ns"])
    events = [int(longest["cause_event"])] if int(longest["cause_event"]) >= 0 else []
    end = start + int(longest["duration_ns"])
    key = f"idle_device.{cause.replace(' ', '_')}"
    return Finding(key, figures["share"], figures, int(longest["step"]), start, end, events)


def _host_work(trace: Trace, gaps: pd.DataFrame) -> dict[str, Any] | None:
    """Return the op or call of the host that a device waits for longest; None if none is recorded."""
    known = gaps[gaps["cause_event"] >= 0]
    events = trace.events[["op", "name"]].iloc[known["cause_event"]].astype(object)
    names = events["op"].where(events["op"].fillna("") != "", events["name"]).astype(str)
    marks = {_NUMBER.sub("", label) for label in trace.step_labels.values()}
    # Within the mark of a step nothing else runs but Python.
    names = names.where(~names.isin(marks), "Python itself")
    total = known["duration_ns"].groupby(names.to_numpy()).sum()
    return None if total.empty else {"op": str(total.idxmax()), "idle_ns": int(total.max())}


def _word(_key: str, figures: Figures) -> Texts:
    name, cause = device_name(figures["task"], figures["device"]), figures["cause"]
    # The share of this cause alone.
    doubtful = figures["clocks_ns"] is not None
    while_waiting = while_idle(cause, doubtful)
    title = f"{name} {waits_for(cause, 1, doubtful)}"
    busy, share = step_time(figures, "busy_share"), format_percent(figures["share"])
    text = f"{name} is busy {busy} and idle {share} {while_waiting}."
    if figures["devices"] > 1:
        title = f"{figures['devices']:,} devices {waits_for(cause, figures['devices'], doubtful)}"
        most = step_time(figures, "most_busy_share")
        text = (
            f"{figures['devices']:,} devices are busy at most {most}; {name}, the least busy, is idle {share}"
            f" {while_waiting}."
        )
    if figures.get("work"):
        work = figures["work"]
        text += f" The largest part is {work['op']}: {format_duration(work['idle_ns'])}."
    how = clocks_sentence(figures["clocks_ns"])
    launches = figures["launches_per_step"]
    if cause == "late launch" and launches is not None:
        how += f" The host issues {launches:,.0f} launches {per_step(figures)}."
        how += tracing_sentence(figures)
    advise = _ADVICE_FOR_PROGRAM.get(cause)
    if cause == "unknown" and figures.get("replaced"):
        return Texts(title, text, _REPLACED)
    advice = advise(figures) if advise else _ADVICE[cause]
    if cause == "unknown":
        advice = _NOT_RECORDED if figures.get("host_events") else advice
        advice = advice.rstrip(".") + (_OTHER_TASKS if figures.get("other_tasks") else ".")
    return Texts(title, text, advice, how.strip())


def _measure(trace: Trace) -> Measurement:
    table = waits(trace)
    if why_not(table):
        return Measurement.unknown(IDLE_SHARE, why_not(table))
    least = table.iloc[int(table["busy_share"].to_numpy().argmin())]
    share = 1 - float(least["busy_share"])
    figures = {"share": share, "task": str(least["task"]), "device": str(least["device"])}
    return Measurement(share, IDLE_SHARE.value, figures)


def _summarise(figures: Figures) -> str:
    name = device_name(figures["task"], figures["device"])
    return (
        f"{name} is idle for {step_time(figures)}, the most of all devices"
        f" (threshold {IDLE_SHARE.value * 100:g} %)."
    )


RULE = Rule(
    "idle device", {"IDLE_SHARE": IDLE_SHARE}, _find, _word, _measure, _summarise, "Idle time of devices is"
)
