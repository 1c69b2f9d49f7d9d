"""Calls of a function that trace it and then run the new graph for the first time.

TensorFlow only records an event for building the graph. Before that, the call looks for a graph that fits its
arguments. After it, the first run places and optimizes the new graph (``EagerLocalExecute`` until
``FunctionRun`` in TensorFlow 2.15 to 2.21), which can take as long as building it. With ``jit_compile`` the
graph becomes a program of XLA, of whose compilation only a part is recorded.

JAX records lowering and compiling, but no tracing, and its own Python between them takes milliseconds.
"""

import re
from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.core.categories import beginning, is_kind, map_categories
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.step_spans import CALL
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.xspace.jitted import LOWERING

CALL_MARK = "tf_function_call="
"""Marks the calls of functions in their details."""
BUILDING = "tf.function-graph_building"

_RUN = re.compile(r"FunctionRun$|ExecuteReplicated|(?:\[\d+\] )?\w+Executable::Execute")
"""Runs of graphs, and of programs of XLA."""


class TracedCalls(NamedTuple):
    """Calls that trace a function and run it: one entry per call, except `rows`."""

    call: np.ndarray
    """Event of the call."""
    tracing: np.ndarray
    """Event of its last tracing; for JAX, of its last lowering."""
    ready_ns: np.ndarray
    """When the new graph runs (epoch ns)."""
    rows: np.ndarray
    """Mask of all events: the calls, and what they do on their threads until the graph runs."""


@per_trace
def function_calls(trace: Trace) -> np.ndarray:
    """Return a mask of the calls of ``tf.function``."""
    is_call = is_kind(trace.events, "host")
    marked = trace.events["detail"][is_call].str.contains(CALL_MARK, regex=False)
    is_call[is_call] = marked.fillna(value=False).to_numpy(bool)
    return is_call


def graph_buildings(trace: Trace) -> np.ndarray:
    """Return a mask of the events that build the graph of a ``tf.function``."""
    builds = map_categories(trace.events["op"], lambda op: op == BUILDING) & is_kind(trace.events, "host")
    building: np.ndarray = builds & ~function_calls(trace) if builds.any() else builds
    return building


@per_trace
def traced_calls(trace: Trace) -> TracedCalls:
    """Find the calls that trace a function and run it, unlike calls that become part of another graph."""
    events = trace.events
    is_host, op = is_kind(events, "host"), events["op"]
    is_building = graph_buildings(trace) | (is_host & map_categories(op, lambda name: name == LOWERING))
    if not is_building.any():
        none = np.zeros(0, np.int64)
        return TracedCalls(none, none, none, is_building)
    is_call = function_calls(trace) | (is_host & map_categories(op, lambda name: name == CALL))
    building = np.flatnonzero(is_building)
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    is_run = is_host & beginning(op, _RUN)
    run = np.flatnonzero(is_run)
    outer, of_run = (parents(events, is_call | inner) for inner in (is_building, is_run))
    by_call: dict[int, tuple[int, int]] = {}
    for tracing in building.tolist() if is_call.any() else []:
        call = int(outer[tracing])
        runs = start[run[(of_run[run] == call) & (start[run] >= end[tracing])]]
        if call >= 0 and is_call[call] and len(runs):
            by_call[call] = (tracing, int(runs.min()))
    rows = np.zeros(len(events), bool)
    lanes = [events[name].cat.codes.to_numpy() for name in ("task", "device", "lane")]
    for call, (_, ready) in by_call.items():
        within = slice(call, int(np.searchsorted(start, ready)))
        rows[within] |= np.all([lane[within] == lane[call] for lane in lanes], axis=0)
    table = np.array([(call, *rest) for call, rest in by_call.items()], np.int64).reshape(-1, 3)
    return TracedCalls(table[:, 0], table[:, 1], table[:, 2], rows)


def tracing_spans(trace: Trace, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of all events in which tracings start with their call and end with its run."""
    traced = traced_calls(trace)
    start, end = start.copy(), end.copy()
    start[traced.tracing] = start[traced.call]
    end[traced.tracing] = np.minimum(traced.ready_ns, end[traced.call])
    return start, end
