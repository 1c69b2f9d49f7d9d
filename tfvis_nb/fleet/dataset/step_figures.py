"""The figures of each step of each task in a dataset."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.events.device_work import device_work
from tfvis_nb.analysis.memory.memory_usage import curve_numbers
from tfvis_nb.analysis.steps import slow_steps
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.step_spans import within_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import MOVING

_COUNTED = {"ops": "op", "kernels": "kernel", "copies": "memcpy", "transfers": "transfer"}
COUNTS = (*_COUNTED, "bytes")
"""Figures that are counts: 0 if there is nothing to count."""
_KEYS = ["step", "task"]

FIGURES: dict[str, str] = {
    "start_ns": "Earliest start of the task's events within the step, in epoch ns; null where it has none.",
    "duration_ns": "Latest end minus earliest start of these events, in ns.",
    "step_ns": "Duration of the step over all tasks of its source, in ns: the sum of the activities.",
    **dict.fromkeys(PARTS, "That of `tfvis_nb.analysis.breakdown` for the task, in ns."),
    "network_wait_ns": "Sum of wait_ns of the tensors that the task received, in ns; null where unknown.",
    "work_ns": f"{slow_steps.FIGURES['work_ns']} Only devices of the task count; null without kernels.",
    "device_busy_ns": "Sum of busy_ns of the task's accelerators, of `tfvis_nb.analysis.utilization`, in ns.",
    "device_idle_ns": "Sum of their idle_ns, in ns; null without accelerators, or where one is unknown.",
    "peak_bytes": "The largest `bytes` of an allocator of `tfvis_nb.analysis.memory_usage` during the step, "
    "estimates aside.",
    **{name: f"Number of events of the kind {kind}." for name, kind in _COUNTED.items()},
    "bytes": "Sum of the bytes of copies and transfers.",
    "time": "start_ns as a time, in UTC.",
}
"""Column to its definition, for each ``step`` and ``task``."""

STEPS = pa.schema(
    [("step", pa.int32()), ("task", pa.string())]
    + [(name, pa.int64()) for name in FIGURES if name != "time"]
    + [("time", pa.timestamp("ns", tz="UTC"))]
)


def step_figures(trace: Trace) -> pa.Table:
    """Return one row per step and task of a trace, with `FIGURES`."""
    parts = trace.breakdown
    whole = parts[(parts["device"] == "").to_numpy(bool)]
    rows = pd.DataFrame({"step": whole["step"].to_numpy(np.int64), "task": whole["task"].astype(object)})
    if rows.empty:
        return STEPS.empty_table()
    rows = rows.reset_index(drop=True)
    figures: dict[Any, pd.Series] = {name: whole[name].reset_index(drop=True) for name in ("step_ns", *PARTS)}
    keys = pd.MultiIndex.from_frame(rows)
    for table in (_own(trace), _waits(trace), _work(trace, keys), _devices(trace), _memory(trace, rows)):
        figures |= {name: table[name].reindex(keys).reset_index(drop=True) for name in table.columns}
    for name in COUNTS:
        figures[name] = figures[name].fillna(0)
    figures["time"] = figures["start_ns"]
    columns = {name: pa.array(rows[name]) for name in _KEYS} | {
        name: pa.array(figures[name], pa.int64(), from_pandas=True) for name in FIGURES
    }
    return pa.table({name: columns[name].cast(STEPS.field(name).type) for name in STEPS.names})


def _grouped(table: pd.DataFrame) -> Any:
    return table.assign(step=table["step"].astype(np.int64), task=table["task"].astype(object)).groupby(_KEYS)


def _own(trace: Trace) -> pd.DataFrame:
    """Return start and end of each task's events within a step, and the number of each kind."""
    inside = (trace.events["step"] != NO_STEP).to_numpy()
    events = trace.events[inside]
    start, end = within_steps(trace)
    kind = events["kind"].astype(object)
    moved = is_kind(events, *MOVING)
    table = events[_KEYS].assign(
        start_ns=start[inside],
        end_ns=end[inside],
        bytes=np.where(moved, events["bytes"].to_numpy(np.int64, na_value=0), 0),
        **{name: (kind == one).to_numpy(np.int64) for name, one in _COUNTED.items()},
    )
    grouped = _grouped(table)
    sums: pd.DataFrame = grouped[["bytes", *_COUNTED]].sum()
    sums["start_ns"] = grouped["start_ns"].min()
    sums["duration_ns"] = grouped["end_ns"].max() - sums["start_ns"]
    return sums.astype("Int64")


def _waits(trace: Trace) -> pd.DataFrame:
    """Return the wait of tensors received by each task; 0 if it received none."""
    received = trace.transfers[(trace.transfers["kind"] == "transfer").to_numpy()]
    task = trace.events["task"].take(received["event"].to_numpy()).set_axis(received.index)
    grouped = _grouped(received[["step", "wait_ns"]].assign(task=task))["wait_ns"]
    sums = grouped.sum(min_count=1)
    every = _grouped(trace.events[_KEYS].drop_duplicates()).size().index
    # A sum that is unknown stays unknown.
    waits = sums.reindex(every.union(sums.index)).where(lambda one: one.index.isin(sums.index), 0)
    return pd.DataFrame({"network_wait_ns": waits})


def _work(trace: Trace, keys: pd.MultiIndex) -> pd.DataFrame:
    """Return the kernel time of each task's busiest device in each step; null on tasks without kernels."""
    kernels = trace.events[(trace.events["kind"] == "kernel").to_numpy()]
    grouped = _grouped(kernels[_KEYS])
    busy = device_work(kernels, grouped.ngroup().to_numpy(), grouped.ngroups)
    work = pd.Series(busy, grouped.size().index, "Int64")
    with_kernels = keys[keys.isin(kernels["task"].unique(), "task")]
    return pd.DataFrame({"work_ns": work.reindex(with_kernels, fill_value=0)})


def _devices(trace: Trace) -> pd.DataFrame:
    """Return the busy and idle time of the accelerators of each task."""
    table = trace.utilization
    table = table[accelerators(table)]
    # Not with "sum" of the groups, which skips unknown values.
    grouped = _grouped(table)
    sums = {
        f"device_{name}": grouped[name].agg(lambda column: column.sum(skipna=False))
        for name in ("busy_ns", "idle_ns")
    }
    return pd.DataFrame(sums).astype("Int64")


def _memory(trace: Trace, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the maximum bytes allocated by an allocator of each task during each step.

    The curves of a profile do not restart at a step: memory allocated at its start counts.
    """
    curve = trace.memory[~trace.memory["estimated"]]
    most: dict[tuple[int, str], int] = {}
    spans = {
        step: (start, end)
        for step, start, end in trace.steps[["step", "start_ns", "end_ns"]].to_numpy(np.int64).tolist()
    }
    for _, one in curve.groupby(curve_numbers(curve), sort=False):
        number, task = int(one["step"].iloc[0]), str(one["task"].iloc[0])
        time, level = one["time_ns"].to_numpy(np.int64), one["bytes"].to_numpy(np.int64)
        within = [number] if number != NO_STEP else rows["step"][rows["task"] == task].tolist()
        for step in within:
            first, last = 0, len(time)
            if number == NO_STEP:
                start, end = spans[step]
                first = max(int(np.searchsorted(time, start, "right")) - 1, 0)
                last = int(np.searchsorted(time, end, "right"))
            if first < last:
                most[step, task] = max(most.get((step, task), 0), int(level[first:last].max()))
    index = pd.MultiIndex.from_tuples(list(most), names=_KEYS) if most else pd.MultiIndex.from_frame(rows)[:0]
    return pd.DataFrame({"peak_bytes": pd.array(list(most.values()), "Int64")}, index=index)
