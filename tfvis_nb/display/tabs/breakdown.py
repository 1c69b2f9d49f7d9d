"""The Breakdown tab: where step time goes, and how busy the devices are."""

import pandas as pd

from tfvis_nb.analysis.communication import scheduling_efficiency
from tfvis_nb.analysis.steps import breakdown, utilization
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.compare_activities import compare_activities
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.against import with_changes
from tfvis_nb.display.tabs.blocks import (
    MOST_ROWS,
    Block,
    TableBlock,
    TableColumn,
    chart,
    figures,
    key,
    step_key,
    table,
)
from tfvis_nb.display.tabs.wording import WITHOUT_FIRST, activity_label, named
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets
from tfvis_nb.events import NO_STEP

_CHART = (
    "At each point in time a step has one activity. If several happen at once, the first in this order "
    "counts: device compute, copies from the device, between devices, input, communication, launching, "
    "copies to the device, compiling, host compute, runtime, input pipeline threads."
)


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    return why_not(trace.breakdown)


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return charts of the breakdown and of utilization, and the figures of both.

    A single step has no charts: the tables show the same figures.
    """
    if (trace.steps["step"] != NO_STEP).sum() == 1:
        parts = [_parts(trace, against), _devices(trace)]
        return [*parts, _overlap(trace)]
    busy = f"For each device the sum over all steps of {_of('busy_ns')} {_without_first(trace)}"
    return [
        chart(trace, "breakdown", _CHART),
        chart(trace, "utilization", busy.strip()),
        _parts(trace, against),
        _devices(trace),
        _steps(trace),
        _overlap(trace),
    ]


def _without_first(trace: Trace) -> str:
    return "" if other_steps(trace) is trace else WITHOUT_FIRST


def _of(name: str) -> str:
    return f"{name} ({utilization.FIGURES[name].rstrip('.')}) / {'step_ns'}."


def _parts(trace: Trace, against: Trace | None) -> TableBlock:
    """Return a table of all steps: one row for each task and each activity that took time."""
    title = "Total over steps"
    of_steps = other_steps(trace)
    steps = of_steps.breakdown
    whole = steps[steps["device"].astype(str) == ""].astype({"task": object})
    columns = [
        *([key("task", "Task")] if len(whole["task"].unique()) > 1 else []),
        TableColumn("part", "Activity", "text", "Activity of the step; point at one for its definition."),
        TableColumn("total_ns", "Time", "ns", "Total time over all steps of the task, in ns."),
        TableColumn("share", "% of step time", "share", "Time / time of all steps, from 0 to 1."),
    ]
    if why_not(steps):
        empty = pd.DataFrame({column.name: [] for column in columns})
        return table(title, empty, columns, reason=why_not(steps))
    sums = whole.groupby("task", sort=False)[["step_ns", *PARTS]].sum()
    taken = sums[list(PARTS)].reset_index().melt("task", var_name="part", value_name="total_ns")
    taken = taken[taken["total_ns"].fillna(0) > 0].astype({"total_ns": "int64"})
    taken = taken.join(sums["step_ns"], on="task")
    taken["share"] = taken["total_ns"] / taken["step_ns"]
    # Grouped by task, in the order of the breakdown, the largest part first.
    place = {task: number for number, task in enumerate(sums.index)}
    taken = taken.assign(place=taken["task"].map(place))
    taken = taken.sort_values(["place", "total_ns"], ascending=[True, False], kind="stable")
    parts = taken["part"].tolist()
    if against is not None:
        changes = compare_activities(against, trace)
        # Single tasks match under any names.
        keys = ["activity", *(["task"] if len(changes["task"].unique()) > 1 else [])]
        taken = taken.assign(activity=taken["part"].str.removesuffix("_ns"))
        taken, change = with_changes(taken, changes, keys, "a_ns", "b_ns")
        columns[-1:-1] = change
    rows = named(taken).assign(part=[activity_label(part) for part in parts])
    definition = _without_first(trace)
    hints = [breakdown.FIGURES[part] for part in parts]
    return table(title, rows, columns, definition=definition, hints=hints)


def _devices(trace: Trace) -> TableBlock:
    title = "Utilization per step"
    devices = trace.utilization
    columns = [
        *step_key(trace),
        key("device", "Device"),
        *figures(
            utilization.FIGURES,
            ("utilization", "Utilization", "share"),
            ("busy_ns", "Busy", "ns"),
            ("idle_ns", "Idle", "ns"),
            ("parallelism", "Concurrency", "ratio"),
            ("queueing_mean_ns", "Mean queueing delay", "ns"),
        ),
    ]
    rows = named(devices)
    zoom = [] if why_not(devices) else ZoomTargets(trace).of_steps(devices["step"].head(MOST_ROWS))
    return table(title, rows, columns, zoom=zoom, reason=why_not(devices))


def _steps(trace: Trace) -> TableBlock:
    """Return a table with one row per step and task, and the parts that any of them has."""
    title = "Step by step"
    of_steps = other_steps(trace)
    steps = of_steps.breakdown
    whole = steps[steps["device"].astype(str) == ""]
    order = "first"
    if len(whole) > MOST_ROWS:
        whole, order = whole.sort_values("step_ns", ascending=False, kind="stable"), "longest"
    shown = [part for part in PARTS if whole[part].fillna(0).any()]
    several = len(set(whole["task"])) > 1
    columns = [
        key("step", "Step", "step"),
        *([key("task", "Task")] if several else []),
        *figures(
            breakdown.FIGURES,
            ("step_ns", "Step time", "ns"),
            *((part, activity_label(part), "ns") for part in shown),
        ),
    ]
    zoom = [] if why_not(steps) else ZoomTargets(trace).of_steps(whole["step"].head(MOST_ROWS))
    definition = "The parts of a row add up to the step exactly."
    rows = named(whole)
    return table(title, rows, columns, definition=definition, zoom=zoom, reason=why_not(steps), order=order)


def _overlap(trace: Trace) -> TableBlock:
    """Return a table of how well communication is hidden behind computing."""
    overlap = scheduling_efficiency.scheduling_efficiency(trace)
    columns = [
        *step_key(trace),
        key("task", "Task"),
        *figures(
            scheduling_efficiency.FIGURES,
            ("efficiency", "Efficiency", "ratio"),
            ("possible_speedup", "Possible gain", "share"),
            ("makespan_ns", "Step", "ns"),
            ("communication_ns", "Communication", "ns"),
            ("computation_ns", "Computing", "ns"),
        ),
    ]
    # The efficiency is meaningless if something else takes time.
    rows = named(overlap).assign(efficiency=overlap["efficiency"].where(overlap["bounded"].astype(bool)))
    zoom = [] if why_not(overlap) else ZoomTargets(trace).of_steps(overlap["step"].head(MOST_ROWS))
    return table("Overlap of communication and computing", rows, columns, zoom=zoom, reason=why_not(overlap))
