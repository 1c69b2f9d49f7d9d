"""A chart of the rates of ops and instructions, under the ceilings of their device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import ACTIVITIES, activity
from tfvis_nb.analysis.hardware.ceilings import Ceiling, ceilings, check_rates
from tfvis_nb.analysis.hardware.work import rows_events
from tfvis_nb.core.format import format_bandwidth, format_duration, format_operations
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.charts.log_ticks import FLOP_RATES, decade_marks, mark_axes
from tfvis_nb.display.charts.style import ROWS, coloured, legend_below, plot, shown

if TYPE_CHECKING:
    from bokeh.plotting import figure

MOST_POINTS = 400
"""How many points are drawn: those with the most time."""

_ROOM = 2.0
_MOST_TOLD = 3
_LARGEST, _SMALLEST = 34.0, 5.0
"""Diameters of the points in pixels."""
_TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_LINES = ("compile", "d2h", "h2d", "d2d")


def points(trace: Trace) -> pd.DataFrame:
    """Return the rows of `tfvis_nb.Trace.roofline` that fit on logarithmic axes."""
    table = trace.roofline
    return table[(table["flops"] > 0) & (table["bytes"] > 0)].head(MOST_POINTS)


def roofline_chart(
    trace: Trace, peak_flops: float | None = None, memory_bandwidth: float | None = None
) -> figure:
    """Return the rates of ops or instructions by their intensity, and the ceilings of their device.

    A point is a row of `tfvis_nb.analysis.roofline`, its area the self time. The ceilings are those of the
    device with the most time. A tap selects the events of a point.
    """
    from bokeh.models import ColumnDataSource, HoverTool

    check_rates(peak_flops, memory_bandwidth)
    table = points(trace)
    roofs, bandwidth = _ceilings(trace, table, peak_flops, memory_bandwidth)
    made = plot(
        f"Roofline: rate vs. intensity{'' if roofs else ' (peak rates not known)'}",
        height=340,
        x_axis_type="log",
        y_axis_type="log",
        tools="tap,box_zoom",
        active_drag="box_zoom",
    )
    rates = [*table["flop_rate"], *(roof.flops for roof in roofs)]
    ridges = [roof.flops / bandwidth for roof in roofs if bandwidth > 0]
    reach = [*table["intensity"], *ridges]
    across = decade_marks(min(reach), max(reach))
    up = decade_marks(min(rates), max(rates), FLOP_RATES)
    # Keeps points at the edges complete.
    mark_axes(made, {"x": across, "y": up}, room=_ROOM)
    _draw_ceilings(made, roofs, bandwidth, across[0][0] / _ROOM, across[-1][0] * _ROOM)
    what = np.array(ACTIVITIES, object)[activity(trace)[table["longest"].to_numpy()]]
    events = rows_events(trace)
    for name in pd.unique(what):
        rows = table[what == name]
        size = _LARGEST * np.sqrt(rows["self_ns"].to_numpy() / table["self_ns"].max())
        nodes = trace.events["name"].iloc[rows["longest"]].fillna("").astype(str).tolist()
        source = ColumnDataSource(
            {
                "intensity": rows["intensity"].to_numpy(),
                "flop_rate": rows["flop_rate"].to_numpy(),
                "size": np.maximum(size, _SMALLEST),
                "name": nodes,
                "row": [shown(text) for text in rows[rows.columns[1 if "hlo_op" in rows else 0]]],
                "took": [format_duration(float(one)) for one in rows["self_ns"]],
                "rate": [f"{format_operations(float(one))}/s" for one in rows["flop_rate"]],
                "moved": [format_bandwidth(float(one)) for one in rows["byte_rate"]],
                "per_byte": [f"{one:.3g}" for one in rows["intensity"]],
                "events": [events[key] for key in rows[list(rows.columns[:2])].itertuples(index=False)],
            },
            name=ROWS,
        )
        dots = made.scatter(
            "intensity",
            "flop_rate",
            size="size",
            source=source,
            alpha=0.45,
            legend_label=LABELS[name],
            **coloured(name),
        )
        tooltips = [
            ("", "@row"),
            ("self", "@took"),
            ("rate", "@rate"),
            ("bandwidth", "@moved"),
            ("operations a byte", "@per_byte"),
        ]
        made.add_tools(HoverTool(renderers=[dots], tooltips=tooltips, limit=_MOST_TOLD, visible=False))
    made.xaxis.axis_label = "operations a byte"
    made.yaxis.axis_label = "operations a second"
    legend_below(made)
    return made


def _ceilings(
    trace: Trace, table: pd.DataFrame, peak_flops: float | None, memory_bandwidth: float | None
) -> tuple[list[Ceiling], float]:
    devices = trace.events["device"].astype(str).iloc[table["longest"]].to_numpy()
    device = str(table["self_ns"].groupby(devices).sum().idxmax())
    roofs, bandwidth = ceilings(trace, device)
    return ([Ceiling((), peak_flops)] if peak_flops else roofs), memory_bandwidth or bandwidth


def _draw_ceilings(made: figure, roofs: list[Ceiling], bandwidth: float, start: float, end: float) -> None:
    """Draw the memory limit up to each ceiling."""
    for colour, roof in zip(_LINES, roofs, strict=False):
        ridge = min(max(roof.flops / bandwidth, start), end) if bandwidth > 0 else start
        x = [start, ridge, end]
        y = [min(roof.flops, one * bandwidth) if bandwidth > 0 else roof.flops for one in x]
        types = ", ".join(_TYPES[one] for one in roof.types)
        made.line(
            x,
            y,
            line_width=2,
            legend_label=f"{types or 'highest rate'}: {format_operations(roof.flops)}/s",
            **coloured(colour, "line_color"),
        )
