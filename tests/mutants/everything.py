"""Everything that can be done with a trace; one that was read has to survive all of it, and stay sound."""

import contextlib
import functools
import hashlib
import importlib
import inspect
import json
import pkgutil
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

import tfvis_nb as tv
from tests.hostile_names import HOSTILE
from tests.large_traces import answers_of, layout_of
from tests.support.clauses import clauses
from tfvis_nb import analysis
from tfvis_nb import events as event_table
from tfvis_nb.analysis import (
    fused_instructions,
    what_if,
)
from tfvis_nb.analysis.gates.check import assert_trace
from tfvis_nb.analysis.steps import breakdown
from tfvis_nb.core.trace_tables import Table
from tfvis_nb.display.charts import Charts
from tfvis_nb.display.pages.dashboard import html_dashboard
from tfvis_nb.fleet import fleet_drift, fleet_heat_map, fleet_outliers, fleet_stragglers, slower_ops
from tfvis_nb.fleet.analysis import drift
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.writing.csv import rows_csv

MARKUP = tuple(text for text in HOSTILE if text.startswith(("</script>", "<img", "\"'><svg", "</noscript")))
"""Texts that a page must escape."""

_KEPT = ("notes", "title", "graphs", "run_metadata", "step_labels", "clock_bounds")
"""Attributes of a trace other than events and nested records."""
_COUNTS = ("count", "events", "bytes", "moving")


class Analysis(NamedTuple):
    """A public function from a trace to a figure, and the values that its option can have."""

    name: str
    call: Callable[..., Any]
    given: tuple[str, ...]
    option: str
    values: tuple[str, ...]


@functools.cache
def analyses() -> tuple[Analysis, ...]:
    """Return every analysis there is that needs a trace or its events and nothing more.

    All but `what_if`, which may refuse a trace, and `assert_trace`, which needs a limit.
    """
    found = []
    for info in pkgutil.walk_packages(analysis.__path__, f"{analysis.__name__}."):
        module = importlib.import_module(info.name)
        for name, call in vars(module).items():
            if (
                not hasattr(call, "__wrapped__")
                or call.__module__ != module.__name__
                or call in (assert_trace, what_if)
            ):
                continue
            parameters = inspect.signature(call).parameters
            needed = tuple(one.name for one in parameters.values() if one.default is inspect.Parameter.empty)
            if set(needed) <= {"trace", "events", "a", "b", "bin_ns"}:
                option = next((one for one in ("by", "between") if one in parameters), "")
                values = _values(module, parameters[option].default) if option else ()
                found.append(
                    Analysis(
                        f"{info.name.removeprefix(f'{analysis.__name__}.')}.{name}",
                        call,
                        needed,
                        option,
                        values,
                    )
                )
    return tuple(found)


def _values(module: object, default: str) -> tuple[str, ...]:
    """Return the values of an option: those of the module's constant that has its default."""
    groups = [
        value for value in vars(module).values() if isinstance(value, tuple | dict) and default in value
    ]
    return tuple(groups[0]) if groups else (default,)


_SURVIVED: set[bytes] = set()


def survive(trace: tv.Trace, chance: random.Random) -> bool:
    """Run everything on a trace; raise AssertionError if it is not sound, or any other error.

    A trace equal to one that has survived is not run again: then this returns False.
    """
    digest = fingerprint(trace)
    if digest in _SURVIVED:
        return False
    sound(trace)
    for name, one in inspect.getmembers(tv.Trace):
        if isinstance(one, Table | functools.cached_property):
            getattr(trace, name)
    sound_tables(trace)
    beside = _beside(trace, chance)
    for one in analyses():
        _analyse(one, trace, beside, chance)
    for program, hlo_op in trace.hlo_ops[["program", "hlo_op"]].head(3).itertuples(index=False, name=None):
        fused_instructions(trace, program, hlo_op)
    # A trace without launches, say, is refused with a reason.
    with contextlib.suppress(ValueError):
        repr(
            trace.what_if(activities={chance.choice(("launch", "host_compute", "device_compute")): 0.5}).times
        )
    for name in Charts.NAMES:
        trace.charts.why_not(name)
    _as_dataset(trace)
    _shown(trace, chance)
    _asked(trace, chance)
    _written(trace)
    _SURVIVED.add(digest)
    return True


def _as_dataset(trace: tv.Trace) -> None:
    """Make the tables that a dataset has of a trace, and the analyses of fleets from them."""
    tables = {name: make(trace) for name, make in TABLES.items()}
    steps, ops = (tables[name].to_pandas() for name in ("steps", "ops"))
    fleet_heat_map(steps)
    fleet_outliers(steps)
    fleet_stragglers(steps)
    for by in drift.BY:
        fleet_drift(steps, by=by)
    slower_ops(ops, since=int(steps["step"].max()) if len(steps) else 0)


def fingerprint(trace: tv.Trace) -> bytes:
    """Return what equal traces have in common: all that was read of them."""
    columns = pd.util.hash_pandas_object(trace.events, index=False).to_numpy()
    rest = (
        list(trace.events.columns),
        *(getattr(trace, name) for name in _KEPT),
        None if trace.nested is None else trace.nested.to_pylist(),
    )
    return hashlib.sha256(columns.tobytes() + repr(rest).encode(errors="backslashreplace")).digest()


def sound(trace: tv.Trace) -> None:
    """Check a trace without computing anything from it."""
    event_table.check(trace.events)
    if trace.nested is not None and trace.nested.num_rows != len(trace.events):
        raise AssertionError(f"{trace.nested.num_rows} nested rows for {len(trace.events)} events")
    if not all(isinstance(note, str) for note in [*trace.notes, trace.title, *trace.step_labels.values()]):
        raise AssertionError("notes or labels that are no texts")


def sound_tables(trace: tv.Trace) -> None:
    """Check the tables that a trace has itself."""
    events, lanes, steps = trace.events, trace.lanes, trace.steps
    if int(lanes["events"].sum()) != len(events):
        raise AssertionError("events without a lane")
    if not lanes["busy_ns"].between(0, lanes["end_ns"] - lanes["start_ns"]).all():
        raise AssertionError("a lane is busy longer than it lasts")
    if int(steps["events"].sum()) != len(events) or (steps["duration_ns"] < 0).any():
        raise AssertionError("steps without all events, or of no length")
    moved = trace.transfers
    if (moved["wait_ns"].dropna() < 0).any() or (moved["transfer_ns"].dropna() < 0).any():
        raise AssertionError("a transfer waits or moves less than no time")
    ends = trace.edges[["source", "target"]].to_numpy()
    if len(ends) and not (ends.min() >= 0 and ends.max() < len(events)):
        raise AssertionError("an edge to no event")
    of_steps = trace.breakdown
    parts = of_steps[list(breakdown.PARTS)].sum(axis=1)
    if not (parts == of_steps["step_ns"]).all():
        raise AssertionError("the parts of a step are not the step")
    if not trace.findings["share"].dropna().between(0, 1 + 1e-9).all():
        raise AssertionError("a finding of more than all")
    wanted = trace.critical_path.groupby("step")["duration_ns"].sum()
    lengths = steps.set_index("step")["duration_ns"].reindex(wanted.index)
    if not (wanted == lengths).all():
        raise AssertionError("the critical path is not as long as its step")


def _analyse(one: Analysis, trace: tv.Trace, beside: tv.Trace, chance: random.Random) -> None:
    ends = trace.events["start_ns"] + trace.events["duration_ns"]
    span = int(ends.max() - trace.events["start_ns"].iloc[0]) if len(ends) else 1
    given = {
        "trace": trace,
        "events": trace.events,
        "a": trace,
        "b": beside,
        "bin_ns": max(1, span // chance.choice((1, 7, 1000))),
    }
    options = {one.option: chance.choice(one.values)} if one.option else {}
    table = one.call(*(given[name] for name in one.given), **options)
    if isinstance(table, pd.DataFrame):
        for name in table.columns:
            if (
                name in _COUNTS
                and pd.api.types.is_numeric_dtype(table[name])
                and (table[name].dropna() < 0).any()
            ):
                raise AssertionError(f"{one.name}: a {name} below 0")


def _beside(trace: tv.Trace, chance: random.Random) -> tv.Trace:
    """Return another trace to compare with: the same, or its first half."""
    if chance.random() < 0.5 or len(trace.events) < 2:
        return trace
    half = len(trace.events) // 2
    nested = None if trace.nested is None else trace.nested.slice(0, half)
    return tv.Trace(trace.events.iloc[:half].reset_index(drop=True), nested=nested, title=trace.title)


def _shown(trace: tv.Trace, chance: random.Random) -> None:
    pages = [html_dashboard(trace, max_bytes=None)]
    start = trace.events["start_ns"].to_numpy()
    end = start + trace.events["duration_ns"].to_numpy()
    edges = np.concatenate([start, end]) if len(start) else np.zeros(1, np.int64)
    low, high = sorted(int(chance.choice(edges)) + chance.choice((-1, 0, 0, 1, 1000)) for _ in range(2))
    try:
        pages.append(trace.to_html(time_range=(low, high), max_bytes=None))
    except ValueError:
        if ((start < high) & (end > low)).any():
            raise
    repr(trace)
    for page in [*pages, trace._repr_html_()]:
        for text in MARKUP:
            if text in page:
                raise AssertionError(f"markup of a trace in a page: {text}")


def _asked(trace: tv.Trace, chance: random.Random) -> None:
    """Ask for a trace's rows as the view of a large one does."""
    if trace.events.empty:
        return
    layout = layout_of(trace)
    asking = answers_of(layout)
    asking.outline_bytes(trace.title, "windows")
    span = int(layout.end.max())
    start = chance.randrange(span + 1)
    end = chance.randrange(start, span + 1)
    event = chance.randrange(len(trace.events))
    questions: list[dict[str, Any]] = [
        {
            "kind": "window",
            "start": start,
            "end": end,
            "bucket": chance.choice((1, 1024)),
            "clauses": clauses("a"),
        },
        {"kind": "events", "events": [event]},
        {"kind": "search", "clauses": clauses(chance.choice(("mat", ">1us", "kind:op", "/"))), "step": None},
        {"kind": "memory"},
        {"kind": "statistics", "start": start, "end": end, "lanes": None, "step": None, "by": "op"},
    ]
    for question in questions:
        answer, _ = asking.answer(json.loads(json.dumps(question)))
        json.dumps(answer, allow_nan=False)
    rows_csv(trace.events.iloc[event : event + 50])


def same_records(one: pa.Table | None, other: pa.Table | None) -> bool:
    """Say whether nested records are the same; Arrow finds a NaN equal to none."""
    if one is None or other is None:
        return one is other
    return one.column_names == other.column_names and all(
        a.equals(b) or repr(a.to_pylist()) == repr(b.to_pylist())
        for a, b in zip(one.columns, other.columns, strict=True)
    )


def _written(trace: tv.Trace) -> None:
    """Write a trace in both formats, and read it back."""
    text = trace.to_chrome_trace()
    if len(trace.events):
        again = tv.read_trace(text.encode())
        sound(again)
    else:
        again = trace  # a Chrome trace without bars is an EmptyTraceError, as it should be
    if len(again.events) != len(trace.events):
        raise AssertionError(f"{len(trace.events)} events, {len(again.events)} of the Chrome trace")
    # Which of two that start together comes first is not kept.
    if not np.array_equal(np.sort(again.events["duration_ns"]), np.sort(trace.events["duration_ns"])):
        raise AssertionError("other durations in the Chrome trace")
    with tempfile.TemporaryDirectory() as folder:
        again = tv.read_trace(trace.to_parquet(Path(folder, "trace.parquet")))
    if not again.events.equals(trace.events):
        raise AssertionError("other events in the Parquet file")
    if not same_records(again.nested, trace.nested):
        raise AssertionError("other nested records in the Parquet file")
    for name in _KEPT:
        if getattr(again, name) != getattr(trace, name):
            raise AssertionError(f"other {name} in the Parquet file")
