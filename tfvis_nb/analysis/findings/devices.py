"""Findings on accelerators: that they wait for launches, for ops on the CPU, or for copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.finding import Finding, percent, span, step_range, task_name, whole_tasks
from tfvis_nb.analysis.idle.launch_bound import launch_bound, launch_stretches
from tfvis_nb.analysis.unavailable import why_not

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

LAUNCH_LIMIT = 0.25
"""Part of the time that a device waits for launches, from which it is told."""
LAUNCH_MOST = 0.5
"""Part of the time in which the device does not work, from which it is told: more than for all else."""
ENOUGH_LAUNCHES = 500
"""Of a step with fewer launches most of the time is what tracing itself costs at its begin and end."""
COPY_LIMIT = 0.1
"""Part of the time of copies from and to the host while nothing computes, from which it is told."""

_COPIES = ["h2d_ns", "d2h_ns"]
_WHERE_TO = {"h2d_ns": "from the host to a device", "d2h_ns": "from a device to the host"}
_LESS = {
    "h2d_ns": "Keep what is used again on the device, and prefetch input to it"
    " (tf.data.experimental.prefetch_to_device).",
    "d2h_ns": "Fetch results less often, and fewer of them; keep on the device what is used there again.",
}


def waiting_devices(trace: Trace) -> pd.DataFrame:
    """Return how far each device waits for launches over all steps, the most first.

    Returns
    -------
    pandas.DataFrame
        ``task``, ``device`` (object), the sums of ``launching_ns``, ``latency_ns``, ``step_ns``,
        ``busy_ns``, ``launches`` and ``late`` of `launch_bound` over its ``steps``, the ``share`` of the time
        that it waits for launches, the part of its time without work, ``of_idle``, that this is, and whether
        it is ``told`` (bool). `cannot_say` as `launch_bound`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import why_not
    >>> from tfvis_nb.analysis.findings.devices import waiting_devices
    >>> why_not(waiting_devices(Trace(events.build({"start_ns": [0], "duration_ns": [9], "kind": ["op"]}))))
    'the trace has no rows of what a GPU ran in a step'
    """
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
    sums["told"] = (
        (sums["share"] >= LAUNCH_LIMIT)
        & (sums["of_idle"] >= LAUNCH_MOST)
        & (sums["launches"] >= ENOUGH_LAUNCHES * sums["steps"])
    )
    return sums.sort_values("share", ascending=False, kind="stable").reset_index(drop=True)


def device_name(device: pd.Series) -> str:
    """Name a device of `waiting_devices` briefly."""
    task, name = task_name(str(device["task"])), str(device["device"]).rpartition("device:")[2]
    return " ".join(part for part in (task, name) if part)


def launches(trace: Trace) -> list[Finding]:
    """Find a device that waits for the host to launch its work; see `LAUNCH_LIMIT`."""
    sums = waiting_devices(trace)
    if why_not(sums) or not sums["told"].any():
        return []
    sums = sums[sums["told"]]
    worst = sums.iloc[0]
    task, device = str(worst["task"]), str(worst["device"])
    stretches = launch_stretches(trace)
    own = (stretches["task"].astype(str) == task) & (stretches["device"].astype(str) == device)
    longest = stretches[own].nlargest(1, "late_ns").iloc[0]
    each = (worst["launching_ns"] + worst["latency_ns"]) / max(worst["late"], 1)
    return [
        Finding(
            "launches",
            f"{device_name(worst)} waits for the host to launch its work",
            f"It works {percent(worst['busy_ns'] / worst['step_ns'])} of the steps' time and waits"
            f" {percent(worst['share'])} for launches: {int(worst['late']):,} of {int(worst['launches']):,}"
            f" kernels and copies are launched when it has nothing left to do, {span(each)} late on average."
            f" Most time passes so at {longest['ops']}.",
            "Launch less: compile with XLA (jit_compile=True), fuse small ops, take larger batches, run"
            " several steps in one call (steps_per_execution). Tracing makes launching slower, too.",
            float(worst["share"]),
            int(longest["step"]),
            int(longest["start_ns"]),
            int(longest["start_ns"] + longest["duration_ns"]),
            [],
        )
    ]


def exposed_copies(trace: Trace) -> pd.DataFrame:
    """Return the time of copies behind which nothing computes, of each task over all steps, the most first.

    Returns
    -------
    pandas.DataFrame
        ``task`` (object), ``share`` (float64), and the sums of ``h2d_ns``, ``d2h_ns`` and ``step_ns``.
        Without the tasks of which copies are not recorded.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.findings.devices import exposed_copies
    >>> table = events.build({"start_ns": [0, 1], "duration_ns": [1, 3], "kind": ["memcpy", "kernel"],
    ...                       "op": ["MemcpyD2H", "MatMul"], "device": ["GPU:0"] * 2})
    >>> exposed_copies(Trace(table))["share"].tolist()
    [0.25]
    """
    table = whole_tasks(trace)
    table = table[table[_COPIES].notna().all(axis=1)].astype(
        {"task": object} | dict.fromkeys(_COPIES, "int64")
    )
    sums = table.groupby("task")[[*_COPIES, "step_ns"]].sum().reset_index()
    sums["share"] = sums[_COPIES].sum(axis=1) / sums["step_ns"]
    return sums.sort_values("share", ascending=False, kind="stable").reset_index(drop=True)


def copies(trace: Trace) -> list[Finding]:
    """Find copies between host and device that nothing hides; see `COPY_LIMIT`."""
    sums = exposed_copies(trace)
    if sums.empty or not float(sums["share"].iloc[0]) >= COPY_LIMIT:
        return []
    found = sums.iloc[0]
    share, task = float(found["share"]), str(found["task"])
    most = max(_COPIES, key=lambda part: int(found[part]))
    table = whole_tasks(trace)
    own = table[table["task"].astype(str) == task]
    amount = own[_COPIES].fillna(0).sum(axis=1).to_numpy(np.int64)
    place = int(amount.argmax())
    worst = own.iloc[place]
    start, end = step_range(trace, int(worst["step"]))
    moved = trace.transfers
    between = np.isin(activity(trace)[moved["event"].to_numpy()], [NUMBER["h2d"], NUMBER["d2h"]])
    moved = moved[between & (moved["step"] == worst["step"]).to_numpy()]
    return [
        Finding(
            "copies",
            "Copies between host and device are not hidden",
            f"{percent(share)} of the steps' time copies run while no device computes, most of them"
            f" {_WHERE_TO[most]}; in step {worst['step']} {span(int(amount[place]))} of"
            f" {span(int(worst['step_ns']))}.",
            _LESS[most],
            share,
            int(worst["step"]),
            start,
            end,
            moved.nlargest(50, "duration_ns")["event"].tolist(),
        )
    ]
