"""What must hold of the times of every step of every trace there is."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, SHARED, name_of, step_stats_files, xspace_files
from tfvis_nb import Trace
from tfvis_nb.analysis.breakdown import PARTS
from tfvis_nb.analysis.communication import communication
from tfvis_nb.analysis.efficiency import scheduling_efficiency

_OTHERS = (".json", ".json.xz", ".json.gz", ".pickle", ".pickle.xz", ".pickle.gz", ".tar.xz")


def files() -> list[Path]:
    """Return every file that holds a trace."""
    folders = [folder for folder in (DATA, SHARED) if folder.is_dir()]
    others = [path for folder in folders for path in sorted(folder.rglob("*")) if path.name.endswith(_OTHERS)]
    return step_stats_files() + xspace_files() + others


@pytest.fixture(scope="module", params=files(), ids=name_of)
def trace(request: pytest.FixtureRequest) -> Trace:
    """Return each trace; what is asked of one is asked before the next is read."""
    path: Path = request.param
    return tv.read_trace(path)


def test_the_parts_of_a_step_are_the_step(trace: Trace) -> None:
    table = trace.breakdown
    steps = trace.steps[trace.steps["step"] >= 0].set_index("step")["duration_ns"]
    assert set(table["step"]) == set(steps.index)
    assert (table["step_ns"] == table["step"].map(steps)).all()
    assert (table[list(PARTS)].sum(axis=1) == table["step_ns"]).all()
    assert (table[list(PARTS)].fillna(0) >= 0).all(axis=None)
    whole = table[table["device"] == ""]
    assert not whole.duplicated(["step", "task"]).any()
    # A task is idle only where all its devices are.
    every = table.groupby(["step", "task"], observed=True)["idle_ns"].min()
    both = whole.set_index(["step", "task"])["idle_ns"]
    assert (both <= every).all() or both.isna().any()


def test_busy_and_idle_are_the_step(trace: Trace) -> None:
    table = trace.utilisation
    known = table[table["busy_ns"].notna()]
    assert (known["busy_ns"] + known["idle_ns"] == known["step_ns"]).all()
    assert (known[["busy_ns", "idle_ns"]] >= 0).all(axis=None)
    assert known["utilisation"].dropna().between(0, 1).all()
    # As many ran at once as the mean of those moments at which any did: at least one.
    assert (known["parallelism"].dropna() >= 1).all()
    hta = table[table["hta_kernel_ns"].notna()]
    parts = hta["hta_idle_ns"] + hta["hta_compute_ns"] + hta["hta_non_compute_ns"]
    assert (parts == hta["hta_kernel_ns"]).all()
    assert (hta["hta_idle_ns"] <= hta["idle_ns"].fillna(hta["hta_idle_ns"])).all()


def test_communication_is_exposed_or_hidden(trace: Trace) -> None:
    table = communication(trace.events)
    both = table["communication_ns"] + table["computation_ns"] - table["hidden_ns"]
    assert (table["exposed_ns"] + table["hidden_ns"] == table["communication_ns"]).all()
    # As kineto's distributed view has it: what is neither is the rest of the step.
    assert (both + table["idle_ns"] == table["step_ns"]).all()
    assert (table["hidden_ns"] <= table[["communication_ns", "computation_ns"]].min(axis=1)).all()
    assert (table["idle_ns"] >= 0).all()


def test_an_efficiency_is_a_share_where_nothing_else_takes_time(trace: Trace) -> None:
    table = scheduling_efficiency(trace)
    assert (table["makespan_ns"] >= table["cost_min_ns"]).all()
    assert table.loc[table["bounded"], "efficiency"].between(0, 1).all()
    assert (table.loc[~table["bounded"], "efficiency"] < 0).all()
    assert table["possible_speedup"].between(0, 1).all()
