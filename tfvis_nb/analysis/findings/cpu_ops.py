"""A finding on ops that run on a CPU, or ask the host for something, amid the work of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.finding import Finding, percent, span, step_range, step_times
from tfvis_nb.analysis.steps.cpu_amid_gpu import cpu_amid_gpu
from tfvis_nb.analysis.unavailable import why_not

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

LIMIT = 0.05
"""Part of the time that GPUs are idle during such ops, from which they are told."""

_MOST_OPS = 3


def cpu_ops(trace: Trace) -> list[Finding]:
    """Find ops on a CPU, or with copies to the host, during which the GPU is idle; see `LIMIT`."""
    share = idle_meanwhile(trace)
    if isinstance(share, str) or share < LIMIT:
        return []
    table = _amid(trace)
    idle = int(table["idle_once_ns"].sum())
    by_op = table.groupby(table["op"].astype(str))["gpu_idle_ns"].sum().sort_values(ascending=False)
    several = len(by_op) > 1
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
            f"{_listed(by_op)} {'work' if several else 'works'} on the CPU amid the kernels of the GPU,"
            f" in host memory, or {'copy' if several else 'copies'} to the host and back:"
            f" {_copies(table)}. Meanwhile the GPU is idle for {span(idle)},"
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


def idle_meanwhile(trace: Trace) -> float | str:
    """Return the part of the steps' time that GPUs are idle during such ops, or why that is not known.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.findings.cpu_ops import idle_meanwhile
    >>> idle_meanwhile(Trace(events.build({"start_ns": [0], "duration_ns": [9], "kind": ["op"]})))
    'the trace has no kernels of a GPU in a step'
    """
    found = cpu_amid_gpu(trace)
    if why_not(found):
        return why_not(found)
    total = int(step_times(trace)["duration_ns"].sum())
    return int(_amid(trace)["idle_once_ns"].sum()) / total if total and len(found) else 0.0


def _amid(trace: Trace) -> pd.DataFrame:
    """Return the ops of `cpu_amid_gpu` that work on a CPU or ask the host for something."""
    table = cpu_amid_gpu(trace)
    copied = table["to_host"] + table["to_device"]
    table = table.assign(copies=copied, copied=table["to_host_bytes"] + table["to_device_bytes"])
    on_gpu = (table["where"].astype(str) == "GPU").to_numpy()
    found: pd.DataFrame = table[
        ((copied > 0) | (table["where"].astype(str) == "CPU")) & (~on_gpu | _asks(trace, table))
    ]
    return found


def _copies(table: pd.DataFrame) -> str:
    count, size = int(table["copies"].sum()), int(table["copied"].sum())
    named = f"{count} {'copy' if count == 1 else 'copies'}"
    return f"{named} of together {size:,} bytes" if count and size else named


def _asks(trace: Trace, table: pd.DataFrame) -> np.ndarray:
    """Tell which ops had something copied to the host before they were done, so that it was read there.

    Others copied their arguments to the GPU, or what they made to the host for who comes next.
    """
    events, edges = trace.events, trace.edges
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    source, target = edges["source"].to_numpy(), edges["target"].to_numpy()
    launch = (edges["kind"] == "launch").to_numpy()
    to_host = activity(trace) == NUMBER["d2h"]
    made = launch & to_host[target] & (start[target] < end[source])
    brought = ~launch & to_host[source]
    keys = ["task", "name"]
    asking = events.iloc[np.unique(np.concatenate([source[made], target[brought]]))][keys].astype(str)
    rows = pd.MultiIndex.from_frame(table[keys].astype(str))
    found: np.ndarray = rows.isin(pd.MultiIndex.from_frame(asking))
    return found


def _listed(by_op: pd.Series) -> str:
    names = [str(name) for name in by_op.index[:_MOST_OPS]]
    rest = len(by_op) - len(names)
    if rest:
        return ", ".join(names) + f" and {rest} other op type{'s' if rest > 1 else ''}"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
