"""Read trace events of `Trace.to_chrome_trace` without loss, even from several merged files."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core import counters
from tfvis_nb.core.clock_bounds import from_json
from tfvis_nb.core.metadata import DAMAGED, portable
from tfvis_nb.core.metadata import from_json as metadata_from_json
from tfvis_nb.core.nested_columns import (
    EXECUTOR,
    FLOWS_IN,
    FLOWS_OUT,
    GRAPH_INPUTS,
    LINKING,
    MOVED,
    RECORDED_DURATION,
)
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.chrome.counters import number_of
from tfvis_nb.reading.chrome.slices import Columns, Slices
from tfvis_nb.reading.chrome.table import category, make_trace, masked
from tfvis_nb.reading.chrome.values import integers, maybe_texts, text, texts
from tfvis_nb.texts import Text, notes_from_json

_TEXTS = ("raw_device", EXECUTOR)
_NUMBERS = (*LINKING, MOVED, RECORDED_DURATION)
_KEPT = (
    "step",
    "name",
    "op",
    "start_ns",
    "duration_ns",
    *event_table.OPTIONAL,
    *_NUMBERS,
    FLOWS_OUT,
    FLOWS_IN,
    GRAPH_INPUTS,
    *_TEXTS,
    "event",
)

COUNTER = "counter"
"""The category of recorded counter events; others are derived from events."""

_DERIVED = ("C", "s", "t", "f", "N", "O", "D")
_LATEST_STEP = 2**31 - 1


class OwnReader:
    """Reads files of `Trace.to_chrome_trace`, whose arguments have all columns of the event table."""

    def __init__(self) -> None:
        self._bars = Slices(_KEPT)
        self._counters: list[dict[str, Any]] = []

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        for event in events:
            phase = event.get("ph") if isinstance(event, dict) else None
            if phase == "C" and event.get("cat") == COUNTER:
                self._counters.append(event)
        # Arrows, memory counters and the objects of tensors are derived, the latter from more than is here.
        self._bars.add([one for one in events if not isinstance(one, dict) or one.get("ph") not in _DERIVED])

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; title, notes and clocks are in `keys`."""
        columns = self._bars.finish()
        kept = columns.arguments
        for name, field in (("start", "start_ns"), ("duration", "duration_ns")):
            values, known = integers(kept[field])
            usable = (
                known & (values >= -LATEST_NS) & (values <= LATEST_NS) & ((values >= 0) | (name == "start"))
            )
            setattr(columns, name, np.where(usable, values, getattr(columns, name)))
        step, numbered = integers(kept["step"])
        step = np.where(numbered & (step >= event_table.NO_STEP) & (step <= _LATEST_STEP), step, 0)
        file = _files(kept["event"])
        step = _numbered_on(step, file)
        table: dict[str, Any] = {
            "step": step.astype(np.int32),
            "name": texts(kept["name"]),
            "op": _category(kept["op"]),
            "kind": _kinds(columns),
            **{name: _READ[event_table.COLUMNS[name]](kept[name]) for name in event_table.OPTIONAL},
        }
        for what in ("task", "device", "lane"):
            described = [text(self._bars.described.get(thread, {}).get(what)) for thread in columns.threads]
            table[what] = category(described, columns.thread)
        trace = make_trace(columns, table, self._bars, exact=True, nested=_nested(kept))
        other = keys.get("otherData")
        if isinstance(other, dict):
            trace.title = text(other.get("title"))
            notes = other.get("notes")
            written = [text(note) for note in (notes if isinstance(notes, list) else [])]
            trace.notes = [*notes_from_json({**other, "notes": written}), *trace.notes]
            labels = other.get("steps")
            for number, label in (labels if isinstance(labels, dict) else {}).items():
                if re.fullmatch(r"-?[0-9]{1,9}", number):
                    trace.step_labels[int(number)] = text(label)
            trace.clock_bounds = from_json(other.get("clocks"))
            try:
                trace.metadata = metadata_from_json(portable(other))
            except DAMAGED as error:
                trace.notes.append(Text("metadata_damaged", reason=error))
        if (traces := int(file.max(initial=0)) + 1) > 1:
            trace.notes.append(Text("files_laid_together", traces=traces))
        trace.recorded_counters = _recorded_counters(self._counters)
        trace.notes = list(dict.fromkeys([*trace.notes, Text("not_in_chrome_traces")]))
        return trace


def _recorded_counters(events: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the counters of events, each of which has one value."""
    time, dated = integers([event.get("time_ns") for event in events])
    given = [event.get("args") for event in events]
    pairs = [next(iter(args.items()), ("", None)) if isinstance(args, dict) else ("", None) for args in given]
    rows = np.flatnonzero(dated & (np.abs(time.astype(np.float64)) <= LATEST_NS)).tolist()
    columns = {name: [text(events[row].get(name)) for row in rows] for name in ("task", "device", "unit")}
    return counters.build(
        {
            **columns,
            "counter": [text(events[row].get("name")) for row in rows],
            "series": [pairs[row][0] for row in rows],
            "time_ns": time[rows],
            "value": [number_of(pairs[row][1]) for row in rows],
        }
    )


def _files(event: list[Any]) -> np.ndarray:
    """Return the merged file of each bar, because each file numbers its bars upwards."""
    number, known = integers(event)
    again = np.zeros(len(number), np.int64)
    numbered = np.flatnonzero(known)
    again[numbered[1:]] = np.diff(number[numbered]) <= 0
    return np.cumsum(again)


def _numbered_on(step: np.ndarray, file: np.ndarray) -> np.ndarray:
    """Number the steps of each file after those of the previous file."""
    files = int(file.max(initial=0)) + 1
    steps = np.zeros(files, np.int64)
    np.maximum.at(steps, file, step + 1)
    first = np.concatenate([[0], np.cumsum(steps)[:-1]])[file]
    return np.where((step == event_table.NO_STEP) | (step + first > _LATEST_STEP), step, step + first)


def _nested(kept: Mapping[str, list[Any]]) -> pa.Table | None:
    """Make nested columns of the numbers that link bars and the names of streams; None if there are none."""
    columns: dict[str, pa.Array] = {}
    for name in _TEXTS:
        recorded = maybe_texts(kept[name])
        if recorded.null_count < len(recorded):
            columns[name] = recorded.cast(pa.string()).dictionary_encode()
    for name in _NUMBERS:
        numbers, known = integers(kept[name])
        if known.any():
            columns[name] = pa.array(numbers, mask=~known)
    for name in (FLOWS_OUT, FLOWS_IN):
        if any(isinstance(given, list) for given in kept[name]):
            arrows = [_numbers(given) if isinstance(given, list) else None for given in kept[name]]
            columns[name] = pa.array(arrows, pa.list_(pa.int64()))
    if any(isinstance(given, list) for given in kept[GRAPH_INPUTS]):
        lists = [list(map(text, given)) if isinstance(given, list) else None for given in kept[GRAPH_INPUTS]]
        columns[GRAPH_INPUTS] = pa.array(lists, pa.list_(pa.large_string()))
    return pa.table(columns) if columns else None


def _numbers(given: list[Any]) -> list[int]:
    numbers, known = integers(given)
    valid: list[int] = numbers[known].tolist()
    return valid


def _kinds(columns: Columns) -> pd.Categorical:
    known = event_table.KINDS
    return pd.Categorical([kind if kind in known else "host" for kind in columns.category.to_pylist()])


def _category(values: Sequence[Any]) -> pd.Categorical:
    written = [text(value) for value in values]
    return category(written, np.arange(len(written)))


_READ: dict[str, Callable[[list[Any]], Any]] = {
    "Int64": lambda values: masked(*integers(values)),
    "category": _category,
    "str": texts,
}
"""Conversion of the values of bars to a column, by dtype."""
