"""A chart of bandwidth over the network and between hosts and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.bandwidth import bandwidth, binned_bandwidth
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.charts.style import TIME, Unit, coloured, legend_below, plot, rate_unit, shown, unlike
from tfvis_nb.display.charts.time_axis import axis_unit, draw_steps, label_time

if TYPE_CHECKING:
    from bokeh.plotting import figure

PARTS = 400
"""Means over this many equal parts of the time are drawn: at full resolution, short tensors whose times are
known
to the microsecond seem faster than any network."""

_OTHERS = ("host_compute", "compile", "input", "allocator")


def bandwidth_chart(trace: Trace) -> figure:
    """Return the bandwidth over time, with a line for each direction.

    It draws `tfvis_nb.analysis.binned_bandwidth`, with `PARTS` equal parts of the time until the last
    transfer ends. A direction is an op type: ``RecvTensor``, ``MemcpyH2D``.
    """
    table = bandwidth(trace)
    first = int(trace.events["start_ns"].iloc[0])
    last = int((table["start_ns"] + table["duration_ns"]).max())
    bin_ns = -(-(last - first) // PARTS)
    table = binned_bandwidth(trace, bin_ns)
    # The axis shared with the timeline covers the whole trace.
    unit, speed = axis_unit(trace), rate_unit(float(table["bandwidth"].max()))
    title = f"Bandwidth over time ({speed.name}, averaged over {format_duration(bin_ns)})"
    made = plot(title, height=200, from_0="y", name=TIME, tags=[unit.size])
    channels = list(table.groupby("channel", observed=True, sort=True))
    names = unlike([shown(str(channel) or "copies") for channel, _ in channels])
    for number, (name, (channel, rows)) in enumerate(zip(names, channels, strict=True)):
        colour = coloured(_colour_name(str(channel), number))
        value = f"@rate{{0,0.000}} {speed.name}"
        draw_steps(made, name, _steps(rows, first, unit, speed), colour, (value, unit))
    label_time(made, unit)
    legend_below(made)
    return made


def _steps(rows: pd.DataFrame, first: int, unit: Unit, speed: Unit) -> dict[str, Any]:
    """Return the points where a line changes: at the start of each part, and to 0 if nothing moves."""
    start = rows["start_ns"].to_numpy(np.int64) - first
    end = start + rows["duration_ns"].to_numpy(np.int64)
    ends = np.append(end[:-1] < start[1:], True)
    time = np.concatenate([start, end[ends]])
    rate = np.concatenate([rows["bandwidth"].to_numpy(np.float64) / speed.size, np.zeros(int(ends.sum()))])
    order = np.argsort(time, kind="stable")
    time, rate = time[order], rate[order]
    # Draw only changes.
    kept = np.append(True, rate[1:] != rate[:-1])
    return {"time": time[kept] / unit.size, "rate": rate[kept]}


def _colour_name(channel: str, number: int) -> str:
    for activity, label in (("h2d", "H2D"), ("d2h", "D2H"), ("d2d", "D2D"), ("communication", "Recv")):
        if label in channel:
            return activity
    return _OTHERS[number % len(_OTHERS)]
