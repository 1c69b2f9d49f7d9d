"""A finding on ops that run on a CPU, or ask the host for something, amid the work of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tfvis_nb.analysis.answers import why_not
from tfvis_nb.analysis.evidence import Finding, percent, span, step_range, step_times
from tfvis_nb.analysis.placement import cpu_amid_gpu

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

LIMIT = 0.05
"""Part of the time that GPUs are idle during such ops, from which they are told."""

_MOST_OPS = 3


def cpu_ops(trace: Trace) -> list[Finding]:
    """Find ops on a CPU, or with copies to the host, during which the GPU is idle; see `LIMIT`."""
    table = cpu_amid_gpu(trace)
    if why_not(table) or table.empty:
        return []
    copied = table["to_host"] + table["to_device"]
    table = table.assign(copies=copied, copied=table["to_host_bytes"] + table["to_device_bytes"])
    table = table[(copied > 0) | (table["where"].astype(str) == "CPU")]
    total = int(step_times(trace)["duration_ns"].sum())
    idle = int(table["idle_once_ns"].sum())
    share = idle / total if total else 0.0
    if share < LIMIT:
        return []
    by_op = table.groupby(table["op"].astype(str))["gpu_idle_ns"].sum().sort_values(ascending=False)
    events = trace.events
    longest = table["longest"].tolist()
    step = int(events["step"].iloc[longest[0]])
    inside = [event for event in longest if events["step"].iloc[event] == step]
    rows = events.iloc[inside]
    start, end = step_range(trace, step)
    return [
        Finding(
            "cpu ops",
            "Ops on the CPU and copies to the host interrupt the GPU",
            f"{_listed(by_op)} work on the CPU amid the kernels of the GPU, in host memory, or copy to the"
            f" host and back: {int(table['copies'].sum())} copies of together"
            f" {int(table['copied'].sum()):,} bytes. Meanwhile the GPU is idle for {span(idle)},"
            f" {percent(share)} of the steps' time.",
            "Prepare indices and shapes in the input pipeline, keep shapes static, and replace ops whose"
            " result the host has to read before it can go on (Unique, SparseToDense, Where) by dense ones.",
            share,
            step,
            max(int(rows["start_ns"].min()), start),
            min(int((rows["start_ns"] + rows["duration_ns"]).max()), end),
            inside,
        )
    ]


def _listed(by_op: pd.Series) -> str:
    names = [str(name) for name in by_op.index[:_MOST_OPS]]
    rest = len(by_op) - len(names)
    if rest:
        return ", ".join(names) + f" and {rest} other op types"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
