"""SQLite exports of Nsight Systems. The oracle is SQL over the same file."""

import gzip
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.hostile_names import HOSTILE
from tests.mutants import everything, session_pages
from tests.support.nsys_export import (
    ALL_REDUCE,
    GEMM,
    HELPER,
    PIDS,
    SCHEMA,
    START,
    STEPS,
    Job,
    database,
    job,
)
from tests.support.texts import figures_of, raises_id
from tfvis_nb.texts import Text

PAGE = 4096
TASKS = ("/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1")
EVENTS = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "NVTX_EVENTS",
)
LAUNCHED = EVENTS[:4]
UNUSED = ("META_DATA_EXPORT", "OSRT_API")
COLUMNS = [
    (table, column.split()[0])
    for table, columns in SCHEMA.items()
    if table not in UNUSED
    for column in columns.split(",")
]


def asked(data: bytes, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query over an export."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        return connection.execute(query).fetchall()


def listed(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table as tuples with names, whose types mypy does not know."""
    return list(table.itertuples())


def read(data: bytes) -> tv.Trace:
    trace = tv.read_trace(data)
    everything.sound(trace)
    return trace


@pytest.fixture(scope="module")
def data() -> bytes:
    return job().database()


@pytest.fixture(scope="module")
def trace(data: bytes) -> tv.Trace:
    return read(data)


def test_each_row_of_each_table_is_an_event(data: bytes, trace: tv.Trace) -> None:
    expected: list[tuple[int, int]] = []
    for table in EVENTS:
        chosen = " WHERE eventType IN (34, 59, 60)" if table == "NVTX_EVENTS" else ""
        expected += asked(data, f"SELECT start + {START}, coalesce(end, start) - start FROM {table}{chosen}")
    got = trace.events[["start_ns", "duration_ns"]].itertuples(index=False, name=None)
    assert sorted(got) == sorted(expected)
    assert figures_of(trace.notes, "nsys_tables_left_out") == [{"tables": "OSRT_API"}]


@pytest.mark.parametrize("table", LAUNCHED)
def test_work_has_the_device_and_launch_that_sql_finds(data: bytes, trace: tv.Trace, table: str) -> None:
    wanted = asked(
        data,
        f"""
        SELECT w.start + {START}, w.end - w.start, w.globalPid >> 24 & 0xffffff, w.deviceId,
               r.start + {START}, s.value
        FROM {table} w
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
          ON r.correlationId = w.correlationId AND r.globalTid >> 24 = w.globalPid >> 24
        JOIN StringIds s ON s.id = r.nameId
        """,
    )
    kinds = {LAUNCHED[0]: ("kernel", "collective"), LAUNCHED[1]: ("kernel",)}
    kind = kinds.get(table, (table.rpartition("_")[2].lower(),))
    events = trace.events
    is_graph = events["op"] == "CUDA graph"
    rows = events[events["kind"].isin(kind) & (is_graph == (table == LAUNCHED[1]))]
    launches = trace.edges[trace.edges["kind"] == "launch"].set_index("target")["source"]
    got = [
        (
            *(row.start_ns, row.duration_ns, PIDS[TASKS.index(row.task)]),
            int(row.device.removeprefix(f"{row.task}/device:GPU:")),
            *(row.scheduled_ns, events.loc[launches[row.Index], "detail"]),
        )
        for row in listed(rows)
    ]
    assert wanted
    assert sorted(got) == sorted(wanted)


def test_sums_by_kernel_are_those_of_sql(data: bytes, trace: tv.Trace) -> None:
    wanted = asked(
        data,
        "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k"
        " JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value",
    )
    rows = trace.events[trace.events["detail"].str.contains(" regs:")]
    sums = rows.groupby(rows["detail"].str.partition(" regs:")[0])["duration_ns"].agg(["size", "sum"])
    assert sorted(sums.itertuples(name=None)) == sorted(wanted)
    assert {GEMM, ALL_REDUCE} == set(sums.index)
    launches = trace.kernels[["registers", "dynamic_shared_bytes"]].dropna()
    assert set(launches.itertuples(index=False, name=None)) == {(92, 98304)}


def test_steps_are_the_ranges_of_both_processes(data: bytes, trace: tv.Trace) -> None:
    assert trace.steps["label"].tolist()[-STEPS:] == [f"step {step}" for step in range(STEPS)]
    wanted = asked(
        data,
        """
        SELECT n.text, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
          ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24
        JOIN NVTX_EVENTS n ON n.globalTid >> 24 = r.globalTid >> 24 AND n.text LIKE 'step %'
          AND n.start <= r.start AND r.start < n.end GROUP BY n.text
        """,
    )
    rows = trace.events[trace.events["detail"].str.contains(" regs:")]
    assert rows["step"].map(trace.step_labels).value_counts().to_dict() == dict(wanted)
    helpers = trace.events[trace.events["device"] == f"python3 {HELPER}"]
    assert helpers[["name", "task", "step"]].to_numpy().tolist() == [["load", "", -1]]
    assert figures_of(trace.notes, "steps_by_ranges") == [{"marks": STEPS, "name": "step 0"}]
    assert figures_of(trace.notes, "processes_as_tasks") == [{"tasks": 2, "pids": "4100, 4242"}]


def test_events_are_on_the_lanes_of_their_threads_and_streams(trace: tv.Trace) -> None:
    lanes = trace.lanes[trace.lanes["task"] == TASKS[0]]
    assert set(lanes["lane"][lanes["device"] == f"{TASKS[0]}/device:CPU:0"]) == {
        "python3/4100",
        "python3/4101",
    }
    assert set(lanes["lane"][lanes["device"] == f"{TASKS[0]}/device:GPU:0"]) == {
        *("stream:7", "stream:20", "memcpy H2D", "memcpy D2H", "memset")
    }
    ranges = trace.events[trace.events["name"] == "ncclAllReduce"]
    assert set(ranges["detail"]) == {"domain=NCCL"}
    assert set(trace.events["name"][trace.events["detail"] == "cudaLaunchKernel_v7000"]) == {
        "cudaLaunchKernel"
    }


def test_copies_have_ends_and_bytes(trace: tv.Trace) -> None:
    copies = trace.transfers[trace.transfers["kind"] == "memcpy"]
    cpu, gpu = (f"{TASKS[0]}/device:{device}:0" for device in ("CPU", "GPU"))
    own = copies[copies["source"].isin((cpu, gpu))]
    assert set(own[["source", "destination", "bytes"]].itertuples(index=False, name=None)) == {
        (cpu, gpu, 1 << 20),
        (gpu, cpu, 1 << 10),
    }


def test_gpus_are_numbered_as_the_processes_do(data: bytes, trace: tv.Trace) -> None:
    devices = trace.devices.dropna(subset=["model"]).set_index("task")
    assert devices.loc[list(TASKS), "model"].tolist() == ["NVIDIA H200 1", "NVIDIA H200 0"]
    assert set(devices.loc[list(TASKS), "compute_capability"]) == {"9.0"}
    wanted = asked(data, f"SELECT typeId & 255, metricId, timestamp + {START}, value FROM GPU_METRICS")
    metrics = {("SMs Active", "%"): 1, ("GPC Clock Frequency", "MHz"): 2}
    got = [
        (1 - TASKS.index(row.task), metrics[row.counter, row.unit], row.time_ns, int(row.value))
        for row in listed(trace.counters)
    ]
    assert sorted(got) == sorted(wanted)


def test_the_breakdown_is_of_gpu_work_and_not_of_step_marks(data: bytes, trace: tv.Trace) -> None:
    work = "SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_{}"
    computing = sum(
        asked(data, work.format(table))[0][0]
        for table in ("KERNEL WHERE streamId = 7", "GRAPH_TRACE", "MEMSET")
    )
    parts = trace.breakdown
    on_host = parts["device"].astype(str).str.contains("CPU")
    assert set(parts["device_compute_ns"][on_host]) == {0}
    assert set(parts["device_compute_ns"][~on_host]) == {computing // (STEPS * len(PIDS))}
    # Within its 800 µs a step runs nothing for the first 2 µs, and between its ranges.
    assert (parts["idle_ns"] > 100_000).all()


def test_every_analysis_takes_an_export() -> None:
    made = job()
    for number, name in enumerate(HOSTILE):
        made.range(PIDS[0], PIDS[0], name, 150_000 + number, 160_000)
    assert everything.survive(read(made.database()), random.Random(0))


@pytest.mark.parametrize("table", SCHEMA)
def test_an_export_without_a_table_is_read(table: str) -> None:
    kept = read(database(job().rows, without=[table]))
    assert len(kept.events)


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_an_export_without_a_column_is_read(table: str, column: str, trace: tv.Trace) -> None:
    kept = read(database(job().rows, without=[f"{table}.{column}"]))
    if column not in ("start", "end", "eventType"):
        assert len(kept.events) == len(trace.events)


def test_work_without_a_process_belongs_to_that_of_its_launch() -> None:
    made = Job()
    for pid, number in ((50, 1), (51, 2)):
        made.call(pid, pid, "cudaLaunchKernel_v7000", 10 * number, 10 * number + 5, number)
        made.kernel("gemm", pid, 100 * number, 100 * number + 50, number)
    found = read(database(made.rows, without=["CUPTI_ACTIVITY_KIND_KERNEL.globalPid"])).events
    kernels = found[found["kind"] == "kernel"]
    assert kernels["task"].tolist() == list(TASKS)
    assert (kernels["start_ns"] - kernels["scheduled_ns"]).tolist() == [90, 180]


def test_early_versions_write_defaults_for_missing_values() -> None:
    made = Job()
    made.call(50, 50, "cudaDeviceSynchronize_v3020", 10, 400, 1)
    made.range(50, 50, "", 5, 0, textId=made.text("epoch"))
    made.range(50, 50, "mark", 7, 0, eventType=34, textId=0)
    found = read(made.database())
    assert found.events[["name", "start_ns", "duration_ns"]].to_numpy().tolist() == [
        ["epoch", 5, 395],
        ["mark", 7, 0],
        ["cudaDeviceSynchronize", 10, 390],
    ]
    assert figures_of(found.notes, "bars_without_end") == [{"bars": 1}]
    assert figures_of(found.notes, "times_from_start") == [{}]


def test_synchronizations_are_named_by_their_calls() -> None:
    made = Job()
    made.call(50, 50, "cudaDeviceSynchronize_v3020", 10, 400, 1)
    for number in (1, 2):
        made.work("SYNCHRONIZATION", 50, 20, 390, number, syncType=1, streamId=0xFFFFFFFF)
    found = read(made.database()).events
    waits = found[found["kind"] == "sync"]
    assert waits[["name", "op", "lane"]].to_numpy().tolist() == [
        ["cudaDeviceSynchronize", "Sync", "sync"],
        ["Sync", "Sync", "sync"],
    ]


def test_synchronizations_are_of_the_device_of_their_context() -> None:
    made = Job()
    made.kernel("gemm", 50, 10, 20, 1, deviceId=1, contextId=2)
    made.work("SYNCHRONIZATION", 50, 20, 390, 2, contextId=2)
    found = read(made.database()).events
    assert found[["device", "lane"]].to_numpy().tolist() == [["/device:GPU:1", "stream:7"]] * 2


def test_normalized_times_are_epoch_times() -> None:
    made = Job()
    made.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=START)
    made.kernel("gemm", 50, START + 10, START + 20, 1)
    assert read(made.database()).events["start_ns"].tolist() == [START + 10]


def test_streams_of_other_contexts_have_their_own_lanes() -> None:
    made = Job()
    for context, start in ((1, 10), (2, 30)):
        made.kernel("gemm", 50, start, start + 9, 0, contextId=context)
    made.work("MEMCPY", 50, 50, 60, 0, bytes=8, copyKind=10, srcDeviceId=0, dstDeviceId=1)
    made.work("SYNCHRONIZATION", 50, 61, 70, 0, syncType=4, streamId=0xFFFFFFFF)
    found = read(made.database())
    assert found.events["lane"].tolist() == ["stream:7", "context:2 stream:7", "memcpy P2P", "sync"]
    (copy,) = found.events[found.events["kind"] == "memcpy"].itertuples()
    assert (copy.source, copy.destination) == ("/device:GPU:0", "/device:GPU:1")


def test_a_step_is_the_outermost_range_and_may_repeat() -> None:
    made = Job()
    for epoch in range(2):
        for batch in range(2):
            at = 1000 * epoch + 100 * batch
            made.range(50, 50, f"Batch_{batch}", at, at + 90)
            made.range(50, 50, "iteration 5", at + 10, at + 20)
            made.range(50, 50, "optimizer_step", at + 30, at + 40)
    found = read(made.database())
    assert found.steps["label"].tolist() == ["Batch_0", "Batch_1", "Batch_0", "Batch_1"]
    assert found.events["step"].value_counts().to_dict() == dict.fromkeys(range(4), 3)


def test_a_packed_file_and_a_folder_are_read(tmp_path: Path, data: bytes, trace: tv.Trace) -> None:
    assert len(tv.read_trace(gzip.compress(data)).events) == len(trace.events)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "report1.sqlite").write_bytes(data)
    assert tv.read_trace(tmp_path).title == "report1.sqlite"
    assert [path.name for path in (tmp_path / "inside").iterdir()] == ["report1.sqlite"]


def test_a_file_with_a_write_ahead_log_is_read(data: bytes, trace: tv.Trace) -> None:
    logged = data[:18] + b"\2\2" + data[20:]
    assert len(read(logged).events) == len(trace.events)


def test_other_databases_are_foreign(data: bytes) -> None:
    def of(*statements: str) -> bytes:
        connection = sqlite3.connect(":memory:")
        for statement in statements:
            connection.execute(statement)
        return connection.serialize()

    for other in (
        of("CREATE TABLE trials(a)"),
        of("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end)", "CREATE TABLE StringTable(_id_)"),
        of("CREATE VIEW NVTX_EVENTS AS SELECT 1 start, 2 end"),
    ):
        with raises_id(tv.TraceFormatError, "foreign_format", what=Text("is_sqlite")) as caught:
            tv.read_trace(other)
        assert caught.value.foreign
    for tables in (SCHEMA, ("StringIds", "OSRT_API")):
        with raises_id(tv.EmptyTraceError, "nsys_without_events"):
            tv.read_trace(database(dict.fromkeys(tables, ())))
    with raises_id(tv.TraceFormatError, "ends_early"):
        tv.read_trace(data[: len(data) // 2])
    with raises_id(tv.TraceFormatError, "sqlite_damaged"):
        tv.read_trace(data[:PAGE] + bytes(len(data) - PAGE))
    with raises_id(tv.TraceFormatError, "sqlite_damaged"):
        tv.read_trace(b"SQLite format 3\0" + bytes(200))


HOSTILE_SQL = (
    "ALTER TABLE NVTX_EVENTS ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "CREATE INDEX more ON NVTX_EVENTS(hex(text))",
    "CREATE VIEW more AS WITH RECURSIVE n(start) AS (SELECT 1 UNION SELECT start + 1 FROM n) SELECT * FROM n",
    "CREATE TRIGGER harm AFTER INSERT ON NVTX_EVENTS BEGIN DELETE FROM StringIds; END",
    'CREATE TABLE """; DROP TABLE NVTX_EVENTS; --"(start)',
    "CREATE TABLE NVTX_EVENTS_2 AS SELECT * FROM NVTX_EVENTS",
    "UPDATE StringIds SET value = x'ff00fe'",
    "UPDATE StringIds SET value = CAST(x'ff00fe' AS TEXT)",
)
WRONG = ("'text'", "1e300", "x'00ff'", "-9223372036854775808", "9223372036854775807", "0", "-1", "NULL")


@pytest.mark.parametrize("statement", HOSTILE_SQL)
def test_code_in_a_schema_does_not_run(statement: str, data: bytes, trace: tv.Trace) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(data)
        connection.execute(statement)
        assert len(read(connection.serialize()).events) == len(trace.events)


@pytest.mark.parametrize("turn", range(len(WRONG)))
def test_values_of_wrong_types_cost_at_most_their_rows(turn: int, data: bytes) -> None:
    for place, (table, column) in enumerate(COLUMNS):
        if place % len(WRONG) != turn:
            continue
        names = [one.split()[0] for one in SCHEMA[table].split(",")]
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.deserialize(data)
            connection.execute(f"ALTER TABLE {table} RENAME TO former")
            connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            connection.execute(f"INSERT INTO {table} SELECT * FROM former")
            connection.execute("DROP TABLE former")
            for number, value in enumerate(WRONG):
                connection.execute(
                    f'UPDATE {table} SET "{column}" = {value} WHERE rowid % {len(WRONG)} = {number}'
                )
            read(connection.serialize())


def test_deeply_nested_kernel_names_are_read_at_once() -> None:
    made = Job()
    depth = 200_000
    made.kernel(f"void f{'<' * depth}{'>' * depth}(int)", 50, 10, 20, 1)
    assert read(made.database()).events["name"].tolist() == ["f"]


@pytest.mark.parametrize("seed", range(3))
def test_damaged_pages_are_an_error_or_a_sound_trace(seed: int, data: bytes) -> None:
    chance = random.Random(seed)
    errors = 0
    for _ in range(40):
        damaged = data
        for _ in range(chance.choice((1, 1, 2, 4))):
            if len(damaged) >= PAGE:
                damaged = session_pages.damaged_page(damaged, data[::-1], chance)
        try:
            read(damaged)
        except tv.TraceFormatError:
            errors += 1
    assert 0 < errors < 40


def repeating(child: int) -> bytes:
    """Return an interior page of a table that has one other page, as its only child, 600 times."""
    cell, count = PAGE - 5, 600
    head = b"\5\0\0" + count.to_bytes(2, "big") + cell.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
    return (head + cell.to_bytes(2, "big") * count).ljust(cell, b"\0") + child.to_bytes(4, "big") + b"\1"


def test_pages_that_repeat_are_rejected(data: bytes) -> None:
    table = "CUPTI_ACTIVITY_KIND_RUNTIME"
    pages = dict(asked(data, "SELECT name, rootpage FROM sqlite_master"))
    made = bytearray(data)
    root, leaf, middle = (slice(PAGE * (pages[name] - 1), PAGE * pages[name]) for name in (table, *UNUSED))
    made[leaf] = made[root]
    made[middle], made[root] = repeating(pages[UNUSED[0]]), repeating(pages[UNUSED[1]])
    with raises_id(tv.TraceFormatError, "sqlite_rows_repeat", table=table):
        tv.read_trace(bytes(made))
