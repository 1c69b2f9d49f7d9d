"""An ingest that is killed and resumed makes the same dataset, file by file."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import dask
import pytest

import tfvis_nb as tv
from tests.fleet.dataset.folders import DATA
from tests.support.ingests import digests, done, kill_in_the_middle, renamed

FILES = [
    DATA / name for name in ("gpu_tf221_mlp.pb.xz", "cpu_tf221_while.pb.xz", "gpu_tf221_two_logical.pb.xz")
]
COUNT = 12

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return renamed(FILES, tmp_path_factory.mktemp("bucket"), COUNT, 4)


@pytest.fixture(scope="module")
def undisturbed(bucket: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert tv.open_traces(folder).ingest(bucket).problems == 0
    return digests(folder)


def test_the_process(bucket: Path, undisturbed: dict[str, str], tmp_path: Path) -> None:
    killed = kill_in_the_middle(bucket, tmp_path, 3)
    assert 3 <= killed < COUNT
    found = tv.open_traces(tmp_path).ingest(bucket)
    assert found.unchanged >= killed - found.problems
    assert found.read + found.unchanged == COUNT
    assert digests(tmp_path) == undisturbed


def ingest_and_kill_a_worker(bucket: Path, folder: Path, **settings: Any) -> Any:
    """Ingest with two workers; one is killed when a source is done."""
    from distributed import Client, LocalCluster  # every process collects this module

    with (
        dask.config.set(settings),
        LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        results: list[Any] = []
        dataset = tv.open_traces(folder)
        ingest = threading.Thread(target=lambda: results.append(dataset.ingest(bucket, client)))
        ingest.start()
        while not done(folder):
            assert ingest.is_alive()
            time.sleep(0.002)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        ingest.join()
    return results[0]


@pytest.mark.thorough
def test_a_worker(bucket: Path, undisturbed: dict[str, str], tmp_path: Path) -> None:
    assert ingest_and_kill_a_worker(bucket, tmp_path) == (COUNT, 0, 0, 0)
    assert digests(tmp_path) == undisturbed


@pytest.mark.thorough
def test_a_worker_that_is_not_replaced(bucket: Path, undisturbed: dict[str, str], tmp_path: Path) -> None:
    settings = {"distributed.scheduler.allowed-failures": 0}
    found = ingest_and_kill_a_worker(bucket, tmp_path, **settings)
    assert found.problems > 0
    dataset = tv.open_traces(tmp_path)
    assert {*dataset.problems["problem"]} == {"worker_lost"}
    assert dataset.ingest(bucket) == (found.problems, COUNT - found.problems, 0, 0)
    assert digests(tmp_path) == undisturbed


@pytest.mark.thorough
def test_processes(bucket: Path, undisturbed: dict[str, str], tmp_path: Path) -> None:
    with dask.config.set(scheduler="processes", num_workers=2):
        assert tv.open_traces(tmp_path).ingest(bucket) == (COUNT, 0, 0, 0)
    assert digests(tmp_path) == undisturbed
