"""SQLite exports of Nsight Systems after NVIDIA's schema reference, of a made-up job of two processes."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

START = 1_727_743_122_000_000_000
PIDS = (4100, 4242)
HELPER = 4300
STEPS = 3
_STEP_NS = 1_000_000
_DOMAIN_ID = 7

SCHEMA = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": (
        "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, memoryBandwidth INTEGER,"
        " clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, cuDevice INTEGER, computeMajor INTEGER,"
        " computeMinor INTEGER"
    ),
    "TARGET_INFO_CUDA_DEVICE": (
        "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER"
    ),
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
        " greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
        " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,"
        " registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,"
        " gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,"
        " staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
        " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
        " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,"
        " copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER,"
        " dstDeviceId INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
        " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL,"
        " bytes INTEGER NOT NULL, memKind INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
        " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL,"
        " eventId INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,"
        " correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER"
    ),
    "NVTX_EVENTS": (
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,"
        " color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER"
    ),
    "OSRT_API": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,"
        " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL"
    ),
    "GPU_METRICS": "rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER",
    "TARGET_INFO_GPU_METRICS": (
        "typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT"
    ),
}
"""The columns of each table in order, without some that no reader of this package uses."""

Rows = dict[str, list[dict[str, Any]]]


def serialised(pid: int, tid: int = 0) -> int:
    """Return a process, or a thread, as exports write it: machine, process, thread."""
    return 0x0100_0000_0000_0000 | pid << 24 | tid


class Job:
    """The rows of a job under construction: `rows` by table, and their strings."""

    def __init__(self) -> None:
        self.rows: Rows = {name: [] for name in SCHEMA}
        self._strings: dict[str, int] = {}

    def text(self, text: str) -> int:
        """Return the number of a string."""
        number = self._strings.get(text)
        if number is None:
            number = self._strings[text] = len(self._strings) + 1
            self.add("StringIds", id=number, value=text)
        return number

    def add(self, table: str, **values: Any) -> None:
        """Add a row; columns without a value are NULL, or 0 where they need one."""
        self.rows[table].append(values)

    def call(self, pid: int, tid: int, name: str, start: int, end: int, correlation: int) -> None:
        """Add a call of the CUDA runtime."""
        self.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            start=start,
            end=end,
            globalTid=serialised(pid, tid),
            correlationId=correlation,
            nameId=self.text(name),
        )

    def work(self, kind: str, pid: int, start: int, end: int, correlation: int, **values: Any) -> None:
        """Add work of a GPU, by default on its device 0, context 1 and stream 7."""
        place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": serialised(pid)}
        times = {"start": start, "end": end, "correlationId": correlation}
        self.add(f"CUPTI_ACTIVITY_KIND_{kind}", **(place | times | values))

    def kernel(self, name: str, pid: int, start: int, end: int, correlation: int, **values: Any) -> None:
        """Add a kernel."""
        launch = {"registersPerThread": 92, "dynamicSharedMemory": 98304, "gridX": 32, "gridY": 2, "gridZ": 1}
        launch |= {"blockX": 128, "blockY": 1, "blockZ": 1}
        short = self.text(name.partition("<")[0].rpartition(" ")[2].rpartition("::")[2])
        names = {"demangledName": self.text(name), "shortName": short}
        self.work("KERNEL", pid, start, end, correlation, **(names | launch | values))

    def range(self, pid: int, tid: int, text: str | None, start: int, end: int | None, **values: Any) -> None:
        """Add an NVTX range of a thread."""
        given = {"eventType": 59, "domainId": 0, "text": text, "globalTid": serialised(pid, tid)}
        self.add("NVTX_EVENTS", start=start, end=end, **(given | values))

    def database(self) -> bytes:
        """Return the export."""
        return database(self.rows)


def database(rows: Mapping[str, Iterable[Mapping[str, Any]]], *, without: Iterable[str] = ()) -> bytes:
    """Write rows of tables, without some tables (``table``) and columns (``table.column``)."""
    connection = sqlite3.connect(":memory:")
    gone = set(without)
    for table, listed in rows.items():
        if table in gone:
            continue
        columns = [one.strip() for one in SCHEMA[table].split(",")]
        columns = [one for one in columns if f"{table}.{one.split()[0]}" not in gone]
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        names = [one.split()[0] for one in columns]
        needed = {one.split()[0] for one in columns if "NOT NULL" in one}
        marks = ", ".join("?" * len(names))
        connection.executemany(
            f"INSERT INTO {table} VALUES ({marks})",
            [[row.get(name, 0 if name in needed else None) for name in names] for row in listed],
        )
    connection.commit()
    return connection.serialize()


GEMM = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64>(T1::Params)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)"


def job() -> Job:
    """Return a job of two processes with a GPU each, in three steps, and a helper without a GPU.

    The processes number their GPUs the other way round than the machine.
    """
    made = Job()
    made.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=START)
    made.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.16.1")
    for gpu, pid in ((1, PIDS[0]), (0, PIDS[1])):
        made.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid)
        made.add(
            "TARGET_INFO_GPU",
            id=gpu,
            name=f"NVIDIA H200 {gpu}",
            totalMemory=150 << 30,
            memoryBandwidth=4_800_000_000_000,
            clockRate=1_980_000_000,
            smCount=132,
            pwGpuId=gpu,
            computeMajor=9,
            computeMinor=0,
        )
        for metric, name in ((1, "SMs Active [Throughput %]"), (2, "GPC Clock Frequency [MHz]")):
            made.add(
                "TARGET_INFO_GPU_METRICS", typeId=0x1000100000000 + gpu, metricId=metric, metricName=name
            )
            for at in range(3):
                made.add(
                    "GPU_METRICS",
                    timestamp=10_000 * at,
                    typeId=0x1000100000000 + gpu,
                    metricId=metric,
                    value=10 * gpu + metric + at,
                )
    for pid in (*PIDS, HELPER):
        made.add("PROCESSES", globalPid=serialised(pid), pid=pid, name="python3")
        for tid, name in ((pid, "python3"), (pid + 1, "python3"), (pid + 2, "pt_nccl_watchdg")):
            made.add("ThreadNames", nameId=made.text(name), globalTid=serialised(pid, tid))
    made.range(HELPER, HELPER, "load", 0, 500_000)
    for pid in PIDS:
        # A registration gives a domain its name; other ranges have their text among the strings.
        made.range(pid, pid, "NCCL", 0, None, eventType=75, domainId=_DOMAIN_ID)
        for step in range(STEPS):
            _add_step(made, pid, step, 1000 * (pid == PIDS[1]))
    made.add("OSRT_API", start=5, end=9, globalTid=serialised(PIDS[0], PIDS[0]), nameId=made.text("poll"))
    return made


def _add_step(made: Job, pid: int, step: int, late: int) -> None:
    at = step * _STEP_NS + 100_000 + late
    number = 100 * (step + 1)
    made.range(pid, pid, f"step {step}", at, at + 800_000)
    made.range(pid, pid, "forward", at + 1000, at + 90_000)
    made.call(pid, pid, "cudaMemcpyAsync_v3020", at + 2000, at + 9000, number)
    made.work(
        "MEMCPY", pid, at + 10_000, at + 30_000, number, bytes=1 << 20, copyKind=1, srcKind=1, dstKind=2
    )
    made.call(pid, pid, "cudaMemsetAsync_v3020", at + 11_000, at + 13_000, number + 1)
    made.work("MEMSET", pid, at + 30_000, at + 31_000, number + 1, bytes=4096, memKind=2)
    for kernel in range(2):
        made.call(pid, pid, "cudaLaunchKernel_v7000", at + 20_000, at + 24_000 + kernel, number + 2 + kernel)
        made.kernel(
            GEMM, pid, at + 40_000 + 50_000 * kernel, at + 85_000 + 50_000 * kernel, number + 2 + kernel
        )
    registered = {"domainId": _DOMAIN_ID, "textId": made.text("ncclAllReduce")}
    made.range(pid, pid + 1, None, at + 91_000, at + 99_000, **registered)
    made.call(pid, pid + 1, "cudaLaunchKernelExC_v11060", at + 92_000, at + 98_000, number + 4)
    made.kernel(ALL_REDUCE, pid, at + 150_000, at + 400_000 - late, number + 4, streamId=20)
    made.call(pid, pid, "cudaGraphLaunch_v10000", at + 100_000, at + 110_000, number + 5)
    made.work("GRAPH_TRACE", pid, at + 420_000, at + 600_000, number + 5, graphId=3)
    made.call(pid, pid, "cudaMemcpyAsync_v3020", at + 120_000, at + 125_000, number + 6)
    made.work(
        *("MEMCPY", pid, at + 600_000, at + 640_000, number + 6),
        bytes=1 << 10,
        copyKind=2,
        srcKind=2,
        dstKind=0,
    )
    made.call(pid, pid, "cudaStreamSynchronize_v3020", at + 130_000, at + 650_000, number + 7)
    made.work("SYNCHRONIZATION", pid, at + 131_000, at + 649_000, number + 7, syncType=2)
    made.range(pid, pid, "loss", at + 700_000, None, eventType=34)
