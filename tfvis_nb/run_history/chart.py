"""The chart of kept runs: step times of each cell from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfvis_nb.core.format import format_duration
from tfvis_nb.display.charts.style import coloured, legend_below, plot, shown, time_unit, unlike
from tfvis_nb.run_history.sentence import change_of, change_text
from tfvis_nb.run_history.summary import Summary

if TYPE_CHECKING:
    from bokeh.plotting import figure

_SPREAD = (0.05, 0.95)
_COLOURS = (
    "device_compute",
    "host_compute",
    "d2h",
    "communication",
    "h2d",
    "compile",
    "input",
    "allocator",
)


def cell_names(runs: Sequence[Summary]) -> list[str]:
    """Return a name for the cell of each run: the title of its latest run, numbered where cells share one."""
    latest = {(run.notebook, run.cell): run.title for run in runs}
    names = unlike([shown(title or "cell", 40) for title in latest.values()])
    of_cell = dict(zip(latest, names, strict=True))
    return [of_cell[run.notebook, run.cell] for run in runs]


def history_chart(runs: Sequence[Summary]) -> figure:
    """Return a chart of median step times by run number, with a line for each cell.

    A bar behind each point extends from the 5th to the 95th percentile of the steps. Recordings without steps
    have lines of their own, with their whole time.
    """
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool

    times = [run.main.median_ns if run.main else run.whole_ns or 0 for run in runs]
    unit = time_unit(max(times))
    made = plot(f"Median step of each run ({unit.name})", height=240, from_0="y")
    cells: dict[str, list[int]] = {}
    for number, (run, name) in enumerate(zip(runs, cell_names(runs), strict=True)):
        cells.setdefault(name if run.main else f"{name} (whole recording)", []).append(number)
    for index, (name, numbers) in enumerate(cells.items()):
        colour = coloured(_COLOURS[index % len(_COLOURS)])
        own = [runs[number] for number in numbers]
        took = [times[number] for number in numbers]
        steps = [run.main.step_ns if run.main else [ns] for run, ns in zip(own, took, strict=True)]
        ends = np.array([np.quantile(one, _SPREAD) for one in steps]) / unit.size
        change = [None, *map(change_of, own[:-1], own[1:])]
        source = ColumnDataSource(
            {
                "run": numbers,
                "took": [ns / unit.size for ns in took],
                "low": ends[:, 0],
                "high": ends[:, 1],
                "step": [format_duration(ns) for ns in took],
                "change": ["" if one is None else change_text(one) for one in change],
                "time": [f"{pd.Timestamp(run.time_ns):%Y-%m-%d %H:%M} UTC" for run in own],
            }
        )
        ends_at: dict[str, Any] = {"x0": "run", "x1": "run", "y0": "low", "y1": "high"}
        made.segment(**ends_at, source=source, line_width=9, line_alpha=0.35, **colour)
        made.line("run", "took", source=source, line_width=1.5, legend_label=name, **colour)
        dots = made.scatter("run", "took", source=source, size=6, **colour)
        tooltips = [("run", "@run, @time"), ("time", "@step"), ("compared with the run before", "@change")]
        made.add_tools(HoverTool(renderers=[dots], tooltips=tooltips, visible=False))
    made.xaxis.axis_label = "run (bar: 5th to 95th percentile of its steps)"
    made.xaxis.ticker = FixedTicker(ticks=[*range(0, len(runs), -(-len(runs) // 20))])
    made.xgrid.visible = False
    legend_below(made)
    return made
