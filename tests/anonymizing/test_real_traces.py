"""An anonymized trace has the figures of the original and none of its names."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.anonymizing.survivors import names_in, page_text, survivors
from tests.reading.test_collection import EMPTY, FILES, REFUSED, expected
from tests.real_traces import DATA, each, real_trace
from tfvis_nb import Trace
from tfvis_nb.analysis.critical_path.critical_path import critical_path

CHOSEN = {
    *("gpu_tf221_dist.pb.xz", "cpu_tf221_keras_fit.xplane.pb.xz", "cpu_jax.xplane.pb"),
    *("horovod_timeline.json.xz", "kineto_rank0.json.xz"),
}
"""Traces of each kind of names; others are thorough."""
READABLE = [path for path in FILES if not expected(path, REFUSED | EMPTY)]
TRACES = [
    *(
        pytest.param(path, id=path.name, marks=[pytest.mark.thorough] * (path.name not in CHOSEN))
        for path in READABLE
        if path.parent == DATA
    ),
    *each(path for path in READABLE if path.parent != DATA),
]
TABLES = (
    *("breakdown", "utilization", "transfers", "lifetimes", "memory", "edges", "nodes", "costs", "layers"),
    *("functions", "kernels", "hlo_ops", "program_memory", "roofline", "input_pipeline", "counters"),
    *("source_lines", "collective_waits", "devices", "lanes", "steps"),
)
DATES = ("start_ns", "end_ns", "time_ns", "alloc_ns", "free_ns", "turn_ns")


@pytest.mark.parametrize("path", TRACES)
def test_figures_are_those_of_the_original(path: Path) -> None:
    trace, other = _both(path)
    assert np.unique(_starts(other) - _starts(trace)).size <= 1
    for table in TABLES:
        theirs = _figures(getattr(other, table))
        for name, values in _figures(getattr(trace, table)).items():
            np.testing.assert_allclose(theirs[name], values, err_msg=f"{table}.{name}")
    found, again = trace.findings, other.findings
    assert again["id"].tolist() == found["id"].tolist()
    for rule, mine, shared in zip(found["id"], found["figures"], again["figures"], strict=True):
        assert _numbers(shared) == pytest.approx(_numbers(mine), nan_ok=True), rule
    assert critical_path(other)["event"].tolist() == critical_path(trace)["event"].tolist()


@pytest.mark.parametrize("path", TRACES)
def test_no_name_survives(path: Path) -> None:
    trace, other = _both(path)
    names = names_in(trace)
    assert survivors(names, "\n".join(names_in(other))) == []
    assert survivors(names, page_text(trace.to_html(anonymize=True, max_bytes=None))) == []


@lru_cache(maxsize=64)
def _both(path: Path) -> tuple[Trace, Trace]:
    trace = real_trace(path)
    return trace, trace.anonymized()


def _starts(trace: Trace) -> np.ndarray:
    return trace.events["start_ns"].to_numpy(np.int64)


def _figures(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """The numbers of a table without dates, ordered: rows that are equal may be ordered by name."""
    return {
        str(name): np.sort(column.to_numpy(np.float64, na_value=np.nan))
        for name, column in table.select_dtypes("number").items()
        if not str(name).endswith(DATES)
    }


def _numbers(figures: Any) -> list[float]:
    if isinstance(figures, dict):
        figures = list(figures.values())
    if isinstance(figures, list):
        return [number for one in figures for number in _numbers(one)]
    return [float(figures)] if isinstance(figures, (int, float)) else []
