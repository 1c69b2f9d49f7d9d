"""Axes of charts: their units, and the positions of their marks."""

from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.drawn_charts import chart_title, drawn_source, writes_plain_numbers
from tfvis_nb import events
from tfvis_nb.display.charts.log_ticks import byte_marks, time_marks


@pytest.mark.parametrize(
    ("scale", "unit"), [(1, "ns"), (1000, "\N{MICRO SIGN}s"), (1_000_000, "ms"), (1_000_000_000, "s")]
)
def test_units_are_those_of_the_range(scale: int, unit: str) -> None:
    columns = {
        "step": [0, 1],
        "start_ns": [0, 5 * scale],
        "duration_ns": [3 * scale, 4 * scale],
        "kind": ["op", "memcpy"],
        "op": ["MatMul", "MemcpyH2D"],
        "bytes": [0, 5000],
        "device": ["/device:CPU:0", "/device:GPU:0"],
    }
    charts = tv.Trace(events.build(columns)).charts
    for name, column in (("top_ops", "self"), ("steps", "took"), ("breakdown", "host_compute")):
        made = getattr(charts, name)()
        assert f"({unit})" in chart_title(made)
        assert 1 <= float(np.max(drawn_source(made).data[column])) < 1000
    moved = charts.bandwidth()
    assert moved.tags == [scale]
    assert moved.xaxis.axis_label == f"{unit} since the first event"
    assert float(np.max(drawn_source(moved).data["time"])) == pytest.approx(9, abs=0.05)


@pytest.mark.parametrize(
    "spread",
    [(4, 4), (1, 1), (1000, 1000), (1.1, 1.9), (3, 40), (2, 900), (0.4, 90_000), (0.001, 5e8)],
)
def test_a_logarithmic_axis_has_marks_around_its_values(spread: tuple[float, float]) -> None:
    for marks in (time_marks(*spread), byte_marks(max(spread[0], 1), spread[1])):
        places = [place for place, _ in marks]
        assert 2 <= len(places) <= 11
        assert places == sorted(set(places))
        assert places[0] <= max(spread[0], 1) or places[0] <= spread[0]
        assert places[-1] >= spread[1]
        assert len({name for _, name in marks}) == len(marks)
    sizes = {"ns": 1e-3, "\N{MICRO SIGN}s": 1, "ms": 1e3, "s": 1e6}
    for place, name in time_marks(*spread):
        number, unit = name.split()
        assert float(number) * sizes[unit] == pytest.approx(place)
        assert 1 <= float(number) < 1000 or unit in ("ns", "s")


def test_marks_of_transfers_have_their_positions() -> None:
    made: Any = real_trace(DATA / "gpu_tf221_mlp.pb.xz").charts.transfers()
    data = drawn_source(made).data
    axis = made.xaxis[0]
    assert set(axis.ticker.ticks) == set(axis.major_label_overrides)
    assert min(axis.ticker.ticks) <= np.min(data["us"]) <= np.max(data["us"]) <= max(axis.ticker.ticks)
    assert (made.x_range.start, made.x_range.end) == (min(axis.ticker.ticks), max(axis.ticker.ticks))


@pytest.mark.parametrize("gap_ns", [10_000_000, 30_000_000_000])
def test_numbers_of_the_time_fit_a_step_and_are_no_powers_of_ten(gap_ns: int) -> None:
    columns: dict[str, Any] = {
        "start_ns": np.arange(60) * gap_ns,
        "duration_ns": np.full(60, 3_000_000),
        "step": np.arange(60),
        "kind": ["memcpy"] * 60,
        "op": ["MemcpyH2D"] * 60,
        "bytes": [4096] * 60,
    }
    made = tv.Trace(events.build(columns)).charts.bandwidth()
    unit = "ms" if gap_ns < 10**9 else "s"
    assert made.xaxis.axis_label == f"{unit} since the first event"
    assert writes_plain_numbers(made)
