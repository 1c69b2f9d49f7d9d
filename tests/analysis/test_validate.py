"""Analyses that are asked of something else than a trace say so, every one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tests.analysis.test_steps_without_length import ANALYSES
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare

TRACE = Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("given", ["trace.pb", None, TRACE.events], ids=["path", "None", "events"])
def test_only_of_a_trace(analysis: Callable[..., Any], given: object) -> None:
    figures = {"function": analysis.__name__, "given": type(given).__name__}
    with raises_id(TypeError, "no_trace", **figures):
        analysis(given)
    with raises_id(TypeError, "no_trace", **figures):
        analysis(trace=given)


def test_both_that_are_compared_are_traces() -> None:
    both: Any = (TRACE, "trace.pb")
    with raises_id(TypeError, "no_trace", function="compare", given="str"):
        compare(*both)


def test_an_analysis_keeps_its_signature() -> None:
    assert list(inspect.signature(compare).parameters)[:2] == ["a", "b"]
