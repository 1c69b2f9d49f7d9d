"""Steps without duration: shares are unknown, and nothing fails."""

import importlib
import inspect
import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.examples import examples
from tests.support.made_steps import ROW, any_trace
from tfvis_nb import events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.metrics import MODULES
from tfvis_nb.display.tabs import TABS, tab

PARTS = [title for titles in TABS.values() for title in titles]
ONE_EVENT = b'{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":0}]}'


def analyses() -> list[Callable[..., Any]]:
    """Return all public analyses that only need a trace."""
    found: list[Callable[..., Any]] = []
    for path in MODULES.values():
        module = importlib.import_module(f"tfvis_nb.analysis.{path}")
        for called, function in inspect.getmembers(module, inspect.isfunction):
            first, *others = inspect.signature(function).parameters.values()
            own = function.__module__ == module.__name__ and not called.startswith("_")
            if own and first.name == "trace" and all(one.default is not one.empty for one in others):
                found.append(function)
    return found


ANALYSES = analyses()


def _at_once(row: dict[str, Any], last: int) -> dict[str, Any]:
    """An event, moved to the only time of its step for steps up to `last`."""
    if row["step"] > last:
        return row
    return row | {"start_ns": 40 * (row["step"] + 1), "duration_ns": 0}


ROWS = st.lists(ROW, min_size=1, max_size=12)
SOME = st.builds(
    lambda rows, last: any_trace([_at_once(row, last) for row in rows]), ROWS, st.sampled_from([0, 1])
)
ALL = st.builds(lambda rows: any_trace([_at_once(row, 1) for row in rows]), ROWS)


def test_there_are_analyses() -> None:
    assert len(ANALYSES) > len(MODULES)


@given(SOME)
@settings(max_examples=examples(20))
def test_every_analysis_answers(trace: tv.Trace) -> None:
    for analysis in ANALYSES:
        answer = analysis(trace)
        if isinstance(answer, pd.DataFrame):
            assert bool(why_not(answer)) <= answer.empty


@given(ALL)
@settings(max_examples=examples(20))
def test_nothing_is_found_in_them(trace: tv.Trace) -> None:
    table = trace.findings
    assert table.empty
    assert why_not(table)


@pytest.mark.parametrize("name", PARTS)
@given(trace=SOME)
@settings(max_examples=examples(5))
def test_every_tab_is_made(name: str, trace: tv.Trace) -> None:
    assert json.loads(json.dumps(tab(trace, name), allow_nan=False))["title"] == name


def test_one_event_of_no_duration_is_a_trace() -> None:
    trace = tv.read_trace(ONE_EVENT)
    assert why_not(trace.findings).id == "no_step_length"
    for name in PARTS:
        json.dumps(tab(trace, name), allow_nan=False)


def test_a_median_step_without_length_has_a_headline() -> None:
    columns = {"start_ns": [0, 0, 5], "duration_ns": [0, 0, 1], "kind": ["op"] * 3, "step": [0, 1, 2]}
    assert "0 ns" in tv.Trace(events.build(columns)).overview["headline"]
