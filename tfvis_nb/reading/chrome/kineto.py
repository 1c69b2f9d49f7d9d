"""Trace events of the PyTorch profiler (Kineto)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.metadata import DEVICES, Metadata, table_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import LATEST_NS, NO_STEP
from tfvis_nb.kinds import COPIES, KERNELS
from tfvis_nb.reading.chrome import gpu as chrome_gpu
from tfvis_nb.reading.chrome.slices import UNUSABLE, Columns, Slices, select
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
from tfvis_nb.reading.stepstats.label_grammar import collective_kernels
from tfvis_nb.reading.xspace.name_grammar import class_of, kernel_name
from tfvis_nb.texts import Text

_LAUNCHING = re.compile(r"(?:\w+_)?(?:runtime|driver)", re.IGNORECASE)
_ON_HOST = re.compile(
    r"cpu_\w+|Operator|user_annotation|python_function|overhead|(?:\w+_)?(?:runtime|driver)", re.IGNORECASE
)
_OF_PROFILER = re.compile(r"Iteration Start: .*|Record Window End")
_DERIVED = ("Overlap Analysis",)
"""Processes of rows that torch_npu computes from the others: when a device computes or is free."""
_KINDS = {
    "cpu_op": "op",
    "Operator": "op",
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "Memcpy": "memcpy",
    "gpu_memset": "memset",
    "Memset": "memset",
    "cuda_sync": "sync",
    "cuda_event": "sync",
    "gpu_user_annotation": "host",
}
_EVENTS = re.compile(r"event_\w+|.*\b[Ww]ait\b.*")
_COPIES = {"HOST_TO_DEVICE": "MemcpyH2D", "DEVICE_TO_HOST": "MemcpyD2H", "DEVICE_TO_DEVICE": "MemcpyD2D"}
_WORK = (*KERNELS, *COPIES)
_ON_DEVICE = (*_WORK, "sync")
_GROUP_SIZE = re.compile(r"\bGroup size=(\d{1,6})\b")
_RANK = re.compile(r"(?<!Src )(?<!Dst )\bRank=(\d{1,6})\b")
_MOST_COLLECTIVES = 1000
_STEP = re.compile(r"ProfilerStep#(\d+)")


class KinetoReader:
    """Reads PyTorch's traces: its ops, their GPU events, and the calls that launched those."""

    def __init__(self) -> None:
        self._bars = Slices(("correlation", "bytes", "device", "stream", "direction", "size"))
        self._memory = AllocatorTotals()

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._memory.add(events)
        self._bars.add(events)

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; the rank in `keys` is its task, and times count from the base in `keys`."""
        columns, notes = _recorded(self._bars.finish(), self._bars.processes)
        task, note = _task(keys, columns)
        notes += note
        for device, values in self._memory.by_device():
            self._bars.places[device] = task, task + device
            self._bars.counters.add([value | {"pid": device} for value in values])
        kinds = self._kinds(columns)
        works = np.isin(kinds, _WORK)
        correlation, known = integers(columns.arguments["correlation"])
        launching = _per_category(columns.category, lambda text: _LAUNCHING.fullmatch(text) is not None)
        launching = launching.astype(bool)
        launch = chrome_gpu.launches(correlation, known, launching, works)
        owner = _owners(columns, launching, kinds == "op", launch)
        amounts, sized = integers(columns.arguments["bytes"])
        sizes, given = integers(columns.arguments["size"])
        copied = ~sized & given & (kinds == "memcpy")
        amounts, sized = np.where(copied, sizes, amounts), sized | copied
        devices = self._devices(columns, np.isin(kinds, _ON_DEVICE), task)
        origin = base_time(keys)
        table = {
            "task": category([task], np.zeros(len(kinds), np.int64)),
            "device": pa.array(devices),
            "kind": pa.array(kinds.tolist()),
            "thread": thread_numbers(columns),
            "bytes": masked(amounts, sized & (amounts >= 0)),
            "scheduled_ns": masked(columns.start[launch] + origin, launch >= 0),
            **self._names(columns, kinds, owner, works),
            **self._lanes(columns, kinds, devices, task),
        }
        steps, labels = _steps(columns, launch)
        if labels:
            table["step"] = steps
            notes.append(Text("steps_by_marks", marks=len(labels)))
        for name in ("device", "kind"):
            table[name] = of_texts(table[name])
        trace = make_trace(
            *(columns, table, self._bars), origin=origin, notes=notes, metadata=hardware(keys, task)
        )
        trace.step_labels = dict(enumerate(labels))
        return trace

    def _accelerators(self, columns: Columns) -> list[str]:
        """Return the device of each thread's process; empty for a process of the host."""
        return [
            accelerator(self._bars.labels.get(pid, ""), self._bars.processes.get(pid, ""))
            for pid, _ in columns.threads
        ]

    def _kinds(self, columns: Columns) -> np.ndarray:
        """Return the kind of each row: by its category, else by its process and name."""
        kinds = _per_category(columns.category, lambda text: _KINDS.get(text, "host"))
        collective = collective_kernels(columns.name)
        kinds[(kinds == "kernel") & collective] = "collective"
        # PyTorch 1.8 and 1.9 give marks of steps the category of ops.
        kinds[pc.match_substring_regex(columns.name, f"^{_STEP.pattern}$").to_numpy(False)] = "host"
        unknown = _per_category(
            columns.category, lambda text: text not in _KINDS and not _ON_HOST.fullmatch(text)
        ).astype(bool)
        on_accelerator = np.array([bool(name) for name in self._accelerators(columns)] or [False])
        directions = columns.arguments["direction"]
        rows = np.flatnonzero(unknown & on_accelerator[columns.thread] & (columns.duration > 0))
        for row, name in zip(rows.tolist(), columns.name.take(pa.array(rows)).to_pylist(), strict=True):
            if collective[row]:
                kinds[row] = "collective"
            elif directions[row] is not None:
                kinds[row] = "memcpy"
            else:
                kinds[row] = "sync" if _EVENTS.fullmatch(name) else "kernel"
        return kinds

    def _devices(self, columns: Columns, on_device: np.ndarray, task: str) -> list[str]:
        """Return each row's device: by its category, its process, and for GPUs its number."""
        numbers, known = integers(columns.arguments["device"])
        of_process = self._accelerators(columns)
        host = _per_category(columns.category, lambda text: _ON_HOST.fullmatch(text) is not None).astype(bool)
        of_thread = [
            task + (device or "/device:CPU:0") if device or isinstance(pid, int) else text(pid)
            for device, (pid, _) in zip(of_process, columns.threads, strict=True)
        ]
        devices = np.array(of_thread, object)[columns.thread]
        devices[host] = f"{task}/device:CPU:0"
        types = np.array([device.rpartition(":")[0] or "/device:GPU" for device in of_process], object)
        # Without the argument, the process has the number of the device.
        given = [pid if type(pid) is int else -1 for pid, _ in columns.threads]
        bare = ~known & np.array([not device for device in of_process] or [True])[columns.thread]
        numbers = np.where(bare, np.array(given or [-1])[columns.thread], numbers)
        known = known | (bare & (numbers < MOST_DEVICES))
        for row in np.flatnonzero(on_device & known & (numbers >= 0)).tolist():
            devices[row] = f"{task}{types[columns.thread[row]]}:{numbers[row]}"
        return [str(device) for device in devices]

    def _names(
        self, columns: Columns, kinds: np.ndarray, owner: np.ndarray, on_gpu: np.ndarray
    ) -> dict[str, Any]:
        """Name GPU events after the op that launched them, and keep their own names as detail."""
        owned = pa.array(on_gpu & (owner >= 0))
        by_op = columns.name.take(pa.array(np.maximum(owner, 0)))
        name = pc.if_else(owned, by_op, columns.name)
        columns.detail = _with_arguments(columns, kinds)
        own = pc.if_else(pc.equal(columns.detail, ""), columns.name, _spaced(columns.name, columns.detail))
        op = np.array(activities(columns.name), object)
        copy = np.flatnonzero(kinds == "memcpy")
        read = chrome_gpu.copies(_copy_names(columns).take(pa.array(copy)).to_pylist(), [""] * len(copy))
        op[copy] = [one.op for one in read]
        op[kinds == "memset"] = "Memset"
        for rows in (kinds == "op", np.isin(kinds, KERNELS) & (owner >= 0)):
            op[rows] = name.filter(pa.array(rows)).to_pylist()
        alone = np.flatnonzero(np.isin(kinds, KERNELS) & (owner < 0))
        op[alone] = [class_of(kernel_name(one)) for one in columns.name.take(pa.array(alone)).to_pylist()]
        return {
            "name": name,
            "op": of_texts(pa.array(op.tolist(), pa.large_string())),
            "detail": pc.if_else(pa.array(on_gpu), own, _with_category(columns, kinds)),
        }

    def _lanes(self, columns: Columns, kinds: np.ndarray, devices: list[str], task: str) -> dict[str, Any]:
        lanes = [
            re.sub(r"^[Ss]tream (\d+)$", r"stream:\1", lane) for lane in thread_lanes(self._bars, columns)
        ]
        lane = np.array(lanes, object)[columns.thread]
        streams, known = integers(columns.arguments["stream"])
        for row in np.flatnonzero(np.isin(kinds, _ON_DEVICE) & known & (streams >= 0)).tolist():
            lane[row] = f"stream:{streams[row]}"
        lane[kinds == "memset"] = "memset"
        source, destination = (np.full(len(kinds), "", object) for _ in range(2))
        host = f"{task}/device:CPU:0"
        names = _copy_names(columns).to_pylist()
        for row in np.flatnonzero(kinds == "memcpy").tolist():
            (copy,) = chrome_gpu.copies([names[row]], [""])
            lane[row] = copy.lane
            source[row], destination[row] = chrome_gpu.ends(copy, devices[row], host)
        return {
            "lane": of_texts(pa.array(lane.tolist(), pa.large_string())),
            "source": of_texts(pa.array(source.tolist(), pa.large_string())),
            "destination": of_texts(pa.array(destination.tolist(), pa.large_string())),
        }


def _recorded(columns: Columns, processes: Mapping[Any, str]) -> tuple[Columns, list[str]]:
    """Leave out bars that the profiler adds to those of the program, and bars without a time."""
    names = columns.name.to_pylist()
    own = _per_category(columns.category, lambda text: text == "Trace").astype(bool)
    own |= np.array([_OF_PROFILER.fullmatch(name) is not None for name in names] or [False])[: len(own)]
    derived = [processes.get(pid) in _DERIVED for pid, _ in columns.threads]
    own |= np.array(derived or [False])[columns.thread]
    # The profiler writes 0 if it did not learn when something ran: other times are far from 0.
    untimed = ~own & (columns.start == 0) & (columns.duration == 0)
    untimed &= bool((columns.start[~own & ~untimed] > 0).any())
    notes: list[str] = []
    if own.any():
        notes.append(
            Text("profiler_rows_left_out", rows=int(own.sum()), name=names[int(np.argmax(own))][:80])
        )
    if untimed.any():
        notes.append(Text(UNUSABLE, bars=int(untimed.sum())))
    return (select(columns, np.flatnonzero(~own & ~untimed)) if notes else columns), notes


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


def _with_arguments(columns: Columns, kinds: np.ndarray) -> pa.Array:
    """Return details with the arguments that are not in other columns of their rows."""
    details = columns.detail
    on_device, copies = np.isin(kinds, _ON_DEVICE), kinds == "memcpy"
    sized = integers(columns.arguments["bytes"])[1]
    on_stream = on_device & ~copies & (kinds != "memset")
    shown_by = {"device": on_device, "stream": on_stream, "size": copies & ~sized, "direction": copies}
    for name, shown in shown_by.items():
        values = columns.arguments[name]
        if all(value is None for value in values):
            continue
        numbers, known = integers(values)
        known &= numbers >= 0
        if name == "direction":
            known = np.array([isinstance(value, str) and value in _COPIES for value in values])
        given = [
            "" if value is None or hidden else f" {name}={text(value)}"
            for value, hidden in zip(values, (shown & known).tolist(), strict=True)
        ]
        added = pa.array(given, pa.large_string())
        details = pc.binary_join_element_wise(details, added, pa.scalar("", pa.large_string()))
    return pc.utf8_trim_whitespace(details)


def _copy_names(columns: Columns) -> pa.Array:
    """Return the names of copies; those of some devices have the direction as an argument."""
    directions = columns.arguments["direction"]
    named = [_COPIES.get(one) if isinstance(one, str) else None for one in directions]
    return pc.coalesce(pa.array(named, pa.large_string()), columns.name)


def _spaced(first: pa.Array, second: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(first, second, pa.scalar(" ", pa.large_string()))


def _task(keys: Mapping[str, Any], columns: Columns) -> tuple[str, list[str]]:
    """Return a name for the rank, if the file records it, and a note about it."""
    world = keys.get("distributedInfo")
    rank, size = (world.get("rank"), world.get("world_size")) if isinstance(world, dict) else (None, None)
    if type(rank) is not int or rank < 0:
        rank, size = _rank_in_collectives(columns)
    if rank is None:
        return "", []
    task = f"/job:worker/replica:0/task:{rank}"
    return task, [Text("rank_named", rank=rank, ranks=text(size) or "an unknown number", task=task)]


def _rank_in_collectives(columns: Columns) -> tuple[int | None, int | None]:
    """Return the rank in the largest process group, and the size of that, from arguments of collectives."""
    given = columns.detail.filter(pc.match_substring(columns.detail, "Group size="))
    groups = {
        (int(size[1]), int(rank[1]))
        for detail in given.slice(0, _MOST_COLLECTIVES).to_pylist()
        if (size := _GROUP_SIZE.search(detail)) and (rank := _RANK.search(detail))
    }
    largest = max(groups, default=(0, 0))[0]
    ranks = {rank for size, rank in groups if size == largest}
    return (ranks.pop(), largest) if len(ranks) == 1 else (None, None)


def _owners(columns: Columns, launching: np.ndarray, op: np.ndarray, launch: np.ndarray) -> np.ndarray:
    """Find for each row the op that launched it: the innermost around the launching call; -1 for none."""
    inside = chrome_gpu.enclosing(
        columns.start, columns.start + columns.duration, columns.thread, op, launching
    )
    return np.where(launch >= 0, inside[launch], -1)


def _steps(columns: Columns, launch: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Number the steps by the profiler's marks, and return their names; rows outside any have `NO_STEP`."""
    names = columns.name.to_pylist()
    marks = [row for row, name in enumerate(names) if _STEP.fullmatch(name)]
    if not marks:
        return np.zeros(0, np.int32), []
    on_host = [row for row in marks if launch[row] < 0]
    first: dict[str, tuple[int, int, str]] = {}
    for row in on_host:
        begin = int(columns.start[row])
        first.setdefault(names[row], (begin, begin + int(columns.duration[row]), names[row]))
    spans = sorted(first.values())
    starts, stops = (np.array([span[side] for span in spans], np.int64) for side in (0, 1))
    when = np.where(launch >= 0, columns.start[launch], columns.start)
    index = np.searchsorted(starts, when, side="right") - 1
    inside = (index >= 0) & (when < stops[index])
    return np.where(inside, index, NO_STEP).astype(np.int32), [name for _, _, name in spans]


_ALLOCATIONS = ("[memory]", "[OutOfMemory]")
_TOTALS = {"Total Allocated": "allocated bytes", "Total Reserved": "reserved bytes"}
_CPU, _CUDA = 0, 1
_NUMBERS = {"numSms": "cores", "totalGlobalMem": "memory_bytes"}
_ACCELERATOR = re.compile(r"(?!CPU\b)(?P<kind>[A-Z]{2,12}) (?P<number>\d{1,9})")
_ASCEND = "Ascend Hardware"
MOST_DEVICES = 1024
_WARP = 32
"""Threads of a warp on NVIDIA GPUs; on others, the file's compute capability has another meaning."""


class AllocatorTotals:
    """Collects the totals recorded with allocations and deallocations."""

    def __init__(self) -> None:
        self._of_device: dict[tuple[Any, Any], list[dict[str, Any]]] = {}

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        for event in events:
            if type(event) is not dict or event.get("name") not in _ALLOCATIONS:
                continue
            given = event.get("args")
            if event.get("ph") not in ("i", "I") or type(given) is not dict:
                continue
            device = given.get("Device Type"), given.get("Device Id")
            # PyTorch does not reserve CPU memory, and writes 0.
            wanted = list(_TOTALS.items())[: 1 if device[0] == _CPU else None]
            totals = {series: given[name] for name, series in wanted if name in given}
            if totals and all(type(part) is int for part in device):
                values = {"name": "memory", "ts": event.get("ts"), "args": totals}
                self._of_device.setdefault(device, []).append(values)

    def by_device(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield each device with its counter events."""
        for (kind, number), values in self._of_device.items():
            names = {_CPU: "/device:CPU:0", _CUDA: f"/device:GPU:{number}"}
            yield names.get(kind, f"/device:type {kind}:{number}"), values


def accelerator(label: str, process: str) -> str:
    """Return the device that a process stands for, by its label or name; empty for a process of the host.

    >>> accelerator("GPU 3", "python"), accelerator("MTIA 17", "MTIA 17"), accelerator("CPU", "python")
    ('/device:GPU:3', '/device:MTIA:17', '')
    """
    for given in (label, process):
        if (match := _ACCELERATOR.fullmatch(given.strip())) is not None:
            return f"/device:{match['kind'].upper()}:{int(match['number'])}"
    return "/device:NPU:0" if process == _ASCEND else ""


def base_time(keys: Mapping[str, Any]) -> int:
    """Return the origin of times in epoch ns."""
    base = keys.get("baseTimeNanoseconds")
    return base if type(base) is int and 0 <= base <= LATEST_NS // 2 else 0


def hardware(keys: Mapping[str, Any], task: str) -> Metadata:
    """Return the facts about the GPUs of a task: a table of `tfvis_nb.core.metadata`."""
    listed = keys.get("deviceProperties")
    rows = [
        row for one in (listed[:MOST_DEVICES] if isinstance(listed, list) else []) if (row := _device(one))
    ]
    return {DEVICES: table_of(DEVICES, [row | {"task": task} for row in rows])} if rows else {}


def _device(given: Any) -> dict[str, Any]:
    number = given.get("id") if isinstance(given, dict) else None
    if type(number) is not int or number < 0:
        return {}
    properties: dict[str, Any] = {
        column: value
        for name, column in _NUMBERS.items()
        if type(value := given.get(name)) is int and 0 < value < 2**63
    }
    if isinstance(given.get("name"), str):
        properties["model"] = text(given["name"])
    capability = [given.get(name) for name in ("computeMajor", "computeMinor")]
    if given.get("warpSize") == _WARP and all(type(part) is int for part in capability):
        properties["compute_capability"] = "{}.{}".format(*capability)
    return {"device": f"/device:GPU:{number}", **properties} if properties else {}
