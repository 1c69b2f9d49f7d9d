"""The tab of steps: how long each took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfvis_nb.display.panels.blocks import MOST_ROWS, Column, chart, key, table
from tfvis_nb.display.panels.places import Places

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

_CHART = "Latest end minus earliest start of each step's events; the dashed line is the median."


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the chart of steps and each step's figures."""
    return [chart(trace, "steps", _CHART), _table(trace)]


def _table(trace: Trace) -> dict[str, Any]:
    steps = trace.steps[trace.steps["step"] >= 0]
    columns = [
        key("step", "Step", "number"),
        Column("label", "Called", "text", "What the program or the file calls the step."),
        Column("duration_ns", "Duration", "ns", "Latest end minus earliest start of its events, in ns."),
        Column("ratio", "Of median", "ratio", "Duration / the median duration of all steps."),
        Column("start_ns", "Starts", "time", "Earliest start, from the trace's first event, in ns."),
        Column("events", "Events", "count", "Number of its events."),
    ]
    median = float(np.median(steps["duration_ns"])) if len(steps) else 0.0
    places = Places(trace) if len(steps) else None
    rows = steps.assign(
        ratio=steps["duration_ns"] / median if median else np.nan,
        start_ns=steps["start_ns"] - (places.origin if places else 0),
    )
    order = "first"
    if len(rows) > MOST_ROWS:
        rows, order = rows.sort_values("duration_ns", ascending=False, kind="stable"), "longest"
    if not rows["label"].astype(bool).any():
        columns = [column for column in columns if column.name != "label"]
    zoom = places.of_steps(rows["step"].head(MOST_ROWS)) if places else []
    reason = "" if len(steps) else "no event belongs to a step"
    return table("Step by step", rows, columns, zoom=zoom, reason=reason, order=order)
