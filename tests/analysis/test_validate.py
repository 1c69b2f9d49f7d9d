"""All analyses reject arguments other than traces with a clear message."""

import inspect
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.analysis.test_steps_without_length import ANALYSES
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tfvis_nb import Trace, events, read_trace
from tfvis_nb.analysis import compare, op_statistics
from tfvis_nb.analysis._validate import validate_input

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


def test_each_caller_has_a_table_of_its_own() -> None:
    trace = read_trace(DATA / "gpu_tf221_dist.pb.xz")
    tables = {analysis: analysis(trace) for analysis in ANALYSES}
    tables = {analysis: table for analysis, table in tables.items() if isinstance(table, pd.DataFrame)}
    before = {analysis: table.copy() for analysis, table in tables.items()}
    for table in tables.values():
        for name in list(table):
            del table[name]
        table.attrs.clear()
    for analysis, table in before.items():
        pd.testing.assert_frame_equal(analysis(trace), table)
        assert analysis(trace).attrs == table.attrs


def test_results_of_other_arguments_are_not_reused() -> None:
    trace = read_trace([DATA / "local_mlp_step1.pb"] * 2)
    of_one = op_statistics(trace, steps=[0])["count"].sum()
    assert op_statistics(trace, "op", {0})["count"].sum() == of_one
    assert op_statistics(trace, steps=[0, 1])["count"].sum() > of_one
    assert op_statistics(trace, "scope").columns[0] != op_statistics(trace).columns[0]


def test_given_defaults_are_the_same_request() -> None:
    requests = []

    @validate_input
    def table(trace: Trace, steps: list[int] | None = None) -> pd.DataFrame:
        requests.append(steps)
        return trace.steps

    trace = Trace(TRACE.events)
    assert table(trace).equals(table(trace, None))
    assert table(trace, steps=None).equals(table(trace))
    assert requests == [None]
    table(trace, [0])
    assert requests == [None, [0]]
