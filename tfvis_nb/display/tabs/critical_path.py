"""The tab of critical paths: total times, and single pieces."""

import pandas as pd

from tfvis_nb.analysis.critical_path import critical_path, slack
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.against import with_exact_changes, with_group_changes
from tfvis_nb.display.tabs.blocks import (
    MOST_ROWS,
    Block,
    TableBlock,
    TableColumn,
    figures,
    key,
    step_key,
    table,
)
from tfvis_nb.display.tabs.wording import activity_label, placed
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_WHAT = TableColumn("category", "Activity", "text", "Cause of the wait; point at one for its definition.")


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    return why_not(trace.critical_path)


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return tables of path categories, their ops, the longest pieces, and ops with slack."""
    return [_lengths(trace, against), _ops(trace, against), _pieces(trace), _slack(trace, against)]


def _typical(trace: Trace) -> tuple[pd.DataFrame, str]:
    """Return the paths of the steps, without a first one that is set apart, and what their time is called."""
    path, of_steps = trace.critical_path, other_steps(trace)
    if of_steps is not trace and len(path):
        return path[path["step"].isin(of_steps.breakdown["step"])], "Time, after the first step"
    return path, "Time, all steps" if len(path["step"].unique()) > 1 else "Time"


def _times(trace: Trace) -> pd.DataFrame:
    """Return op, category, step and time of each segment of the paths."""
    path = trace.critical_path
    op = trace.events["op"].take(path["event"].to_numpy()).array
    return path[["category", "step"]].assign(op=op, amount=path["duration_ns"])


def _lengths(trace: Trace, against: Trace | None) -> TableBlock:
    """Return a table of all steps together, by activity."""
    path, time = _typical(trace)
    sums = path.groupby("category", observed=True)["duration_ns"].sum().sort_values(ascending=False)
    rows, change = with_group_changes(sums.reset_index(), trace, against, ["category"], _times)
    columns = [
        _WHAT,
        *figures(critical_path.FIGURES, ("duration_ns", time, "ns")),
        *change,
        *figures(critical_path.FIGURES, ("share", "% of path", "share")),
    ]
    names = rows["category"].astype(str).tolist()
    rows = rows.assign(
        category=[activity_label(name) for name in names],
        share=rows["duration_ns"] / max(int(sums.sum()), 1),
    )
    return table(
        "Critical path by activity",
        rows,
        columns,
        definition="Goes back from the last event of a step, each time to the dependency that finished last. "
        "Time on this path lengthens the step.",
        hints=[critical_path.FIGURES[name] for name in names],
        reason=why_not(path),
    )


def _ops(trace: Trace, against: Trace | None) -> TableBlock:
    """Return a table of the op types on the paths."""
    path, time = _typical(trace)
    total = max(int(path["duration_ns"].sum()), 1)
    of_event = path.assign(op=trace.events["op"].take(path["event"].to_numpy()).array)
    # A waiting event has not done anything yet: its wait is listed, but not as work.
    grouped = of_event.groupby(["op", "category"], observed=True)["duration_ns"].agg(["sum", "size"])
    sums = grouped.reset_index().sort_values("sum", ascending=False, kind="stable")
    sums, change = with_group_changes(sums, trace, against, ["op", "category"], _times)
    columns = [
        key("op", "Op", "name"),
        _WHAT,
        *figures(critical_path.FIGURES, ("duration_ns", time, "ns")),
        *change,
        *figures(critical_path.FIGURES, ("share", "% of path", "share")),
        TableColumn("pieces", "Segments", "count", "Number of segments in this sum."),
    ]
    rows = sums.assign(
        op=sums["op"].astype(str),
        category=[activity_label(str(name)) for name in sums["category"]],
        duration_ns=sums["sum"],
        share=sums["sum"] / total,
        pieces=sums["size"],
    )
    return table("By op type on the path", rows, columns, light="op", reason=why_not(path), order="largest")


def _pieces(trace: Trace) -> TableBlock:
    path = trace.critical_path
    rows = path.sort_values("duration_ns", ascending=False, kind="stable").head(MOST_ROWS)
    columns = [
        key("name", "Node", "name"),
        _WHAT,
        *step_key(trace),
        *figures(critical_path.FIGURES, ("duration_ns", "Time", "ns")),
        TableColumn(
            "start_ns", "Start", "time", "Start of the segment, since the trace's first event, in ns."
        ),
        TableColumn("place", "Lane", "text", "The lane of the event that ran or was waiting to run."),
    ]
    zoom = []
    if not why_not(path):
        targets = ZoomTargets(trace)
        zoom = targets.of_ranges(
            rows["start_ns"].to_numpy(),
            (rows["start_ns"] + rows["duration_ns"]).to_numpy(),
            rows["event"].to_numpy(),
        )
        rows = rows.assign(
            start_ns=rows["start_ns"] - targets.origin,
            name=trace.events["name"].take(rows["event"].to_numpy()).astype(str).to_numpy(),
            place=placed(trace, rows["event"].to_numpy()),
            category=[activity_label(str(name)) for name in rows["category"]],
        )
    else:
        rows = rows.assign(name="", place="")
    return table(
        "Longest segments",
        rows,
        columns,
        zoom=zoom,
        light="name",
        reason=why_not(path),
        row_count=len(path),
        order="longest",
    )


def _slack(trace: Trace, against: Trace | None) -> TableBlock:
    """Return a table of device and host ops with slack: making them faster does not shorten a step."""
    before = None if against is None else _slack_of_ops(against)
    rows, change = with_exact_changes(_slack_of_ops(trace), before, ["op"], "mean_ns", "Mean slack")
    columns = [
        key("op", "Op", "name"),
        *figures(slack.FIGURES, ("slack_ns", "Least slack", "ns")),
        TableColumn("mean_ns", "Mean slack", "ns", "Mean of slack_ns over the events of the op type, in ns."),
        *change,
        TableColumn("total_ns", "Time", "ns", "Sum of the durations of these events, in ns."),
        TableColumn("count", "Count", "count", "Number of these events."),
    ]
    rows = rows.sort_values(["slack_ns", "total_ns"], ascending=[True, False])
    return table(
        "Spare time by op type",
        rows.astype({"op": "str"}),
        columns,
        definition="Ops without slack determine how long the step takes.",
        light="op",
        reason=why_not(slack.slack(trace)),
    )


def _slack_of_ops(trace: Trace) -> pd.DataFrame:
    spare = slack.slack(trace)
    rows = spare.assign(
        op=trace.events["op"].take(spare["event"].to_numpy()).array,
        duration=trace.events["duration_ns"].take(spare["event"].to_numpy()).to_numpy(),
    )
    grouped = rows.groupby("op", observed=True).agg(
        slack_ns=("slack_ns", "min"),
        mean_ns=("slack_ns", "mean"),
        total_ns=("duration", "sum"),
        count=("event", "size"),
    )
    return grouped.reset_index()
