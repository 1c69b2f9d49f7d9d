"""The tables of a dataset, and the columns of all of their parts."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.analysis.communication.waits import waits
from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.analysis.events.bar_categories import drawn_activity
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.core.stacks import STACK, StackTable, event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.fleet.dataset.levels import rows_of
from tfvis_nb.fleet.dataset.step_figures import COUNTS, STEPS, step_figures

_ARROW = {"int32": pa.int32(), "int64": pa.int64(), "Int64": pa.int64(), "float64": pa.float64()}
_KEYS = ["step", "task", "op", "kind", "side"]


def _arrow(dtype: str) -> pa.DataType:
    return _ARROW.get(dtype, pa.string())


_COLUMNS: dict[str, pa.Schema] = {
    "events": pa.schema(
        [
            ("event", pa.int64()),
            *((name, _arrow(dtype)) for name, dtype in event_table.COLUMNS.items()),
            ("stack", pa.int32()),
            ("row", pa.int32()),
            ("waited_ns", pa.int64()),
            ("activity", pa.string()),
        ]
    ),
    "lanes": pa.schema(
        [(name, pa.string()) for name in ("task", "device", "lane", "kind")]
        + [(name, pa.int64()) for name in ("events", "busy_ns", "start_ns", "end_ns")]
    ),
    "transfers": pa.schema(
        [("event", pa.int64()), ("step", pa.int32()), ("task", pa.string())]
        + [(name, pa.string()) for name in ("kind", "source", "destination", "tensor")]
        + [(name, pa.int64()) for name in ("bytes", "start_ns", "duration_ns", "wait_ns", "transfer_ns")]
        + [(name, pa.int64()) for name in ("transfer_least_ns", "transfer_most_ns", "turn_ns")]
        + [("bandwidth", pa.float64())]
    ),
    "steps": STEPS,
    "ops": pa.schema(
        [("step", pa.int32()), *((name, pa.string()) for name in _KEYS[1:])]
        + [(name, pa.int64()) for name in ("count", "total_ns", "self_ns", "min_ns", "max_ns", "bytes")]
    ),
    "stacks": pa.schema(
        [
            ("task", pa.string()),
            *((name, pa.int32()) for name in ("stack", "caller", "line")),
            *((name, pa.string()) for name in ("file", "function", "text")),
            ("own", pa.bool_()),
        ]
    ),
}
_NEVER_NULL = {
    "events": ("event", "step", "start_ns", "duration_ns", "row", "waited_ns"),
    "lanes": ("events", "busy_ns", "start_ns", "end_ns"),
    "transfers": ("event", "step", "start_ns", "duration_ns"),
    "steps": ("step", "step_ns", *COUNTS),
    "ops": ("step", "count", "total_ns", "min_ns", "max_ns"),
    "stacks": ("stack", "caller", "line", "own"),
}

SCHEMAS: dict[str, pa.Schema] = {
    name: pa.schema(field.with_nullable(field.name not in _NEVER_NULL[name]) for field in columns)
    for name, columns in _COLUMNS.items()
}
"""Name of a table to its columns. ``task`` is in the paths, not in the files, like hive partitions.

``event`` is the row in the events of the source. ``row`` is the row of an event in its lane of a timeline, 0
on top. ``waited_ns`` is the time that an event first waited for its peers; ``activity`` decides the colour of
its bar. Times are in ns, sizes in bytes; unknown values are null.
"""


def table(frame: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Convert the columns of a frame to those of a schema."""
    return pa.table({field.name: _values(frame[field.name], field.type) for field in schema}, schema=schema)


def _values(column: pd.Series, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if isinstance(column.dtype, pd.CategoricalDtype):
        texts = pa.array(column.cat.categories.tolist(), pa.string())
        codes = pa.array(column.cat.codes.to_numpy(), pa.int32(), mask=column.isna().to_numpy())
        return pa.DictionaryArray.from_arrays(codes, texts).cast(kind)
    array = pa.array(column)
    return array if array.type == kind else array.cast(kind)


def events(trace: Trace) -> pa.Table:
    """Return the events of a trace, in order, with their numbers and those of their stacks."""
    stack = event_stacks(trace)
    numbers = pa.array(stack.astype(np.int32), mask=stack < 0)
    columns = {"event": pa.array(np.arange(len(trace.events)))} | {
        name: _values(trace.events[name], SCHEMAS["events"].field(name).type) for name in event_table.COLUMNS
    }
    drawn = {"row": pa.array(rows_of(trace.events)), "waited_ns": pa.array(waits(trace))}
    drawn["activity"] = pa.array(ACTIVITIES, pa.string()).take(pa.array(drawn_activity(trace)))
    return pa.table({**columns, STACK: numbers, **drawn}, schema=SCHEMAS["events"])


def lanes(trace: Trace) -> pa.Table:
    """Return `Trace.lanes`."""
    return table(trace.lanes, SCHEMAS["lanes"])


def transfers(trace: Trace) -> pa.Table:
    """Return `Trace.transfers`, each with the task that recorded it."""
    task = trace.events["task"].take(trace.transfers["event"].to_numpy()).reset_index(drop=True)
    return table(trace.transfers.assign(task=task), SCHEMAS["transfers"])


def steps(trace: Trace) -> pa.Table:
    """Return the figures of each step of each task: `tfvis_nb.fleet.dataset.step_figures.FIGURES`."""
    return step_figures(trace).cast(SCHEMAS["steps"])


def ops(trace: Trace) -> pa.Table:
    """Return the number of runs and the times of each op type in each step.

    Sums, minima and maxima combine exactly in any order. ``side`` and the figures are those of
    `tfvis_nb.analysis.op_statistics`; ``bytes`` is the sum of the known bytes of events.
    """
    own, known = self_times_of(trace)
    of_event = trace.events[["step", "task", "op", "kind"]].assign(
        side=pd.Categorical.from_codes(
            locations(trace.events).astype(np.int8), dtype=pd.CategoricalDtype(list(LOCATIONS))
        ),
        duration=trace.events["duration_ns"],
        own=pd.arrays.IntegerArray(np.where(known, own, 0), ~known),
        moved=trace.events["bytes"],
    )
    grouped = of_event.groupby(_KEYS, observed=True, dropna=False, sort=True)
    totals = grouped.agg(
        count=("duration", "size"),
        total_ns=("duration", "sum"),
        min_ns=("duration", "min"),
        max_ns=("duration", "max"),
    )
    for name, column in (("self_ns", "own"), ("bytes", "moved")):
        totals[name] = grouped[column].sum(min_count=1)
    return table(totals.reset_index(), SCHEMAS["ops"])


def stacks(trace: Trace) -> pa.Table:
    """Return the Python stacks of each task's events, and their calling stacks.

    One row per stack: its innermost frame, and the number of its calling stack, -1 for none.
    """
    if trace.stacks is None or not len(trace.stacks):
        return SCHEMAS["stacks"].empty_table()
    number = event_stacks(trace)
    every = []
    for task, code in zip(*_distinct(trace.events["task"]), strict=True):
        used = _with_callers(number[trace.events["task"].cat.codes.to_numpy() == code], trace.stacks)
        every.append(
            _frames(trace.stacks, used).append_column("task", pa.array([task] * len(used), pa.string()))
        )
    return pa.concat_tables(one.select(SCHEMAS["stacks"].names) for one in every).cast(SCHEMAS["stacks"])


def _distinct(tasks: pd.Series) -> tuple[list[str], list[int]]:
    codes = np.unique(tasks.cat.codes.to_numpy()).tolist()
    return [str(tasks.cat.categories[code]) for code in codes], codes


def _with_callers(numbers: np.ndarray, stacks: StackTable) -> np.ndarray:
    """Return the numbers of stacks and of all of their callers, in order."""
    caller = stacks.stacks["caller"].to_numpy()
    used = np.zeros(len(caller), bool)
    new = np.unique(numbers[numbers >= 0])
    while len(new):
        used[new] = True
        new = np.unique(caller[new])
        new = new[(new >= 0) & ~used[new]]
    return np.flatnonzero(used)


def _frames(stacks: StackTable, numbers: np.ndarray) -> pa.Table:
    chosen = stacks.stacks.take(pa.array(numbers))
    frames = stacks.frames.take(chosen["frame"])
    files = stacks.files.take(frames["file"])
    return pa.table(
        {
            "stack": pa.array(numbers.astype(np.int32)),
            "caller": chosen["caller"],
            "file": files["name"],
            "line": frames["line"],
            "function": frames["function"],
            "text": frames["text"],
            "own": files["own"],
        }
    )


TABLES: dict[str, Callable[[Trace], pa.Table]] = {
    "events": events,
    "lanes": lanes,
    "transfers": transfers,
    "steps": steps,
    "ops": ops,
    "stacks": stacks,
}
"""Name of a table to the function that makes it from a trace, with the columns of `SCHEMAS`."""
