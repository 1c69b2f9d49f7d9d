"""The tab of tf.data pipelines: the stages, their times and their buffers."""

from typing import Any

from tfvis_nb.analysis.input import input_pipeline
from tfvis_nb.analysis.input.stage_names import given_names
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
    named = found["dataset"].map(given_names)
    columns = figures(
        input_pipeline.FIGURES | {"named": "The name that the program gave to its dataset."},
        *([("task", "Task", "text")] if several else []),
        ("stage", "Stage", "text"),
        *([("named", "Name", "text")] if named.any() else []),
        ("self_ns", "Self", "ns"),
        ("bottleneck", "Slowest", "text"),
        ("calls", "Calls", "count"),
        ("mean_ns", "Mean", "ns"),
        ("per_second", "Per second", "count"),
        ("parallelism", "Parallel", "count"),
        ("buffer_limit", "Buffer", "count"),
        ("autotune", "Set by", "text"),
        ("buffered_mean", "Buffered", "ratio"),
        ("empty", "Empty", "count"),
    )
    stages = found.assign(
        stage=[
            _INDENT * depth + stage.rpartition("::")[2]
            for depth, stage in zip(found["depth"], found["stage"], strict=True)
        ],
        named=named,
        per_second=found["per_second"].round(),
        bottleneck=found["bottleneck"].map({True: "bottleneck", False: ""}),
        autotune=found["autotune"].map({True: "AUTOTUNE", False: "program"}),
    )
    shown = found.head(MOST_ROWS)
    return [
        table(
            "By stage",
            stages,
            columns,
            definition="A stage takes its elements from those below it. Grey bars are time spent waiting for"
            " what other threads prepare; the bar of the bottleneck has the colour of input. Click a row to"
            " see the longest call.",
            zoom=ZoomTargets(trace).of_events(shown["longest"]) if len(shown) else [],
            bar="self_ns",
            colours=[
                "input" if is_bottleneck else "idle" if awaits else "preprocessing"
                for is_bottleneck, awaits in zip(shown["bottleneck"], shown["awaits"], strict=True)
            ],
            reason=reason,
            order="first",
        )
    ]
