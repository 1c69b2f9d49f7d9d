"""Traces with hardly any events: every public answer exists, whatever version of pandas there is."""

import json
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.analysis.test_steps_without_length import ANALYSES, PARTS
from tests.support.made_steps import CPU, GPU, built
from tests.support.texts import raises_id
from tfvis_nb import analysis, events
from tfvis_nb.analysis import why_not
from tfvis_nb.display.tabs import tab

_HOST = {"name": "a", "device": CPU}
_DEVICE = {"name": "k", "device": GPU, "lane": "stream:1", "kind": "kernel"}
_OTHERS = {"memcpy": GPU, "memset": GPU, "sync": GPU, "transfer": CPU, "collective": CPU, "host": CPU}


def _rows(row: dict[str, Any], *steps: int) -> list[dict[str, Any]]:
    return [row | {"start_ns": 10 * at, "duration_ns": 5, "step": step} for at, step in enumerate(steps)]


TRACES = {
    "nothing": tv.Trace(events.build({"start_ns": [], "duration_ns": []})),
    "an op": built(_rows(_HOST, 0)),
    "a kernel": built(_rows(_DEVICE, 0)),
    "an op outside steps": built(_rows(_HOST, -1)),
    "an op without place": tv.Trace(events.build({"start_ns": [3], "duration_ns": [4], "kind": ["op"]})),
    "only the host": built(_rows(_HOST, 0, 0, 1, 1)),
    "only a device": built(_rows(_DEVICE, 0, 0, 1, 1)),
    "no steps": built(_rows(_HOST, -1, -1) + _rows(_DEVICE, -1, -1)),
    "one step": built(_rows(_HOST, 0, 0) + _rows(_DEVICE, 0, 0)),
    **{
        kind: built(_rows({"kind": kind, "lane": kind, "device": device}, 0))
        for kind, device in _OTHERS.items()
    },
}
WITHOUT_OPS = ("nothing", "an op outside steps", "an op without place", "no steps")
"""Traces without ops in steps."""


@pytest.fixture(params=TRACES)
def trace(request: pytest.FixtureRequest) -> tv.Trace:
    return TRACES[request.param]


def test_every_analysis_answers(trace: tv.Trace) -> None:
    for function in ANALYSES:
        answer = function(trace)
        if isinstance(answer, pd.DataFrame):
            assert bool(why_not(answer)) <= answer.empty, function


def test_every_tab_is_plain_data(trace: tv.Trace) -> None:
    for name in PARTS:
        assert json.loads(json.dumps(tab(trace, name), allow_nan=False))["title"] == name


@pytest.mark.parametrize("name", [name for name in TRACES if name not in WITHOUT_OPS])
def test_changed_ops_are_predicted(name: str) -> None:
    predicted = TRACES[name].what_if(ops={"MatMul": 0})
    assert (predicted.times["predicted_ns"] >= 0).all()
    assert predicted.typical.predicted_ns <= predicted.typical.recorded_ns
    assert predicted.overview["headline"]


@pytest.mark.parametrize("name", WITHOUT_OPS)
def test_changes_without_ops_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"no event"):
        TRACES[name].what_if(ops={"MatMul": 0.5})


@pytest.mark.parametrize("name", ["host", "sync"])
def test_calls_are_removed_but_not_scaled(name: str) -> None:
    with raises_id(ValueError, "no_work_to_change"):
        TRACES[name].what_if(ops={"MatMul": 0.5})
    assert TRACES[name].what_if(ops={"MatMul": 0}).times["predicted_ns"].tolist() == [0]


def test_it_is_compared_with_another_and_itself(trace: tv.Trace) -> None:
    for before, after in ((trace, TRACES["one step"]), (TRACES["one step"], trace), (trace, trace)):
        for table in (analysis.compare(before, after), analysis.compare_activities(before, after)):
            assert bool(why_not(table)) <= table.empty
        tv.show_comparison(before, after).close()


def test_every_export_is_made(trace: tv.Trace, tmp_path: Path) -> None:
    assert len(pickle.loads(pickle.dumps(trace)).events) == len(trace.events)
    assert "</html>" in trace.to_html()
    assert len(tv.read_trace(trace.to_parquet(tmp_path / "a.parquet")).events) == len(trace.events)
    assert json.loads(trace.to_chrome_trace())["traceEvents"] or trace.events.empty
