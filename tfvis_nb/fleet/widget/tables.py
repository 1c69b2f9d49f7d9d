"""The tabs of a fleet: outliers, stragglers, drift, slower ops."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.difference import LEVEL
from tfvis_nb.analysis.steps.difference_text import difference_text
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_bytes, format_duration
from tfvis_nb.core.labels import shown_task
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.display.tabs.blocks import (
    MOST_ROWS,
    EventIds,
    Part,
    TableBlock,
    TableColumn,
    figures,
    key,
    table,
)
from tfvis_nb.display.tabs.wording import activity_label
from tfvis_nb.fleet.analysis import drift, outliers, slower_ops, stragglers
from tfvis_nb.fleet.analysis.own_time import own_times
from tfvis_nb.fleet.widget.cells import Cells, label
from tfvis_nb.texts import Text

OUTLIERS, STRAGGLERS, DRIFT, OPS = TABS = ("Outliers", "Stragglers", "Drift", "Slower ops")
"""Titles of the tabs."""

Since = tuple[str, int]
"""The run and number of a step."""

_PAUSE = "Pause (nothing recorded)"
"""The rest of a step, where it is longer than usual."""
_RUN = TableColumn("run", "Run", "text", "The run of the step or task.")
_NO_DIFFERENCE = {"difference": "it needs two or more steps on each side, four if their times are all equal"}
_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "ns": format_duration,
    "bytes": format_bytes,
    "count": lambda value: f"{round(value):,}",
}


def outlier_blocks(cells: Cells) -> list[TableBlock]:
    """Return the table of steps, the longest first."""
    steps = cells.grid.table
    table_of_steps = outliers.fleet_outliers(steps)
    has_devices = bool(table_of_steps["work_ratio"].notna().any())
    columns = [
        key("step", "Step", "step"),
        *([_RUN] if len(cells.runs) > 1 else []),
        *figures(
            outliers.FIGURES,
            ("duration_ns", "Duration", "ns"),
            ("ratio", "vs. median", "ratio"),
            ("tasks", "Slow tasks", "count"),
            ("task", "Held up by", "text"),
            ("activity", "Main cause", "text"),
            ("activity_ns", "Its excess", "ns"),
        ),
        *figures(outliers.FIGURES, ("work_ratio", "Kernels vs. median", "ratio") if has_devices else None),
    ]
    rows = table_of_steps.head(MOST_ROWS)
    places = zip(rows["run"], rows["step"], rows["task"], strict=True)
    zoom = [_zoom(cells.number(run, step, cells.task(run, step, task))) for run, step, task in places]
    rows = rows.assign(
        task=[shown_task(task) if task else "" for task in rows["task"]],
        activity=[_PAUSE if name == "idle" else activity_label(name) for name in rows["activity"]],
        activity_ns=rows["activity_ns"].round(),
    )
    slow = int(table_of_steps["slow"].sum()) if len(table_of_steps) else 0
    median = "median of their run" if len(cells.runs) > 1 else "median"
    share = f"{slow:,} of {len(table_of_steps):,} steps took {SLOW_STEP_RATIO} times the {median}"
    definition = (
        f"{share} or more. A row opens the timeline of the task that held up the step, or took longest."
    )
    title = "Slowest steps"
    return [
        table(
            title,
            rows,
            columns,
            definition=definition,
            zoom=zoom,
            reason=why_not(table_of_steps),
            row_count=len(table_of_steps),
            order="slowest",
        )
    ]


def straggler_blocks(cells: Cells) -> list[TableBlock]:
    """Return the table of tasks, those that others wait for most first."""
    late = stragglers.fleet_stragglers(cells.grid.table)
    columns = [
        key("task", "Task"),
        *([_RUN] if len(cells.runs) > 1 else []),
        TableColumn(
            "difference",
            "Own time vs. others",
            "text",
            f"{stragglers.FIGURES['ratio']} With its 95 % interval, if p_value is below 0.05.",
        ),
        *figures(
            stragglers.FIGURES,
            ("last", "Times last", "count"),
            ("last_share", "Of its steps", "share"),
            ("sole_wait_ns", "Wait caused", "ns"),
            ("share", "Share", "share"),
            ("lateness_mean_ns", "Mean lag", "ns"),
            ("lateness_max_ns", "Largest lag", "ns"),
        ),
    ]
    rows = late.assign(
        difference=_differences(late, late["straggler"] | (late["p_value"] < LEVEL)),
        lateness_mean_ns=late["lateness_mean_ns"].round(),
        task=[shown_task(task) for task in late["task"]],
    )
    own = own_times(cells.grid)
    runs = np.array(cells.grid.runs, object)
    zoom = []
    for run, task in _pairs(late.head(MOST_ROWS), "run", "task"):
        row = cells.grid.tasks.index(task)
        longest = np.nanargmax(np.where(runs == run, own[row], np.nan))
        zoom.append(_zoom(row * own.shape[1] + int(longest)))
    definition = "Which task of a job works longest while the others wait. A row opens its longest step."
    blocks: list[TableBlock] = [
        table(
            "Tasks that hold up the others",
            rows,
            columns,
            definition=definition,
            zoom=zoom,
            reason=why_not(late),
        )
    ]
    compared = {*late["run"]}
    if compared and (left_out := [run for run in cells.runs if run not in compared]):
        why = f"{str(Text('one_task')).capitalize()}."
        blocks.append(table("Runs not compared", pd.DataFrame({"run": left_out}), [_RUN], definition=why))
    return blocks


def drift_blocks(cells: Cells) -> list[TableBlock]:
    """Return tables of each period against the first, and of metrics and tasks in the last one against it."""
    by_period = _drift(cells, "period")
    reason = why_not(by_period)
    rows = by_period.assign(period=_times(by_period["period"]), difference=_differences(by_period))
    run = [_RUN] if "run" in by_period else []
    of = " of its run." if run else ", over all runs." if len(cells.runs) > 1 else "."
    first = f"Typical step time of each period compared with the first one{of}"
    last = f"The last period compared with the first one{of}"
    columns = [
        TableColumn("period", "From (UTC)", "text", drift.FIGURES["period"]),
        *run,
        *figures(drift.FIGURES, ("steps", "Steps", "count")),
        TableColumn("typical", "Typical step", "ns", drift.FIGURES["typical"]),
        _difference_column(),
    ]
    periods = table(
        "Step time over time", rows, columns, definition=first, reason=reason, whys=_NO_DIFFERENCE
    )
    if reason:
        return [periods]
    units = {metric.name: metric.unit for metric in cells.metrics}
    by_metric = _drift(cells, "metric")
    by_metric = by_metric[by_metric["metric"].isin(units)].reset_index(drop=True)
    by_task = _drift(cells, "task")
    names = [label(name) for name in by_metric["metric"]]
    differs = _differences(by_metric, units=[units[name] for name in by_metric["metric"]])
    typical = [_FORMATS[units[name]](value) for name, value in _pairs(by_metric, "metric", "typical")]
    return [
        periods,
        table(
            "Figures, last period against first",
            by_metric.assign(metric=names, typical=typical, difference=differs),
            [
                TableColumn("metric", "Figure", "text", drift.FIGURES["metric"]),
                *run,
                TableColumn("typical", "Typical step", "text", drift.FIGURES["typical"]),
                _difference_column(),
            ],
            definition=last,
            whys=_NO_DIFFERENCE,
        ),
        table(
            "Tasks, last period against first",
            by_task.assign(
                task=[shown_task(task) for task in by_task["task"]],
                difference=_differences(by_task),
            ),
            [
                key("task", "Task"),
                *run,
                TableColumn("typical", "Typical step", "ns", drift.FIGURES["typical"]),
                _difference_column(),
            ],
            definition=last,
            whys=_NO_DIFFERENCE,
        ),
    ]


def _drift(cells: Cells, by: drift.By) -> pd.DataFrame:
    """Return `fleet_drift` within each run that lasts several periods; of all runs together if none does."""
    steps = cells.grid.table
    whole = drift.fleet_drift(steps, by=by)
    if len(cells.runs) < 2 or why_not(whole):
        return whole
    periods = np.array(whole.attrs["periods"], "datetime64[ns]").astype(np.int64)
    parts = [
        drift.fleet_drift(own, by=by).assign(run=run)
        for run, own in steps.groupby(steps["run"].astype(str), sort=False)
        if len(np.unique(np.searchsorted(periods, own["start_ns"].to_numpy(), "right"))) > 1
    ]
    return pd.concat(parts, ignore_index=True) if parts else whole


def op_blocks(cells: Cells, ops: pd.DataFrame, since: Since) -> list[TableBlock]:
    """Return the table of ops since a step compared with before it."""
    run, step = since
    ops_table = slower_ops.slower_ops(ops, since)
    columns = [
        key("op", "Op", "name"),
        TableColumn("kind", "Kind", "text", "Kind of its events."),
        *figures(
            slower_ops.FIGURES,
            ("difference_ns", "Change", "change"),
            ("before_ns", "Before", "ns"),
            ("since_ns", "Since", "ns"),
        ),
        _difference_column(),
    ]
    whole = {name: ops_table[name].round() for name in ("difference_ns", "before_ns", "since_ns")}
    name = f"step {step} of {run}" if len(cells.runs) > 1 else f"step {step}"
    counts = ops_table.attrs.get("steps")
    sides = f" {counts[1]:,} steps since then, {counts[0]:,} before." if counts else ""
    block = table(
        f"Ops since {name}",
        ops_table.assign(difference=_differences(ops_table), **whole),
        columns,
        definition=f"Self time per step and task since {name}, compared with the steps before.{sides}",
        reason=why_not(ops_table),
        whys=_NO_DIFFERENCE,
        row_count=len(ops_table),
        order="most changed",
    )
    return [block]


BLOCKS: Mapping[str, Callable[[Cells], list[TableBlock]]] = {
    OUTLIERS: outlier_blocks,
    STRAGGLERS: straggler_blocks,
    DRIFT: drift_blocks,
}
"""Title of a tab to the function that makes its blocks from the steps."""


def contents(title: str, cells: Cells, ops: Callable[[], pd.DataFrame], since: int) -> Part:
    """Return a tab; `since` is the index of the step since which `ops` are compared."""
    blocks = op_blocks(cells, ops(), cells.step(since)) if title == OPS else BLOCKS[title](cells)
    return {"tab": title, "title": title, "blocks": blocks}


def _difference_column() -> TableColumn:
    about = "Ratio of both with its 95 % interval, if the corrected p-value is below 0.05."
    return TableColumn("difference", "Difference", "text", about)


def _differences(
    changes: pd.DataFrame, shown: pd.Series | None = None, units: Sequence[str] | None = None
) -> list[str]:
    """Format the ratio of each row with its interval; empty if unknown."""
    columns = [changes[name].to_numpy(np.float64) for name in ("ratio", "low_ratio", "high_ratio")]
    known = changes["shown"] if shown is None else shown
    is_shown = known.astype("boolean").fillna(value=False).to_numpy(bool)
    return [
        "" if np.isnan(low) else str(difference_text(ratio, low, high, shown=bool(one), unit=unit))
        for ratio, low, high, one, unit in zip(
            *columns, is_shown, units or ["ns"] * len(changes), strict=True
        )
    ]


def _times(periods: pd.Series) -> list[str]:
    """Format the starts of periods, without a time of day if all are days."""
    texts = [str(start) for start in periods]
    return [text.removesuffix(" 00:00:00") for text in texts]


def _pairs(table_of_runs: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return list(table_of_runs[list(names)].itertuples(index=False, name=None))


def _zoom(number: int) -> EventIds:
    """Identify a cell for the heat map."""
    return {"events": [number]}
