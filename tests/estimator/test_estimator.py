"""tf.estimator of TensorFlow 2.15 in a separate environment: recorded there, read here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.estimator import older_tensorflow
from tests.real_traces import DATA
from tests.support.environments import run
from tfvis_nb.analysis import communication_overlap
from tfvis_nb.texts import id_of

BASE = older_tensorflow.interpreter()

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.thorough,
    pytest.mark.skipif(
        BASE is None,
        reason="tf.estimator needs TensorFlow 2.15, and no Python 3.11 for it is on the path, in pyenv or uv",
    ),
]

LIGHT = [
    "analysis/test_collective_waits.py",
    "reading/test_pickles.py",
    "reading/test_dialects.py",
    "recording/test_sessions.py",
    "recording/test_failing_batches.py",
    *(
        f"recording/test_trace_session.py::test_{name}"
        for name in (
            "every_kind_of_run_is_counted",
            "orders",
            "inject_records_sessions_and_keras_and_is_undone",
            "batches_of_keras",
        )
    ),
    "recording/test_undisturbed_jobs.py::test_a_long_job_is_watched_and_killed",
    "recording/test_stacks.py",
    "recording/test_edited_code.py",
    # Of what XLA compiled its profiles have no rows.
    *(
        f"recording/test_attribution.py::test_{name}"
        for name in (
            "monitored_sessions",
            "callables_of_sessions",
            "functions_in_functions_with_branches",
            "functions_of_an_input_pipeline_that_was_there_before",
            "generated_code_in_another_thread",
        )
    ),
]
"""Tests of reading and recording that take seconds."""


@pytest.fixture(scope="module")
def python() -> Path:
    assert BASE is not None
    return older_tensorflow.python_with_estimator(BASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("estimator")


@pytest.fixture(scope="module")
def report(python: Path, folder: Path) -> dict[str, Any]:
    """The output of the finished job."""
    run(python, "-m", "tests.estimator.job", str(folder))
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    assert report["tensorflow"].startswith("2.15.")
    return report


def of_training(session: tv.SavedSession, op: str) -> pd.DataFrame:
    """The signatures of training steps, that of most of them first; hooks fetch more in the first step."""
    table = session.signatures
    run = [any(op in name for name in names) for names in table["fetches"] + table["targets"]]
    return table[run].sort_values("runs", ascending=False)


def test_a_dnn_classifier_is_counted_and_traced(report: dict[str, Any], folder: Path) -> None:
    assert report["canned"] == {"steps": 21, "recording": False, "problem": ""}
    with tv.open_session(folder / "canned.tfvis") as session:
        # One recording for the training, one for the evaluation.
        assert session.processes["end"].notna().tolist() == [True, True]
        trained = of_training(session, "training/group_deps")
        assert trained["runs"].tolist() == [20, 1]
        assert trained["failed"].tolist() == [0, 0]
        # Runs that no hook sees: initialisers, savers, the reading of the global step.
        assert len(session.signatures) > 6
        (evaluated,) = session.signatures.index[session.signatures["runs"] == 6]

        traces = session.traces.groupby("signature")["run"].apply(list)
        assert traces[trained.index[0]] == [5, 10, 15, 20]
        assert traces[evaluated] == [5]
        numbers = session.traces.index[session.traces["signature"] == trained.index[0]]
        trace = tv.read_trace([session.read(number) for number in numbers])
        (number,) = session.traces.index[session.traces["signature"] == evaluated]
        evaluation = session.read(number)
    check_training(trace, "IteratorGetNext", "ResourceApplyAdagrad")
    assert trace.steps["label"].tolist() == [trained["label"].iloc[0]] * 4
    assert {"dnn/hiddenlayer_0/kernel", "dnn/logits/kernel"} <= set(trace.events["name"])
    assert not evaluation.events["op"].astype(str).str.contains("Apply").any()
    assert "dnn/logits/kernel" in set(evaluation.events["name"])


def check_training(trace: tv.Trace, *ops: str) -> None:
    steps = trace.steps
    names = trace.events.groupby("step")["name"].apply(sorted)
    assert all(step == names.iloc[0] for step in names)
    # Builds for some CPUs have kernels of their own, such as _MklMatMul.
    assert all(trace.events["op"].astype(str).str.contains(op).any() for op in ops)
    assert set(trace.events["kind"]) == {"op"}
    # One after the other, and repaired: TensorFlow 2.15 writes the scheduled times wrongly.
    assert (steps["start_ns"].iloc[1:].to_numpy() > steps["end_ns"].iloc[:-1].to_numpy()).all()
    queued = trace.events["start_ns"] - trace.events["scheduled_ns"]
    assert queued.between(0, 10 * 10**9).all()  # unrepaired, they lie millennia apart
    assert any(id_of(note) == "scheduled_repaired" for note in trace.notes)
    assert (trace.edges["kind"] == "data").sum() > len(steps) * 5
    assert (communication_overlap(trace)["computation_ns"] > 0).all()


def test_the_run_that_was_asked_for_is_traced(report: dict[str, Any], folder: Path) -> None:
    assert report["own"]["steps"] == 11
    with tv.open_session(folder / "own.tfvis") as session:
        trained = of_training(session, "GradientDescent")
        # Of two trainings, which make a graph each; the third nobody records.
        assert trained["runs"].tolist() == [7, 2]
        assert trained["label"].iloc[0] == report["own"]["label"]
        # The first of its kind after it was asked for, counted from when the recording began again.
        assert session.traces[["label", "run"]].to_numpy().tolist() == [[report["own"]["label"], 1]]
        check_training(session.read(1), "IteratorGetNext", "MatMul", "ResourceApplyGradientDescent")


def test_reading_and_recording_pass_their_tests_there(python: Path) -> None:
    tests = [str(DATA.parent / name) for name in LIGHT]
    said = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert " passed" in said
