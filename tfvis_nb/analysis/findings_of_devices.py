"""Findings on accelerators: that they wait for launches, for ops on the CPU, or for copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfvis_nb.analysis.activities import NUMBER
from tfvis_nb.analysis.answers import why_not
from tfvis_nb.analysis.evidence import Finding, percent, span, step_range, task_name, whole_tasks
from tfvis_nb.analysis.launch_bound import launch_bound, launch_stretches

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

LAUNCH_LIMIT = 0.5
"""Part of the time that a device waits for launches, from which it is told: more than for all else."""
ENOUGH_LAUNCHES = 500
"""Of a step with fewer launches most of the time is what tracing itself costs at its begin and end."""
COPY_LIMIT = 0.1
"""Part of the time of copies from and to the host while nothing computes, from which it is told."""


def launches(trace: Trace) -> list[Finding]:
    """Find a device that waits for the host to launch its work; see `LAUNCH_LIMIT`."""
    table = launch_bound(trace)
    if why_not(table):
        return []
    keys = ["task", "device"]
    table = table.astype(dict.fromkeys(keys, object))
    columns = ["launching_ns", "latency_ns", "step_ns", "busy_ns", "launches", "late"]
    sums = table.groupby(keys)[columns].sum().assign(steps=table.groupby(keys).size()).reset_index()
    sums["share"] = (sums["launching_ns"] + sums["latency_ns"]) / sums["step_ns"]
    sums = sums[(sums["share"] >= LAUNCH_LIMIT) & (sums["launches"] >= ENOUGH_LAUNCHES * sums["steps"])]
    if sums.empty:
        return []
    worst = sums.iloc[int(sums["share"].to_numpy().argmax())]
    task, device = str(worst["task"]), str(worst["device"])
    stretches = launch_stretches(trace)
    own = (stretches["task"].astype(str) == task) & (stretches["device"].astype(str) == device)
    longest = stretches[own].nlargest(1, "late_ns").iloc[0]
    each = (worst["launching_ns"] + worst["latency_ns"]) / max(worst["late"], 1)
    name = " ".join(part for part in (task_name(task), device.rpartition("device:")[2]) if part)
    return [
        Finding(
            "launches",
            f"{name} waits for the host to launch its work",
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


def copies(trace: Trace) -> list[Finding]:
    """Find copies between host and device that nothing hides; see `COPY_LIMIT`."""
    table = whole_tasks(trace)
    parts = ["h2d_ns", "d2h_ns"]
    known = table.assign(copy_ns=table[parts].fillna(0).sum(axis=1).astype("int64"))
    sums = known.groupby(known["task"].astype(str))[["copy_ns", "step_ns", *parts]].sum()
    shares = sums["copy_ns"] / sums["step_ns"]
    if shares.empty or float(shares.max()) < COPY_LIMIT:
        return []
    task = str(shares.idxmax())
    own = known[known["task"].astype(str) == task]
    worst = own.iloc[int(own["copy_ns"].to_numpy().argmax())]
    start, end = step_range(trace, int(worst["step"]))
    moved = trace.transfers
    between = np.isin(trace.activity[moved["event"].to_numpy()], [NUMBER["h2d"], NUMBER["d2h"]])
    moved = moved[between & (moved["step"] == worst["step"]).to_numpy()]
    most = str(sums.loc[task, parts].astype("float64").idxmax())[:3].upper()
    return [
        Finding(
            "copies",
            "Copies between host and device are not hidden",
            f"{percent(float(shares.max()))} of the steps' time copies run while no device computes, most of"
            f" them {most}; in step {worst['step']} {span(int(worst['copy_ns']))} of"
            f" {span(int(worst['step_ns']))}.",
            "Keep what is used again on the device, prefetch input to it "
            "(tf.data.experimental.prefetch_to_device), fetch results less often.",
            float(shares.max()),
            int(worst["step"]),
            start,
            end,
            moved.nlargest(50, "duration_ns")["event"].tolist(),
        )
    ]
