"""The tab of idle gaps: when and why devices had nothing to do."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.idle_causes import cause_names
from tfvis_nb.analysis.findings.rule import capital
from tfvis_nb.analysis.idle import idle_gaps, launch_bound
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.findings_block import Zoom
from tfvis_nb.display.tabs.against import with_group_changes
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
from tfvis_nb.display.tabs.wording import WITHOUT_FIRST, named
from tfvis_nb.display.tabs.zoom_targets import MOST_SELECTED, ZoomTargets

_CAUSE = TableColumn(
    "cause", "Cause", "text", "Why the device was idle; point at a cause for its definition."
)


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    return why_not(trace.idle_gaps)


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return tables of the causes of idle time, launch-bound stretches, and the longest gaps (wide)."""
    return [_causes(trace, against), _stretches(trace), _longest(trace)]


def _causes(trace: Trace, against: Trace | None) -> TableBlock:
    """Return a table of all steps, without a first one that is set apart, by device and cause."""
    of_steps = other_steps(trace)
    gaps = of_steps.idle_gaps
    where = ["task", "device"]
    grouped = gaps.groupby([*where, "cause"], observed=True)["duration_ns"].agg(["sum", "size"])
    sums = grouped.reset_index().sort_values("sum", ascending=False, kind="stable")
    sums, change = with_group_changes(sums, trace, against, [*where, "cause"], _idle_times)
    columns = [
        _CAUSE,
        key("device", "Device"),
        TableColumn("duration_ns", "Idle", "ns", "Idle time with this cause, in ns."),
        *change,
        TableColumn(
            "share", "% of idle", "share", "Idle time with this cause / all idle time of the device."
        ),
        TableColumn(
            "of_steps", "% of step time", "share", "Idle time with this cause / time of the device's steps."
        ),
        TableColumn("count", "Gaps", "count", "Number of gaps with this cause."),
    ]
    # Grouped by device, the longest idle time first.
    whole = sums.groupby(where, observed=True)["sum"].transform("sum")
    sums = sums.assign(whole=whole).sort_values("whole", ascending=False, kind="stable")
    steps = of_steps.utilization.groupby(where, observed=True)["step_ns"].sum().rename("step_ns")
    sums = sums.join(steps, on=where)
    causes, names = [str(cause) for cause in sums["cause"]], cause_names(trace)
    rows = named(sums).assign(
        cause=[capital(names[cause]) for cause in causes],
        duration_ns=sums["sum"],
        share=sums["sum"] / sums["whole"],
        of_steps=sums["sum"] / sums["step_ns"].clip(lower=1),
        count=sums["size"],
    )
    hints = [f"{idle_gaps.FIGURES[cause]} In idle_gaps its cause is {cause!r}." for cause in causes]
    return table(
        "Idle time by cause",
        rows,
        columns,
        definition="Causes add up to the device's idle time exactly. Click a row to see its longest gap and"
        " to select the events that end its gaps." + ("" if of_steps is trace else f" {WITHOUT_FIRST}"),
        zoom=[] if gaps.empty else _parts(trace, gaps, sums.head(MOST_ROWS)),
        hints=hints,
        reason=why_not(gaps),
    )


def _idle_times(trace: Trace) -> pd.DataFrame:
    """Return device, cause, step and time of each part of a gap."""
    gaps = trace.idle_gaps
    return gaps[["task", "device", "cause", "step"]].assign(amount=gaps["duration_ns"])


def _parts(trace: Trace, gaps: pd.DataFrame, sums: pd.DataFrame) -> list[Zoom | None]:
    """Return the time range of the longest gap with each row's cause, on the lanes of its device.

    It has the events that end the gaps with that cause, the longest gap first; none if the step ends them.
    """
    keys = ["task", "device", "cause"]
    by_length = gaps.sort_values("duration_ns", ascending=False, kind="stable")
    of_key = dict(list(by_length.groupby(keys, observed=True, sort=False)))
    rows = [of_key[key] for key in sums[keys].itertuples(index=False, name=None)]
    longest = pd.DataFrame([row.iloc[0] for row in rows])
    starts = longest["start_ns"].to_numpy(np.int64)
    ends = starts + longest["duration_ns"].to_numpy(np.int64)
    targets = ZoomTargets(trace).of_devices(longest["task"], longest["device"], starts, ends)
    for target, row in zip(targets, rows, strict=True):
        ended_by = row["end_event"].loc[row["end_event"] >= 0].unique().tolist()
        if target is not None and ended_by:
            target |= {"events": ended_by[:MOST_SELECTED], "of": len(ended_by)}
    return targets


def _longest(trace: Trace) -> TableBlock:
    """Return a table of the longest gaps, each with its main cause."""
    gaps = trace.idle_gaps
    columns = [
        key("device", "Device"),
        *step_key(trace),
        *figures(idle_gaps.FIGURES, ("gap_ns", "Gap", "ns")),
        TableColumn("start_ns", "Start", "time", "Start of the gap, since the trace's first event, in ns."),
        TableColumn("cause", "Main cause", "text", "The cause of the largest part of the gap."),
        TableColumn("share", "Share", "share", "The part of the gap that has this cause."),
        TableColumn("name", "Blocking op", "name", "The node that took most of this time."),
    ]
    main = gaps.sort_values("duration_ns", ascending=False, kind="stable").drop_duplicates("gap")
    order = main.sort_values("gap_ns", ascending=False, kind="stable").head(MOST_ROWS)
    starts = gaps.groupby("gap")["start_ns"].min().reindex(order["gap"]).to_numpy()
    zoom: list[Zoom | None] = []
    rows = named(order).assign(name="", share=order["duration_ns"] / order["gap_ns"])
    if not why_not(gaps):
        targets, causes = ZoomTargets(trace), cause_names(trace)
        zoom = targets.of_devices(order["task"], order["device"], starts, starts + order["gap_ns"].to_numpy())
        event = order["cause_event"].to_numpy()
        names = trace.events["name"].take(event.clip(0)).astype(str).to_numpy()
        rows = rows.assign(
            start_ns=starts - targets.origin,
            cause=[capital(causes[str(cause)]) for cause in order["cause"]],
            name=pd.Series(names, index=rows.index).where(event >= 0, ""),
        )
    return table(
        "Longest gaps",
        rows,
        columns,
        definition="Click a row to see the gap on the device's lanes.",
        zoom=zoom,
        light="name",
        reason=why_not(gaps),
        row_count=len(main),
        order="longest",
    )


def _stretches(trace: Trace) -> TableBlock:
    stretches = launch_bound.launch_stretches(trace)
    columns = [
        key("device", "Device"),
        *step_key(trace),
        *figures(
            launch_bound.FIGURES,
            ("duration_ns", "Duration", "ns"),
            ("launch_wait_ns", "Waiting", "ns"),
            ("share", "Share", "share"),
            ("late", "Late launches", "count"),
            ("ops", "Ops", "name"),
        ),
    ]
    rows = stretches.head(MOST_ROWS)
    ends = (rows["start_ns"] + rows["duration_ns"]).to_numpy()
    zoom = []
    if not why_not(stretches):
        zoom = ZoomTargets(trace).of_devices(rows["task"], rows["device"], rows["start_ns"].to_numpy(), ends)
    return table(
        "Launch-bound intervals",
        named(rows),
        columns,
        definition="Intervals during more than half of which the device is idle because it waits for kernel"
        " launches.",
        zoom=zoom,
        reason=why_not(stretches),
        row_count=len(stretches),
        order="longest",
    )
