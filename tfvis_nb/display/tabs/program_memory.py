"""The table of the buffers of compiled programs at their peaks."""

from typing import Any

import pandas as pd

from tfvis_nb.analysis.programs import program_memory
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import MOST_ROWS, TableColumn, figures, table

_KINDS = {
    "parameter": "Parameters",
    "constant": "Constants",
    "output": "Outputs",
    "temporary": "Temporaries",
}
_TOTALS = (
    TableColumn("total", "Total", "bytes", "What the program needs at its peak, without gaps."),
    *(TableColumn(kind, label, "bytes", f"Bytes of {label.lower()}.") for kind, label in _KINDS.items()),
)


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the tables of programs and buffers, if a compiled program has its buffer assignment."""
    parts = trace.program_memory
    if why_not(parts):
        return []
    # Memory other than the main memory of the device has its own size.
    space = [("memory_space", "Memory space", "number")] if parts["memory_space"].any() else []
    columns = figures(
        program_memory.FIGURES,
        ("hlo_op", "Instruction", "name"),
        ("kind", "Kind", "text"),
        ("bytes", "Size", "bytes"),
        *space,
        ("op_name", "Op", "text"),
        ("program", "Program", "text"),
        ("shape", "Shape", "text"),
    )
    shown = parts.head(MOST_ROWS)
    return [
        table(
            "Memory of compiled programs",
            _totals(parts),
            [*figures(program_memory.FIGURES, ("program", "Program", "name"), *space), *_TOTALS],
            definition="Bytes of the buffers below. Programs share buffers if the output of one is the"
            " parameter of another, so their totals do not add up.",
            bar="total",
            order="largest",
        ),
        table(
            "Buffers of compiled programs",
            parts,
            columns,
            definition="Buffers alive when a program needs most memory, as XLA assigned them when it compiled"
            " the program. Those with grey bars are alive as long as it runs.",
            bar="bytes",
            colours=["device_compute" if one == "temporary" else "idle" for one in shown["kind"]],
        ),
    ]


def _totals(parts: pd.DataFrame) -> pd.DataFrame:
    where = ["program", "memory_space"]
    sums = parts.pivot_table(index=where, columns="kind", values="bytes", aggfunc="sum", fill_value=0)
    sums = sums.reindex(columns=[*_KINDS], fill_value=0)
    return (
        sums.assign(total=sums.sum(axis=1)).sort_values("total", ascending=False, kind="stable").reset_index()
    )
