"""The tables of functions: the times of their calls and tracings, and why they were traced again."""

from typing import Any

from tfvis_nb.analysis.functions import functions, retraces
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import MOST_ROWS, figures, key, table
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_COMPILED = (("compilations", "Compiled", "count"), ("compiling_ns", "Compiling", "ns"))


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return both tables if functions are called or traced; the second only if some are traced again."""
    found = trace.functions
    if why_not(found):
        return []
    again = found["retraces"].any()
    return [_functions(trace), *([_retraces(trace)] if again else [])]


def _functions(trace: Trace) -> dict[str, Any]:
    found = trace.functions
    several = found["task"].nunique() > 1
    columns = [
        *([key("task", "Task")] if several else []),
        *figures(
            functions.FIGURES,
            ("name", "Function", "name"),
            ("calls", "Calls", "count"),
            ("total_ns", "Total", "ns"),
            ("traces", "Traced", "count"),
            ("retraces", "Again", "count"),
            ("tracing_ns", "Tracing", "ns"),
            *(_COMPILED if found["compilations"].any() else []),
            *([("nodes", "Nodes", "count")] if found["nodes"].notna().any() else []),
            *([("source", "Defined in", "text")] if found["source"].notna().any() else []),
        ),
    ]
    rows = found.assign(name=found["name"].where(found["name"] != "", "outside calls"))
    return table(
        "Functions",
        rows,
        columns,
        definition="Click a row to see the longest tracing, or the longest call of a function that was not"
        " traced.",
        zoom=ZoomTargets(trace).of_events(rows["longest"].head(MOST_ROWS)),
        order="largest",
    )


def _retraces(trace: Trace) -> dict[str, Any]:
    found = retraces.retraces(trace)
    columns = figures(
        retraces.FIGURES,
        ("name", "Function", "name"),
        ("argument", "Argument", "text"),
        ("change", "Change", "text"),
        ("before", "Before", "text"),
        ("after", "After", "text"),
        ("tracing_ns", "Tracing", "ns"),
    )
    return table(
        "Why functions are traced again",
        found,
        columns,
        zoom=ZoomTargets(trace).of_events(found["event"].head(MOST_ROWS)),
        reason=why_not(found),
    )
