"""A chart of the op types that took most time, on the devices and on the host apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfvis_nb.analysis.activities import ACTIVITIES, activity
from tfvis_nb.display.charts.style import COLOURS, LABELS, ROWS, legend_below, plot, shown

if TYPE_CHECKING:
    from bokeh.plotting import figure

    from tfvis_nb._trace import Trace

MOST = 18
"""Op types that have a bar; the others share one."""

_SHOWN = ("device_compute", "d2h", "d2d", "h2d", "communication", "host_compute", "input")


def top_ops_chart(trace: Trace) -> figure:
    """Return the op types whose executions took most time together, by activity.

    A bar is the sum of the durations, in ms, of the executions of one op type that are of one
    activity (see `tfvis_nb.analysis.activities.activity`): kernels and ops of the same type apart. What ran
    at once counts each.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.charts.ops import top_ops_chart
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [1_000_000] * 2, "kind": ["op"] * 2,
    ...                       "op": ["MatMul"] * 2, "device": ["/device:CPU:0"] * 2})
    >>> top_ops_chart(Trace(table)).renderers[0].data_source.data["total"].tolist()
    [2.0]
    """
    from bokeh.models import ColumnDataSource, HoverTool

    events = trace.events
    active = activity(trace)
    wanted = np.isin(active, [ACTIVITIES.index(name) for name in _SHOWN])
    chosen = events.loc[wanted, ["op", "duration_ns"]].assign(activity=active[wanted])
    grouped = chosen.groupby(["activity", "op"], observed=True)["duration_ns"]
    table = grouped.agg(["sum", "size"]).reset_index().sort_values("sum", ascending=False)
    rest = table.iloc[MOST:]
    table = table.head(MOST)
    names = table["op"].astype(str).tolist()
    what = [ACTIVITIES[number] for number in table["activity"]]
    # An axis has each name once: of an op and its kernels the latter say what they are.
    rows = [
        shown(name) + (f" ({LABELS.get(one, one)})" if names.count(name) > 1 else "")
        for name, one in zip(names, what, strict=True)
    ]
    total, count = (table["sum"] / 1e6).tolist(), table["size"].tolist()
    if len(rest):
        rows.append(f"{len(rest)} others")
        names.append("")
        what.append("others")
        total.append(float(rest["sum"].sum()) / 1e6)
        count.append(int(rest["size"].sum()))
    source = ColumnDataSource(
        {
            "row": rows,
            "name": names,
            "total": np.array(total),
            "count": np.array(count),
            "mean": np.array(total) * 1e3 / np.array(count),
            "activity": [LABELS.get(one, one) for one in what],
            "colour": [COLOURS[one] for one in what],
        },
        name=ROWS,
    )
    made = plot(
        "Time by op type (ms, summed over executions)",
        height=70 + 19 * max(len(rows), 3),
        y_range=list(reversed(rows)),
        from_0="x",
        tools="tap",
        active_drag=None,
    )
    made.hbar(y="row", right="total", height=0.74, color="colour", source=source, legend_group="activity")
    tooltips = [
        ("", "@row"),
        ("total", "@total{0,0.000} ms"),
        ("count", "@count{0,0}"),
        ("mean", "@mean{0,0.0} \N{MICRO SIGN}s"),
    ]
    made.add_tools(HoverTool(tooltips=tooltips, visible=False))
    made.ygrid.visible = False
    legend_below(made)
    return made
