"""Charts of step time: its parts, and how busy each device was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.core.labels import lane_label, task_label
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.charts.broken_bars import BrokenBars, broken_bars
from tfvis_nb.display.charts.style import (
    ROWS,
    Unit,
    coloured,
    coloured_parts,
    legend_below,
    plot,
    shown,
    time_unit,
    unlike,
)

if TYPE_CHECKING:
    from bokeh.plotting import figure

MOST_STEPS = 150
"""If there are more steps, means of consecutive steps are drawn."""


def breakdown_chart(trace: Trace) -> figure:
    """Return each step as a stacked bar of the parts of `tfvis_nb.analysis.breakdown`.

    A trace of several tasks has a bar for each task of a step.
    """
    table = trace.breakdown
    whole = table[table["device"].astype(str) == ""].reset_index(drop=True)
    tasks = list(whole["task"].astype(str).unique())
    if len(whole) <= 12:
        return _lying(trace, whole, tasks)
    return _standing(trace, whole, tasks)


def _parts(whole: pd.DataFrame, unit: Unit) -> dict[str, np.ndarray]:
    """Return the time of each part that occurs."""
    values_of_parts = {
        part.removesuffix("_ns"): whole[part].to_numpy(np.float64, na_value=0.0) / unit.size for part in PARTS
    }
    return {name: values for name, values in values_of_parts.items() if values.any()}


def _spans(trace: Trace, steps: pd.Series) -> dict[str, list[float]]:
    known = trace.steps.set_index("step")
    origin = int(trace.events["start_ns"].iloc[0])
    return {
        "start_ms": [(int(known.loc[step, "start_ns"]) - origin) / 1e6 for step in steps],
        "end_ms": [(int(known.loc[step, "end_ns"]) - origin) / 1e6 for step in steps],
    }


def _lying(trace: Trace, whole: pd.DataFrame, tasks: list[str]) -> figure:
    """Return a few steps as horizontal bars with names."""
    from bokeh.models import ColumnDataSource

    rows = zip(whole["step"], whole["task"].astype(str), strict=True)
    names = [f"step {step}" + (f" · {task_label(task)}" if len(tasks) > 1 else "") for step, task in rows]
    unit = time_unit(whole["step_ns"].max())
    parts = _parts(whole, unit)
    called = unlike([shown(name) for name in names])
    bars = broken_bars(whole["step_ns"].to_numpy(np.float64) / unit.size)
    data: dict[str, Any] = {
        "row": np.array(called),
        "step": whole["step"].to_numpy(),
        **parts,
        **_spans(trace, whole["step"]),
    }
    source = ColumnDataSource(_pieces(bars, data, parts), name=ROWS)
    made = plot(
        f"Step time breakdown ({unit.name})",
        height=90 + 26 * max(len(whole), 2),
        y_range=called[::-1],
        from_0="x",
        tools="tap",
        active_drag=None,
    )
    for name in parts:
        ends: dict[str, Any] = {"left": f"{name}_from", "right": f"{name}_to"}
        label = LABELS[name]
        drawn = made.hbar(y="row", height=0.72, source=source, legend_label=label, **ends, **coloured(name))
        _add_hover(made, drawn, name, unit)
    bars.mark(made, np.array(called), unit, lying=True)
    made.ygrid.visible = False
    legend_below(made)
    return made


def _standing(trace: Trace, whole: pd.DataFrame, tasks: list[str]) -> figure:
    """Return many steps as thin vertical bars side by side, with an offset per task."""
    from bokeh.models import ColumnDataSource

    steps = np.sort(whole["step"].unique())
    size = -(-len(steps) // MOST_STEPS)
    bins = np.searchsorted(steps, whole["step"].to_numpy()) // size
    parts = [part for part in PARTS if whole[part].fillna(0).any()]
    grouped = whole.assign(bin=bins, task=whole["task"].astype(str)).groupby(["bin", "task"], sort=True)
    means = grouped[parts].mean().fillna(0).reset_index()
    lowest, highest = grouped["step"].min().to_numpy(), grouped["step"].max().to_numpy()
    width = 0.8 / len(tasks)
    row = means["task"].map({task: number for number, task in enumerate(tasks)}).to_numpy()
    starts, ends = _spans(trace, pd.Series(lowest)), _spans(trace, pd.Series(highest))
    called = [
        f"step {low}" if low == high else f"steps {low} to {high}, mean"
        for low, high in zip(lowest, highest, strict=True)
    ]
    if len(tasks) > 1:
        called = [f"{name} · {task_label(task)}" for name, task in zip(called, means["task"], strict=True)]
    names = [part.removesuffix("_ns") for part in parts]
    unit = time_unit(grouped["step_ns"].mean().max())
    durations = {
        name: means[part].to_numpy(np.float64) / unit.size for name, part in zip(names, parts, strict=True)
    }
    bars = broken_bars(grouped["step_ns"].mean().to_numpy(np.float64) / unit.size)
    at = lowest + (highest - lowest) / 2 + (row - (len(tasks) - 1) / 2) * width * size
    data = {
        "x": at,
        "row": np.array([shown(name) for name in called]),
        "step": lowest,
        "start_ms": starts["start_ms"],
        "end_ms": ends["end_ms"],
        **durations,
    }
    source = ColumnDataSource(_pieces(bars, data, durations), name=ROWS)
    made = plot(f"Step time breakdown ({unit.name})", height=260, from_0="y")
    for name in names:
        sides: dict[str, Any] = {"bottom": f"{name}_from", "top": f"{name}_to"}
        label, colour = LABELS[name], coloured(name)
        drawn = made.vbar(x="x", width=width * size, source=source, legend_label=label, **sides, **colour)
        _add_hover(made, drawn, name, unit)
    bars.mark(made, at, unit)
    made.xaxis.axis_label = "step"
    made.xgrid.visible = False
    legend_below(made)
    return made


def _pieces(bars: BrokenBars, data: Mapping[str, Any], parts: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the rows of the pieces of bars, with the figures of their bars."""
    return {name: np.asarray(values)[bars.rows] for name, values in data.items()} | bars.ends(parts)


def _add_hover(made: figure, drawn: Any, name: str, unit: Unit) -> None:
    from bokeh.models import HoverTool

    tooltips = [("", "@row"), (LABELS[name], f"@{name}{{0,0.000}} {unit.name}")]
    made.add_tools(HoverTool(renderers=[drawn], tooltips=tooltips, visible=False))


def utilization_chart(trace: Trace) -> figure:
    """Return how busy each device was over all steps, in percent, without a first step that is set apart."""
    from bokeh.models import ColumnDataSource, HoverTool

    of_steps = other_steps(trace)
    table = of_steps.utilization
    after = "" if of_steps is trace else " after the first step"
    keys = ["task", "device"]
    sums = table.groupby(keys, observed=True, sort=False)[["busy_ns", "step_ns"]].sum().reset_index()
    sums = sums[sums["busy_ns"].notna() & (sums["step_ns"] > 0)]
    pairs = zip(sums["task"], sums["device"], strict=True)
    names = unlike([shown(lane_label(str(task), str(device), "")) for task, device in pairs])
    busy = (100 * sums["busy_ns"] / sums["step_ns"]).to_numpy(np.float64)
    source = ColumnDataSource({"row": names, "busy": busy, "rest": 100 - busy})
    made = plot(
        f"Device utilization (% of step time{after})",
        height=70 + 26 * max(len(names), 2),
        y_range=list(reversed(names)),
        x_range=(0, 100),
        tools="",
        active_drag=None,
    )
    made.hbar_stack(
        ["busy", "rest"], y="row", height=0.72, source=source, **coloured_parts(["device_compute", "idle"])
    )
    made.add_tools(HoverTool(tooltips=[("", "@row"), ("busy", "@busy{0.0} %")], visible=False))
    made.ygrid.visible = False
    return made
