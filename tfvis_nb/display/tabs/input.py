"""The tab of tf.data pipelines: a picture of the stages, their times, and the choices of AUTOTUNE."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.nesting import self_times
from tfvis_nb.analysis.events.step_devices import step_devices
from tfvis_nb.analysis.input import input_pipeline
from tfvis_nb.analysis.input.stage_calls import stage_calls
from tfvis_nb.analysis.input.stage_names import stage_label
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.findings_block import Zoom
from tfvis_nb.display.tabs.against import with_exact_changes, with_group_changes
from tfvis_nb.display.tabs.blocks import (
    LONGEST_TEXT,
    MOST_ROWS,
    Block,
    Figure,
    StagesBlock,
    TableBlock,
    TableColumn,
    figures,
    table,
)
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_INDENT = "· "
_SETTINGS: Sequence[Figure] = (
    ("parallelism", "Parallel", "count"),
    ("buffer_limit", "Buffer limit", "count"),
    ("autotune", "Set by", "text"),
    ("buffered_mean", "Buffered", "ratio"),
    ("buffered_bytes", "Memory", "bytes"),
    ("deterministic", "Order", "text"),
    ("interleave_depth", "Interleave depth", "number"),
)
_BUDGETS: Sequence[Figure] = (
    ("algorithm", "Algorithm", "text"),
    ("cpu_budget", "CPUs", "count"),
    ("ram_budget_bytes", "Memory for buffers", "bytes"),
    ("ram_usage_bytes", "Memory in use", "bytes"),
)


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    return why_not(trace.input_pipeline)


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return a picture of the stages, each below its consumer, and their tables."""
    stages_table = trace.input_pipeline
    reason = why_not(stages_table)
    stages_table, change = with_group_changes(stages_table, trace, against, ["stage"], _self_times)
    labels = [
        stage_label(*names) for names in zip(stages_table["stage"], stages_table["dataset"], strict=True)
    ]
    stages = stages_table.assign(
        per_second=stages_table["per_second"].round(),
        autotune=stages_table["autotune"].map({True: "AUTOTUNE", False: "program"}),
        deterministic=stages_table["deterministic"].map({True: "kept", False: "any"}),
        algorithm=stages_table["algorithm"].where(stages_table["algorithm"] != ""),
        stage=labels,
        name=stages_table["stage"],
    )
    before = None if against is None else against.input_pipeline.assign(name=against.input_pipeline["stage"])
    indented = [_INDENT * depth + label for depth, label in zip(stages_table["depth"], labels, strict=True)]
    zoom = ZoomTargets(trace).of_events(stages["longest"].head(MOST_ROWS)) if len(stages) else []
    times = _columns(
        stages_table,
        ("self_ns", "Self", "ns"),
        ("wait_ns", "Consumer waits", "ns"),
        ("calls", "Calls", "count"),
        ("mean_ns", "Mean", "ns"),
        ("per_second", "Per second", "count"),
        ("empty", "Empty", "count"),
    )
    at = [column.name for column in times].index("self_ns") + 1
    return [
        _picture(stages, zoom, reason),
        table(
            "By stage",
            stages.assign(stage=indented),
            [*times[:at], *change, *times[at:]],
            definition="A stage takes its elements from those below it. Click a row to see the longest call.",
            zoom=zoom,
            reason=reason,
        ),
        _of_some("Budgets of AUTOTUNE", stages, before, _BUDGETS, reason),
        _of_some("Parallelism and buffers", stages, before, _SETTINGS, reason),
    ]


def _self_times(trace: Trace) -> pd.DataFrame:
    """Return stage, step and self time of each call; work ahead of a step counts to the step it runs in."""
    calls, here = stage_calls(trace), step_devices(trace)
    step = np.full(len(trace.events), NO_STEP)
    if here is not None:
        step[here.event] = here.table["step"].to_numpy()[here.device_row]
    chosen = np.zeros(len(trace.events), bool)
    chosen[calls["event"]] = True
    own, _ = self_times(trace.events, chosen)
    event = calls["event"].to_numpy()
    return calls[["stage"]].assign(step=step[event], amount=own[event])


def _picture(stages: pd.DataFrame, zoom: Sequence[Zoom | None], reason: str) -> StagesBlock:
    shown = stages.head(MOST_ROWS)
    return {
        "kind": "stages",
        "title": "Pipeline",
        "definition": "Each box is a stage; its width is its self time. It takes its elements from the boxes"
        " below it. Grey boxes hand out what other threads prepare: their time is spent waiting for them."
        " Click a box to see its longest call.",
        "cannot_say": reason,
        "stages": [
            {
                "label": printable(str(one["stage"]), LONGEST_TEXT),
                "depth": one["depth"],
                "consumer": None if pd.isna(one["consumer"]) else one["consumer"],
                "self_ns": one["self_ns"],
                "calls": one["calls"],
                "mean_ns": one["mean_ns"],
                "empty": None if pd.isna(one["empty"]) or not one["awaits"] else one["empty"],
                "is_bottleneck": one["bottleneck"],
                "colour": "input" if one["bottleneck"] else "idle" if one["awaits"] else "preprocessing",
                "zoom": target,
            }
            for one, target in zip(shown.to_dict("records"), zoom, strict=True)
        ],
    }


def _columns(stages: pd.DataFrame, *columns: Figure) -> list[TableColumn]:
    task: Figure | None = ("task", "Task", "text") if len(stages["task"].unique()) > 1 else None
    return figures(input_pipeline.FIGURES, task, ("stage", "Stage", "text"), *columns)


def _of_some(
    title: str, stages: pd.DataFrame, before: pd.DataFrame | None, columns: Sequence[Figure], reason: str
) -> TableBlock:
    """Return a table of the stages with known figures, with the change of the first number among them."""
    known = stages[stages[[name for name, _, _ in columns]].notna().any(axis=1)]
    if not reason and known.empty:
        reason = Text("no_stage_settings")
    at, (figure, label, _) = next(each for each in enumerate(columns, 1) if each[1][2] != "text")
    known, change = with_exact_changes(known, before, ["name"], figure, label)
    heads = [*_columns(stages, *columns[:at]), *change, *figures(input_pipeline.FIGURES, *columns[at:])]
    return table(title, known, heads, reason=reason)
