"""The code of docs/fleet.md runs, and its queries give the figures of the dataset."""

import re
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.fleet.dataset.folders import JOB, bucket
from tfvis_nb import TraceDataset
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.fleet.dataset.step_figures import FIGURES
from tfvis_nb.fleet.dataset.tables import TABLES

PAGE = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CLUSTER = next(block for block in BLOCKS if "LocalCluster" in block)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The variables of the code, without the part on a cluster."""
    folder = bucket(tmp_path_factory.mktemp("fleet"), {f"logs/{name}": file for name, file in JOB.items()})
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for block in BLOCKS:
            if block != CLUSTER:
                exec(compile(block.replace("s3://", "memory://"), "docs/fleet.md", "exec"), found)
    return found


def test_steps_and_trace(names: dict[str, Any]) -> None:
    dataset, trace = names["dataset"], names["trace"]
    assert isinstance(dataset, TraceDataset)
    assert len(dataset.sources) == len(JOB)
    assert names["slowest"]["duration_ns"].iloc[0] == dataset.steps["duration_ns"].max()
    assert len(trace.events) > 0
    assert names["kernels"].sum() == trace_sum(dataset, "kernel")


def trace_sum(dataset: TraceDataset, kind: str) -> int:
    traces = [tv.read_trace(path) for path in dataset.sources["path"]]
    return sum(int(trace.events["duration_ns"][trace.events["kind"] == kind].sum()) for trace in traces)


def test_duckdb(names: dict[str, Any]) -> None:
    totals = names["dataset"].op_totals
    kernels = totals[totals["kind"] == "kernel"].groupby(["run", "op"])[["self_ns", "count"]].sum()
    longest = names["longest"]
    assert len(longest) == 10
    for run, op, self_ms, count in longest.itertuples(index=False):
        assert (round(self_ms * 1e6), count) == tuple(kernels.loc[run, op])


def test_polars(names: dict[str, Any]) -> None:
    wanted = names["dataset"].steps.groupby(["run", "task"])[["communication_ns", "step_ns"]].sum()
    found = names["waits"]
    assert found.height == len(wanted)
    for row in found.iter_rows(named=True):
        own = wanted.loc[row["run"], row["task"]]
        assert (row["communication_ns"], row["step_ns"]) == (own["communication_ns"], own["step_ns"])


def test_dask(names: dict[str, Any]) -> None:
    assert names["by_hour"].index.get_level_values("run").nunique() == 3


@pytest.mark.slow
def test_cluster(names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket(tmp_path, {f"logs/{name}": file for name, file in JOB.items()})
    monkeypatch.chdir(tmp_path)
    found = {"dataset": tv.open_traces("dataset")}
    exec(compile(CLUSTER, "docs/fleet.md", "exec"), found)
    assert len(found["dataset"].steps) == len(names["dataset"].steps)


def test_the_page_names_tables_figures_and_problems() -> None:
    assert {*TABLES} <= {*re.findall(r"\w+", PAGE)}
    assert {name for name in FIGURES if name not in PARTS} <= {*re.findall(r"`(\w+)`", PAGE)}
