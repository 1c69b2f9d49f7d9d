"""The tables of an export of Nsight Systems, as rows with the same columns.

The tables are those of NVIDIA's SQLite schema reference. Versions differ: any table and any column but the
times may be missing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.chrome.values import listed
from tfvis_nb.reading.nsys.database import MISSING, Columns, Database
from tfvis_nb.reading.stepstats.label_grammar import collective_kernels
from tfvis_nb.reading.xspace.name_grammar import class_of, kernel_name
from tfvis_nb.texts import Text

_KERNELS, _GRAPHS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_COPIES, _MEMSETS = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
_WAITS, _CALLS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_RUNTIME"
_RANGES, _METRICS = "NVTX_EVENTS", "GPU_METRICS"
READ = (_KERNELS, _GRAPHS, _COPIES, _MEMSETS, _WAITS, _CALLS, _RANGES, _METRICS)
"""The tables of events and metrics; an export has at least one."""

_TIMES = ("start", "end")
_WORK = (*_TIMES, "deviceId", "contextId", "streamId", "correlationId", "globalPid")
_LAUNCH = (
    *("registersPerThread", "staticSharedMemory", "dynamicSharedMemory"),
    *("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
)
_DIRECTIONS = dict(enumerate("? H2D D2H H2A A2H A2A A2D D2A D2D H2H P2P H2D D2H D2D".split()))  # noqa: SIM905
_PEER = 10
"""Number of the direction from GPU to GPU, without which copies name no peer."""
_MEMORY = dict(
    enumerate(
        ("pageable", "pinned", "device", "array", "managed", "device_static", "managed_static", "unknown")
    )
)
_NO_STREAM = 0xFFFFFFFF
_MARK, _DOMAIN = 34, 75
_NESTED, _FREE = (59, 70), (60, 71)
"""Types of NVTX events: ranges on the stack of a thread, and ranges that end on any; the others imported."""
_FREE_LANE = "NVTX ranges"
_VERSION = re.compile(r"_v\d{4,}$")
"""The version of CUDA that a function of its runtime is of."""
FACTS = {
    "smCount": "cores",
    "clockRate": "clock_hz",
    "totalMemory": "memory_bytes",
    "memoryBandwidth": "memory_bandwidth",
}
"""Columns about GPUs, and those of `tfvis_nb.core.metadata`."""

_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("start", "end", "process", "thread", "contextId", "streamId", "correlationId"), MISSING),
    **dict.fromkeys(("device", "bytes"), -1),
    **dict.fromkeys(("source", "destination"), MISSING),
    **dict.fromkeys(("kind", "name", "op", "lane", "detail"), ""),
    "range": False,
}
"""The columns of all rows, and their values in tables without them.

`start` and `end` count from the start of the recording. `process` is the part of a serialised id before the
thread. `device`, `source` and `destination` are numbers of GPUs, -1 for the host. A `lane` is empty if it is
that of the thread or stream. `range` marks ranges of NVTX.
"""


class Export:
    """The tables of an export, with texts looked up.

    - `threads`, `processes`: Names by process and thread, and by process.
    - `origin`: Start of the recording in epoch ns, 0 if unknown.
    - `samples`, `metrics`: Values of GPU metrics, and the names of these.
    - `gpus`, `cuda_devices`: Facts about GPUs, and the number of each in each process.
    - `notes`: A note on tables that are not read.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.notes: list[str] = []
        strings = database.rows("StringIds", ("id",), texts=("value",))
        order = np.argsort(strings["id"], kind="stable")
        self._ids, self._strings = strings["id"][order], strings["value"][order]
        named = database.rows("ThreadNames", ("globalTid", "nameId"))
        names = zip(named["globalTid"].tolist(), self._looked_up(named["nameId"]), strict=True)
        self.threads: dict[tuple[Any, Any], str] = {(tid >> 24, tid & 0xFFFFFF): name for tid, name in names}
        processes = database.rows("PROCESSES", ("globalPid",), texts=("name",))
        self.processes = dict(zip((processes["globalPid"] >> 24).tolist(), processes["name"], strict=True))
        epoch = database.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",))["utcEpochNs"]
        self.origin = int(epoch[0]) if len(epoch) and 0 < epoch[0] <= LATEST_NS // 2 else 0
        self.samples = database.rows(_METRICS, ("timestamp", "typeId", "metricId"), reals=("value",))
        self.metrics = database.rows("TARGET_INFO_GPU_METRICS", ("typeId", "metricId"), texts=("metricName",))
        self.gpus = database.rows(
            "TARGET_INFO_GPU",
            ("id", "pwGpuId", "cuDevice", "computeMajor", "computeMinor", *FACTS),
            texts=("name",),
        )
        self.cuda_devices = database.rows("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
        unread = [
            name
            for name, columns in database.columns.items()
            if name not in READ and "start" in columns and database.has_rows(name)
        ]
        if unread:
            self.notes.append(Text("nsys_tables_left_out", tables=listed(sorted(unread))))

    def _looked_up(self, ids: np.ndarray) -> np.ndarray:
        """Return the texts with some numbers; empty where there is none."""
        if not len(self._ids):
            return np.full(len(ids), "", object)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        texts: np.ndarray = np.where(self._ids[at] == ids, self._strings[at], "")
        return _filled(texts)

    def rows(self) -> Columns:
        """Return the rows of all tables with events, with the columns of `_DEFAULTS`."""
        return _joined([*self._parts()])

    def _parts(self) -> Iterator[Columns]:
        yield self._kernels()
        yield self._graphs()
        yield self._copies()
        yield self._memsets()
        yield self._waits()
        yield self._calls()
        yield self._ranges()

    def _work(self, table: str, *others: str) -> Columns:
        """Return the rows of a table with work of GPUs."""
        rows = self._database.rows(table, (*_WORK, *others))
        process = rows["globalPid"]
        rows["process"] = np.where(process == MISSING, MISSING, process >> 24)
        # Every version has the device; a negative one is damage.
        rows["device"] = np.maximum(rows["deviceId"], 0)
        return rows

    def _kernels(self) -> Columns:
        rows = self._work(_KERNELS, "demangledName", "shortName", *_LAUNCH)
        long, short = (self._looked_up(rows[name]) for name in ("demangledName", "shortName"))
        long = np.where(long == "", np.where(short == "", "kernel", short), long)
        number, first = number_rows(long, *(rows[name] for name in _LAUNCH))
        launches = zip(*(rows[name][first].tolist() for name in _LAUNCH), strict=True)
        details = [f"{name}{_launched(values)}" for name, values in zip(long[first], launches, strict=True)]
        name = of_distinct(long, kernel_name)
        collective = of_distinct(long, lambda text: bool(collective_kernels(pa.array([text]))[0]))
        return rows | {
            "kind": np.where(collective.astype(bool), "collective", "kernel"),
            "name": name,
            "op": of_distinct(name, class_of),
            "detail": np.array([*details, ""], object)[number],
        }

    def _graphs(self) -> Columns:
        """Return whole runs of CUDA graphs, whose kernels were not traced one by one."""
        rows = self._work(_GRAPHS, "graphId")
        names = of_distinct(rows["graphId"], lambda graph: f"CUDA graph {'' if graph < 0 else graph}".strip())
        return rows | _same(rows, kind="kernel", op="CUDA graph") | {"name": names, "detail": names}

    def _copies(self) -> Columns:
        rows = self._work(_COPIES, "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId")
        direction = of_distinct(rows["copyKind"], lambda kind: _DIRECTIONS.get(kind, "?").strip("?"))
        op = "Memcpy" + direction
        sides = of_distinct(rows["srcKind"], _memory("_src")) + of_distinct(rows["dstKind"], _memory("_dst"))
        is_host = {"source": np.char.startswith(direction.astype(str), "H")}
        is_host["destination"] = np.char.endswith(direction.astype(str), "H")
        known = direction != ""
        ends = {
            side: np.where(is_host[side], -1, np.where(known, rows["device"], MISSING)) for side in is_host
        }
        for side, peer in (("source", "srcDeviceId"), ("destination", "dstDeviceId")):
            given = (rows["copyKind"] == _PEER) & (rows[peer] >= 0)
            ends[side] = np.where(given, rows[peer], ends[side])
        return (
            rows
            | ends
            | {
                "kind": np.full(len(op), "memcpy", object),
                "name": op,
                "op": op,
                "lane": of_distinct(direction, lambda text: f"memcpy {text}".strip()),
                "detail": op + sides + of_distinct(rows["streamId"], _stream),
            }
        )

    def _memsets(self) -> Columns:
        rows = self._work(_MEMSETS, "bytes", "memKind")
        facts = of_distinct(rows["memKind"], _memory("")) + of_distinct(rows["streamId"], _stream)
        same = _same(rows, kind="memset", name="Memset", op="Memset", lane="memset")
        return rows | same | {"detail": "Memset" + facts}

    def _waits(self) -> Columns:
        """Return synchronizations; one of a context has no stream.

        Their calls name them: before 2025, ``syncType`` has other numbers than its enumeration.
        """
        rows = self._work(_WAITS)
        stream = rows["streamId"]
        lane = np.where((stream < 0) | (stream == _NO_STREAM), "sync", "")
        return rows | _same(rows, kind="sync", name="Sync", op="Sync", detail="Sync") | {"lane": lane}

    def _calls(self) -> Columns:
        """Return calls of CUDA on the host."""
        rows = self._database.rows(_CALLS, (*_TIMES, "globalTid", "correlationId", "nameId"))
        names = self._looked_up(rows["nameId"])
        names[names == ""] = "call"
        short = of_distinct(names, lambda name: _VERSION.sub("", name))
        return _on_thread(rows) | {"name": short, "op": short, "detail": names}

    def _ranges(self) -> Columns:
        """Return the NVTX ranges and marks; a range without an end lasts to the end of all rows."""
        rows = self._database.rows(
            _RANGES, (*_TIMES, "eventType", "globalTid", "textId", "domainId"), texts=("text",)
        )
        text = _filled(rows["text"])
        text = np.where(text == "", self._looked_up(rows["textId"]), text)
        process = rows["globalTid"] >> 24
        named = np.flatnonzero(rows["eventType"] == _DOMAIN)
        keys = zip(process[named].tolist(), rows["domainId"][named].tolist(), strict=True)
        domains = dict(zip(keys, text[named].tolist(), strict=True))
        kept = np.isin(rows["eventType"], (_MARK, *_NESTED, *_FREE))
        rows = {name: values[kept] for name, values in rows.items()}
        text, process = text[kept], process[kept]
        text[text == ""] = "range"
        number, first = number_rows(process, rows["domainId"])
        names = [
            f"domain={domain}" if (domain := domains.get(key)) else ""
            for key in zip(process[first].tolist(), rows["domainId"][first].tolist(), strict=True)
        ]
        is_mark = rows["eventType"] == _MARK
        open_ended = ~is_mark & (rows["end"] < rows["start"])
        end = np.where(is_mark, rows["start"], np.where(open_ended, MISSING, rows["end"]))
        return _on_thread(rows) | {
            "end": end,
            "name": text,
            "op": of_distinct(text, lambda name: class_of(name).rstrip(",:") or name),
            "lane": np.where(np.isin(rows["eventType"], _FREE), _FREE_LANE, ""),
            "detail": np.array([*names, ""], object)[number],
            "range": ~is_mark,
        }


def _filled(texts: np.ndarray) -> np.ndarray:
    """Return texts, empty where they are missing."""
    return np.where(pd.isna(texts), "", texts)


def _launched(values: Iterable[int]) -> str:
    """Return how a kernel was launched, as profiles of TensorFlow have it."""
    registers, static, dynamic, *sizes = values
    facts = {"regs": registers, "static_shared": static, "dynamic_shared": dynamic}
    texts = [f" {name}:{value}" for name, value in facts.items() if value >= 0]
    for name, three in (("grid", sizes[:3]), ("block", sizes[3:])):
        if min(three) > 0:
            texts.append(f" {name}:{','.join(map(str, three))}")
    return "".join(texts)


def _memory(side: str) -> Callable[[int], str]:
    return lambda kind: f" kind{side}:{_MEMORY[kind]}" if kind in _MEMORY else ""


def _stream(number: int) -> str:
    return f" stream:{number}" if number >= 0 else ""


def of_distinct(values: np.ndarray, read: Callable[[Any], Any]) -> np.ndarray:
    """Apply a function to each value, once to each distinct one."""
    codes, distinct = pd.factorize(values)
    return np.array([*map(read, distinct.tolist()), None], object)[codes]


def _same(rows: Columns, **texts: str) -> Columns:
    return {name: np.full(len(rows["start"]), text, object) for name, text in texts.items()}


def _on_thread(rows: Columns) -> Columns:
    """Return rows of a thread of the host."""
    tid = rows["globalTid"]
    known = tid != MISSING
    return (
        rows
        | _same(rows, kind="host")
        | {"process": np.where(known, tid >> 24, MISSING), "thread": np.where(known, tid & 0xFFFFFF, MISSING)}
    )


def _joined(parts: list[Columns]) -> Columns:
    """Concatenate rows, with default values for columns that a table does not have."""
    joined = {}
    for name, default in _DEFAULTS.items():
        dtype = object if default == "" else bool if default is False else np.int64
        pieces = [part[name] if name in part else np.full(len(part["start"]), default) for part in parts]
        joined[name] = np.concatenate([np.asarray(piece, dtype) for piece in pieces])
    return joined
