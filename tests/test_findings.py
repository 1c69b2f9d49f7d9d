"""Findings: known causes come first, with figures that the tables bear out, and healthy traces have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.real_traces import SHARED, name_of, step_stats_files, xspace_files
from tfvis_nb import events
from tfvis_nb.analysis.answers import why_not
from tfvis_nb.analysis.findings import findings
from tfvis_nb.analysis.findings_of_steps import INPUT_LIMIT

H200 = SHARED / "h200"

KNOWN = [
    (["input_bound_tf2_gpu.xplane.pb"], "input", "wait"),
    (["straggler_ps_3gpuworkers_step0.pb"], "late task", "Worker 2"),
    (["mwms_straggler_worker0.xplane.pb", "mwms_straggler_worker1.xplane.pb"], "late task", "Worker 1"),
    (["deep4000.pb.xz"], "launches", "GPU:0"),
    (["mlp_60steps.tar.xz"], "slow steps", "13, 33 and 53"),
    (["mixed_sparse_embedding_step0.pb"], "cpu ops", "CPU"),
    (["mixed_sparse_embedding_step2.pb"], "cpu ops", "CPU"),
]
HEALTHY = ["mlp_step2.pb", "keras_fit_gpu.xplane.pb"]
COMPILING = "jax_train_gpu.xplane.pb"


def _of_collection(names: list[str], *more: str) -> Any:
    """The parameters of a test that needs these files of the large collection."""
    values = (names, *more) if more else names
    return pytest.param(*values, marks=pytest.mark.collection(*(f"h200/{name}" for name in names)))


def _read(names: list[str]) -> tv.Trace:
    paths: list[Path] = [H200 / name for name in names]
    return tv.read_trace(paths if len(paths) > 1 else paths[0])


@pytest.mark.parametrize(("names", "kind", "said"), [_of_collection(*case) for case in KNOWN], ids=str)
def test_the_known_cause_comes_first(names: list[str], kind: str, said: str) -> None:
    first = findings(_read(names)).iloc[0]
    assert first["kind"] == kind
    assert said in first["title"]


@pytest.mark.parametrize("name", [_of_collection([name]) for name in HEALTHY])
def test_a_healthy_trace_has_none(name: str) -> None:
    assert findings(_read([name]))["title"].tolist() == []


@pytest.mark.parametrize("name", [_of_collection([COMPILING])])
def test_what_a_profile_compiled_is_told_and_nothing_else(name: str) -> None:
    trace = _read([name])
    table = findings(trace)
    assert table["kind"].tolist() == ["compiling"]
    whole = trace.breakdown[trace.breakdown["device"].astype(str) == ""]
    assert table["share"].tolist() == [whole["compile_ns"].sum() / whole["step_ns"].sum()]


@pytest.mark.parametrize("path", [*step_stats_files(), *xspace_files()], ids=name_of)
def test_every_finding_has_evidence_that_is_in_the_trace(path: Path) -> None:
    trace = tv.read_trace(path)
    table = findings(trace)
    if why_not(table):
        assert not (trace.events["step"] >= 0).any()
        return
    assert table["share"].between(0, 1).all()
    assert table["title"].is_unique
    first, last = trace.events["start_ns"].min(), trace.steps["end_ns"].max()
    for row in table.to_dict("records"):
        assert first <= row["start_ns"] < row["end_ns"] <= last
        assert all(0 <= event < len(trace.events) for event in row["events"])
        assert row["text"].endswith(".")
        assert row["advice"].endswith(".")
        assert row["step"] in set(trace.steps["step"])


def _input_trace(waiting: int, computing: int) -> tv.Trace:
    columns = {
        "start_ns": [0, waiting],
        "duration_ns": [waiting, computing],
        "kind": ["op"] * 2,
        "op": ["IteratorGetNext", "MatMul"],
        "device": ["/device:CPU:0"] * 2,
    }
    return tv.Trace(events.build(columns))


def test_waiting_for_input_is_told_from_its_limit_on() -> None:
    limit = round(INPUT_LIMIT * 1_000_000)
    below = findings(_input_trace(limit - 1, 1_000_001 - limit))
    at = findings(_input_trace(limit, 1_000_000 - limit))
    assert below.empty
    assert at["kind"].tolist() == ["input"]
    assert at["share"].tolist() == [INPUT_LIMIT]
    assert at["lost_ns"].tolist() == [limit]
    assert at["events"].tolist() == [[0]]
    assert "a little" in at["title"][0]


def _steps(durations: list[int], work: list[int]) -> tv.Trace:
    starts = np.cumsum([0, *durations[:-1]]) + np.arange(len(durations)) * 10
    ops = {"kind": "op", "op": "MatMul", "device": "/device:GPU:0", "lane": "ops"}
    rows = [
        {**ops, "step": step, "start_ns": start, "duration_ns": took}
        for step, (start, took) in enumerate(zip(starts, durations, strict=True))
    ]
    rows += [
        {**row, "kind": "kernel", "lane": "stream:1", "duration_ns": kernel}
        for row, kernel in zip(rows, work, strict=True)
    ]
    table, _ = events.order(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    return tv.Trace(table)


def test_steps_with_more_to_do_are_told_apart_from_those_that_take_longer() -> None:
    trace = _steps([1000] * 6 + [2000, 1000, 3000, 1000], [100] * 6 + [200, 100, 100, 100])
    table = findings(trace)
    slow = table[table["kind"] == "slow steps"]
    assert sorted(slow["title"]) == ["Step 6 does more on the devices", "Step 8 takes longer"]
    by_title = slow.set_index("title")
    assert by_title.loc["Step 6 does more on the devices", "lost_ns"] == 1000
    assert by_title.loc["Step 8 takes longer", "lost_ns"] == 2000
    assert "2 times the median step's work" in str(by_title.loc["Step 6 does more on the devices", "text"])


def test_the_first_step_and_steps_that_are_many_are_no_finding() -> None:
    assert findings(_steps([5000] + [1000] * 9, [100] * 10)).query("kind == 'slow steps'").empty
    assert findings(_steps([1000] * 6 + [2000] * 4, [100] * 10)).query("kind == 'slow steps'").empty


def test_a_trace_without_steps_says_so() -> None:
    table = findings(
        tv.Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"], "step": [-1]}))
    )
    assert table.empty
    assert "step" in why_not(table)
