"""The tab of ops: where time was spent, by op, scope and function; why functions were traced again."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import ACTIVITIES, activity
from tfvis_nb.analysis.events.locations import locations
from tfvis_nb.analysis.functions import functions, retraces
from tfvis_nb.analysis.functions.calls import function_events
from tfvis_nb.analysis.steps import cpu_ops_between_kernels, op_statistics, scope_tree
from tfvis_nb.analysis.steps.compare import compare
from tfvis_nb.analysis.unavailable import NONE, why_not
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.against import with_changes, with_group_changes
from tfvis_nb.display.tabs.blocks import (
    MOST_ROWS,
    Block,
    Figure,
    HistogramBins,
    TableBlock,
    figures,
    key,
    table,
)
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets
from tfvis_nb.texts import Text

_COMPILED: Sequence[Figure] = (("compilations", "Compiled", "count"), ("compiling_ns", "Compiling", "ns"))

_MOST_LISTED = 20_000
"""Histograms of a table list at most this many events; beyond that, each bin lists its longest ones."""


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    return "" if len(trace.events) else Text("no_events")


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return tables by op type, node and scope."""
    return [
        _statistics(trace, "op", "By op type", against),
        _statistics(trace, "name", "By node", against),
        _scopes(trace, against),
        _on_cpu(trace, against),
        *_function_tables(trace, against),
    ]


def _statistics(trace: Trace, by: Literal["op", "name"], title: str, against: Trace | None) -> TableBlock:
    statistics = op_statistics.op_statistics(trace, by=by)
    changes = None if against is None else compare(against, trace, by=by)
    statistics, change = with_changes(statistics, changes, [by, "kind", "side"], "self_a_ns", "self_b_ns")
    columns = [
        key(by, "Op" if by == "op" else "Node", "name"),
        *figures(
            op_statistics.FIGURES,
            ("kind", "Kind", "text"),
            ("self_ns", "Self", "ns"),
        ),
        *change,
        *figures(
            op_statistics.FIGURES,
            ("share", "% of time", "share"),
            ("total_ns", "Total", "ns"),
            ("count", "Count", "count"),
            ("mean_ns", "Mean", "ns"),
            ("p50_ns", "p50", "ns"),
            ("p90_ns", "p90", "ns"),
            ("p99_ns", "p99", "ns"),
        ),
    ]
    statistics = statistics[statistics["side"].astype(str) != "repeated"]
    # The largest of each side first, no matter which side has more.
    rows = statistics.sort_values("self_ns", ascending=False, kind="stable", na_position="last")
    longest = rows["longest"].head(MOST_ROWS)
    zoom = [] if why_not(statistics) else ZoomTargets(trace).of_device_events(longest, _groups(trace, by))
    colours = [] if why_not(statistics) else _colours(trace, rows.head(MOST_ROWS))
    definition = (
        "The colour of a bar is the activity of the longest event. Click a row to select its events on the"
        " device, or to see its longest one on the host. Durations:"
        " how many events took how long, from the shortest to the longest on a logarithmic axis. Click a bar"
        " there to select its events."
    )
    histograms = [] if why_not(statistics) else _histograms(trace, by, longest)
    block = table(
        title,
        rows,
        columns,
        definition=definition,
        zoom=zoom,
        light=by,
        bar="self_ns",
        colours=colours,
        reason=why_not(statistics),
        order="largest",
    )
    block |= {"histograms": histograms, "range": by}
    return block


def _groups(trace: Trace, by: str) -> np.ndarray:
    """Return the number of the row of each event."""
    return number_rows(trace.events[by], trace.events["kind"], locations(trace.events))[0]


def _histograms(trace: Trace, by: str, longest: pd.Series) -> list[HistogramBins]:
    """Return the histogram of each row: the edges of its bins, and the number and ids of events in each."""
    of_rows = op_statistics.histograms(trace, by, longest.to_numpy())
    counts = [[len(events) for events in one.events] for one in of_rows]
    bins = sum(count > 0 for one in counts for count in one)
    most = _MOST_LISTED if sum(map(sum, counts)) <= _MOST_LISTED else max(_MOST_LISTED // bins, 1)
    return [
        {
            "edges": one.edges,
            "counts": count,
            "events": [events[:most].tolist() for events in one.events],
        }
        for one, count in zip(of_rows, counts, strict=True)
    ]


def _colours(trace: Trace, rows: pd.DataFrame) -> list[str]:
    """Return the activity of each row's longest event, empty for received tensors.

    Simultaneously received tensors all count, so their sum exceeds the step many times.
    """
    what = [ACTIVITIES[at] for at in activity(trace)[rows["longest"].to_numpy()]]
    return ["" if side == "network" else one for one, side in zip(what, rows["side"], strict=True)]


def _scopes(trace: Trace, against: Trace | None) -> TableBlock:
    scopes = scope_tree.scope_tree(trace)
    # The root is not a scope, and single nodes have their own table.
    inner = scopes.index.isin(scopes["parent"]) & (scopes["parent"] >= 0)
    rows = scopes[inner].sort_values(["device_ns", "host_ns"], ascending=False, kind="stable")
    reason = why_not(scopes) or (NONE if len(rows) else Text("no_scopes"))
    side = "device" if rows["device_ns"].any() else "host"
    times = partial(scope_tree.scope_times, side=side)
    rows, change = with_group_changes(rows, trace, against, ["scope"], times)
    on_device, on_host = (change if side == each else [] for each in ("device", "host"))
    columns = [
        key("scope", "Scope", "name"),
        *figures(scope_tree.FIGURES, ("device_ns", "Device", "ns")),
        *on_device,
        *figures(
            scope_tree.FIGURES,
            ("device_share", "% of device", "share"),
            ("host_ns", "Host", "ns"),
        ),
        *on_host,
        *figures(
            scope_tree.FIGURES,
            ("host_share", "% of host", "share"),
            ("network_ns", "Network", "ns"),
            ("events", "Events", "count"),
        ),
    ]
    return table(
        "By name scope",
        rows,
        columns,
        light="scope",
        bar="device_ns",
        colours=["device_compute"] * min(len(rows), MOST_ROWS),
        reason=reason,
        order="largest",
    )


def _on_cpu(trace: Trace, against: Trace | None) -> TableBlock:
    on_cpu = cpu_ops_between_kernels.cpu_ops_between_kernels(trace)
    keys, times = ["name", "op", "where"], cpu_ops_between_kernels.cpu_op_times
    on_cpu, change = with_group_changes(on_cpu, trace, against, keys, times)
    columns = [
        key("name", "Node", "name"),
        key("op", "Op"),
        *figures(
            cpu_ops_between_kernels.FIGURES,
            ("where", "Location", "text"),
            ("gpu_idle_exclusive_ns", "GPU idle", "ns"),
            ("total_ns", "Time", "ns"),
        ),
        *change,
        *figures(
            cpu_ops_between_kernels.FIGURES,
            ("count", "Count", "count"),
            ("to_host", "Copies to host", "count"),
            ("to_host_bytes", "Bytes to host", "bytes"),
            ("to_device", "Copies to GPU", "count"),
            ("to_device_bytes", "Bytes to GPU", "bytes"),
        ),
    ]
    rows = on_cpu.head(MOST_ROWS)
    zoom = [] if why_not(on_cpu) else ZoomTargets(trace).of_events(rows["longest"])
    return table(
        "CPU ops inside GPU work",
        rows,
        columns,
        definition="Ops between the first and the last kernel of a step that ran on a CPU or needed copies"
        " to or from the host.",
        zoom=zoom,
        light="name",
        reason=why_not(on_cpu),
        row_count=len(on_cpu),
        order="longest",
    )


def _function_tables(trace: Trace, against: Trace | None) -> list[TableBlock]:
    """Return both tables if functions are called or traced; the second only if some are traced again."""
    calls = trace.functions
    if why_not(calls):
        return []
    again = calls["retraces"].any()
    return [_functions(trace, against), *([_retraces(trace)] if again else [])]


def _functions(trace: Trace, against: Trace | None) -> TableBlock:
    calls = trace.functions
    several = len(calls["task"].unique()) > 1
    calls, change = with_group_changes(calls, trace, against, ["task", "name"], _call_times)
    columns = [
        *([key("task", "Task")] if several else []),
        *figures(
            functions.FIGURES,
            ("name", "Function", "name"),
            ("calls", "Calls", "count"),
            ("total_ns", "Total", "ns"),
        ),
        *change,
        *figures(
            functions.FIGURES,
            ("traces", "Traced", "count"),
            ("retraces", "Again", "count"),
            ("tracing_ns", "Tracing", "ns"),
            *(_COMPILED if calls["compilations"].any() else []),
            ("nodes", "Nodes", "count") if calls["nodes"].notna().any() else None,
            ("source", "Defined in", "text") if calls["source"].notna().any() else None,
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


def _call_times(trace: Trace) -> pd.DataFrame:
    """Return task, function, step and duration of each call."""
    calls = function_events(trace).calls
    step = trace.events["step"].to_numpy()[calls["event"]]
    return calls[["task", "name"]].assign(step=step, amount=calls["duration_ns"])


def _retraces(trace: Trace) -> TableBlock:
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
