"""Sources that share files: the same answers, from fewer files, whatever happened before and in between."""

import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

import tfvis_nb as tv
from tests.fleet.dataset.folders import DATA
from tests.fleet.timeline.datasets import bars
from tests.support.ingests import digests
from tests.support.texts import raises_id
from tfvis_nb import Trace, TraceDataset
from tfvis_nb.fleet.dataset import compaction, ingest
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.fleet.timeline.source import DatasetSource

FILES = {
    "a/rank0/step1.pb": "local_mlp_step1.pb",
    "a/rank0/step2.pb": "run_meta.v1",
    "a/rank1/step1.pb": "run_meta.v3",
    "a/rank1/step2.pb": "run_meta.v1",
    "b/step1.pb.xz": "horovod_rank0_step3.pb.xz",
    "b/step2.pb.xz": "gpu_tf218_dist.pb.xz",
    "c/plugins/profile/2026_01_31/gpu7.xplane.pb": "cpu_jax.xplane.pb",
}
"""Two ranks, several tasks in a file, a GPU, a profile with stacks."""
FOLDERS = len(TABLES) + 2


@pytest.fixture(scope="session")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bucket, and its dataset with files for each source."""
    folder = tmp_path_factory.mktemp("apart")
    for name, file in FILES.items():
        put(folder / "bucket", name, file)
    assert tv.open_traces(folder / "made").ingest(folder / "bucket") == (len(FILES), 0, 0, 0)
    return folder


@pytest.fixture
def packed(apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TraceDataset:
    """The same dataset after another ingest, in which its sources came to share files."""
    monkeypatch.setattr(compaction, "LEAST", 1)
    dataset = TraceDataset(shutil.copytree(apart / "made", tmp_path / "packed"))
    assert dataset.ingest(apart / "bucket") == (0, len(FILES), 0, 0)
    return dataset


def put(bucket: Path, name: str, file: str) -> Path:
    target = bucket / name
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(DATA / file, target))


def rows_of(table: pd.DataFrame) -> pd.DataFrame:
    keys = [name for name in ("key", "task", "step", "event", "stack", "lane", "op", "kind") if name in table]
    plain = table.astype(dict.fromkeys(set(keys) - {"step", "event", "stack"}, str))
    return plain.sort_values(keys, kind="stable").reset_index(drop=True)


def answers(dataset: TraceDataset) -> dict[str, pd.DataFrame]:
    """Return all tables, read in every way."""
    named = {name: getattr(dataset, name) for name in ("steps", "ops", "step_ops", "op_totals")}
    named |= {name: getattr(dataset, name) for name in ("lanes", "stacks", "sources")}
    of_dask = {f"dask {name}": rows_of(dataset.table(name).compute()) for name in TABLES}
    by_sql = {f"sql {name}": rows_of(dataset.sql(f"SELECT * FROM {name}")) for name in TABLES}
    return named | of_dask | by_sql


def assert_same(one: TraceDataset, other: TraceDataset) -> None:
    """Check that two datasets give the same tables, traces and problems."""
    found = answers(other)
    for name, table in answers(one).items():
        assert_frame_equal(found[name], table, obj=name)
    assert_frame_equal(one.problems, other.problems)
    for run in one.sources["run"].unique():
        assert file_of(one.trace(run)) == file_of(other.trace(run))


def file_of(trace: Trace) -> list[Any]:
    return [
        trace.events.to_json(),
        trace.notes,
        trace.nested,
        trace.stacks,
        trace.step_labels,
        trace.programs,
    ]


def parquet_files(dataset: TraceDataset) -> list[Path]:
    return sorted((dataset.path / "events").rglob("*.parquet"))


def test_shared_files_give_the_same_answers(apart: Path, packed: TraceDataset) -> None:
    assert_same(TraceDataset(apart / "made"), packed)
    assert len(digests(packed.path)) == 1 + 1 + FOLDERS
    one, other = (DatasetSource(each, "b", None, None) for each in (TraceDataset(apart / "made"), packed))
    span = one.places.span
    for bucket in (1, 1 << 10, span):
        shown, right = (bars(each, [*range(one.lanes + 1)], 0, span, bucket)[1] for each in (other, one))
        # Ops are numbered in the order in which threads find them.
        assert_frame_equal(shown.drop(columns="op"), right.drop(columns="op"))
    selected = {"start": 0, "end": span, "lanes": None, "step": None}
    assert_frame_equal(other.rows(selected)[0], one.rows(selected)[0])
    assert other.origins_of([3, 50, 70]) == one.origins_of([3, 50, 70])


def test_files_of_many_sources(tmp_path: Path) -> None:
    count = compaction.LEAST
    for step in range(count - 1):
        put(tmp_path / "bucket", f"r/step{step}.pb", "run_meta.v1")
    dataset = tv.open_traces(tmp_path / "bucket", tmp_path / "made")
    assert len(parquet_files(dataset)) == count - 1
    put(tmp_path / "bucket", f"r/step{count - 1}.pb", "run_meta.v1")
    assert dataset.ingest(tmp_path / "bucket") == (1, count - 1, 0, 0)
    assert len(digests(dataset.path)) == 1 + 1 + FOLDERS
    before = digests(dataset.path)
    assert dataset.ingest(tmp_path / "bucket") == (0, count, 0, 0)
    assert digests(dataset.path) == before


def test_one_source_is_read_without_the_others(packed: TraceDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[float] = []
    real = pq.ParquetFile.read_row_groups

    def counted(file: pq.ParquetFile, groups: list[int], *given: Any, **named: Any) -> Any:
        read.append(len(groups) / file.num_row_groups)
        return real(file, groups, *given, **named)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", counted)
    (events,) = parquet_files(packed)
    groups = pq.read_metadata(events).num_row_groups
    assert groups == sum(len(tasks) for tasks in packed.sources["tasks"])
    packed.trace("a", task="worker 1", steps=2)
    assert min(read) == 1 / groups


def test_row_groups_are_ordered_by_run_task_and_step(packed: TraceDataset) -> None:
    (events,) = parquet_files(packed)
    with pq.ParquetFile(events) as file:
        columns = file.schema_arrow.names
        bounds = [
            tuple(
                getattr(file.metadata.row_group(group).column(columns.index(name)).statistics, side)
                for name in ("run", "task", "step")
                for side in ("min", "max")
            )
            for group in range(file.num_row_groups)
        ]
    assert all(run == last and task == end for run, last, task, end, *_ in bounds)
    runs = [(run, step) for run, _, _, _, step, _ in bounds]
    assert [run for run, _ in runs] == sorted(run for run, _ in runs)
    assert len({*bounds}) == len(bounds)


HISTORIES = [
    [("a/rank0/step1.pb", "run_meta.v3"), ("b/step2.pb.xz", "gone"), ("a/rank1/step3.pb", "run_meta.v1")],
    [("b/step2.pb.xz", "damaged"), ("a/rank0/step1.pb", "run_meta.v1"), ("b/step2.pb.xz", "run_meta.v3")],
]
"""Names in the bucket, and what happens to them one after the other."""


@pytest.mark.parametrize(("changes", "most"), [(HISTORIES[0], 2), (HISTORIES[1], 256)])
def test_any_history_gives_the_same_answers(
    apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[tuple[str, str]], most: int
) -> None:
    monkeypatch.setattr(compaction, "MOST", most)
    monkeypatch.setattr(ingest, "ROUND", 3)
    bucket = shutil.copytree(apart / "bucket", tmp_path / "bucket")
    one, other = tv.open_traces(tmp_path / "one"), tv.open_traces(tmp_path / "other")
    for time, (name, file) in enumerate([("", "nothing"), *changes]):
        if file == "gone":
            (bucket / name).unlink()
        elif file == "damaged":
            (bucket / name).write_bytes(b"no trace")
        elif name:
            os.utime(put(bucket, name, file), (time, time))
        done = one.ingest(bucket, progress=False)
        with monkeypatch.context() as patch:
            patch.setattr(compaction, "LEAST", 1)
            assert other.ingest(bucket, progress=False) == done
    assert_same(one, other)
    assert len(parquet_files(other)) < len(parquet_files(one))


class Killed(BaseException):
    """In the place of a signal that ends the process."""


@pytest.mark.parametrize("operations", [0, 4, 17, 18, 19, 21, 60])
def test_a_killed_compaction_leaves_the_same_answers(
    apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operations: int
) -> None:
    """It is ended after some changes of the disk; the entries of the pack are written by the 18th."""
    monkeypatch.setattr(compaction, "LEAST", 1)
    right = TraceDataset(apart / "made")
    copy = shutil.copytree(apart / "made", tmp_path / "made")
    steps = 0

    def counted(real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > operations:
                raise Killed
            return real(*given, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink", "mkdir", "rmdir"):
            patch.setattr(os, name, counted(getattr(os, name)))
        with pytest.raises(Killed):
            TraceDataset(copy).ingest(apart / "bucket", progress=False)
    dataset = TraceDataset(copy)
    for name in ("steps", "ops", "sources", "problems"):
        assert_frame_equal(getattr(dataset, name), getattr(right, name))
    found, wanted = (rows_of(one.sql("SELECT * FROM events")) for one in (dataset, right))
    assert_frame_equal(found, wanted)
    assert dataset.ingest(apart / "bucket", progress=False) == (0, len(FILES), 0, 0)
    assert len(digests(copy)) == 1 + 1 + FOLDERS


def test_damaged_shared_files_are_named_and_made_again(apart: Path, packed: TraceDataset) -> None:
    (events,) = parquet_files(packed)
    whole = events.read_bytes()
    events.write_bytes(whole[:4] + bytes(64) + whole[68:])
    with raises_id(OSError, "dataset_part_damaged", path=str(events)):
        packed.events.compute()
    events.write_bytes(whole[:-40])
    with raises_id(OSError, "dataset_part_damaged", path=str(events)):
        packed.trace("b")
    assert packed.ingest(apart / "bucket") == (len(FILES), 0, 0, 0)
    assert_same(TraceDataset(apart / "made"), packed)
    (pack,) = packed.path.glob("manifest/*.pack")
    pack.write_bytes(pack.read_bytes()[:-9])
    damaged = TraceDataset(packed.path)
    assert damaged.problems[["path", "problem"]].to_numpy().tolist() == [[str(pack), "entry_damaged"]]
    assert damaged.ingest(apart / "bucket") == (len(FILES), 0, 0, 0)
    assert_same(TraceDataset(apart / "made"), damaged)
    assert len(digests(packed.path)) == 1 + 1 + FOLDERS


def test_a_damaged_source_stays_apart(apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "LEAST", 1)
    dataset = TraceDataset(shutil.copytree(apart / "made", tmp_path / "made"))
    events = parquet_files(dataset)[0]
    whole = events.read_bytes()
    events.write_bytes(whole[:4] + bytes(64) + whole[68:])
    assert dataset.ingest(apart / "bucket") == (0, len(FILES), 0, 0)
    assert events in parquet_files(dataset)
    assert len(parquet_files(dataset)) == 2
    events.write_bytes(whole)
    dataset.ingest(apart / "bucket")
    assert_same(TraceDataset(apart / "made"), dataset)
    assert len(parquet_files(dataset)) == 1


def test_files_of_users_stay_next_to_shared_files(apart: Path, packed: TraceDataset) -> None:
    mine = [packed.path / name for name in ("levels/own.parts", "manifest/mine.pack", "events/0.parquet")]
    for file in mine:
        file.write_text("mine")
    put_again = apart / "bucket/a/rank0/step1.pb"
    before = put_again.stat()
    os.utime(put_again, (5, 5))
    try:
        assert packed.ingest(apart / "bucket") == (1, len(FILES) - 1, 0, 0)
    finally:
        os.utime(put_again, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [file.read_text() for file in mine] == ["mine"] * 3
    assert packed.problems["path"].tolist() == [str(mine[1]), str(mine[2]), str(mine[0])]


def test_shared_tables_are_plain_parquet(packed: TraceDataset) -> None:
    """Other programs read them as the documentation says."""
    import duckdb

    files = str(packed.path / "ops/**/*.parquet")
    ops = duckdb.connect().execute(
        f"SELECT run, task, step, op, self_ns FROM read_parquet('{files}', hive_partitioning = true)"
    )
    wanted = packed.ops[["run", "task", "step", "op", "self_ns"]]
    assert sorted(ops.df().astype(str).to_numpy().tolist()) == sorted(wanted.astype(str).to_numpy().tolist())
    assert '"version": 2' in (packed.path / "dataset.json").read_text()
