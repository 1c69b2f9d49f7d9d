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
    calls = trace.functions
    if why_not(calls):
        return []
    again = calls["retraces"].any()
    return [_functions(trace), *([_retraces(trace)] if again else [])]


def _functions(trace: Trace) -> dict[str, Any]:
    calls = trace.functions
    several = calls["task"].nunique() > 1
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
            *(_COMPILED if calls["compilations"].any() else []),
            *([("nodes", "Nodes", "count")] if calls["nodes"].notna().any() else []),
            *([("source", "Defined in", "text")] if calls["source"].notna().any() else []),
        ),
    ]
    rows = calls.assign(name=calls["name"].where(calls["name"] != "", "outside calls"))
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
    traced_again = retraces.retraces(trace)
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
        "Why functions are retraced",
        traced_again,
        columns,
        zoom=ZoomTargets(trace).of_events(traced_again["event"].head(MOST_ROWS)),
        reason=why_not(traced_again),
    )
