"""Analyses that are asked of something else than a trace say so, every one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tests.analysis.test_steps_without_length import ANALYSES
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare

TRACE = Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("given", ["trace.pb", None, TRACE.events], ids=["path", "None", "events"])
def test_only_of_a_trace(analysis: Callable[..., Any], given: object) -> None:
    said = f"{analysis.__name__} takes a Trace, such as read_trace returns, not a {type(given).__name__}"
    with pytest.raises(TypeError, match=said):
        analysis(given)
    with pytest.raises(TypeError, match=said):
        analysis(trace=given)


def test_both_that_are_compared_are_traces() -> None:
    both: Any = (TRACE, "trace.pb")
    with pytest.raises(TypeError, match="compare takes a Trace, such as read_trace returns, not a str"):
        compare(*both)


def test_an_analysis_keeps_its_signature() -> None:
    assert list(inspect.signature(compare).parameters)[:2] == ["a", "b"]
