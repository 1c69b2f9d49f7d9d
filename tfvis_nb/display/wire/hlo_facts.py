"""Facts from compiled programs about the events of a page: texts for each executed instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from tfvis_nb.analysis.programs.fused_instructions import inside
from tfvis_nb.analysis.programs.hlo_module import modules
from tfvis_nb.core.format import format_bytes, format_operations
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text

FACTS = ("program", "instruction", "hlo_category", "operations", "accessed", "expression", "fused")
"""The facts sent about an instruction; the last one lists its nested instructions, one per line."""

_LONGEST = 400
_MOST_FUSED = 40
_COUNTED = {"XLA": "", "shapes": ", counted from shapes"}


def hlo_facts(trace: Trace) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """Yield each program and instruction of ``trace.hlo_ops`` with the texts of `FACTS`, longest first."""
    for row in trace.hlo_ops.astype(object).to_dict("records"):
        yield (
            (row["program"], row["hlo_op"]),
            (
                printable(row["program"], _LONGEST),
                printable(row["hlo_op"], _LONGEST),
                printable(row["category"], _LONGEST),
                _count(row, "flops", format_operations),
                _count(row, "bytes_accessed", format_bytes),
                printable(row["expression"], _LONGEST),
                _fused(trace, row["program"], row["hlo_op"]),
            ),
        )


def _count(row: Mapping[Any, Any], name: str, written: Callable[[float], str]) -> str:
    return "" if pd.isna(row[name]) else f"{written(row[name])}{_COUNTED[row['cost']]}"


def _fused(trace: Trace, program: str, hlo_op: str) -> str:
    """Return the nested instructions as text: the expression of each, and after tabs its op and its line."""
    module = modules(trace).get(program)
    place = None if module is None else module.find(hlo_op)
    if module is None or place is None:
        return ""
    instructions = inside(module, place[1])
    lines = []
    for _, one in instructions[:_MOST_FUSED]:
        name = text(one.name)
        facts = (name, text(one.metadata.op_name), modules(trace).source(program, name))
        lines.append("\t".join(printable(fact, _LONGEST) for fact in facts))
    more = [f"and {len(instructions) - _MOST_FUSED:,} more\t\t"] if len(instructions) > _MOST_FUSED else []
    return "\n".join([*lines, *more])
