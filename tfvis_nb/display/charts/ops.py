"""A chart of the op types with the most time, separately for devices and host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfvis_nb.analysis.events.activity import ACTIVITIES, activity
from tfvis_nb.analysis.steps.op_statistics import op_statistics
from tfvis_nb.core.labels import NO_OP
from tfvis_nb.core.palette import COLOURS, LABELS
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.charts.style import COLOUR_COLUMN, ROWS, legend_below, plot, shown, time_unit, unlike

if TYPE_CHECKING:
    from bokeh.plotting import figure

MAX_BARS = 18
"""How many op types have a bar; the others share one."""


def top_ops_chart(trace: Trace) -> figure:
    """Return the op types with the most self time on devices and hosts, in the colour of their activity.

    A bar is ``self_ns`` of `tfvis_nb.analysis.op_statistics`: the time of events of one op type and kind,
    without nested events. Simultaneous events each count. The colour is the activity (see
    `tfvis_nb.analysis.events.activity.activity`) of the longest event.
    """
    from bokeh.models import ColumnDataSource, HoverTool

    statistics = op_statistics(trace, by="op")
    statistics = statistics[(statistics["side"] != "repeated") & (statistics["self_ns"].fillna(0) > 0)]
    # Simultaneously received tensors all count, so their sum exceeds the step many times.
    local = statistics[statistics["side"] != "network"]
    statistics = statistics if local.empty else local
    # In the order of the op types table.
    statistics = statistics.sort_values("self_ns", ascending=False, kind="stable")
    table, rest = statistics.head(MAX_BARS), statistics.iloc[MAX_BARS:]
    names = table["op"].astype(str).tolist()
    what = [ACTIVITIES[number] for number in activity(trace)[table["longest"].to_numpy()]]
    # An op and its kernels are labelled separately.
    rows = [
        shown(name or NO_OP) + (f" ({kind})" if names.count(name) > 1 else "")
        for name, kind in zip(names, table["kind"].astype(str), strict=True)
    ]
    unit = time_unit(max([*table["self_ns"], rest["self_ns"].sum()]))
    own, whole = ((table[column] / unit.size).tolist() for column in ("self_ns", "total_ns"))
    count = table["count"].tolist()
    if len(rest):
        rows.append(f"{len(rest)} others")
        names.append("")
        what.append("others")
        own.append(float(rest["self_ns"].sum()) / unit.size)
        whole.append(float(rest["total_ns"].sum()) / unit.size)
        count.append(int(rest["count"].sum()))
    rows = unlike(rows)
    source = ColumnDataSource(
        {
            "row": rows,
            "name": names,
            "self": np.array(own),
            "total": np.array(whole),
            "count": np.array(count),
            "mean": np.array(whole) * unit.size / 1e3 / np.array(count),
            "activity": [LABELS[one] for one in what],
            "colour": [COLOURS[one] for one in what],
            COLOUR_COLUMN: what,
        },
        name=ROWS,
    )
    made = plot(
        f"Self time by op type ({unit.name})",
        height=70 + 19 * max(len(rows), 3),
        y_range=list(reversed(rows)),
        from_0="x",
        tools="tap",
        active_drag=None,
    )
    made.hbar(y="row", right="self", height=0.74, color="colour", source=source, legend_group="activity")
    tooltips = [
        ("", "@row"),
        ("self", f"@self{{0,0.000}} {unit.name}"),
        ("total", f"@total{{0,0.000}} {unit.name}"),
        ("count", "@count{0,0}"),
        ("mean of total", "@mean{0,0.0} \N{MICRO SIGN}s"),
    ]
    made.add_tools(HoverTool(tooltips=tooltips, visible=False))
    made.ygrid.visible = False
    legend_below(made)
    return made
