"""Trace events of any program: processes are devices, threads are lanes, bars are host activities."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.slices import Slices
from tfvis_nb.reading.chrome.table import (
    activities,
    category,
    make_trace,
    of_texts,
    thread_lanes,
    thread_numbers,
)
from tfvis_nb.reading.chrome.values import origin_of, text
from tfvis_nb.texts import Text


class GenericReader:
    """Reads trace events of unknown programs.

    The ``op`` of a bar is its category if it has one, else its name without numbers.
    """

    def __init__(self) -> None:
        self._bars = Slices()
        self._origin = 0

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._origin = origin_of(events) or self._origin
        self._bars.add(events)

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are not used."""
        del keys
        columns = self._bars.finish()
        devices = [self._device(pid) for pid, _ in columns.threads]
        blank = not pc.any(pc.not_equal(columns.category, "")).as_py()
        table = {
            "device": category(devices, columns.thread),
            "lane": category(thread_lanes(self._bars, columns), columns.thread),
            "kind": ["host"] * len(columns.start),
            "op": activities(columns.name) if blank else of_texts(columns.category),
            "thread": thread_numbers(columns),
        }
        notes = [Text("unknown_program")]
        return make_trace(columns, table, self._bars, origin=self._origin, notes=notes)

    def _device(self, process: Any) -> str:
        """Name a process like viewers: by its name and labels, else by its number."""
        parts = [self._bars.processes.get(process), self._bars.labels.get(process)]
        return " ".join(filter(None, parts)) or f"process {text(process)}".strip()
