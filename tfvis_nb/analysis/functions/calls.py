"""Calls, tracings and compilations of functions.

JAX records a call of a compiled function as ``PjitFunction(train)``, and the lowering of the traced function
as a separate event. Tracing has no event: it lasts from the start of the call to the lowering.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.nesting import parents, self_times_of
from tfvis_nb.analysis.events.traced_calls import (
    CALL_MARK,
    function_calls,
    graph_buildings,
    traced_calls,
    tracing_spans,
)
from tfvis_nb.core.categories import is_kind, map_categories
from tfvis_nb.core.nested_columns import PROGRAM
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.step_spans import CALL
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.tracings import TRACING
from tfvis_nb.reading.xspace.jitted import LOWERING, function_number, jitted_function

_PROGRAM = "jit_"

_TRACED = re.compile(rf"(?:^|\s){CALL_MARK}traced\b")
_COUNT = re.compile(r"(?:^|\s)tracing_count=(\d{1,9})(?!\d)")


class FunctionEvents(NamedTuple):
    """The functions of a trace, one row per event; events are ordered by start.

    - `calls`: ``event`` (its id), ``task``, ``name``, ``duration_ns``, ``self_ns``; ``tracings`` (how often
      it traced its function), ``timed`` (whether all of these are events), ``again`` (whether the function
      had been traced before) and ``of_jax`` (whether it is JAX's own).
    - `tracings`: ``event``, ``call`` (a row of `calls`, -1 outside calls), ``task``, ``name`` (empty if not
      known), ``start_ns`` and ``end_ns`` (of a call that also runs the new graph: from its start until then),
      ``own_ns``, without those within it, ``again``, and the fields of
      `tfvis_nb.core.tracings.TYPE`, None if not recorded.
    - `compilations`: ``event``, ``call``.
    """

    calls: pd.DataFrame
    tracings: pd.DataFrame
    compilations: pd.DataFrame


@per_trace
def function_events(trace: Trace) -> FunctionEvents:
    """Find the calls of functions, and the tracings and compilations in each."""
    events = trace.events
    is_call, is_tracing = function_calls(trace), graph_buildings(trace)
    jitted = jitted_events(trace)
    is_call, is_tracing = is_call | jitted.calls, is_tracing | jitted.lowerings
    is_compiling = (activity(trace) == NUMBER["compile"]) & ~is_call & ~is_tracing
    number = np.full(len(events) + 1, -1, np.int64)
    number[np.flatnonzero(is_call)] = np.arange(is_call.sum())
    outer = parents(events, is_call | is_tracing)
    calls = _named(trace, is_call)
    tracings = _named(trace, is_tracing)
    rows = tracings["event"].to_numpy(np.int64)
    # A function that is traced inside the tracing of another one, but not called, does not belong to the
    # call.
    tracings["call"] = number[outer[rows]]
    duration = events["duration_ns"].to_numpy(np.int64)
    start = events["start_ns"].to_numpy(np.int64)
    first, last = tracing_spans(trace, start, start + duration)
    tracings["start_ns"], tracings["end_ns"] = first[rows], last[rows]
    tracings["own_ns"] = _own(rows, outer, is_tracing, duration)
    _add_first_runs(trace, tracings)
    calls["duration_ns"] = duration[is_call]
    calls["self_ns"] = self_times_of(trace)[0][is_call]
    add_python(events, calls, tracings, outer)
    _count(calls, events["detail"][is_call], tracings)
    count_jitted(trace, calls)
    _name(trace, calls, tracings)
    compilations = pd.DataFrame({"event": np.flatnonzero(is_compiling)})
    compilations["call"] = _calls_of(events, is_call, is_compiling, number)
    return FunctionEvents(calls, tracings, compilations)


def _named(trace: Trace, chosen: np.ndarray) -> pd.DataFrame:
    rows = np.flatnonzero(chosen)
    texts = {
        name: trace.events[name].iloc[rows].astype(object).fillna("").to_numpy() for name in ("task", "name")
    }
    return pd.DataFrame({"event": rows} | texts)


def _own(rows: np.ndarray, outer: np.ndarray, is_tracing: np.ndarray, duration: np.ndarray) -> np.ndarray:
    """Return the time of each tracing without nested tracings."""
    own = duration.copy()
    # A call inside a tracing may itself trace.
    around = _outside(outer, outer[rows], ~is_tracing)
    inner = around >= 0
    np.subtract.at(own, around[inner], duration[rows[inner]])
    own_ns: np.ndarray = np.maximum(own[rows], 0)
    return own_ns


def _add_first_runs(trace: Trace, tracings: pd.DataFrame) -> None:
    """Add to the last tracing of each call what the call does before and after its tracings."""
    duration = trace.events["duration_ns"].to_numpy(np.int64)[tracings["event"]]
    inside = pd.Series(duration).groupby(tracings["call"].to_numpy()).transform("sum").to_numpy()
    last = tracings["event"].isin(traced_calls(trace).tracing).to_numpy()
    added = (tracings["end_ns"] - tracings["start_ns"]).to_numpy() - inside
    tracings.loc[last, "own_ns"] += np.maximum(added[last], 0)


def _outside(outer: np.ndarray, events: np.ndarray, passed: np.ndarray) -> np.ndarray:
    """Return for each event the innermost one, itself or enclosing, that is not `passed`; else -1."""
    callers = events.copy()
    while (within := (callers >= 0) & passed[callers]).any():
        callers[within] = outer[callers[within]]
    return callers


def _count(calls: pd.DataFrame, details: pd.Series, tracings: pd.DataFrame) -> None:
    """Count the tracings of each call, and mark those outside a function's first call."""
    code, texts = pd.factorize(details)
    traced = np.array([_TRACED.search(text) is not None for text in texts], bool)[code]
    matches = [_COUNT.search(text) for text in texts]
    known = np.array([int(match[1]) if match else 0 for match in matches], np.int64)[code]
    built = np.bincount(tracings["call"][tracings["call"] >= 0], minlength=len(calls))
    calls["tracings"] = np.maximum(built, traced)
    # A first call that creates variables traces twice.
    calls["again"] = traced & (known > calls["tracings"])
    calls["timed"] = built >= traced


def _name(trace: Trace, calls: pd.DataFrame, tracings: pd.DataFrame) -> None:
    """Add the recorded facts about tracings, and mark those that are not the first."""
    recorded = _recorded(trace, tracings["event"].to_numpy(np.int64))
    for field in ("function", "source", "caller", "nodes", "changes"):
        tracings[field] = pd.Series([one.get(field) for one in recorded], dtype=object)
    call = tracings["call"].to_numpy(np.int64)
    inside = call >= 0
    _explain_jitted(calls, tracings)
    own = np.append(calls["name"].to_numpy(object), "")[call]
    tracings["name"] = np.where(inside, own, [one.get("function") or "" for one in recorded])
    again = np.append(calls["again"].to_numpy(bool), False)[call]
    changed = np.array([bool(one.get("changes")) for one in recorded], bool)
    tracings["again"] = np.where(inside, again, changed)
    _made_anew(calls, tracings)


def _explain_jitted(calls: pd.DataFrame, tracings: pd.DataFrame) -> None:
    """Let JAX's own explanations decide which calls trace again, where they were recorded.

    Without them, a name stands for one function, which is traced for the first time in the trace.
    """
    explained = (tracings["name"] == LOWERING) & (tracings["call"] >= 0) & tracings["source"].notna()
    for call, changes in tracings.loc[explained, ["call", "changes"]].itertuples(index=False):
        calls.loc[call, "of_jax"] = False
        if changes is not None:
            calls.loc[call, "again"] = len(changes) > 0


def _made_anew(calls: pd.DataFrame, tracings: pd.DataFrame) -> None:
    """Find first calls of functions made from the same code as functions traced earlier."""
    first = tracings[(tracings["call"] >= 0) & ~tracings["again"] & tracings["source"].notna()]
    first = first[first["function"] == first["name"]].drop_duplicates("call")
    anew = first[first.duplicated(["task", "name", "source"])]["call"].to_numpy(np.int64)
    calls.loc[anew, "again"] = True
    rows = tracings.index[tracings["call"].isin(anew)]
    tracings.loc[rows, "again"] = True
    change = {"argument": "", "kind": "function", "before": None, "after": None}
    tracings.loc[rows, "changes"] = pd.Series([[change]] * len(rows), rows, dtype=object)


def _recorded(trace: Trace, rows: np.ndarray) -> list[dict[str, Any]]:
    if trace.nested is None or TRACING not in trace.nested.column_names:
        return [{}] * len(rows)
    return [one or {} for one in trace.nested[TRACING].take(pa.array(rows)).to_pylist()]


def _calls_of(
    events: pd.DataFrame, is_call: np.ndarray, is_inner: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """Return the enclosing call of each event: on its thread, otherwise the one that started last."""
    outer = parents(events, is_call | is_inner)
    around = np.flatnonzero(is_inner)
    callers = _outside(outer, outer[around], is_inner)
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    calls = np.flatnonzero(is_call)
    task = events["task"].cat.codes.to_numpy()
    for row in np.unique(task[calls]).tolist():
        own = calls[task[calls] == row]
        loose = np.flatnonzero((callers < 0) & (task[around] == row))
        at = np.searchsorted(start[own], start[around[loose]], side="right") - 1
        call = np.append(own, -1)[at]
        while (short := (call >= 0) & (end[call] < end[around[loose]])).any():
            call[short] = outer[call[short]]
        callers[loose] = call
    called: np.ndarray = number[callers]
    return called


class JittedEvents(NamedTuple):
    """The events of JAX's functions, as masks of the events of a trace.

    - `calls`: Calls by the program, and calls while another function is traced that compile on their own.
    - `lowerings`: One for each time a function was traced and compiled.
    """

    calls: np.ndarray
    lowerings: np.ndarray


def jitted_events(trace: Trace) -> JittedEvents:
    """Find the calls of functions that JAX compiles."""
    events = trace.events
    is_host = is_kind(events, "host")
    lowerings = is_host & map_categories(events["op"], lambda text: text == LOWERING)
    called = is_host & map_categories(events["op"], lambda text: text.startswith(CALL))
    if not called.any():
        return JittedEvents(called, lowerings & called)
    outer = parents(events, called | lowerings)
    calls = called & (outer < 0)
    compiling = outer[lowerings]
    compiling = compiling[compiling >= 0]
    # JAX records a call twice, one nested in the other, if its fast path does not know the call.
    around = outer[compiling]
    name = events["name"].astype(object).to_numpy()
    twice = (around >= 0) & (name[around] == name[compiling])
    calls[np.where(twice, around, compiling)] = True
    return JittedEvents(calls & called, lowerings)


def count_jitted(trace: Trace, calls: pd.DataFrame) -> None:
    """Mark the calls that trace a function called before, and use the functions' own names.

    JAX's own functions are left out: they are compiled for each op and shape.
    """
    functions = calls["name"].map(jitted_function)
    jitted = functions.astype(bool)
    calls["of_jax"] = _of_jax(trace, calls["name"])
    calls["name"] = calls["name"].where(~jitted, functions)
    before = calls.groupby(["task", "name"]).cumcount() > 0
    calls["again"] |= jitted & ~calls["of_jax"] & before & (calls["tracings"] > 0)


def add_python(events: pd.DataFrame, calls: pd.DataFrame, tracings: pd.DataFrame, outer: np.ndarray) -> None:
    """Start tracings of JAX with their calls: ``start_ns``, and ``own_ns`` without nested calls."""
    lowered = (tracings["name"] == LOWERING).to_numpy() & (tracings["call"] >= 0).to_numpy()
    if not lowered.any():
        return
    start = events["start_ns"].to_numpy(np.int64)
    duration = events["duration_ns"].to_numpy(np.int64)
    rows = tracings["event"].to_numpy(np.int64)[lowered]
    around = calls["event"].to_numpy(np.int64)[tracings["call"].to_numpy(np.int64)[lowered]]
    inner = calls["event"].to_numpy(np.int64)
    inner = inner[outer[inner] >= 0]
    within = np.zeros(len(events), np.int64)
    np.add.at(within, outer[inner], duration[inner])
    tracings.loc[lowered, "start_ns"] = start[around]
    tracings.loc[lowered, "own_ns"] = np.maximum(
        start[rows] + duration[rows] - start[around] - within[around], 0
    )


def _of_jax(trace: Trace, names: pd.Series) -> np.ndarray:
    """Return which names of calls are of JAX's own functions, such as ``add`` and ``_mean``, or may be.

    JAX compiles them for ops outside of jax.jit, once for each op and shape. Ops of the program's own
    function have a frame of it on their stacks; ops of JAX's function have only the frames that call it.
    Without any such stacks, all functions count as the program's own.
    """
    functions = names.map(jitted_function)
    jitted = functions.astype(bool).to_numpy(bool)
    known = set(_called(trace)) if jitted.any() else set()
    if not known:
        return np.zeros(len(names), bool)
    defined = {program for program, function in known if program == function}
    unknown: np.ndarray = ~functions.map(function_number).isin(defined).to_numpy(bool)
    return unknown & jitted


def _called(trace: Trace) -> Iterator[tuple[int, int]]:
    """Return the numbers of programs of JAX, with those of the functions on the stacks of their ops."""
    if trace.nested is None or trace.stacks is None or PROGRAM not in trace.nested.column_names:
        return
    table = pa.table({"program": trace.nested[PROGRAM], "stack": event_stacks(trace)})
    pairs = table.group_by(["program", "stack"]).aggregate([])
    for program, stack in zip(*(pairs[name].to_pylist() for name in ("program", "stack")), strict=True):
        if stack < 0 or not (program or "").startswith(_PROGRAM):
            continue
        number = function_number(program.partition("(")[0].removeprefix(_PROGRAM))
        for frame in trace.stacks.frames_of(stack):
            yield number, function_number(frame.function.rpartition(".")[2])
