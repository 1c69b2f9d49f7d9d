"""Known slow steps and stragglers, found in datasets of real traces."""

import tarfile
from pathlib import Path

import pytest

from tests.real_traces import real_trace
from tests.support.planted_fleets import TASK
from tfvis_nb.analysis import slow_steps
from tfvis_nb.fleet import fleet_outliers, fleet_stragglers
from tfvis_nb.fleet.dataset import open_traces


@pytest.mark.thorough
@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_steps_of_eight_times_the_batch_rank_first(tmp_path: Path, shared: Path) -> None:
    with tarfile.open(shared / "h200/mlp_60steps.tar.xz") as archive:
        archive.extractall(tmp_path / "mlp", filter="data")
    dataset = open_traces(tmp_path / "fleet")
    dataset.ingest(tmp_path / "mlp", progress=False)
    found = fleet_outliers(dataset.steps)
    assert len(found) == 60
    assert {*found["step"][:3]} == {13, 33, 53}
    assert found["step"].tolist()[-1] == 0, "the first step of the run"
    work = slow_steps(real_trace(shared / "h200/mlp_60steps.tar.xz"))["work_ratio"]
    assert found.sort_values("step")["work_ratio"].tolist() == work.tolist()


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_the_worker_with_more_work_is_last(tmp_path: Path, shared: Path) -> None:
    dataset = open_traces(tmp_path / "fleet")
    dataset.ingest(shared / "h200/straggler_ps_3gpuworkers_step0.pb", progress=False)
    found = fleet_stragglers(dataset.steps)
    assert found["task"].tolist() == [TASK.format(number) for number in (2, 0, 1)], "only workers wait"
    assert found["last"].tolist() == [1, 0, 0]
    assert found["straggler"].isna().all(), "one step shows no difference"


@pytest.mark.collection("h200/mwms_straggler_worker0.xplane.pb", "h200/mwms_straggler_worker1.xplane.pb")
def test_the_slower_worker_of_a_ring_is_a_straggler(tmp_path: Path, shared: Path) -> None:
    dataset = open_traces(tmp_path / "fleet")
    dataset.ingest([shared / f"h200/mwms_straggler_worker{at}.xplane.pb" for at in range(2)], progress=False)
    found = fleet_stragglers(dataset.steps)
    assert found[["task", "last", "straggler"]].to_numpy().tolist() == [
        [TASK.format(1), 6, True],
        [TASK.format(0), 0, False],
    ]
