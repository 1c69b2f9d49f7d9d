"""Steps trained by tf.estimator, with TensorFlow 1.15 and 2.15, are read correctly."""

from pathlib import Path

import numpy as np
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tfvis_nb.analysis import communication_overlap

STEPS = (0, 5, 10, 15, 20)
TRAINED = {
    version: [f"hvd/estimator_tf{version}_dnn_train_step{step}.pb" for step in STEPS]
    for version in ("115", "215")
}
OF_RANK_0 = [f"hvd/hvd_estimator_rank0_step{step}.pb" for step in (2, 7, 12)]


@pytest.mark.parametrize(
    ("version", "files"),
    [
        pytest.param(version, files, id=version, marks=pytest.mark.collection(*files))
        for version, files in TRAINED.items()
    ],
)
def test_a_dnn_classifier(version: str, files: list[str], shared: Path) -> None:
    trace = tv.read_trace([shared / name for name in files])
    assert trace.steps["label"].tolist() == [f"estimator_tf{version}_dnn_train_step{step}" for step in STEPS]
    ops = trace.events[trace.events["kind"] == "op"]
    # Each step is the same graph, and the executor's rows of it are there once.
    names = ops.groupby("step")["name"].apply(sorted)
    assert names.map(len).tolist() == [213 if version == "115" else 214] * len(STEPS)
    assert all(step == names.iloc[0] for step in names)
    assert {"IteratorGetNext", "ResourceApplyAdagrad"} <= set(ops["op"])
    waited = ops["start_ns"] - ops["scheduled_ns"]
    assert waited.notna().all()
    # Repaired times lie in the step.
    lasted = trace.steps.set_index("step")["duration_ns"]
    assert (waited >= 0).all()
    assert (waited <= ops["step"].map(lasted)).all()
    producer = trace.events["name"].to_numpy()[trace.edges["source"]]
    assert (trace.edges["kind"] == "data").sum() > 200 * len(STEPS)
    assert "dnn/logits/BiasAdd" in set(producer)
    table = communication_overlap(trace)
    assert (table["communication_ns"] == 0).all()
    assert (table["computation_ns"] > 0).all()
    assert np.diff(trace.steps["start_ns"]).min() > 0


@pytest.mark.collection(*OF_RANK_0)
def test_a_rank_of_a_horovod_estimator(shared: Path) -> None:
    trace = tv.read_trace([shared / name for name in OF_RANK_0])
    collectives = trace.events[trace.events["kind"] == "collective"]
    assert collectives.groupby("step")["op"].apply(list).tolist() == [["HorovodAllreduce"] * 2] * 3
    assert set(collectives["lane"]) == {"collective"}
    # One rank alone: nobody else tells when it came, so that no waits are.
    assert trace.collective_waits.empty
    assert (communication_overlap(trace)["communication_ns"] > 0).all()


def test_a_rank_alone_has_no_waits() -> None:
    assert tv.read_trace(DATA / "horovod_rank0_step3.pb.xz").collective_waits.empty
