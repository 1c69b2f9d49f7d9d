"""The table of the buffers of compiled programs at their peaks."""

from typing import Any

from tfvis_nb.analysis.programs import program_memory
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import MOST_ROWS, figures, table


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the table, where a compiled program has its buffer assignment."""
    found = trace.program_memory
    if why_not(found):
        return []
    columns = figures(
        program_memory.FIGURES,
        ("hlo_op", "Instruction", "name"),
        ("kind", "Kind", "text"),
        ("bytes", "Size", "bytes"),
        *([("memory_space", "Memory space", "number")] if found["memory_space"].any() else []),
        ("op_name", "Op", "text"),
        ("program", "Program", "text"),
        ("shape", "Shape", "text"),
    )
    shown = found.head(MOST_ROWS)
    return [
        table(
            "Buffers of compiled programs",
            found,
            columns,
            definition="Buffers alive when a program needs most memory, as XLA assigned them when it compiled"
            " the program. Those with grey bars are alive as long as it runs.",
            bar="bytes",
            colours=["device_compute" if one == "temporary" else "idle" for one in shown["kind"]],
        )
    ]
