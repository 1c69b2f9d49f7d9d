"""A folder of traces becomes a dataset: sources that are read, read again, and left out."""

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import tfvis_nb as tv
from tests.fleet.dataset.folders import DATA, JOB, bucket
from tests.support.texts import raises_id
from tfvis_nb import TraceDataset
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.texts import id_of, text_of


def content(dataset: TraceDataset) -> dict[str, pd.DataFrame]:
    """Return all rows of all tables."""
    return {name: dataset.table(name).compute().reset_index(drop=True) for name in TABLES}


def files(dataset: TraceDataset) -> dict[str, bytes]:
    return {
        path.relative_to(dataset.path).as_posix(): path.read_bytes()
        for path in sorted(dataset.path.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bucket and its dataset, which tests only read."""
    folder = tmp_path_factory.mktemp("job")
    bucket(folder / "bucket", JOB)
    assert tv.open_traces(folder / "dataset").ingest(folder / "bucket") == (5, 0, 0, 0)
    return folder


def test_runs_tasks_and_steps(job: Path) -> None:
    found = tv.open_traces(job / "dataset").sources.set_index("path")
    found.index = [Path(path).relative_to(job / "bucket").as_posix() for path in found.index]
    assert found["run"].to_dict() == {
        "a/rank0/step3.pb.xz": "a",
        "a/rank1/step3.pb.xz": "a",
        "b/step5.pb.xz": "b",
        "b/step6.pb.xz": "b",
        "c/plugins/profile/2026_01_31/gpu7.xplane.pb": "c/2026_01_31",
    }
    assert found["steps"].tolist() == [[3], [3], [5], [6], [0, 1, 2]]
    assert [sorted(tasks) for tasks in found["tasks"]] == [
        ["/job:worker/replica:0/task:0"],
        ["/job:worker/replica:0/task:1"],
        ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"],
        ["/job:localhost/replica:0/task:0"],
        ["/job:gpu7/replica:0/task:0"],
    ]


def test_ingested_sources_are_not_read_again(job: Path, tmp_path: Path) -> None:
    shutil.copytree(job / "dataset", tmp_path / "dataset")
    dataset = tv.open_traces(tmp_path / "dataset")
    before = files(dataset)
    assert dataset.ingest(job / "bucket") == (0, 5, 0, 0)
    assert files(dataset) == before


def test_an_ingest_of_the_same_is_the_same(job: Path, tmp_path: Path) -> None:
    dataset = tv.open_traces(tmp_path)
    # In another order, one by one.
    for path in sorted((job / "bucket").rglob("*.pb*"), reverse=True):
        dataset.ingest(str(path))
    once, again = content(tv.open_traces(job / "dataset")), content(dataset)
    for name in TABLES:
        if name != "lanes":
            assert_frame_equal(once[name].drop(columns="run"), again[name].drop(columns="run"))


def test_changed_new_and_gone(tmp_path: Path) -> None:
    folder = bucket(tmp_path / "bucket", {"r/step1.pb": "local_mlp_step1.pb", "r/step2.pb": "run_meta.v1"})
    dataset = tv.open_traces(tmp_path / "dataset")
    assert dataset.ingest(folder) == (2, 0, 0, 0)
    shutil.copyfile(DATA / "run_meta.v3", folder / "r/step1.pb")
    shutil.copyfile(DATA / "run_meta.v0", folder / "r/step3.pb")
    (folder / "r/step2.pb").unlink()
    assert dataset.ingest(folder) == (2, 0, 0, 1)
    assert dataset.steps["step"].tolist() == [1, 2, 3]
    assert (
        dataset.trace(steps=1).events["name"].tolist()
        == tv.read_trace(DATA / "run_meta.v3").events["name"].tolist()
    )
    assert dataset.problems["problem"].tolist() == ["source_gone"]
    assert "3 traces" in repr(dataset)
    assert repr(dataset).endswith("1 problem>")
    shutil.copyfile(DATA / "run_meta.v1", folder / "r/step2.pb")
    dataset.ingest(folder)
    assert dataset.problems.empty


def test_broken_sources_are_listed(tmp_path: Path) -> None:
    folder = bucket(tmp_path / "bucket", {"r/step1.pb": "local_mlp_step1.pb", "r/step4.pb": "run_meta.v1"})
    (folder / "r/step2.pb").write_bytes((DATA / "local_mlp_step1.pb").read_bytes()[:9000])
    (folder / "r/step3.pb").write_bytes(b"")
    (folder / "r/notes.json").write_text('{"a": 1}')
    (folder / "r/link.pb").symlink_to("nowhere.pb")
    os.mkfifo(folder / "r/pipe.pb")
    with (folder / "r/model.data").open("wb") as file:
        file.truncate(1 << 27)
    dataset = tv.open_traces(tmp_path / "dataset")
    assert dataset.ingest(f"{folder}/**/*.*") == (2, 0, 6, 0)
    found = dataset.problems.set_index("path")["problem"]
    assert {
        Path(path).name: problem for path, problem in zip(dataset.problems["path"], found, strict=True)
    } == {
        "step2.pb": "message_cut_off",
        "step3.pb": "empty_run",
        "notes.json": "json_without_events",
        "link.pb": "source_is_dangling",
        "pipe.pb": "source_no_file",
        "model.data": "large_files_left_out",
    }
    assert all(id_of(reason) for reason in dataset.problems["reason"])
    assert dataset.steps["step"].tolist() == [1, 4]
    # They are not read again before they change.
    assert dataset.ingest(f"{folder}/**/*.*") == (0, 2, 6, 0)
    (folder / "r/step2.pb").write_bytes((DATA / "local_mlp_step1.pb").read_bytes())
    assert dataset.ingest(f"{folder}/**/*.*") == (1, 2, 5, 0)
    (folder / "r/nowhere.pb").write_bytes((DATA / "run_meta.v0").read_bytes())
    # A repaired link is a trace, and so is its target, as another run.
    assert dataset.ingest(folder) == (2, 3, 3, 0)


def test_two_sources_of_one_step(tmp_path: Path) -> None:
    folder = bucket(tmp_path / "bucket", {"r/step1.pb": "local_mlp_step1.pb"})
    dataset = tv.open_traces(tmp_path / "dataset")
    dataset.ingest(folder)
    bucket(folder, {"r/global_step_1.pb": "run_meta.v1"})
    before = tv.read_trace(DATA / "run_meta.v1").events["name"].tolist()
    assert dataset.ingest(folder) == (1, 0, 1, 0)
    # The first by name is kept, whichever was read first.
    assert dataset.trace().events["name"].tolist() == before
    assert dataset.problems[["path", "problem"]].to_numpy().tolist() == [
        [str(folder / "r/step1.pb"), "step_of_other_source"]
    ]
    assert len([*dataset.path.glob("events/**/*.parquet")]) == 1
    assert dataset.ingest(folder / "r/step1.pb", run="other") == (1, 0, 0, 0)
    assert dataset.problems.empty
    assert len(dataset.steps) == 2


def test_nothing_there(tmp_path: Path) -> None:
    dataset = tv.open_traces(tmp_path / "dataset")
    with pytest.raises(FileNotFoundError):
        dataset.ingest(tmp_path / "nowhere.pb")
    with pytest.raises(TypeError) as error:
        dataset.ingest([b"bytes"])
    assert text_of(error.value).id == "source_of_dataset"
    with raises_id(TypeError, "run_no_text"):
        dataset.ingest(DATA / "run_meta.v1", run=5)  # type: ignore[arg-type]
    # Nothing is left behind, and no typing error in a path reads as a dataset without traces.
    assert not dataset.path.exists()
    with raises_id(FileNotFoundError, "dataset_nowhere"):
        _ = dataset.steps
    assert "nothing is there" in repr(dataset)
    with pytest.raises(FileNotFoundError):
        tv.open_traces(f"{tmp_path}/none/*.pb", dataset.path)
    assert [*tmp_path.iterdir()] == []
    dataset.path.mkdir()
    assert dataset.steps.empty
    assert dataset.events.compute().empty


@pytest.mark.parametrize("found_by", ["", "/**/*.pb", "/r*/*.pb", "/r"])
def test_a_folder_that_cannot_be_listed_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found_by: str
) -> None:
    names = {"r/step1.pb": "local_mlp_step1.pb", "r/private/step2.pb": "run_meta.v1"}
    folder = bucket(tmp_path / "bucket", names)
    closed = folder / ("r/private" if found_by in ("", "/**/*.pb") else "r")
    real = os.scandir

    def scandir(path: Any = ".") -> Any:
        # Root, as whom tests may run, may list all folders.
        if os.fspath(path) == str(closed):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    dataset = tv.open_traces(tmp_path / "dataset")
    dataset.ingest(f"{folder}{found_by}")
    assert dataset.problems[["path", "problem"]].to_numpy().tolist() == [[str(closed), "source_unreadable"]]
    monkeypatch.undo()
    dataset.ingest(f"{folder}{found_by}")
    assert dataset.problems.empty
    if found_by == "":
        monkeypatch.setattr(os, "scandir", scandir)
        assert "folders_unreadable" in map(id_of, tv.read_trace(folder).notes)
        with pytest.raises(PermissionError):
            tv.read_trace(closed)


def test_only_an_empty_folder_becomes_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(FileExistsError) as error:
        tv.open_traces(DATA / "run_meta.v1", tmp_path)
    assert text_of(error.value).id == "dataset_not_one"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_ingest_that_was_ended_before_anything_was_read(tmp_path: Path) -> None:
    (tmp_path / ".tfvis-nb-0a1b").touch()
    assert tv.open_traces(DATA / "run_meta.v1", tmp_path).problems.empty


def test_another_run(tmp_path: Path) -> None:
    dataset = tv.open_traces(tmp_path)
    long = "x" * 300
    for run in ("a", None, long):
        dataset.ingest(DATA / "run_meta.v1", run=run)
    assert dataset.problems.empty
    assert len(dataset.steps) == 1
    assert dataset.sources["run"].iloc[0].startswith("xxx")
    assert dataset.ingest(DATA / "run_meta.v1", run=long).unchanged == 1


def test_without_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    with pytest.raises(ImportError) as error:
        tv.open_traces(tmp_path).ingest(DATA / "run_meta.v1")
    assert text_of(error.value).id == "dataset_extra_missing"
    assert tv.open_traces(tmp_path).steps.empty


def test_opening_traces_ingests_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = bucket(tmp_path / "logs", {"r/step1.pb": "local_mlp_step1.pb"})
    assert len(tv.open_traces(folder).steps) == 1
    bucket(folder, {"r/step2.pb": "run_meta.v1"})
    dataset = tv.open_traces(folder)
    assert dataset.steps["step"].tolist() == [1, 2]
    assert dataset.path.is_relative_to(tmp_path / "cache")
    assert (dataset.title, tv.open_traces(f"{folder}/*/*.pb").title) == ("logs", "logs/*/*.pb")
    assert len(tv.open_traces(f"{folder}/**/*2.pb", tmp_path / "dataset").steps) == 1
    assert tv.open_traces(tmp_path / "dataset").trace().step_labels == {0: "step 2"}


def test_traces_and_copies_of_a_dataset_may_be_at_urls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bucket = fsspec.filesystem("memory")
    bucket.pipe("/fleet/logs/r/step1.pb", (DATA / "run_meta.v1").read_bytes())
    dataset = tv.open_traces("memory://fleet/logs/*/*.pb", tmp_path / "dataset")
    assert dataset.sources[["run", "events"]].to_numpy().tolist() == [["r", 14]]
    assert len(dataset.trace(task="local").events) == 14
    with raises_id(ValueError, "dataset_at_url"):
        tv.open_traces("memory://fleet/logs", "memory://fleet/dataset")
    dataset.upload("memory://fleet/dataset")
    with raises_id(ValueError, "dataset_at_url"):
        dataset.ingest("memory://fleet/dataset")
    assert len(tv.open_traces("memory://fleet/dataset").trace().events) == 14
    other = tv.open_traces(DATA / "run_meta.v3", tmp_path / "other")
    with raises_id(ValueError, "copy_over_dataset", path=str(other.path)):
        tv.open_traces("memory://fleet/dataset", other.path)
    assert len(other.sources) == 1
    bucket.rm("/fleet", recursive=True)
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "dataset", "other"}
