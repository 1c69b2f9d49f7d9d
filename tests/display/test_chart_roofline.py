"""The roofline chart: its points are rows of the table, its lines the limits of the device."""

from typing import Any

import numpy as np
import pytest
from bokeh.models import Line, Scatter

from tests.analysis.test_roofline import KNOWN, trace_of
from tests.real_traces import DATA, real_trace
from tests.support.drawn_charts import drawn_sources
from tests.support.texts import raises_id
from tfvis_nb.display.charts.log_ticks import FLOP_RATES, decade_marks
from tfvis_nb.display.charts.style import ROWS
from tfvis_nb.display.tabs import kernels, tab


def _glyphs(made: Any, kind: type) -> list[dict[str, Any]]:
    return [one.data_source.data for one in made.renderers if isinstance(one.glyph, kind)]


def test_points_are_the_rows_and_their_area_the_time() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    made = trace.charts.roofline()
    (data,) = _glyphs(made, Scatter)
    table = trace.roofline[trace.roofline["flops"] > 0]
    assert data["name"] == table["name"].tolist()
    assert data["flop_rate"] == pytest.approx(table["flop_rate"].to_numpy())
    assert data["intensity"] == pytest.approx(table["intensity"].to_numpy())
    large = data["size"] > np.min(data["size"])
    share = (table["self_ns"] / table["self_ns"].max()).to_numpy()
    assert (data["size"] / np.max(data["size"]))[large] ** 2 == pytest.approx(share[large])
    for name, events in zip(data["name"], data["events"], strict=True):
        assert set(trace.events["name"].iloc[events]) == {name}
        assert set(trace.events["kind"].iloc[events]) == {"kernel"}
    assert drawn_sources(made)[0].name == ROWS
    # The work of the GPU in a RunMetadata is unknown.
    assert not _glyphs(made, Line)
    for rate in ("peak_flops", "memory_bandwidth"):
        with raises_id(ValueError, "rate_not_positive"):
            trace.charts.roofline(**{rate: -1})


def test_a_ceiling_is_the_memory_up_to_the_highest_rate() -> None:
    trace = trace_of(("dot", 100, 50_000, 100), ("add", 200, 100, 5_000), ("copy", 10, 0, 10), **KNOWN)
    given = trace.charts.roofline(peak_flops=1e12, memory_bandwidth=1e11)
    made: Any
    for made in (trace.charts.roofline(), given):
        (line,) = _glyphs(made, Line)
        assert line["y"] == pytest.approx(np.minimum(np.asarray(line["x"]) * 1e11, 1e12))
        assert line["x"][1] == pytest.approx(10)
        assert (line["x"][0], line["x"][-1]) == (made.x_range.start, made.x_range.end)
        assert made.y_range.start <= line["y"][1] <= made.y_range.end
        (data,) = _glyphs(made, Scatter)
        assert data["row"] == ["add", "dot"]
        assert data["events"] == [[1], [0]]
    (level,) = _glyphs(trace_of(("dot", 100, 9, 9)).charts.roofline(peak_flops=1e12), Line)
    assert set(level["y"]) == {1e12}


def test_a_ceiling_for_each_type_of_numbers() -> None:
    hopper = {"compute_capability": "9.0", "cores": 132, "clock_hz": 1_980_000_000}
    made: Any = trace_of(("dot", 100, 50_000, 100), **hopper, memory_bandwidth=10**12).charts.roofline()
    lines = _glyphs(made, Line)
    assert [max(line["y"]) for line in lines] == [4096 * 132 * 1.98e9 / half for half in (1, 2, 16)]
    first = made.legend[0].items[0].label.value
    assert first.startswith("float16, bfloat16: ")


def test_the_ops_tab_has_the_chart_if_rates_are_known() -> None:
    def reasons(name: str) -> list[str]:
        return [
            getattr(one["cannot_say"], "id", "")
            for one in kernels.blocks(real_trace(DATA / name))
            if one["kind"] == "chart"
        ]

    assert reasons("gpu_tf221_mlp.pb.xz") == [""]
    assert reasons("gpu_tf218_function.xplane.pb.xz") == ["no_op_costs"]
    assert reasons("cpu_tf221_keras_fit.xplane.pb.xz") == []


def test_the_tab_of_ops_shows_which_kernels_use_tensor_cores() -> None:
    def shown(name: str) -> tuple[set[str], list[str]]:
        blocks = tab(real_trace(DATA / name), "Kernels")["blocks"]
        (block,) = (one for one in blocks if one["title"] == "By kernel")
        names = [column["name"] for column in block["columns"]]
        return {row[names.index("tensor_cores")] for row in block["rows"]}, block["absent"]

    # Names do not always show it; the model of a GPU is in profiles alone.
    assert shown("gpu_tf218_function.xplane.pb.xz") == ({"yes", "no", None}, ["Operations a second"])
    assert shown("gpu_tf221_mlp.pb.xz") == ({"yes", "no", None}, ["Limited by", "Waves"])


@pytest.mark.parametrize("spread", [(1, 1), (0.02, 3), (1e-3, 1e15), (5e8, 1.07e15)])
def test_powers_of_ten_enclose_the_values(spread: tuple[float, float]) -> None:
    marks = decade_marks(*spread, FLOP_RATES)
    places = [place for place, _ in marks]
    assert 2 <= len(places) <= 11
    assert places[0] <= spread[0]
    assert spread[1] <= places[-1]
    assert len({name for _, name in marks}) == len(marks)
