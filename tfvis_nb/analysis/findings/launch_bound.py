"""A device waits for the host to launch its work."""

from typing import Any

import pandas as pd

from tfvis_nb.analysis.findings.finding import Finding
from tfvis_nb.analysis.findings.rule import (
    NOT_KNOWN,
    Figures,
    Measurement,
    Rule,
    Texts,
    Threshold,
    beyond,
    capital,
    limit,
    not_reported,
)
from tfvis_nb.analysis.idle.launch_bound import launch_bound, launch_stretches
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.labels import task_label
from tfvis_nb.core.trace import Trace

SHARE = Threshold(
    0.25, "share of step time that a device waits for launches, `launching_ns` and `latency_ns`"
)
OF_IDLE = Threshold(0.5, "these waits as a fraction of the device's idle time")
LAUNCHES = Threshold(500, "launches per step: most of a step with fewer is the cost of tracing itself")


def _waits(trace: Trace) -> pd.DataFrame:
    """Return how long each device waits for launches over all steps, the most first; or why not."""
    table = launch_bound(trace)
    if why_not(table):
        return table
    keys = ["task", "device"]
    table = table.astype(dict.fromkeys(keys, object))
    columns = ["launching_ns", "latency_ns", "step_ns", "busy_ns", "launches", "late"]
    sums = table.groupby(keys)[columns].sum().assign(steps=table.groupby(keys).size()).reset_index()
    waited = sums["launching_ns"] + sums["latency_ns"]
    sums["share"] = waited / sums["step_ns"]
    sums["of_idle"] = waited / (sums["step_ns"] - sums["busy_ns"])
    sums["reported"] = (
        (sums["share"] >= SHARE.value)
        & (sums["of_idle"] >= OF_IDLE.value)
        & (sums["launches"] >= LAUNCHES.value * sums["steps"])
    )
    return sums.sort_values("share", ascending=False, kind="stable").reset_index(drop=True)


def _find(trace: Trace) -> list[Finding]:
    waits = _waits(trace)
    if why_not(waits) or not waits["reported"].any():
        return []
    worst = waits[waits["reported"]].iloc[0]
    task, device = str(worst["task"]), str(worst["device"])
    stretches = launch_stretches(trace)
    own = (stretches["task"].astype(str) == task) & (stretches["device"].astype(str) == device)
    longest = stretches[own].nlargest(1, "launch_wait_ns").iloc[0]
    start = int(longest["start_ns"])
    figures: dict[str, Any] = {
        "share": float(worst["share"]),
        "task": task,
        "device": device,
        "busy_share": float(worst["busy_ns"] / worst["step_ns"]),
        "late": int(worst["late"]),
        "launches": int(worst["launches"]),
        "mean_late_ns": float((worst["launching_ns"] + worst["latency_ns"]) / max(worst["late"], 1)),
        "ops": str(longest["ops"]),
    }
    end = start + int(longest["duration_ns"])
    return [Finding("launch_bound", figures["share"], figures, int(longest["step"]), start, end, [])]


def _word(_key: str, figures: Figures) -> Texts:
    name = _device_label(figures["task"], figures["device"])
    return Texts(
        f"{name} waits for the host to launch its work",
        f"{name} is busy for {format_percent(figures['busy_share'])} of step time and waits for launches for"
        f" {format_percent(figures['share'])}. {figures['late']:,} of {figures['launches']:,} launches arrive"
        f" after it ran out of work, {format_duration(figures['mean_late_ns'])} late on average; worst at"
        f" {figures['ops']}.",
        "Launch less: compile with XLA (jit_compile=True), fuse small ops, take larger batches, or run"
        " several steps in one call (steps_per_execution). Tracing makes launching slower too.",
    )


def _device_label(task: str, device: str) -> str:
    parts = task_label(task), device.rpartition("device:")[2]
    name = " ".join(part for part in parts if part)
    return capital(name)


def _measure(trace: Trace) -> Measurement:
    waits = _waits(trace)
    if why_not(waits):
        figures = {"reason": why_not(waits)} | _least_used(trace)
        return Measurement(NOT_KNOWN, SHARE.value, figures)
    most = waits.iloc[0]
    task, device = str(most["task"]), str(most["device"])
    figures = {
        "share": float(most["share"]),
        "threshold": SHARE.value,
        "task": task,
        "device": device,
        "busy_share": float(most["busy_ns"] / max(most["step_ns"], 1)),
        "launches_per_step": float(most["launches"]) / float(most["steps"]),
        "of_idle": float(most["of_idle"]),
        "reported": bool(most["reported"]),
    }
    return Measurement(figures["share"], SHARE.value, figures | _main_cause(trace, task, device))


def _least_used(trace: Trace) -> dict[str, Any]:
    """Return how much the accelerator worked that worked least, where that is known."""
    table = trace.utilisation
    table = table[table["hta_kernel_ns"].notna()].astype(
        {"task": object, "device": object, "busy_ns": "int64"}
    )
    sums = table.groupby(["task", "device"])[["busy_ns", "step_ns"]].sum().reset_index()
    sums = sums.assign(part=sums["busy_ns"] / sums["step_ns"]).dropna().sort_values("part", kind="stable")
    if sums.empty:
        return {}
    least = sums.iloc[0]
    task, device = str(least["task"]), str(least["device"])
    where = {"task": task, "device": device, "busy_share": float(least["part"])}
    return where | _main_cause(trace, task, device)


def _main_cause(trace: Trace, task: str, device: str) -> dict[str, Any]:
    """Return the cause of most of the idle time of a device, and its share of that."""
    gaps = trace.idle_gaps
    own = gaps[(gaps["task"].astype(str) == task) & (gaps["device"].astype(str) == device)]
    idle = own.groupby(own["cause"].astype(str))["duration_ns"].sum().sort_values(ascending=False)
    if idle.empty or not int(idle.iloc[0]):
        return {}
    return {"cause": str(idle.index[0]), "cause_share": float(idle.iloc[0] / idle.sum())}


def _summarise(figures: Figures) -> str:
    cause = ""
    if "cause" in figures:
        share = format_percent(figures["cause_share"])
        cause = f" The main cause of its idle time is {figures['cause']} ({share})."
    busy = ""
    if "device" in figures:
        name = _device_label(figures["task"], figures["device"])
        busy = f"{name} is busy for {format_percent(figures['busy_share'])} of step time"
    if "reason" in figures:
        known = f"{busy}.{cause} " if busy else ""
        return f"{known}Launch waits are not available: {figures['reason']}."
    sentence = f"{busy} and waits for launches for {format_percent(figures['share'])}"
    if figures["share"] < figures["threshold"]:
        sentence += beyond(figures)
    elif figures["launches_per_step"] < LAUNCHES.value:
        small_step = (
            f"a step with {figures['launches_per_step']:.0f} launches, fewer than {LAUNCHES.value:.0f}"
        )
        sentence += not_reported(f"most of {small_step}, is the cost of tracing")
    elif not figures["reported"]:
        part = format_percent(figures["of_idle"])
        sentence += not_reported(f"that is {part} of its time without work, below {limit(OF_IDLE.value)}")
    return f"{sentence}.{cause}"


RULE = Rule(
    "launches",
    {"SHARE": SHARE, "OF_IDLE": OF_IDLE, "LAUNCHES": LAUNCHES},
    _find,
    _word,
    _measure,
    _summarise,
    leads=True,
)
