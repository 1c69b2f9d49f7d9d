"""The chart of kept runs: step times of each cell from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfvis_nb.core.format import format_duration
from tfvis_nb.display.charts.style import coloured, legend_below, plot, shown, time_unit, unlike
from tfvis_nb.run_history.sentence import change_of, signed_change
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

    A bar behind each point extends from the 5th to the 95th percentile of the steps.
    """
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool

    unit = time_unit(max(run.median_ns for run in runs))
    made = plot(f"Median step of each run ({unit.name})", height=240, from_0="y")
    cells: dict[str, list[int]] = {}
    for number, name in enumerate(cell_names(runs)):
        cells.setdefault(name, []).append(number)
    for index, (name, numbers) in enumerate(cells.items()):
        colour = coloured(_COLOURS[index % len(_COLOURS)])
        own = [runs[number] for number in numbers]
        ends = np.array([np.quantile(run.step_ns, _SPREAD) for run in own]) / unit.size
        change = [None, *map(change_of, own[:-1], own[1:])]
        source = ColumnDataSource(
            {
                "run": numbers,
                "took": [run.median_ns / unit.size for run in own],
                "low": ends[:, 0],
                "high": ends[:, 1],
                "step": [format_duration(run.median_ns) for run in own],
                "change": ["" if one is None else signed_change(*one[:3]) for one in change],
                "time": [f"{pd.Timestamp(run.time_ns):%Y-%m-%d %H:%M} UTC" for run in own],
            }
        )
        ends_at: dict[str, Any] = {"x0": "run", "x1": "run", "y0": "low", "y1": "high"}
        made.segment(**ends_at, source=source, line_width=9, line_alpha=0.35, **colour)
        made.line("run", "took", source=source, line_width=1.5, legend_label=name, **colour)
        dots = made.scatter("run", "took", source=source, size=6, **colour)
        tooltips = [("run", "@run, @time"), ("step", "@step"), ("change of typical steps", "@change")]
        made.add_tools(HoverTool(renderers=[dots], tooltips=tooltips, visible=False))
    made.xaxis.axis_label = "run (bar: 5th to 95th percentile of its steps)"
    made.xaxis.ticker = FixedTicker(ticks=[*range(0, len(runs), -(-len(runs) // 20))])
    made.xgrid.visible = False
    legend_below(made)
    return made
