"""Trace events of the PyTorch profiler (Kineto)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.chrome import gpu as chrome_gpu
from tfvis_nb.reading.chrome.kineto_devices import AllocatorTotals, base_time, hardware
from tfvis_nb.reading.chrome.slices import Columns, Slices
from tfvis_nb.reading.chrome.table import (
    activities,
    category,
    make_trace,
    masked,
    of_texts,
    thread_lanes,
    thread_numbers,
)
from tfvis_nb.reading.chrome.values import integers, text
from tfvis_nb.texts import Text

_LAUNCHING = ("cuda_runtime", "cuda_driver", "hip_runtime", "Runtime", "Driver")
_KINDS = {
    "cpu_op": "op",
    "Operator": "op",
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "Memcpy": "memcpy",
    "gpu_memset": "memset",
    "Memset": "memset",
}
_STEP = re.compile(r"ProfilerStep#(\d+)")


class KinetoReader:
    """Reads PyTorch's traces: its ops, their GPU events, and the calls that launched those."""

    def __init__(self) -> None:
        self._bars = Slices(("correlation", "bytes", "device"))
        self._memory = AllocatorTotals()

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._memory.add(events)
        self._bars.add(events)

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; the rank in `keys` is its task, and times count from the base in `keys`."""
        columns = self._bars.finish()
        task, notes = _task(keys)
        for device, values in self._memory.by_device():
            self._bars.places[device] = task, task + device
            self._bars.counters.add([value | {"pid": device} for value in values])
        kinds = _per_category(columns.category, lambda text: _KINDS.get(text, "host"))
        nccl = pc.match_substring_regex(columns.name, r"^(?:void )?nccl").to_numpy(zero_copy_only=False)
        kinds[(kinds == "kernel") & nccl] = "collective"
        on_gpu = np.isin(kinds, ("kernel", "collective", "memcpy", "memset"))
        correlation, known = integers(columns.arguments["correlation"])
        launching = _per_category(columns.category, lambda text: text in _LAUNCHING).astype(bool)
        launch = chrome_gpu.launches(correlation, known, launching, on_gpu)
        owner = _owners(columns, launching, kinds == "op", launch)
        amounts, sized = integers(columns.arguments["bytes"])
        devices = self._devices(columns, on_gpu, task)
        table = {
            "task": category([task], np.zeros(len(kinds), np.int64)),
            "device": pa.array(devices),
            "kind": pa.array(kinds.tolist()),
            "thread": thread_numbers(columns),
            "bytes": masked(amounts, sized & (amounts >= 0)),
            "scheduled_ns": masked(columns.start[launch], launch >= 0),
            **self._names(columns, kinds, owner, on_gpu),
        }
        table |= self._lanes(columns, kinds, devices, table["op"], task)
        steps, note = _steps(columns, launch)
        if note:
            table["step"] = steps
            notes.append(note)
        for name in ("device", "kind"):
            table[name] = of_texts(table[name])
        return make_trace(
            *(columns, table, self._bars), origin=base_time(keys), notes=notes, metadata=hardware(keys, task)
        )

    def _devices(self, columns: Columns, on_gpu: np.ndarray, task: str) -> list[str]:
        """Return each row's device: GPUs by number, the CPU, other processes unchanged."""
        numbers, known = integers(columns.arguments["device"])
        of_thread = []
        for pid, _ in columns.threads:
            gpu = re.fullmatch(r"GPU (\d{1,9})", self._bars.labels.get(pid, ""))
            if gpu:
                of_thread.append(f"{task}/device:GPU:{int(gpu[1])}")
            else:
                of_thread.append(f"{task}/device:CPU:0" if isinstance(pid, int) else text(pid))
        devices = np.array(of_thread, object)[columns.thread]
        lost = np.flatnonzero(on_gpu & known & (numbers >= 0))
        devices[lost] = [f"{task}/device:GPU:{number}" for number in numbers[lost].tolist()]
        return [str(device) for device in devices]

    def _names(
        self, columns: Columns, kinds: np.ndarray, owner: np.ndarray, on_gpu: np.ndarray
    ) -> dict[str, Any]:
        """Name GPU events after the op that launched them, and keep their own names as detail."""
        owned = pa.array(on_gpu & (owner >= 0))
        by_op = columns.name.take(pa.array(np.maximum(owner, 0)))
        name = pc.if_else(owned, by_op, columns.name)
        own = pc.if_else(pc.equal(columns.detail, ""), columns.name, _spaced(columns.name, columns.detail))
        op = np.array(activities(columns.name), object)
        copy = np.flatnonzero(kinds == "memcpy")
        read = chrome_gpu.copies(columns.name.take(pa.array(copy)).to_pylist(), [""] * len(copy))
        op[copy] = [one.op for one in read]
        op[kinds == "memset"] = "Memset"
        for rows in (kinds == "op", np.isin(kinds, ("kernel", "collective")) & (owner >= 0)):
            op[rows] = name.filter(pa.array(rows)).to_pylist()
        op[np.isin(kinds, ("kernel", "collective")) & (owner < 0)] = ""
        return {
            "name": name,
            "op": of_texts(pa.array(op.tolist(), pa.large_string())),
            "detail": pc.if_else(pa.array(on_gpu), own, _with_category(columns, kinds)),
        }

    def _lanes(
        self, columns: Columns, kinds: np.ndarray, devices: list[str], op: Any, task: str
    ) -> dict[str, Any]:
        lanes = [re.sub(r"^stream (\d+)$", r"stream:\1", lane) for lane in thread_lanes(self._bars, columns)]
        lane = np.array(lanes, object)[columns.thread]
        lane[kinds == "memset"] = "memset"
        source, destination = (np.full(len(kinds), "", object) for _ in range(2))
        host = f"{task}/device:CPU:0"
        names = columns.name.to_pylist()
        for row in np.flatnonzero(kinds == "memcpy").tolist():
            (copy,) = chrome_gpu.copies([names[row]], [""])
            lane[row] = copy.lane
            source[row], destination[row] = chrome_gpu.ends(copy, devices[row], host)
        del op
        return {
            "lane": of_texts(pa.array(lane.tolist(), pa.large_string())),
            "source": of_texts(pa.array(source.tolist(), pa.large_string())),
            "destination": of_texts(pa.array(destination.tolist(), pa.large_string())),
        }


def _per_category(texts: pa.Array, read: Any) -> np.ndarray:
    encoded = texts.dictionary_encode()
    values = np.array([read(text) for text in encoded.dictionary.to_pylist()] or [""], object)
    spread: np.ndarray = values[encoded.indices.to_numpy()]
    return spread


def _with_category(columns: Columns, kinds: np.ndarray) -> pa.Array:
    """Return details that start with the category, if the kind does not imply it."""
    blank = pa.scalar("", pa.large_string())
    given = pc.binary_join_element_wise(pa.scalar("cat=", pa.large_string()), columns.category, blank)
    shown = pc.and_(pa.array(kinds == "host"), pc.not_equal(columns.category, blank))
    return pc.utf8_trim_whitespace(_spaced(pc.if_else(shown, given, blank), columns.detail))


def _spaced(first: pa.Array, second: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(first, second, pa.scalar(" ", pa.large_string()))


def _task(keys: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return a name for the rank, if the file records it, and a note about it."""
    world = keys.get("distributedInfo")
    rank = world.get("rank") if isinstance(world, dict) else None
    if type(rank) is not int or rank < 0:
        return "", []
    task = f"/job:worker/replica:0/task:{rank}"
    return task, [
        Text("rank_named", rank=rank, ranks=text(world.get("world_size")) or "an unknown number", task=task)
    ] if world else []


def _owners(columns: Columns, launching: np.ndarray, op: np.ndarray, launch: np.ndarray) -> np.ndarray:
    """Find for each row the op that launched it: the innermost around the launching call; -1 for none."""
    inside = chrome_gpu.enclosing(
        columns.start, columns.start + columns.duration, columns.thread, op, launching
    )
    return np.where(launch >= 0, inside[launch], -1)


def _steps(columns: Columns, launch: np.ndarray) -> tuple[np.ndarray, str]:
    """Number the steps by the profiler's marks, with a note; rows outside any have `NO_STEP`."""
    names = columns.name.to_pylist()
    marks = [row for row, name in enumerate(names) if _STEP.fullmatch(name)]
    if not marks:
        return np.zeros(0, np.int32), ""
    on_host = [row for row in marks if launch[row] < 0]
    first: dict[str, tuple[int, int]] = {}
    for row in on_host:
        begin = int(columns.start[row])
        first.setdefault(names[row], (begin, begin + int(columns.duration[row])))
    spans = sorted(first.values())
    starts, stops = (np.array(side, np.int64) for side in zip(*spans, strict=True))
    when = np.where(launch >= 0, columns.start[launch], columns.start)
    index = np.searchsorted(starts, when, side="right") - 1
    inside = (index >= 0) & (when < stops[index])
    return np.where(inside, index, NO_STEP).astype(np.int32), Text("steps_by_marks", marks=len(spans))
