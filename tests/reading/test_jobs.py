"""Files of several workers or ranks of one job become one trace; others stay apart."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import SHARED
from tests.support.examples import examples
from tests.support.texts import figures_of, says
from tfvis_nb.analysis import late_ranks, stragglers
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.texts import id_of

EPOCH_US = 1_700_000_000_000_000
WORKER = "/job:worker/replica:0/task:{}"
SERVER = "/job:ps/replica:0/task:0"


def of_worker(worker: int, start: int = 0, took: int = 1000, nodes: str = "mm") -> bytes:
    """A step of a worker that reads a weight from a parameter server, which applies its gradient."""
    step = schema.message_class("RunMetadata")()
    rows = {
        f"{WORKER.format(worker)}/device:CPU:0": [
            ("_SOURCE", 0, 1),
            (nodes, 210, took),
            (f"{nodes}_b", 215 + took, 65),
        ],
        f"{SERVER}/device:CPU:0": [("w/read", 20, 40), (f"apply_{worker}", 430 + took, 50)],
    }
    for device, entries in rows.items():
        entry = step.step_stats.dev_stats.add(device=device.encode())
        for name, at, length in entries:
            entry.node_stats.add(
                node_name=name.encode(),
                timeline_label=f"{name} = MatMul()".encode(),
                all_start_micros=EPOCH_US + start + at,
                all_end_rel_micros=length,
            )
    data: bytes = step.SerializeToString()
    return data


def of_rank(
    rank: int,
    world: int,
    slow: Sequence[int],
    start: int = 0,
    gemm: str = "aten::mm",
    first: int = 5,
    waits: int = 20_000,
) -> bytes:
    """Steps of 30 ms of a rank of PyTorch, whose matmul takes some us, before all ranks have met."""
    events: list[dict[str, Any]] = []
    number = 0
    for step, took in enumerate(slow):
        at = EPOCH_US + start + 30_000 * step
        mark = {"cat": "user_annotation", "name": f"ProfilerStep#{first + step}"}
        events.append(mark | {"ts": at, "dur": 29_900})
        arrived = at + 300 + took
        for name, kernel, begin, length in (
            (gemm, "gemm", at + 300, took),
            ("c10d::allreduce_", "ncclDevKernel_AllReduce", arrived, at + waits + 1300 - arrived),
        ):
            number += 1
            launch = {"args": {"correlation": number, "External id": number, "device": 0, "stream": 7}}
            called = at + 100 + 50 * (number % 2)
            events += [
                {"cat": "cpu_op", "name": name, "ts": called - 10, "dur": 40},
                {"cat": "cuda_runtime", "name": "launch", "ts": called, "dur": 10} | launch,
                {"cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": begin, "dur": length} | launch,
            ]
    places = [{"ph": "X", "pid": 100, "tid": 100} | event for event in events]
    return json.dumps(
        {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": world}, "traceEvents": places}
    ).encode()


def read(files: dict[str, bytes], as_list: bool = False) -> tv.Trace:
    """Read files of a folder, or a list of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_bytes(content)
        return tv.read_trace([Path(folder, name) for name in files] if as_list else folder)


def steps_of(trace: tv.Trace) -> list[set[str]]:
    """Return the tasks of each step."""
    return [set(part["task"].astype(str)) for _, part in trace.events.groupby("step")]


def merges(trace: tv.Trace) -> list[Any]:
    return [note for note in trace.notes if id_of(note) == "job_files_merged"]


@pytest.mark.parametrize("as_list", [False, True])
def test_a_step_of_two_workers_is_one_step(as_list: bool) -> None:
    files = {"worker0_step5.pb": of_worker(0), "worker1_step5.pb": of_worker(1, took=3000)}
    trace = read(files, as_list)
    assert trace.steps[["duration_ns", "label"]].to_numpy().tolist() == [[3_480_000, "step5"]]
    assert steps_of(trace) == [{WORKER.format(0), WORKER.format(1), SERVER}]
    last = stragglers(trace).query("last")
    assert last[["task", "lateness_ns"]].to_numpy().tolist() == [[WORKER.format(1), 2_000_000]]
    assert len(trace.run_metadata) in (0, 1)
    (note,) = merges(trace)
    assert says(
        note,
        "job_files_merged",
        files=2,
        tasks=2,
        names="worker0_step5.pb, worker1_step5.pb",
        steps=1,
        why="overlap",
    )


@pytest.mark.parametrize("as_list", [False, True])
def test_ranks_of_one_job_wait_for_each_other(as_list: bool) -> None:
    files = {f"{rank}.json": of_rank(rank, 2, [5_000 if rank == 0 else 20_000] * 3) for rank in range(2)}
    trace = read(files, as_list)
    assert steps_of(trace) == [{WORKER.format(0), WORKER.format(1)}] * 3
    ranks = late_ranks(trace)
    waited = ranks[ranks["task"] == WORKER.format(0)]["waited_ns"]
    assert waited.tolist() == [15_000_000] * 3
    assert trace.findings["id"].tolist()[0] == "straggler.collective"
    figures = trace.findings["figures"][0]
    assert trace.findings["title"][0].startswith("Worker 1 ")
    assert "last at 3 of 3" in trace.findings["text"][0], figures
    assert figures_of(trace.notes, "steps_by_marks") == [{"marks": 3}]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=2, max_size=3))
@settings(max_examples=examples(100))
def test_notes_count_steps_of_several_ranks_once(ranks: list[tuple[int, int]]) -> None:
    files = {
        f"{rank}.json": of_rank(rank, len(ranks), [5_000] * count, 30_000 * first, first=first)
        for rank, (first, count) in enumerate(ranks)
    }
    trace = read(files)
    (counted,) = figures_of(trace.notes, "steps_by_marks")
    assert counted["marks"] == (trace.steps["step"] >= 0).sum()


def test_arguments_of_collectives_name_the_rank() -> None:
    files = {}
    for rank in range(2):
        document = json.loads(of_rank(rank, 2, [5_000] * 2))
        del document["distributedInfo"]
        for event in document["traceEvents"]:
            if event["name"] == "ncclDevKernel_AllReduce":
                event["args"] |= {"Group size": 2, "Rank": rank, "Src Rank": 1 - rank}
            elif event["name"] == "gemm":
                event["args"] |= {"Group size": 1, "Rank": 0}
        files[f"{rank}.json"] = json.dumps(document).encode()
    trace = read(files)
    assert steps_of(trace) == [{WORKER.format(0), WORKER.format(1)}] * 2


def timeline(run: bytes) -> bytes:
    """Return what timeline.py of TensorFlow makes of a run."""
    message = schema.message_class("RunMetadata").FromString(run)
    events: list[dict[str, Any]] = []
    for pid, entry in enumerate(message.step_stats.dev_stats):
        name = {"name": f"{entry.device.decode()} Compute"}
        events.append({"ph": "M", "name": "process_name", "pid": pid, "args": name})
        for row in entry.node_stats:
            arguments = {"name": row.node_name.decode(), "op": "MatMul"}
            times = {"ts": row.all_start_micros, "dur": row.all_end_rel_micros}
            events.append(
                {"ph": "X", "cat": "Op", "name": "MatMul", "pid": pid, "tid": 0, "args": arguments} | times
            )
    return json.dumps({"traceEvents": events}).encode()


@pytest.mark.parametrize("as_list", [False, True])
def test_a_run_in_two_formats_is_one_step(as_list: bool) -> None:
    runs = {f"{n}.pb": of_worker(0, 5000 * n) for n in range(3)}
    timelines = {f"timeline-{n}.json": timeline(of_worker(0, 5000 * n)) for n in range(1, 4)}
    trace = read(runs | timelines, as_list)
    assert len(trace.steps) == 4
    assert len(trace.events) == 4 * 5
    (note,) = [note for note in trace.notes if id_of(note) == "repeated_timelines"]
    assert says(note, "repeated_timelines", files=2, names="timeline-1.json, timeline-2.json")
    workers = {f"{n}.pb": of_worker(n) for n in range(2)}
    both = read(workers | {f"{n}.json": timeline(of_worker(n)) for n in range(2)}, as_list)
    assert steps_of(both) == [{WORKER.format(0), WORKER.format(1), SERVER}]


APART = {
    "steps of one worker": {f"{n}.pb": of_worker(0, 2000 * n) for n in range(3)},
    "a worker twice at once": {"a0.pb": of_worker(0), "a1.pb": of_worker(1), "b0.pb": of_worker(0, 100)},
    "runs a day apart": {"0.pb": of_worker(0), "1.pb": of_worker(1, 86_400_000_000)},
    "runs after each other": {"0.pb": of_worker(0), "1.pb": of_worker(1, 10_000)},
    "other nodes": {"0.pb": of_worker(0), "1.pb": of_worker(1, nodes="conv")},
    "steps that do not meet": {
        "0.pb": of_worker(0, took=9000),
        "1.pb": of_worker(1),
        "2.pb": of_worker(1, 4000),
    },
    "other sizes": {f"{rank}.json": of_rank(rank, 2 + rank, [5000] * 2) for rank in range(2)},
    "a rank twice": {f"{n}.json": of_rank(0, 2, [5000] * 2, 40 * n) for n in range(2)},
    "jobs at once": {f"{n}.json": of_rank(n % 2, 2, [5000] * 2, 40 * n) for n in range(4)},
    "ranks days apart": {f"{n}.json": of_rank(n, 2, [5000] * 2, 86_400_000_000 * n) for n in range(2)},
    "ranks of other programs": {
        f"{n}.json": of_rank(n, 2, [5000] * 2, gemm=f"op{n}").replace(b"c10d::all", b"c%dd::all" % n)
        for n in range(2)
    },
}


@pytest.mark.parametrize("kind", APART)
def test_other_files_stay_apart(kind: str) -> None:
    trace = read(APART[kind])
    assert not merges(trace)
    assert len(trace.steps) == sum(len(tv.read_trace(content).steps) for content in APART[kind].values())


@pytest.mark.parametrize("workers", [2, 3])
def test_steps_are_matched_by_time_whatever_the_names(workers: int) -> None:
    files = {
        f"{'cab'[worker]}{9 - step}.pb": of_worker(worker, 5000 * step, 1000 + 700 * worker)
        for step in range(4)
        for worker in range(workers)
    }
    trace = read(files)
    assert steps_of(trace) == [{SERVER, *(WORKER.format(worker) for worker in range(workers))}] * 4
    assert trace.steps["duration_ns"].tolist() == [480_000 + 1_000_000 + 700_000 * (workers - 1)] * 4
    (note,) = merges(trace)
    assert (note.figures["files"], note.figures["steps"]) == (4 * workers, 4)


@settings(max_examples=examples(200))
@given(st.data())
def test_generated_jobs_are_merged_in_any_order(data: st.DataObject) -> None:
    workers, count = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 4))
    skew = [0, *(data.draw(st.integers(-300, 300)) for _ in range(workers - 1))]
    files = {
        f"w{worker}_{step}.pb": of_worker(
            worker, 10_000 * step + skew[worker], data.draw(st.integers(2000, 4000))
        )
        for step in range(count)
        for worker in range(workers)
    }
    order = data.draw(st.permutations([*files]))
    trace = read({name: files[name] for name in order}, as_list=True)
    assert steps_of(trace) == [{SERVER, *(WORKER.format(worker) for worker in range(workers))}] * count
    assert len(trace.events) == 5 * workers * count


def test_a_profile_in_parquet_has_the_same_tasks(tmp_path: Path) -> None:
    for rank in range(2):
        tv.read_trace(of_rank(rank, 2, [5000] * 2)).to_parquet(tmp_path / f"{rank}.parquet")
    assert steps_of(tv.read_trace(tmp_path)) == [{WORKER.format(0), WORKER.format(1)}] * 2


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared/traces")
def test_real_workers_of_a_synchronous_job() -> None:
    files = [SHARED / f"hvd/tf115_distsync_worker{worker}_step3.pb" for worker in range(2)]
    trace = tv.read_trace(files)
    alone = [tv.read_trace(file) for file in files]
    assert len(trace.events) == sum(len(each.events) for each in alone)
    (step,) = trace.steps.itertuples()
    assert step.start_ns == min(int(each.steps["start_ns"][0]) for each in alone)
    assert step.end_ns == max(int(each.steps["end_ns"][0]) for each in alone)
    assert steps_of(trace) == [{WORKER.format(0), WORKER.format(1), SERVER}]
