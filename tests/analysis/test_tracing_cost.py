"""What tracing cost: its figures, and shares of launch waits without it."""

import numpy as np
import pytest

import tfvis_nb as tv
from tests.support.texts import says
from tfvis_nb import events
from tfvis_nb.analysis import tracing_cost
from tfvis_nb.analysis.steps.difference import difference, typical
from tfvis_nb.analysis.steps.tracing_cost import tracing_cost_text
from tfvis_nb.core.metadata import TRACING_COST, table_of

UNTRACED, TRACED = [100, 101, 99, 103], [125, 124, 126, 127]


def measured(untraced: list[int], traced: list[int], *, late: int = 40) -> tv.Trace:
    """Return a trace with known times: a GPU idle for `late` of 100 ns until work is launched."""
    times = [*((0, time) for time in untraced), *((1, time) for time in traced)]
    rows = [{"is_traced": is_traced, "duration_ns": time, "runs": 1} for is_traced, time in times]
    columns = {
        "start_ns": [0, late - 1, late],
        "duration_ns": [100, 1, 100 - late],
        "kind": ["op", "host", "kernel"],
        "op": ["MatMul", "cuLaunchKernel", "MatMul"],
        "lane": ["ops", "python3", "stream:1"],
        "device": ["/device:GPU:0", "/device:CPU:0", "/device:GPU:0"],
        "scheduled_ns": [0, None, late - 1],
    }
    return tv.Trace(events.build(columns), metadata={TRACING_COST: table_of(TRACING_COST, rows)})


def test_the_figures_are_those_of_the_times() -> None:
    cost = tracing_cost(measured(UNTRACED, TRACED))
    assert cost is not None
    ratio, low, high, shown = difference(np.array(UNTRACED), np.array(TRACED))[:4]
    assert shown
    assert (cost.traced_ns, cost.untraced_ns) == (
        round(typical(np.array(TRACED))),
        round(typical(np.array(UNTRACED))),
    )
    assert cost[2:] == (ratio, low, high, 4, 4)
    assert cost.share == pytest.approx(1 - 1 / ratio)
    assert says(tracing_cost_text(cost), "tracing_cost", traced="126 ns", untraced="101 ns", steps=4)


@pytest.mark.parametrize(("untraced", "traced"), [([], [5]), ([5], []), ([0], [5]), ([-7], [5])])
def test_without_times_on_both_sides_it_is_not_known(untraced: list[int], traced: list[int]) -> None:
    assert tracing_cost(measured(untraced, traced)) is None


def test_steps_that_tracing_made_no_longer_have_no_share() -> None:
    cost = tracing_cost(measured([100], [90]))
    assert cost is not None
    assert (cost.share, np.isnan(cost.low)) == (0, True)
    assert tracing_cost_text(cost).figures["interval"].id == "tracing_cost_of_few_steps"


def test_steps_that_vary_much_show_no_lower_end() -> None:
    untraced, traced = [100, 101] * 15, [10, 350, 90]
    found = difference(untraced, traced)
    assert (found.low, np.isfinite(found.high)) == (0, True)
    cost = tracing_cost(measured(untraced, traced))
    assert cost is not None
    assert (np.isnan(cost.low), cost.high) == (True, found.high)
    assert tracing_cost_text(cost).figures["interval"].id == "tracing_cost_varies"


def test_launch_waits_are_given_without_what_tracing_adds() -> None:
    found = measured([80], [100]).findings.set_index("id").loc["launch_bound"]
    figures = found["figures"]
    assert (figures["share"], figures["tracing_share"]) == (0.4, pytest.approx(0.2))
    assert figures["share_untraced"] == pytest.approx((40 - 20) / 80)
    assert "25.0 % of step time" in found["how"]
    assert measured([10], [100]).findings.set_index("id")["figures"]["launch_bound"]["share_untraced"] == 0


def test_it_is_kept_in_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    trace = measured(UNTRACED, TRACED)
    path = trace.to_parquet(tmp_path_factory.mktemp("cost") / "a.parquet")
    assert tracing_cost(tv.read_trace(path)) == tracing_cost(trace)
