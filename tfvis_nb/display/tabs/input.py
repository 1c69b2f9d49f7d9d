"""The tab of tf.data pipelines: the stages, their times and their buffers."""

from typing import Any

from tfvis_nb.analysis.input import input_pipeline
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import MOST_ROWS, figures, table
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_INDENT = "· "


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the table of stages, each below and further in than the one that takes elements from it."""
    found = trace.input_pipeline
    reason = why_not(found)
    several = found["task"].nunique() > 1
    columns = figures(
        input_pipeline.FIGURES,
        *([("task", "Task", "text")] if several else []),
        ("stage", "Stage", "text"),
        ("self_ns", "Self", "ns"),
        ("calls", "Calls", "count"),
        ("mean_ns", "Mean", "ns"),
        ("per_second", "Per second", "count"),
        ("parallelism", "Parallel", "count"),
        ("buffer_limit", "Buffer", "count"),
        ("buffered_mean", "Buffered", "ratio"),
        ("empty", "Empty", "count"),
    )
    names = [
        _INDENT * depth + stage.rpartition("::")[2]
        for depth, stage in zip(found["depth"], found["stage"], strict=True)
    ]
    shown = found.head(MOST_ROWS)
    return [
        table(
            "By stage",
            found.assign(stage=names, per_second=found["per_second"].round()),
            columns,
            definition="A stage takes its elements from those below it. Grey bars are time spent waiting for"
            " what other threads prepare. Click a row to see the longest call.",
            zoom=ZoomTargets(trace).of_events(shown["longest"]) if len(shown) else [],
            bar="self_ns",
            colours=["idle" if awaits else "preprocessing" for awaits in shown["awaits"]],
            reason=reason,
            order="first",
        )
    ]
