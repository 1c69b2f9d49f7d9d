"""All analyses of a large trace, and a dashboard in a live JupyterLab compared with only the timeline."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from benchmarks import traces
from benchmarks.live import DASHBOARD, DRAWN, FIRST_TAB, TIMELINE, jupyter, opened, seen_after
from benchmarks.reading import best
from benchmarks.table import Row, bounded, show
from tests.browser.jupyter_server import JupyterServer
from tfvis_nb import Trace, read_trace, show_dashboard, show_timeline
from tfvis_nb.analysis import (
    bandwidth,
    communication_overlap,
    compare,
    compare_activities,
    cpu_ops_between_kernels,
    flame_graph,
    launch_bound,
    launch_gaps,
    launch_stretches,
    memory_breakdown,
    memory_peaks,
    op_statistics,
    path_lengths,
    scheduling_efficiency,
    scope_tree,
    slow_steps,
    slowest_transfers,
    stragglers,
    transfer_matrix,
)
from tfvis_nb.analysis.events.activity import activity
from tfvis_nb.display.tabs import parts, tab

ANALYSES: dict[str, Callable[[Trace], object]] = {
    "activities": activity,
    "steps": lambda trace: trace.steps,
    "breakdown": lambda trace: trace.breakdown,
    "utilization": lambda trace: trace.utilization,
    "communication": communication_overlap,
    "efficiency": scheduling_efficiency,
    "op_statistics, by op": op_statistics,
    "op_statistics, by name": lambda trace: op_statistics(trace, "name"),
    "scope_tree": scope_tree,
    "flame_graph, by thread": lambda trace: flame_graph(trace, "thread", "host"),
    "launch_bound": launch_bound,
    "launch_bound, stretches": launch_stretches,
    "launch_gaps": launch_gaps,
    "placement": cpu_ops_between_kernels,
    "dataflow": lambda trace: trace.edges,
    "critical_path": path_lengths,
    "slack": lambda trace: trace.slack,
    "idle_gaps": lambda trace: trace.idle_gaps,
    "tensor_lifetimes": lambda trace: trace.lifetimes,
    "memory": memory_peaks,
    "memory_breakdown": memory_breakdown,
    "transfers": lambda trace: trace.transfers,
    "transfer_matrix": transfer_matrix,
    "bandwidth": bandwidth,
    "slowest_transfers": slowest_transfers,
    "collective_waits": lambda trace: trace.collective_waits,
    "stragglers": stragglers,
    "slow_steps": slow_steps,
    "compare": lambda trace: compare(trace, trace),
    "compare, activities": lambda trace: compare_activities(trace, trace),
    "kernels": lambda trace: trace.kernels,
    "hlo_ops": lambda trace: trace.hlo_ops,
    "roofline": lambda trace: trace.roofline,
    "input_pipeline": lambda trace: trace.input_pipeline,
    "counters": lambda trace: trace.counters,
    "findings": lambda trace: trace.findings,
    "overview": lambda trace: trace.overview,
}
"""Run in order on one trace: shared work counts toward the first analysis that needs it."""

RUNS = 3
ALL = 5.0
"""Seconds for all analyses of a trace of about 800,000 events."""
MORE = 1.0
"""Seconds that a dashboard's timeline may appear later than a timeline on its own."""
FIRST = 3.0
"""Seconds until the first tab of a dashboard is visible."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-notebook", action="store_true", help="leave out what takes a JupyterLab")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [traces.large(folder), traces.profile(folder)]
        for path in paths:
            _analyses(path)
        if not arguments.no_notebook:
            with sync_playwright() as playwright, jupyter(folder) as server:
                for path in paths:
                    _opening(playwright, server, path)


def _analyses(path: Path) -> None:
    trace = read_trace(path)
    runs = [_once(trace) for _ in range(RUNS)]
    quickest = min(runs, key=lambda run: sum(run.values()))
    rows = [Row(what, f"{taken * 1e3:.0f} ms", "", "", "", kept=True) for what, taken in quickest.items()]
    rows.append(bounded("all of them", sum(quickest.values()), "s", ALL))
    tabs = best(lambda: _tabs(_fresh(trace)), RUNS)
    rows.append(Row("all tabs of the dashboard, alone", f"{tabs:.2f} s", "", "", "", kept=True))
    show(f"Analyses of {len(trace.events):,} events (the best of {RUNS} runs)", rows)


def _once(trace: Trace) -> dict[str, float]:
    """Return the seconds of each analysis of a trace without cached results."""
    trace = _fresh(trace)
    taken = {}
    for what, analysis in ANALYSES.items():
        start = time.perf_counter()
        analysis(trace)
        taken[what] = time.perf_counter() - start
    return taken


def _fresh(trace: Trace) -> Trace:
    """Return the same trace without cached results."""
    return Trace(
        trace.events,
        nested=trace.nested,
        graphs=trace.graphs,
        title=trace.title,
        step_labels=trace.step_labels,
        clock_bounds=trace.clock_bounds,
        metadata=trace.metadata,
        recorded_counters=trace.recorded_counters,
        programs=trace.programs,
    )


def _tabs(trace: Trace) -> None:
    for _, name in parts(trace):
        tab(trace, name)


def _opening(playwright: Playwright, server: JupyterServer, path: Path) -> None:
    """Show a trace in fresh notebooks, alternating between timeline and dashboard."""
    trace = read_trace(path)
    timeline = best(lambda: show_timeline(_fresh(trace)).close(), RUNS)
    dashboard = best(lambda: show_dashboard(_fresh(trace)).close(), RUNS)
    alone, within, tabs = [], [], []
    for _ in range(RUNS):
        with opened(playwright, server, path, 1, TIMELINE) as (_, page):
            alone += seen_after(page, DRAWN)
        with opened(playwright, server, path, 1, DASHBOARD) as (_, page):
            drawn, first = seen_after(page, DRAWN, FIRST_TAB)
        within.append(drawn)
        tabs.append(first)
    show(
        f"A dashboard of {len(trace.events):,} events (calls: best, in a notebook: median, of {RUNS})",
        [
            _later("call of show_dashboard", dashboard, "show_timeline", timeline),
            _later("first picture", statistics.median(within), "timeline alone", statistics.median(alone)),
            bounded("first tab", statistics.median(tabs), "s", FIRST),
        ],
    )


def _later(what: str, measured: float, against: str, theirs: float) -> Row:
    more = measured - theirs
    wanted = f"<= +{MORE:g} s"
    return Row(what, f"{measured:.2f} s", f"{against} {theirs:.2f} s", f"{more:+.2f} s", wanted, more <= MORE)


if __name__ == "__main__":
    main()
