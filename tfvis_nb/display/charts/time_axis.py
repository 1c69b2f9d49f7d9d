"""Charts with a time axis that follows the timeline: memory and transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.slow_steps import median_step_ns
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.labels import lane_label
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.charts.broken_bars import broken_bars
from tfvis_nb.display.charts.log_ticks import byte_marks, mark_axes, time_marks
from tfvis_nb.display.charts.style import (
    BYTES,
    CURVES,
    ROWS,
    TIME,
    Unit,
    coloured,
    fitting,
    legend_below,
    plot,
    rate_unit,
    shown,
    time_unit,
    unlike,
)
from tfvis_nb.events import NO_STEP

if TYPE_CHECKING:
    from bokeh.plotting import figure

MOST_POINTS = 4000
"""Maximum points of a curve. Longer curves keep the highest point of each part of the time."""
_ROOM_ABOVE = 1.05
"""How far an axis goes on above the highest value."""


def memory_chart(trace: Trace) -> figure:
    """Return each allocator's allocated bytes over time, with the peak marked."""
    curve = trace.memory
    origin = int(trace.events["start_ns"].iloc[0])
    unit = axis_unit(trace)
    highest = fitting(BYTES, float(curve["bytes"].max() or 0) if len(curve) else 0)
    made = plot(
        f"Memory allocated by each allocator ({highest.name})",
        height=240,
        from_0="y",
        name=TIME,
        tags=[unit.size],
    )
    curves = list(curve.groupby(["task", "allocator"], observed=True, sort=True))
    names = unlike(
        [
            shown(lane_label(str(task), "", str(allocator)))
            + (" (estimated)" if rows["estimated"].any() else "")
            for (task, allocator), rows in curves
        ]
    )
    for number, (name, (_, rows)) in enumerate(zip(names, curves, strict=True)):
        colour = coloured(CURVES[number % len(CURVES)])
        kept = _to_the_end(trace, _thinned(rows.sort_values("time_ns")))
        data = {
            "time": (kept["time_ns"].to_numpy() - origin) / unit.size,
            "size": kept["bytes"].to_numpy() / highest.size,
        }
        draw_steps(made, name, data, colour, (f"@size{{0,0.00}} {highest.name}", unit))
        peak = rows.iloc[int(rows["bytes"].to_numpy().argmax())]
        time, size = (int(peak["time_ns"]) - origin) / unit.size, int(peak["bytes"]) / highest.size
        made.scatter([time], [size], size=7, **colour, line_color="white")
    label_time(made, unit)
    legend_below(made)
    return made


def draw_steps(
    made: figure, name: str, data: dict[str, Any], colour: dict[str, Any], tooltip: tuple[str, Unit]
) -> None:
    """Draw a step line of ``time`` and another column; `tooltip` has the units of value and time."""
    from bokeh.models import ColumnDataSource, HoverTool

    (column,) = data.keys() - {"time"}
    options = {"mode": "after", "line_width": 1.5, "legend_label": name, "name": name, **colour}
    line = made.step("time", column, source=ColumnDataSource(data), **options)
    value, unit = tooltip
    tooltips = [("", "$name"), ("", value), ("at", f"@time{{0,0.000}} {unit.name}")]
    made.add_tools(HoverTool(renderers=[line], tooltips=tooltips, mode="vline", visible=False))


def axis_unit(trace: Trace) -> Unit:
    """Return the time unit of a chart, which fits a step because users look at steps.

    Runs with many steps have a larger one, to keep numbers short.
    """
    steps, span = trace.steps[trace.steps["step"] != NO_STEP], span_ns(trace)
    return time_unit(span if steps.empty else max(float(steps["duration_ns"].median()), span / 1000))


def label_time(made: figure, unit: Unit) -> None:
    """Label the time axis with its unit, without powers of ten in its numbers."""
    from bokeh.models import BasicTickFormatter

    made.xaxis.axis_label = f"{unit.name} since the first event"
    made.xaxis.formatter = BasicTickFormatter(use_scientific=False)


def span_ns(trace: Trace) -> int:
    """Return the length of a trace with events, in ns."""
    start = trace.events["start_ns"].to_numpy()
    return int((start + trace.events["duration_ns"].to_numpy()).max()) - int(start[0])


def _to_the_end(trace: Trace, rows: pd.DataFrame) -> pd.DataFrame:
    """Extend a curve to the end of its last step, or to the end of the trace."""
    last = rows.tail(1)
    step = trace.steps[trace.steps["step"] == int(last["step"].iloc[0])]
    is_of_step = len(step) and int(last["step"].iloc[0]) != NO_STEP
    origin = int(trace.events["start_ns"].iloc[0])
    end = int(step["end_ns"].iloc[0]) if is_of_step else origin + span_ns(trace)
    return pd.concat([rows, last.assign(time_ns=end)]) if end > int(last["time_ns"].iloc[0]) else rows


def _thinned(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the highest point of each part of the time, and the last."""
    if len(rows) <= MOST_POINTS:
        return rows
    time = rows["time_ns"].to_numpy()
    part = (time - time[0]) * MOST_POINTS // max(int(time[-1] - time[0]), 1)
    highest = rows.groupby(part)["bytes"].idxmax()
    return pd.concat([rows.loc[highest], rows.tail(1)]).drop_duplicates().sort_values("time_ns")


def transfers_chart(trace: Trace) -> figure:
    """Return transfers and copies by size and transfer time, on logarithmic axes.

    The colour is the direction; points far to the right of and below the others moved slowly. A tap shows one
    in the timeline.
    """
    from bokeh.models import ColumnDataSource, HoverTool

    table = trace.transfers
    known = table[(table["bytes"].fillna(0) > 0) & (table["transfer_ns"].fillna(0) > 0)]
    known = known.nlargest(MOST_POINTS, "duration_ns")
    origin = int(trace.events["start_ns"].iloc[0])
    op = trace.events["op"].astype(str).to_numpy()[known["event"].to_numpy()]
    what = np.where(known["kind"].astype(str) == "transfer", "received", op)
    colour_names = {"received": "communication", "MemcpyH2D": "h2d", "MemcpyD2H": "d2h"}
    made = plot(
        "Transfer size vs. duration",
        height=260,
        x_axis_type="log",
        y_axis_type="log",
        tools="tap,box_zoom",
        active_drag="box_zoom",
    )
    directions = pd.unique(what)
    for name, label in zip(directions, unlike([shown(name) for name in directions]), strict=True):
        rows = known[what == name]
        start = (rows["start_ns"].to_numpy() - origin) / 1e6
        source = ColumnDataSource(
            {
                "us": rows["transfer_ns"].to_numpy(np.float64) / 1e3,
                "bytes": rows["bytes"].to_numpy(np.float64),
                "moved": [format_duration(float(each)) for each in rows["transfer_ns"]],
                "rate": [_rate(each) for each in rows["bandwidth"].to_numpy(np.float64)],
                "tensor": [shown(text) for text in rows["tensor"].fillna("").astype(str)],
                "start_ms": start,
                "end_ms": start + rows["duration_ns"].to_numpy() / 1e6,
            },
            name=ROWS,
        )
        colour = coloured(colour_names.get(name, "d2d"))
        dots = made.scatter("us", "bytes", source=source, size=6, **colour, alpha=0.7, legend_label=label)
        tooltips = [("", "@tensor"), ("size", "@bytes{0,0} B"), ("moving", "@moved"), ("rate", "@rate")]
        made.add_tools(HoverTool(renderers=[dots], tooltips=tooltips, visible=False))
    made.xaxis.axis_label = "moving"
    made.yaxis.axis_label = "size"
    if len(known):
        moved, size = known["transfer_ns"] / 1e3, known["bytes"]
        mark_axes(
            made,
            {"x": time_marks(moved.min(), moved.max()), "y": byte_marks(int(size.min()), int(size.max()))},
        )
    legend_below(made)
    return made


def _rate(value: float) -> str:
    unit = rate_unit(value)
    return f"{value / unit.size:,.3g} {unit.name}"


def steps_chart(trace: Trace, against: Trace | None = None) -> figure:
    """Return the duration of each step, with the median as a line, and another for that of a base."""
    from bokeh.models import ColumnDataSource, HoverTool
    from bokeh.models.annotations import Span

    table = trace.steps[trace.steps["step"] != NO_STEP]
    origin = int(trace.events["start_ns"].iloc[0])
    start = (table["start_ns"].to_numpy() - origin) / 1e6
    duration = table["duration_ns"].to_numpy()
    unit = time_unit(duration.max())
    took = duration / unit.size
    pieces = broken_bars(took)
    data = {
        "step": table["step"].to_numpy(),
        "took": took,
        "label": np.array([shown(text) for text in table["label"].fillna("").astype(str)]),
        "start_ms": start,
        "end_ms": start + duration / 1e6,
    }
    rows: dict[str, Any] = {name: values[pieces.rows] for name, values in data.items()} | pieces.ends(
        {"bar": took}
    )
    source = ColumnDataSource(rows, name=ROWS)
    made = plot(f"How long each step took ({unit.name})", height=220, from_0="y")
    sides: dict[str, Any] = {"bottom": "bar_from", "top": "bar_to"}
    bars = made.vbar(
        x="step", width=0.8, source=source, legend_label="duration", **sides, **coloured("runtime")
    )
    pieces.mark(made, data["step"], unit)
    medians = {
        "dashed": median_step_ns(trace),
        "dotted": None if against is None else median_step_ns(against),
    }
    for dash, median in medians.items():
        if median is not None:
            at, colour = median / unit.size, coloured("d2h", "line_color")
            made.add_layout(Span(location=at, dimension="width", line_dash=dash, **colour))
    base, highest = medians["dotted"] or 0, min(float(took.max()), pieces.limit)
    if base / unit.size > highest:
        made.y_range.update(end=_ROOM_ABOVE * base / unit.size)
    tooltips = [("step", "@step @label"), ("took", f"@took{{0,0.000}} {unit.name}")]
    made.add_tools(HoverTool(renderers=[bars], tooltips=tooltips, visible=False))
    of_base = "" if medians["dotted"] is None else ", dotted: that of the base"
    made.xaxis.axis_label = f"step (dashed: median{of_base})"
    made.xgrid.visible = False
    return made
