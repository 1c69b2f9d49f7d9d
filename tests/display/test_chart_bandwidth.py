"""The chart of bandwidth over time: it moves as many bytes as the transfers of the trace."""

from typing import Any

import numpy as np
import pytest
from bokeh.plotting import figure

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.drawn_charts import chart_title, drawn_sources
from tests.support.texts import pattern_of
from tfvis_nb import events
from tfvis_nb.display.charts import CannotSayError
from tfvis_nb.display.charts.bandwidth import PARTS as BANDWIDTH_PARTS
from tfvis_nb.display.charts.style import TIME


def _lines(made: figure) -> list[np.ndarray]:
    """The lines of bandwidth: the times of changes (ms), and the new values (GB/s)."""
    (time,) = made.tags
    rate = {"GB/s": 1.0, "MB/s": 1e-3, "kB/s": 1e-6, "B/s": 1e-9}[
        chart_title(made).split("(")[1].split(",")[0]
    ]
    return [
        np.array([np.asarray(source.data["time"]) * time / 1e6, np.asarray(source.data["rate"]) * rate])
        for source in drawn_sources(made)
    ]


def _copies(count: int, gap: int) -> tv.Trace:
    """Copies of 4000 bytes, of 1000 ns each, by turns to and from the device."""
    columns: dict[str, Any] = {
        "start_ns": 5000 + np.arange(count) * (1000 + gap),
        "duration_ns": np.full(count, 1000),
        "kind": ["memcpy"] * count,
        "op": ["MemcpyH2D", "MemcpyD2H"] * (count // 2),
        "bytes": [4000] * count,
    }
    return tv.Trace(events.build(columns))


def test_bandwidth_is_zero_while_nothing_moves() -> None:
    # Parts of 1 us; every second one is half empty.
    trace = _copies(BANDWIDTH_PARTS, 0)
    trace = tv.Trace(trace.events.assign(duration_ns=np.tile([500, 1000], BANDWIDTH_PARTS // 2)))
    made = trace.charts.bandwidth()
    assert made.name == TIME
    assert chart_title(made) == "Bandwidth over time (GB/s, averaged over 1.00 \N{MICRO SIGN}s)"
    to_host, to_device = _lines(made)
    assert to_device[:, :3] == pytest.approx(np.array([[0, 0.001, 0.002], [4, 0, 4]]))
    assert to_host[:, :3] == pytest.approx(np.array([[0.001, 0.002, 0.003], [4, 0, 4]]))


def test_bandwidth_of_many_copies_is_binned_with_equal_bytes() -> None:
    count = 20 * BANDWIDTH_PARTS
    moved = 0.0
    for ms, rate in _lines(_copies(count, 500).charts.bandwidth()):
        assert len(ms) <= BANDWIDTH_PARTS + 1
        moved += float(np.sum(rate[:-1] * np.diff(ms))) * 1e6
    assert moved == pytest.approx(4000 * count)


def test_bandwidth_that_stays_the_same_is_one_line() -> None:
    columns = {"start_ns": [0, 50], "duration_ns": [100, 50], "kind": ["memcpy"] * 2, "bytes": [200, 50]}
    columns["op"] = ["MemcpyH2D"] * 2
    (line,) = _lines(tv.Trace(events.build(columns)).charts.bandwidth())
    assert line == pytest.approx(np.array([[0, 5e-5, 1e-4], [2, 3, 0]]))


def test_bandwidth_of_a_real_trace_moves_what_its_transfers_do() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    known = trace.transfers
    known = known[(known["transfer_ns"].fillna(0) > 0) & known["bytes"].notna()]
    moved = 0.0
    for ms, rate in _lines(trace.charts.bandwidth()):
        moved += float(np.sum(rate[:-1] * np.diff(ms))) * 1e6
    assert moved == pytest.approx(int(known["bytes"].sum()))


def test_bandwidth_needs_transfers_with_sizes() -> None:
    columns: dict[str, Any] = {"start_ns": [0], "duration_ns": [1], "op": ["MemcpyH2D"]}
    nothing = tv.Trace(events.build({**columns, "kind": ["op"]}))
    assert nothing.charts.why_not("bandwidth").id == "no_transfers"
    without = tv.Trace(events.build({**columns, "kind": ["memcpy"]}))
    assert without.charts.why_not("bandwidth").id == "no_transfer_rates"
    with pytest.raises(CannotSayError, match=pattern_of("no_transfer_rates")):
        without.charts.bandwidth()
