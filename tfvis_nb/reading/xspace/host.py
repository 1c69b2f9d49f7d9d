"""Convert events of host threads to rows: ops, executors, input pipelines, launches, memory."""

from collections.abc import Callable

import numpy as np

from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.events import KINDS
from tfvis_nb.reading.xspace.eager import eager_marks
from tfvis_nb.reading.xspace.events import Events
from tfvis_nb.reading.xspace.jitted import LOWERING, function_number, jitted_calls
from tfvis_nb.reading.xspace.name_grammar import EventName, class_of, host_event, kernel_name
from tfvis_nb.reading.xspace.programs import STATS, Programs
from tfvis_nb.reading.xspace.rows import Coded, Rows, Sparse
from tfvis_nb.reading.xspace.stats import Values

_LINKS = ("_pt", "_p", "_ct", "_c", "_r", "correlation_id", "group_id")
_NUMBERS = (
    *("step_num", "run_id", "tracing_count", "instance_key", "group_key"),
    *("allocation_bytes", "bytes_allocated", "bytes_available", "fragmentation", "addr", "is_func"),
)
_WANTED = frozenset((*_LINKS, *_NUMBERS, *STATS, "tf_function_call"))

HIDDEN = frozenset(
    (
        *_LINKS,
        "scope_range_id",
        "context_id",
        "device_id",
        "id",
        "parent_id",
        "_src",
        # The state of an allocator's heap after an event, which always differs; most of the stats are
        # columns.
        "bytes_allocated",
        "bytes_available",
        "peak_bytes_in_use",
        "fragmentation",
        "addr",
    )
)
"""Stats that are not in the detail of an event: they link events or have their own columns."""

_BATCHES = ("one_step_on_", "multi_step_on_", "train_function", "test_function", "predict_function")
"""The functions that Keras calls for a batch, since TensorFlow 2.2."""

_MIX = 0x9E3779B97F4A7C15 - (1 << 64)


def host_rows(events: Events, programs: Programs) -> Rows:
    """Make rows from the events of host threads; their lanes are their lines."""
    count = len(events)
    values = events.stats.values(_WANTED)
    called = _event_names(events)
    meta = events.meta
    kind = np.array([KINDS.index(one.kind) for one in called], np.uint8)[meta]
    name = Coded(meta, [one.name for one in called])
    op = Coded(meta, [one.op for one in called])
    codes, texts = events.stats.described(HIDDEN)
    detail = Coded(codes, texts)
    launched, correlation = values.integers("correlation_id")
    if len(launched):
        mask = np.zeros(count, bool)
        mask[launched] = True
        name = name.where(mask, Coded(meta, _each(events, kernel_name)))
        op = op.where(mask, Coded.of("launch", count))
    # On ROCm launches also have the name of their instruction; a thunk of the CPU launches nothing.
    thunk = values.spread("hlo_op", count) >= 0
    thunk[launched] = False
    if thunk.any():
        kind[thunk] = KINDS.index("op")
        op = op.where(thunk, Coded(meta, _each(events, class_of)))
    return Rows(
        line=events.line,
        start=events.start,
        duration=events.duration,
        kind=kind,
        name=name,
        op=op,
        detail=detail,
        size_bytes=_allocated(events, values),
        marks={
            "launch": Sparse(launched, correlation),
            "instruction": programs.of_events(values, events.plane.events.texts, events.meta),
            **_marks(events, values),
            **_executions(values),
            **_iterators(events),
            "jitted": jitted_calls(events.plane.events.texts, meta),
            "lowering": _flag(_named(events, LOWERING)),
            "ended": _flag(_named(events, "end: ")),
            **eager_marks(events.plane.events.texts, meta, op, kind),
        },
    )


def _event_names(events: Events) -> list[EventName]:
    """Parse the names that occur; others are left unchanged."""
    texts = events.plane.events.texts
    called = [EventName("", "", "host")] * len(texts)
    for index in distinct_numbers(events.meta).tolist():
        called[index] = host_event(texts[index], events.plane.shown[index])
    return called


def _each(events: Events, read: Callable[[str], str]) -> list[str]:
    """Apply a function to the names that occur."""
    texts = [""] * len(events.plane.events.texts)
    for index in distinct_numbers(events.meta).tolist():
        texts[index] = read(events.plane.events.texts[index])
    return texts


def _named(events: Events, *beginnings: str) -> np.ndarray:
    """Return a mask of the events whose names start with a text."""
    listed = np.array([text.startswith(beginnings) for text in events.plane.events.texts], bool)
    mask: np.ndarray = listed[events.meta]
    return mask


def _allocated(events: Events, values: Values) -> np.ndarray:
    size_bytes = np.full(len(events), -1, np.int64)
    owner, size = values.integers("allocation_bytes")
    size_bytes[owner] = size
    # A freed buffer is not an output.
    size_bytes[~_named(events, "MemoryAllocation")] = -1
    return size_bytes


def _marks(events: Events, values: Values) -> dict[str, Sparse]:
    on_input_threads = np.isin(
        events.line, [number for number, line in events.lines.items() if line.name.startswith("tf_data_")]
    )
    runs = _named(events, "FunctionRun", "SessionRun") & ~on_input_threads
    rows = np.flatnonzero(runs | _named(events, "KernelAndDeviceFunc::Run"))
    called = values.spread("tf_function_call", len(events)) >= 0
    marks = {
        "produced": _linked(values, "_pt", "_p", len(events)),
        "consumed": _linked(values, "_ct", "_c", len(events)),
        "step_num": Sparse(*values.integers("step_num")),
        "group_id": Sparse(*values.integers("group_id")),
        "function": _flag(called),
        "batch": _flag(called & _named(events, *_BATCHES)),
        "is_func": Sparse(*values.integers("is_func")),
        "session": _flag(_named(events, "SessionRun")),
        "run": Sparse(rows, np.where(runs[rows], 1, 2)),
        "noise": _flag(_named(events, "ThreadpoolListener::")),
        "instance": _instances(values, len(events)),
        "in_use": Sparse(*values.integers("bytes_allocated")),
        "available": Sparse(*values.integers("bytes_available")),
        "fragmentation": Sparse(*values.reals("fragmentation")),
        "address": Sparse(*values.integers("addr")),
    }
    starts, stops = (_named(events, f"ThreadpoolListener::{edge}Region") for edge in ("Start", "Stop"))
    rows = np.flatnonzero(starts | stops)
    marks["region"] = Sparse(rows, starts[rows].astype(np.int64))
    return marks


def _executions(values: Values) -> dict[str, Sparse]:
    """Mark the events of program runs, and those whose program belongs to a JAX function."""
    rows, numbers = values.integers("run_id")
    if not len(rows):
        return {}
    owner, code = values.texts("hlo_module")
    functions = [text.removeprefix("jit_") if text.startswith("jit_") else "" for text in values.vocabulary]
    number = np.array([function_number(one) if one else -1 for one in functions], np.int64)[code]
    ran = (number >= 0) & np.isin(owner, rows)
    return {"execution": Sparse(rows, numbers), "executed": Sparse(owner[ran], number[ran])}


def _iterators(events: Events) -> dict[str, Sparse]:
    rows = np.flatnonzero(_named(events, "Iterator::"))
    if not len(rows):
        return {}
    values = events.stats.take(rows).values({"id", "parent_id"})
    marks = {"iterator": values.integers("id"), "parent_iterator": values.integers("parent_id")}
    return {mark: Sparse(rows[owner], number) for mark, (owner, number) in marks.items()}


def _flag(mask: np.ndarray) -> Sparse:
    rows = np.flatnonzero(mask)
    return Sparse(rows, np.ones(len(rows), np.int64))


def _linked(values: Values, kind: str, number: str, count: int) -> Sparse:
    """Return the contexts that events produce or consume, numbered separately for each context type."""
    rows, numbers = values.integers(number)
    kinds = values.numbers(kind, count)[rows]
    with np.errstate(over="ignore"):
        return Sparse(rows, numbers ^ ((kinds + 2) * np.int64(_MIX)))


def _instances(values: Values, count: int) -> Sparse:
    rows, instance = values.integers("instance_key")
    group = values.numbers("group_key", count)[rows]
    return Sparse(rows, (group << 32) + instance)
