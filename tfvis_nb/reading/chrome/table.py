"""Make a `Trace` from columns of bars: the common part of all dialects of trace events."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core.metadata import Metadata
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import undivided
from tfvis_nb.reading.chrome.counters import Place
from tfvis_nb.reading.chrome.slices import Columns, Slices
from tfvis_nb.reading.chrome.values import text
from tfvis_nb.reading.stepstats.timestamps import ABSURD
from tfvis_nb.reading.xspace.name_grammar import class_of
from tfvis_nb.texts import Text

EPOCH = 10**17
"""In ns; earlier times (before 1973) do not count from the epoch."""


def make_trace(
    columns: Columns,
    table: Mapping[str, Any],
    bars: Slices,
    *,
    origin: int = 0,
    notes: Sequence[str] = (),
    exact: bool = False,
    nested: pa.Table | None = None,
    metadata: Metadata | None = None,
    is_run: bool = False,
) -> Trace:
    """Make a `Trace` from bars.

    `table` has the other columns of the event table, and may replace names and details. `origin` is the
    file's time 0 in epoch ns, if known. With `exact`, times come from a `Trace`, so none is set aside.
    Without a column of steps all events are one recording, or with `is_run` one step.
    """
    start = columns.start
    usable = np.ones(len(start), bool)
    aside: list[str] = []
    middle = None
    if len(start) and not exact:
        # As with recorded steps, one row centuries away would make the picture useless.
        middle = float(np.quantile(start.astype(np.float64), 0.5, method="higher"))
        usable = np.abs(start.astype(np.float64) - middle) <= ABSURD
        if not usable.all():
            example = columns.name[int(np.flatnonzero(~usable)[0])].as_py()
            aside.append(Text("rows_set_aside", rows=int((~usable).sum()), example=example[:80]))
        if not origin and middle < EPOCH:
            aside.append(Text("times_from_start"))
    place = _places(columns, table, bars)
    recorded, lost = bars.counters.finish(place, origin=origin, middle=middle)
    flows, unbound = bars.flows.finish(columns)
    if flows:
        held = {} if nested is None else {name: nested[name] for name in nested.column_names}
        nested = pa.table(held | flows)
    built = event_table.build(
        {"name": columns.name, "detail": columns.detail, "duration_ns": columns.duration}
        | dict(table)
        | {"start_ns": start + origin}
    )
    if not usable.all():
        built = built[usable].reset_index(drop=True)
        nested = None if nested is None else nested.filter(usable)
    built, before = event_table.order(built)
    return Trace(
        built,
        nested=None if nested is None else nested.take(before),
        notes=[*bars.notes, *notes, *aside, *lost, *unbound],
        recorded_counters=recorded,
        metadata=(metadata or {}) | ({} if is_run or "step" in table else undivided()),
    )


def _places(columns: Columns, table: Mapping[str, Any], bars: Slices) -> Place:
    """Return a function for the task and the device of a process: those of its first bar, if any."""
    distinct, first = np.unique(columns.thread, return_index=True)
    row_of = {
        columns.threads[thread][0]: row for thread, row in zip(distinct.tolist(), first.tolist(), strict=True)
    }
    known = {
        process: tuple(str(table[name][row]) if name in table else "" for name in ("task", "device"))
        for process, row in row_of.items()
    }

    known |= bars.places

    def place(process: Any) -> tuple[str, str]:
        task, device = known.get(process, ("", ""))
        return task, device or bars.processes.get(process) or f"process {text(process)}".strip()

    return place


def category(texts: Sequence[str], codes: np.ndarray) -> pd.Categorical:
    """Make a categorical of codes into texts that may repeat, keeping only those that occur."""
    distinct = list(dict.fromkeys(texts))
    code = {text: number for number, text in enumerate(distinct)}
    own = np.array([code[text] for text in texts] or [0], np.int32)[codes]
    used, compact = np.unique(own, return_inverse=True)
    dtype = pd.CategoricalDtype(pd.Index([distinct[number] for number in used], dtype=event_table.TEXT))
    return pd.Categorical.from_codes(compact.astype(np.int32), dtype=dtype)


def of_texts(values: pa.Array) -> pd.Categorical:
    """Make a categorical of Arrow texts."""
    encoded = values.dictionary_encode()
    return category(encoded.dictionary.to_pylist(), encoded.indices.to_numpy())


def masked(values: np.ndarray, known: np.ndarray) -> Any:
    """Make an ``Int64`` column; rows that are not `known` become NA."""
    return pd.arrays.IntegerArray(np.where(known, values, 0).astype(np.int64), ~known)


def thread_lanes(bars: Slices, columns: Columns) -> list[str]:
    """Name the lane of each thread of `columns`: the thread's name, with the tid if several share it."""
    names = [bars.names.get(thread, "").strip() for thread in columns.threads]
    count = Counter((pid, name) for (pid, _), name in zip(columns.threads, names, strict=True))
    lanes = []
    for (pid, tid), name in zip(columns.threads, names, strict=True):
        if not name:
            lanes.append(text(tid) if isinstance(tid, str) else f"thread {0 if tid is None else tid}")
        else:
            lanes.append(name if count[pid, name] == 1 else f"{name}/{tid if tid is None else text(tid)}")
    return lanes


def thread_numbers(columns: Columns) -> Any:
    """Return the ``thread`` column: each bar's tid if it is a 64-bit number."""
    tids = [tid if type(tid) is int and abs(tid) < 2**63 else None for _, tid in columns.threads]
    known = np.array([tid is not None for tid in tids], bool)
    numbers = np.array([tid or 0 for tid in tids], np.int64)
    return masked(numbers[columns.thread], known[columns.thread])


def activities(names: pa.Array) -> pd.Categorical:
    """Make the ``op`` column of host activities: the common part of names that only differ in numbers."""
    encoded = names.dictionary_encode()
    return category([class_of(name) for name in encoded.dictionary.to_pylist()], encoded.indices.to_numpy())
