"""The time that CPU ops would take on a GPU of the trace."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.hardware.ceilings import ceilings
from tfvis_nb.analysis.hardware.op_work import op_work
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text


def gpu_factors(trace: Trace, chosen: np.ndarray, name: str) -> np.ndarray:
    """Return factors for all events (float64) with which chosen CPU ops run at the speed of a GPU.

    The factor of an op is that of its type: the mean kernel time per run on the trace's GPUs / the mean
    duration on the CPU. If the type never runs on a GPU, it is the minimum time that the GPU needs for the
    op's operations and bytes / its duration.

    Raises
    ------
    ValueError
        If none of the chosen events is a CPU op, or the GPU speed of one is unknown.
    """
    events = trace.events
    launching = trace.edges["source"][trace.edges["kind"] == "launch"].to_numpy(np.int64)
    on_cpu = chosen & is_kind(events, "op") & (activity(trace) == NUMBER["host_compute"])
    on_cpu[launching] = False
    rows = np.flatnonzero(on_cpu)
    if not len(rows):
        raise ValueError(Text("nothing_on_cpu", name=name))
    op = events["op"].astype(object).fillna("").iloc[rows].to_numpy()
    duration = pd.Series(events["duration_ns"].to_numpy(np.float64)[rows]).clip(lower=1)
    on_gpu = pd.Series(op).map(_recorded(trace))
    factor = on_gpu / duration.groupby(op).transform("mean")
    factor = factor.fillna((pd.Series(rows).map(_bounds(trace)) / duration).clip(upper=1))
    if factor.isna().any():
        raise ValueError(Text("gpu_speed_unknown", op=op[factor.isna().to_numpy()][0]))
    found = np.ones(len(events))
    found[rows] = factor
    return found


def _recorded(trace: Trace) -> pd.Series:
    """Return the mean kernel time per run of each op type on GPUs, in ns."""
    events = trace.events
    computes = activity(trace) == NUMBER["device_compute"]
    called = is_kind(events, "op") & accelerators(events)
    op = events["op"].astype(object).fillna("")
    spent = events["duration_ns"][computes].groupby(op[computes]).sum().astype("float64")
    runs = op[called].value_counts().reindex(spent.index).fillna(op[computes].value_counts())
    mean: pd.Series = (spent / runs).drop("", errors="ignore")
    return mean


def _bounds(trace: Trace) -> pd.Series:
    """Return the minimum time that a GPU needs for each op with known work, in ns, by event."""
    work = op_work(trace).set_index("event")
    for device in trace.devices["device"]:
        rates, bandwidth = ceilings(trace, str(device))
        if not rates or np.isnan(bandwidth):
            continue
        of_type = {kind: rate.flops for rate in reversed(rates) for kind in rate.types}
        # Ops without a type do not use floats.
        flops = work["flops"] / work["type"].map(of_type).fillna(rates[0].flops)
        return (work["bytes"] / bandwidth).clip(lower=flops) * 1e9
    return pd.Series(dtype="float64")
