"""The table of instructions of compiled programs: their times and what they compute."""

from typing import Any

from tfvis_nb.analysis.hardware import roofline
from tfvis_nb.analysis.programs import hlo_ops
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import MOST_ROWS, figures, table
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_LIMITS = {"bound": ("bound", "Limited by", "text"), "efficiency": ("efficiency", "Efficiency", "share")}


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the table if events ran instructions of compiled programs."""
    found = trace.hlo_ops
    if why_not(found):
        return []
    keys = ["program", "hlo_op"]
    found = found.merge(trace.roofline[[*keys, *_LIMITS]], on=keys, how="left")
    columns = figures(
        hlo_ops.FIGURES | roofline.FIGURES,
        ("hlo_op", "Instruction", "name"),
        ("category", "Category", "text"),
        ("self_ns", "Self", "ns"),
        ("share", "% of time", "share"),
        ("count", "Count", "count"),
        ("flops", "Operations", "operations"),
        ("bytes_accessed", "Bytes", "bytes"),
        *_LIMITS.values(),
        ("source", "Line", "text"),
        ("op_name", "Op", "text"),
        ("program", "Program", "text"),
    )
    rows = found.head(MOST_ROWS)
    # The folder of the file would hide the line.
    rows = rows.assign(source=rows["source"].str.rpartition("/")[2])
    return [
        table(
            "By instruction of compiled programs",
            rows,
            columns,
            definition="Operations and bytes are those of one run. A click shows the longest run. Efficiency:"
            " the least time that the device needs / self time.",
            zoom=ZoomTargets(trace).of_events(rows["longest"]),
            bar="self_ns",
            colours=["device_compute"] * len(rows),
            row_count=len(found),
            order="longest",
        )
    ]
