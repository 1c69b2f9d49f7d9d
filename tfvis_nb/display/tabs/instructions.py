"""The table of instructions of compiled programs: their times and what they compute."""

from typing import Any

from tfvis_nb.analysis.programs import hlo_ops
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import MOST_ROWS, figures, table
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the table, where events ran instructions of compiled programs."""
    found = trace.hlo_ops
    if why_not(found):
        return []
    columns = figures(
        hlo_ops.FIGURES,
        ("hlo_op", "Instruction", "name"),
        ("category", "Category", "text"),
        ("self_ns", "Self", "ns"),
        ("share", "% of time", "share"),
        ("count", "Count", "count"),
        ("flops", "Operations", "operations"),
        ("bytes_accessed", "Bytes", "bytes"),
        ("cost", "Counted by", "text"),
        ("op_name", "Op", "text"),
        ("program", "Program", "text"),
    )
    rows = found.head(MOST_ROWS)
    return [
        table(
            "By instruction of compiled programs",
            rows,
            columns,
            definition="Operations and bytes are those of one run. A click shows the longest run.",
            zoom=ZoomTargets(trace).of_events(rows["longest"]),
            bar="self_ns",
            colours=["device_compute"] * len(rows),
            row_count=len(found),
            order="longest",
        )
    ]
