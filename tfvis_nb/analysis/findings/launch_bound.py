"""A device waits for the host to launch its work."""

from typing import Any

import pandas as pd

from tfvis_nb.analysis.findings.finding import Finding, step_range
from tfvis_nb.analysis.findings.idle_causes import CAUSE_PHRASES, while_idle
from tfvis_nb.analysis.findings.program import fewer_launches, recorded
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    capital,
    limit,
    not_reported,
    per_step,
    step_time,
)
from tfvis_nb.analysis.idle.device_idle import device_idle
from tfvis_nb.analysis.idle.idle_gaps import idle_gaps
from tfvis_nb.analysis.idle.launch_bound import launch_stretches
from tfvis_nb.analysis.steps.slow_steps import slow_first_step
from tfvis_nb.analysis.steps.tracing_cost import tracing_cost
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_duration, format_number, format_percent
from tfvis_nb.core.labels import task_label
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace

SHARE = Threshold(
    0.25, "share of step time in which a device is idle because of late launches, `launch_wait_ns`"
)
OF_IDLE = Threshold(0.5, "this time as a fraction of the device's idle time")
MOST = Threshold(0.5, "part of these waits that a single one takes, from which fewer launches do not help")
LONG_NS = Threshold(
    100_000, "mean wait for a late launch, in ns, from which launching itself, some 10 us, does not matter"
)
TRACING_NS = Threshold(5_000, "cost of recording one launch, in ns, that the text assumes")

_LONG = (
    "Look at what the host does in the longest waits: what happens once, such as loading kernels and trying"
    " out algorithms, is gone in a later step."
)


@per_trace
def waits(trace: Trace) -> pd.DataFrame:
    """Return `device_idle` with the ``share`` of launch waits, largest first, and whether it is reported."""
    table = device_idle(trace)
    if why_not(table):
        return table
    idle = table["idle_ns"].clip(lower=1)
    table = table.assign(
        share=table["launch_wait_ns"] / table["step_ns"], of_idle=table["launch_wait_ns"] / idle
    )
    table["reported"] = (table["share"] >= SHARE.value) & (table["of_idle"] >= OF_IDLE.value)
    return table.sort_values("share", ascending=False, kind="stable").reset_index(drop=True)


def _find(trace: Trace) -> list[Finding]:
    table = waits(trace)
    if why_not(table) or not table["reported"].any():
        return []
    worst = table[table["reported"]].iloc[0]
    figures = _figures(trace, worst) | {"devices": int(table["reported"].sum())} | recorded(trace)
    stretches = launch_stretches(trace)
    own = stretches[(stretches["task"] == worst["task"]) & (stretches["device"] == worst["device"])]
    if own.empty:
        step = int(idle_gaps(trace).query("cause == 'late launch'")["step"].iloc[0])
        start, end = step_range(trace, step)
    else:
        first = slow_first_step(trace)
        usual = own if first is None else own[own["step"] != first.step]
        longest = (own if usual.empty else usual).nlargest(1, "launch_wait_ns").iloc[0]
        figures["ops"] = str(longest["ops"])
        step, start = int(longest["step"]), int(longest["start_ns"])
        end = start + int(longest["duration_ns"])
    figures["longest"] = _longest(trace, worst)
    return [Finding("launch_bound", figures["share"], figures, step, start, end, [])]


def _longest(trace: Trace, row: pd.Series) -> dict[str, Any] | None:
    """Return the longest wait of a device for a launch, and the op or call of the host in it."""
    gaps = idle_gaps(trace)
    own = gaps[(gaps["task"] == row["task"]) & (gaps["device"] == row["device"])]
    own = own[(own["cause"] == "late launch") & (own["cause_event"] >= 0)]
    if own.empty:
        return None
    longest = own.nlargest(1, "duration_ns").iloc[0]
    event = trace.events.iloc[int(longest["cause_event"])]
    name = event["name"] if pd.isna(event["op"]) or event["op"] == "" else event["op"]
    wait = int(longest["duration_ns"])
    return {"op": str(name), "wait_ns": wait, "part": wait / max(int(row["launch_wait_ns"]), 1)}


def _figures(trace: Trace, row: pd.Series) -> dict[str, Any]:
    """Return the figures of a device for the texts."""
    known = not pd.isna(row["launches"])
    launches = int(row["launches"]) if known else None
    return {
        "share": float(row["share"]),
        "task": str(row["task"]),
        "device": str(row["device"]),
        "busy_share": float(row["busy_share"]),
        "launches": launches,
        "late": int(row["late"]) if known else None,
        "launches_per_step": float(row["launches"]) / int(row["steps"]) if known else None,
        "mean_late_ns": float(row["launch_wait_ns"]) / max(int(row["late"]), 1) if known else None,
        **tracing_figures(trace, launches, int(row["step_ns"]), float(row["share"])),
        "ops": "",
    }


def _word(_key: str, figures: Figures) -> Texts:
    name = device_name(figures["task"], figures["device"])
    busy = (
        f"{name} is busy {step_time(figures, 'busy_share')} and idle"
        f" {format_percent(figures['share'])} {while_idle('late launch')}."
    )
    text, how = busy, ""
    if figures["launches"] is not None:
        launches = (
            f"{format_number(round(figures['launches_per_step']), 'launch', 'launches')} {per_step(figures)}"
        )
        text, how = f"The host issues {launches}", busy
        if figures["late"]:
            late = format_percent(figures["late"] / figures["launches"])
            text = f"{late} of {launches} come when {name} is already idle"
            how += (
                f" {figures['late']:,} of {figures['launches']:,} launches came while it was already idle,"
                f" for {format_duration(figures['mean_late_ns'])} on average."
            )
        text += "."
        how += f" In its longest idle stretch it waits mostly for {figures['ops']}." if figures["ops"] else ""
    if figures["is_below"]:
        how += " The findings above cause part of it."
    if figures["devices"] > 1:
        how += f" {figures['devices']:,} devices wait like this; {name} waits longest."
    how += tracing_sentence(figures)
    title, longest = f"{name} waits for the host to launch its work", figures.get("longest")
    if longest and (longest["part"] >= MOST.value or (figures["mean_late_ns"] or 0) >= LONG_NS.value):
        how += f" The longest wait is {format_duration(longest['wait_ns'])}, at {longest['op']}."
        return Texts(title, text, _LONG, how.strip())
    return Texts(title, text, fewer_launches(figures), how.strip())


def tracing_figures(trace: Trace, launches: float | None, step_ns: int, share: float) -> Figures:
    """Return the share of step time that tracing adds, and the `share` of launch waits without it.

    Estimated by the number of launches where it was not measured.
    """
    cost = tracing_cost(trace)
    if cost is None:
        estimate = min(launches * TRACING_NS.value / step_ns, 1.0) if launches else None
        return {"tracing_share": estimate}
    return {
        "tracing_share": cost.share,
        "traced_ns": cost.traced_ns,
        "untraced_ns": cost.untraced_ns,
        # At most all of the time that tracing adds delays launches.
        "share_untraced": max(share - cost.share, 0.0) / (1 - cost.share),
    }


def tracing_sentence(figures: Figures) -> str:
    """State that recording launches takes time, and how much if it was measured or can be estimated."""
    share = figures["tracing_share"]
    if "untraced_ns" in figures:
        return (
            f" Tracing itself adds {step_time(figures, share)}: a step takes"
            f" {format_duration(figures['traced_ns'])} with tracing and"
            f" {format_duration(figures['untraced_ns'])} without it. Without that part, launch waits are at"
            f" least {step_time(figures, 'share_untraced')}."
        )
    if share is None:
        return " Tracing itself adds launch overhead."
    return (
        f" Tracing itself adds launch overhead: about {TRACING_NS.value // 1000} µs per launch would be"
        f" {step_time(figures, share)}."
    )


def device_name(task: str, device: str) -> str:
    """Name a device at the start of a sentence."""
    parts = task_label(task), device.rpartition("device:")[2]
    name = " ".join(part for part in parts if part)
    return capital(name)


def _measure(trace: Trace) -> Measurement:
    table = waits(trace)
    if why_not(table):
        return Measurement.unknown(SHARE, why_not(table))
    most = table.iloc[0]
    figures = {
        **{name: most[name] for name in ("task", "device")},
        **{name: float(most[name]) for name in ("share", "busy_share", "of_idle", "cause_share")},
        "threshold": SHARE.value,
        "cause": str(most["cause"]),
        "reported": bool(most["reported"]),
    }
    return Measurement(figures["share"], SHARE.value, figures)


def _summarise(figures: Figures) -> str:
    name = device_name(figures["task"], figures["device"])
    sentence = (
        f"{name} is busy {step_time(figures, 'busy_share')} and idle"
        f" {format_percent(figures['share'])} {while_idle('late launch')}"
    )
    if figures["share"] < figures["threshold"]:
        sentence += beyond(figures)
    elif not figures["reported"]:
        part = format_percent(figures["of_idle"])
        sentence += not_reported(f"that is {part} of its idle time, below {limit(OF_IDLE.value)}")
    if figures["cause"] in ("", "late launch"):
        return f"{sentence}."
    cause = CAUSE_PHRASES[figures["cause"]]
    if figures["cause"] == "unknown":
        share = step_time(figures, "cause_share")
        return f"{sentence}. For most of its idle time no cause is recorded ({share})."
    return f"{sentence}. The main cause of its idle time is {cause} ({step_time(figures, 'cause_share')})."


RULE = Rule(
    "launches",
    {"SHARE": SHARE, "OF_IDLE": OF_IDLE, "MOST": MOST, "LONG_NS": LONG_NS, "TRACING_NS": TRACING_NS},
    _find,
    _word,
    _measure,
    _summarise,
    "Launch waits are",
    below=("cpu ops", "copies.variables"),
    below_from=0.5,
    leads=True,
    remedy=Remedy("Without launch overhead", lambda _: {"activities": {"launch": 0}}),
)
