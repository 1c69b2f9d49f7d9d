"""``tfvis-nb ingest``: a dataset from a shell."""

import resource
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.cli.command import complaint, tfvis_nb, tfvis_nb_here
from tests.fleet.dataset.folders import DATA, JOB, bucket
from tfvis_nb.fleet.dataset.ingest import run_all
from tfvis_nb.texts import Text


def test_folder_into_a_dataset(tmp_path: Path) -> None:
    bucket(tmp_path / "logs", JOB)
    (tmp_path / "logs/b/step7.pb").write_bytes(b"\x0a\xff")
    for read, unchanged in ((5, 0), (0, 5)):
        done = tfvis_nb_here("ingest", "logs", "-o", "made", "--workers", "1", cwd=tmp_path)
        assert done.returncode == 0
        assert done.stdout == f"made: {read} read, {unchanged} unchanged, 1 with problems, 0 gone\n"
        assert "step7.pb" in done.stderr
    assert len(tv.open_traces(tmp_path / "made").steps) == 9


def test_stopped_by_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket(tmp_path / "logs", JOB)
    words = ("ingest", "logs", "-o", "made", "--workers", "1")

    def stopped(new: list[Any], *rest: Any) -> None:
        run_all(new[:2], *rest)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tfvis_nb.fleet.dataset.ingest.run_all", stopped)
        said = complaint(tfvis_nb_here(*words, cwd=tmp_path), 130)
    assert "made" in said
    assert "2 traces" in said
    assert (
        tfvis_nb_here(*words, cwd=tmp_path).stdout == "made: 3 read, 2 unchanged, 0 with problems, 0 gone\n"
    )


def test_run_of_all(tmp_path: Path) -> None:
    words = ("ingest", DATA / "run_meta.v1", DATA / "local_mlp_step1.pb", "-o", "made", "--run", "r")
    assert tfvis_nb_here(*words, "--workers", "1", cwd=tmp_path).returncode == 0
    assert tv.open_traces(tmp_path / "made").steps[["run", "step"]].to_numpy().tolist() == [
        ["r", 0],
        ["r", 1],
    ]


def test_what_cannot_be(tmp_path: Path) -> None:
    done = tfvis_nb_here("ingest", "nothing.pb", "-o", "made", "--workers", "1", cwd=tmp_path)
    assert "nothing.pb" in complaint(done, 1)
    for url in ("s3://b/made", "memory://b/made"):
        done = tfvis_nb_here("ingest", DATA / "run_meta.v1", "-o", url, "--workers", "1", cwd=tmp_path)
        assert url in complaint(done, 1)
    assert not [*tmp_path.iterdir()]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").touch()
    for name, reason_id in (
        ("mine", "dataset_not_one"),
        ("mine/file", "dataset_is_file"),
        ("mine/file/made", "dataset_is_file"),
        ("/proc/made", "dataset_unwritable"),
    ):
        done = tfvis_nb_here("ingest", DATA / "run_meta.v1", "-o", name, "--workers", "1", cwd=tmp_path)
        path = str(tmp_path / name.removesuffix("/made"))
        path = name if reason_id == "dataset_unwritable" else path
        assert complaint(done, 1) == Text(reason_id, path=path, reason="no such file or directory")


def test_an_ingest_ends_when_the_disk_is_full(tmp_path: Path) -> None:
    words = ("ingest", DATA / "run_meta.v1", "-o", "made", "--workers", "1")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        done = tfvis_nb_here(*words, cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    made = str(tmp_path / "made")
    assert complaint(done, 1) == Text("dataset_unwritable", path=made, reason="file too large")
    done = tfvis_nb_here(*words, cwd=tmp_path)
    assert done.stdout == "made: 1 read, 0 unchanged, 0 with problems, 0 gone\n"


@pytest.mark.slow
def test_processes(tmp_path: Path) -> None:
    bucket(tmp_path / "logs", JOB)
    done = tfvis_nb("ingest", "logs/**/*.pb*", "-o", "made", "--workers", "2", cwd=tmp_path)
    assert done.stdout == "made: 5 read, 0 unchanged, 0 with problems, 0 gone\n", done.stderr
