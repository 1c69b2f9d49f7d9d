"""Trace events of the TensorFlow and JAX profilers: the JSON of the trace viewer, which repeats an XSpace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.chrome import gpu
from tfvis_nb.reading.chrome.slices import Columns, Slices, select
from tfvis_nb.reading.chrome.table import category, make_trace, masked, of_texts, thread_lanes, thread_numbers
from tfvis_nb.reading.chrome.values import integers, maybe_texts, text
from tfvis_nb.reading.stepstats.label_grammar import COLLECTIVE_KERNEL
from tfvis_nb.reading.xspace.name_grammar import EventName, class_of, host_event, kernel_name
from tfvis_nb.texts import Text

_PLANE = re.compile(r"(?:(?P<host>.*?)\s*)?(?P<plane>/(?:device|host):[A-Za-z_]+(?::\d+)?)")
_STREAM = re.compile(r"[Ss]tream\s*#?(?P<number>\d+)(?:\(.*\))?")
_DERIVED = re.compile(
    r"Steps|XLA (?:Modules|Ops|TraceMe)|Async XLA Ops|(?:TensorFlow|Framework) (?:Ops|Name Scope)"
    r"|Launch Stats.*|Source code|Source|HLO .*|Kernel Launch"
)
_OP_NAME = re.compile(r"(?P<node>[^:\s#]+):(?P<op>[A-Za-z_]\w*)(?:#.*)?")
_SPECIAL = re.compile(
    rf"(?P<memcpy>memcpy)|(?P<memset>memset)|(?P<collective>{COLLECTIVE_KERNEL})", re.IGNORECASE
)
_XLA_COLLECTIVE = re.compile(
    r"(?:psum|pmax|pmin|ppermute|(?:ragged-)?all-(?:reduce|gather|to-all)|reduce-scatter|collective-permute)"
    r"(?:-start|-done)?(?:\.\d+)*"
)


class ViewerReader:
    """Reads the JSON of the trace viewer: TensorFlow since 2.1, and JAX."""

    def __init__(self) -> None:
        self._bars = Slices(
            (
                "long_name",
                "tf_op",
                "annotation",
                "correlation_id",
                "group_id",
                "step_num",
                "kernel_details",
                "memcpy_details",
            )
        )

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._bars.add(events)

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are not used."""
        del keys
        columns, notes = self._without_derived(self._bars.finish())
        on_gpu = np.array([self._gpu(thread) for thread in columns.threads] or [False])[columns.thread]
        details = pc.coalesce(
            *(maybe_texts(columns.arguments[name]) for name in ("kernel_details", "memcpy_details"))
        ).fill_null("")
        annotations = [
            f"annotation={text(one)}" if one is not None else "" for one in columns.arguments["annotation"]
        ]
        if any(annotations):
            columns.detail = _join_texts(pa.array(annotations, pa.large_string()), columns.detail)
        marked = columns.arguments["step_num"]
        numbers = [f"step_num={text(one)}" if one is not None else "" for one in marked]
        if any(numbers):
            columns.detail = _join_texts(columns.detail, pa.array(numbers, pa.large_string()))
        called = _event_names(columns, on_gpu)
        kinds = called.kinds
        devices = [self._device(thread) for thread in columns.threads]
        correlation, known = integers(columns.arguments["correlation_id"])
        launch = gpu.launches(correlation, known, ~on_gpu, on_gpu)
        own = pc.if_else(pc.equal(called.name, columns.name), pa.scalar("", pa.large_string()), columns.name)
        details_shown = pc.if_else(pa.array(on_gpu), _join_texts(columns.name, details), own)
        table = {
            "device": category(devices, columns.thread),
            "kind": of_texts(pa.array(kinds.tolist(), pa.large_string())),
            "name": called.name,
            "detail": _join_texts(details_shown, self._with_long_name(columns)),
            "thread": thread_numbers(columns),
            "scheduled_ns": masked(columns.start[launch], launch >= 0),
            **self._places(columns, called, devices, details),
        }
        marks = _Marks(columns, called.name)
        groups, grouped = integers(columns.arguments["group_id"])
        grouped &= _in_steps(groups, kinds)
        labels: dict[int, str] = {}
        if grouped.any():
            table["step"], said_steps = _steps(columns, groups, grouped)
            notes.append(said_steps)
            labels = marks.labels(table["step"])
        elif len(marks.rows):
            table["step"] = marks.steps(columns, launch)
            labels = marks.labels(table["step"])
            notes.append(Text("steps_by_step_num", marks=len(labels)))
        trace = make_trace(columns, table, self._bars, notes=notes)
        trace.step_labels = labels
        return trace

    def _with_long_name(self, columns: Columns) -> pa.Array:
        """Return details with the instruction of XLA ops that are named after their framework op."""
        long, op = (maybe_texts(columns.arguments[name]) for name in ("long_name", "tf_op"))
        both = pc.and_(long.is_valid(), op.is_valid())
        return pc.if_else(both, _join_texts(long.fill_null(""), columns.detail), columns.detail)

    def _plane(self, pid: Any) -> str:
        match = _PLANE.search(self._bars.processes.get(pid, ""))
        return match["plane"] if match else ""

    def _gpu(self, thread: tuple[Any, Any]) -> bool:
        """Return whether the bars of a thread ran on a stream of a GPU."""
        name = self._bars.names.get(thread, "")
        return self._plane(thread[0]).startswith("/device:GPU") and _STREAM.match(name.strip()) is not None

    def _device(self, thread: tuple[Any, Any]) -> str:
        process = self._bars.processes.get(thread[0], "")
        match = _PLANE.search(process)
        if match is None:
            return process or f"process {thread[0]}"
        host = f"{match['host']} " if match["host"] else ""
        return host + ("/device:CPU:0" if match["plane"].startswith("/host:CPU") else match["plane"])

    def _without_derived(self, columns: Columns) -> tuple[Columns, list[str]]:
        """Leave out lanes that xprof derives from others, if these are present."""
        names = [self._bars.names.get(thread, "").strip() for thread in columns.threads]
        derived = np.array([bool(_DERIVED.fullmatch(name)) for name in names] or [False])
        base = {pid for (pid, _), drawn in zip(columns.threads, derived.tolist(), strict=False) if not drawn}
        repeats = derived & np.array([pid in base for pid, _ in columns.threads] or [False])
        rows = repeats[columns.thread]
        if not rows.any():
            return columns, []
        count = Counter(names[thread] for thread in columns.thread[rows].tolist())
        note = Text("derived_rows_left_out", rows=int(rows.sum()), lanes=", ".join(sorted(count)[:8]))
        return select(columns, np.flatnonzero(~rows)), [note]

    def _places(
        self, columns: Columns, called: _EventNames, devices: list[str], details: pa.Array
    ) -> dict[str, Any]:
        """Return lanes, op types, bytes and ends of copies."""
        kinds, ops = called.kinds, called.ops
        lanes = [_stream(lane) for lane in thread_lanes(self._bars, columns)]
        lane = np.array(lanes, object)[columns.thread]
        lane[kinds == "memset"] = "memset"
        size_bytes = np.full(len(kinds), -1, np.int64)
        source, destination = (np.full(len(kinds), "", object) for _ in range(2))
        rows = np.flatnonzero(kinds == "memcpy")
        take = pa.array(rows)
        copies = gpu.copies(columns.name.take(take).to_pylist(), details.take(take).to_pylist())
        for row, copy in zip(rows.tolist(), copies, strict=True):
            lane[row], ops[row], size_bytes[row] = copy.lane, copy.op, copy.size_bytes
            device = devices[int(columns.thread[row])]
            source[row], destination[row] = gpu.ends(copy, device, "/device:CPU:0")
        made = {"lane": lane, "op": ops, "source": source, "destination": destination}
        table = {
            what: of_texts(pa.array(column.tolist(), pa.large_string())) for what, column in made.items()
        }
        return table | {"bytes": masked(size_bytes, size_bytes >= 0)}


class _EventNames(NamedTuple):
    """The name of each bar, its op type or class, and its kind."""

    name: pa.Array
    ops: np.ndarray
    kinds: np.ndarray


class _Marks:
    """The bars that a program marked as steps, with the argument ``step_num``, by start."""

    def __init__(self, columns: Columns, name: pa.Array) -> None:
        number, known = integers(columns.arguments["step_num"])
        rows = np.flatnonzero(known)
        self.rows = rows[np.argsort(columns.start[rows], kind="stable")]
        names = name.take(pa.array(self.rows)).to_pylist()
        self._labels = [
            f"{one} {of_row}" for one, of_row in zip(names, number[self.rows].tolist(), strict=True)
        ]

    def labels(self, step: np.ndarray) -> dict[int, str]:
        """Return the label of each step that contains a mark, from its first mark."""
        labels: dict[int, str] = {}
        for number, label in zip(step[self.rows].tolist(), self._labels, strict=True):
            if number != NO_STEP:
                labels.setdefault(number, label)
        return labels

    def steps(self, columns: Columns, launch: np.ndarray) -> np.ndarray:
        """Return the step of each row: the mark during which it was launched or, if unknown, started."""
        spans: list[tuple[int, int, str]] = []
        for row, label in zip(self.rows.tolist(), self._labels, strict=True):
            begin, end = int(columns.start[row]), int(columns.start[row] + columns.duration[row])
            if spans and begin < spans[-1][1]:
                before, stop, same = spans.pop()
                if label == same:
                    # Every host marks the same step.
                    begin, end = before, max(end, stop)
                elif end > stop:
                    # The marks of two loops at once.
                    spans.append((before, stop, same))
                # Otherwise an epoch, which contains marked steps.
            spans.append((begin, end, label))
        starts, stops = (np.array([span[side] for span in spans], np.int64) for side in (0, 1))
        when = np.where(launch >= 0, columns.start[launch], columns.start)
        index = np.searchsorted(starts, when, side="right") - 1
        inside = (index >= 0) & (when < stops[index])
        return np.where(inside, index, NO_STEP).astype(np.int32)


def _stream(lane: str) -> str:
    match = _STREAM.match(lane)
    return f"stream:{match['number']}" if match else lane


def _join_texts(first: pa.Array, *others: pa.Array) -> pa.Array:
    blank = pa.scalar(" ", pa.large_string())
    return pc.utf8_rtrim_whitespace(pc.binary_join_element_wise(first, *others, blank))


def _event_names(columns: Columns, on_gpu: np.ndarray) -> _EventNames:
    """Name each distinct bar like the rows of an XSpace; its full name may be in an argument."""
    shown = columns.name
    full = pc.coalesce(
        *(maybe_texts(columns.arguments[name]) for name in ("tf_op", "annotation", "long_name")), shown
    ).cast(pa.large_string())
    coded = [texts.dictionary_encode() for texts in (full, shown)]
    texts_of = [one.dictionary.to_pylist() for one in coded]
    whole, short = (one.indices.to_numpy().astype(np.int64) for one in coded)
    which, distinct = pd.factorize((whole * (len(texts_of[1]) + 1) + short) * 2 + on_gpu)
    names = []
    for pair in distinct.tolist():
        full_at, shown_at = divmod(pair // 2, len(texts_of[1]) + 1)
        read = _of_gpu if pair % 2 else host_event
        shown_name = texts_of[1][shown_at]
        event = read(texts_of[0][full_at], shown_name)
        is_collective = event.kind in ("host", "kernel") and _XLA_COLLECTIVE.fullmatch(shown_name)
        names.append(event._replace(kind="collective") if is_collective else event)
    name = pa.array([one.name for one in names], pa.large_string()).take(pa.array(which))
    ops, kinds = (
        np.array([getattr(one, part) for one in names] or [""], object)[which] for part in ("op", "kind")
    )
    return _EventNames(name, ops, kinds)


def _of_gpu(full: str, shown: str) -> EventName:
    special = _SPECIAL.match(shown)
    kind = str(special.lastgroup) if special else "kernel"
    match = _OP_NAME.fullmatch(full)
    node, op = (match["node"], match["op"]) if match else (kernel_name(shown), class_of(kernel_name(shown)))
    return EventName(node, "Memset" if kind == "memset" else op, kind)


def _in_steps(groups: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Return the rows whose group ran ops: tf.data's threads have groups of their own, without any."""
    ran = np.isin(groups, np.unique(groups[kinds != "host"]))
    return ran if ran.any() else np.ones(len(groups), bool)


def _steps(columns: Columns, groups: np.ndarray, grouped: np.ndarray) -> tuple[np.ndarray, str]:
    """Number the profiler's groups by start; rows outside any have `NO_STEP`."""
    numbers, first = np.unique(groups[grouped], return_inverse=True)
    begins = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(begins, first, columns.start[grouped])
    rank = np.empty(len(numbers), np.int64)
    rank[np.argsort(begins, kind="stable")] = np.arange(len(numbers))
    step = np.full(len(groups), NO_STEP, np.int64)
    step[grouped] = rank[first]
    return step.astype(np.int32), Text("steps_by_group_id", groups=len(numbers))
