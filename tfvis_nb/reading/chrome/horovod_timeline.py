"""Horovod's own timeline: negotiation and communication of each tensor."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.slices import Columns, Slices
from tfvis_nb.reading.chrome.table import category, make_trace, masked
from tfvis_nb.reading.chrome.values import origin_of, text, texts
from tfvis_nb.texts import Text

_SIZES = {
    **dict.fromkeys(("uint8", "int8", "bool", "byte"), 1),
    **dict.fromkeys(("uint16", "int16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "float32"), 4),
    **dict.fromkeys(("int64", "float64"), 8),
}
OPERATIONS = {
    "ALLREDUCE": "HorovodAllreduce",
    "ALLGATHER": "HorovodAllgather",
    "BROADCAST": "HorovodBroadcast",
    "ALLTOALL": "HorovodAlltoall",
    "REDUCESCATTER": "HorovodReducescatter",
    "JOIN": "HorovodJoin",
    "ADASUM": "HorovodAdasum",
}
"""The name of a collective in Horovod's timeline, to its op type in TensorFlow."""

_NEGOTIATE = "NEGOTIATE_"
_CYCLE = "CYCLE_START"
_CONTROL = re.compile(r"[\x00-\x1f]")

LANES = ("negotiate", "rank ready", "collective", "activities", "cycles")
"""Lanes of the rows: waiting for other ranks, ranks being ready, communication, its parts, and the starts of
the cycles in which Horovod looks for work."""


class HorovodReader:
    """Reads a HOROVOD_TIMELINE file, which rank 0 writes.

    A collective is a row such as ``HorovodAllreduce``, named after its tensor like the op in TensorFlow's
    traces. ``scheduled_ns`` is the start of the negotiation, so the time until its start is spent waiting for
    other ranks. Ranks getting ready, and starts of cycles (``HOROVOD_TIMELINE_MARK_CYCLES``), are rows
    without duration.
    """

    def __init__(self) -> None:
        self._bars = Slices(("dtype", "shape"))
        self._origin = 0

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._origin = origin_of(events) or self._origin
        self._bars.add([_as_bar(event) for event in events])

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are not used."""
        del keys
        columns = self._bars.finish()
        # A full disk or another writer may break a name apart; Horovod's names have no control characters.
        names = [_CONTROL.sub("", name) for name in columns.name.to_pylist()]
        activities = {name: _activity(name) for name in dict.fromkeys(names)}
        number = {name: index for index, name in enumerate(activities)}
        codes = np.array([number[name] for name in names], np.int64)
        collective = np.array([activities[name].kind == "collective" for name in names], bool)
        tensors = [self._bars.processes.get(pid) or f"process {text(pid)}" for pid, _ in columns.threads]
        threads = columns.thread.tolist()
        sizes, known = _bytes(columns)
        table = {
            "device": category(["Horovod"], np.zeros(len(names), np.int64)),
            "lane": category([one.lane for one in activities.values()], codes),
            "kind": category([one.kind for one in activities.values()], codes),
            "op": category([one.op for one in activities.values()], codes),
            "name": texts(
                [
                    name if name == _CYCLE else tensors[thread]
                    for name, thread in zip(names, threads, strict=True)
                ]
            ),
            "detail": texts(_details(columns, names)),
            "bytes": masked(sizes, known & collective),
            "scheduled_ns": self._scheduled(columns, names, collective),
        }
        notes = [Text("horovod_of_rank_0")]
        return make_trace(columns, table, self._bars, origin=self._origin, notes=notes)

    def _scheduled(self, columns: Columns, activities: Sequence[str], collective: np.ndarray) -> Any:
        """Return the start of each collective's negotiation: the last one of its tensor before it."""
        began: dict[int, int] = {}
        scheduled = np.zeros(len(columns.start), np.int64)
        known = np.zeros(len(columns.start), bool)
        for row in np.lexsort((~collective, columns.start)).tolist():
            thread = int(columns.thread[row])
            if activities[row].startswith(_NEGOTIATE):
                began[thread] = int(columns.start[row])
            elif collective[row] and thread in began:
                scheduled[row], known[row] = began.pop(thread) + self._origin, True
        return masked(scheduled, known)


def _as_bar(event: Any) -> Any:
    """Return an event; starts of cycles, which are instants without a tensor, become bars."""
    if isinstance(event, dict) and event.get("name") == _CYCLE and event.get("ph") in ("i", "I"):
        return event | {"ph": "X", "dur": 0, "pid": _CYCLE}
    return event


class _Activity(NamedTuple):
    """The meaning of a name in the timeline."""

    kind: str
    lane: str
    op: str


def _activity(name: str) -> _Activity:
    if name.startswith(_NEGOTIATE):
        return _Activity("sync", "negotiate", name)
    if name.isdecimal():
        return _Activity("sync", "rank ready", "RankReady")
    if name == _CYCLE:
        return _Activity("sync", "cycles", name)
    if name in OPERATIONS:
        return _Activity("collective", "collective", OPERATIONS[name])
    return _Activity("host", "activities", name)


def _details(columns: Columns, names: Sequence[str]) -> list[str]:
    """Return the rank, type and shape of each row, if it has them, and its other arguments."""
    dtypes, shapes = columns.arguments["dtype"], columns.arguments["shape"]
    return [
        " ".join(filter(None, (f"rank {name}" * name.isdecimal(), _given(dtype), _given(shape), rest)))
        for name, dtype, shape, rest in zip(names, dtypes, shapes, columns.detail.to_pylist(), strict=True)
    ]


def _given(argument: Any) -> str:
    return text(argument) if argument else ""


def _bytes(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of each tensor from its type and shape, and a mask of known ones."""
    sizes = []
    for dtype, shape in zip(columns.arguments["dtype"], columns.arguments["shape"], strict=True):
        size = _SIZES.get(dtype) if isinstance(dtype, str) else None
        dims = re.findall(r"\d{1,12}", shape[:200]) if isinstance(shape, str) else None
        if size is None or dims is None:
            sizes.append(-1)
            continue
        for dim in dims:
            size = min(size * int(dim), 1 << 62)
        sizes.append(size)
    read = np.array(sizes, np.int64)
    return read, read >= 0
