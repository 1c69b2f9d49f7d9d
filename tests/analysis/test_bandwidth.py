"""Bytes a second over time, against the same added up moment by moment."""

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.moved_rows import ROWS, Row, moves, trace_of
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.communication.bandwidth import CHANNELS, Channel, bandwidth, binned_bandwidth
from tfvis_nb.core.devices import task_of

Moment = tuple[str, int]


def moments(trace: Trace, by: Channel) -> dict[Moment, tuple[int, Fraction]]:
    """Return for each channel and nanosecond how many things move, and how many bytes."""
    found: dict[Moment, tuple[int, Fraction]] = {}
    for row in moves(trace):
        ends = [row["source"] or "", row["destination"] or ""]
        if by == "task":
            ends = [task_of(end) for end in ends]
        channel = str(trace.events["op"][row["event"]]) if by == "direction" else " -> ".join(ends)
        start, time = row["turn_ns"], row["transfer_ns"] or 0
        for moment in range(start, start + time) if row["bytes"] is not None and time else ():
            place = "" if channel == " -> " else channel, moment
            count, size = found.get(place, (0, Fraction(0)))
            found[place] = count + 1, size + Fraction(row["bytes"], time)
    return found


def rates(table: pd.DataFrame) -> dict[Moment, tuple[int, float]]:
    found: dict[Moment, tuple[int, float]] = {}
    rows: list[dict[Any, Any]] = table.to_dict("records")
    for row in rows:
        for moment in range(row["start_ns"], row["start_ns"] + row["duration_ns"]):
            assert (row["channel"], moment) not in found
            found[row["channel"], moment] = row["moving"], row["bandwidth"]
    return found


@given(ROWS, st.sampled_from(CHANNELS))
def test_every_moment(rows: list[Row], by: Channel) -> None:
    trace = trace_of(rows)
    table = bandwidth(trace, by)
    expected, found = moments(trace, by), rates(table)
    assert found.keys() == expected.keys()
    for moment, (count, size) in expected.items():
        moving, rate = found[moment]
        assert moving == count
        assert rate == pytest.approx(float(size) * 1e9, rel=1e-9, abs=0.1)
    used = [row for row in moves(trace) if row["bytes"] is not None and row["transfer_ns"]]
    assert table.attrs["left_out"] == len(trace.transfers) - len(used)
    assert bool(why_not(table)) == (not used)


@given(ROWS, st.sampled_from(CHANNELS), st.integers(1, 25))
def test_every_bin(rows: list[Row], by: Channel, bin_ns: int) -> None:
    trace = trace_of(rows)
    origin = int(trace.events["start_ns"].iloc[0])
    expected: dict[Moment, list[Fraction]] = {}
    for (channel, moment), (_, size) in moments(trace, by).items():
        start = origin + (moment - origin) // bin_ns * bin_ns
        expected.setdefault((channel, start), []).append(size)
    table = binned_bandwidth(trace, bin_ns, by)
    found: list[dict[Any, Any]] = table.to_dict("records")
    assert {(row["channel"], row["start_ns"]) for row in found} == expected.keys()
    for row in found:
        sizes = expected[row["channel"], row["start_ns"]]
        assert row["duration_ns"] == bin_ns
        assert row["busy_ns"] == len(sizes)
        assert row["bytes"] == pytest.approx(float(sum(sizes)), rel=1e-9, abs=1e-6)
        assert row["bandwidth"] == pytest.approx(row["bytes"] * 1e9 / bin_ns)


@pytest.mark.parametrize("name", ["gpu_tf221_dist", "cpu_tf221_collective", "gpu_tf221_mixed"])
def test_all_bytes_that_took_time_are_in_it(name: str) -> None:
    trace = real_trace(DATA / f"{name}.pb.xz")
    moved = trace.transfers[trace.transfers["transfer_ns"] > 0]
    assert len(moved)
    for by in CHANNELS:
        table = bandwidth(trace, by)
        total = (table["bandwidth"] * table["duration_ns"] / 1e9).sum()
        assert total == pytest.approx(int(moved["bytes"].sum()), rel=1e-12)
        assert binned_bandwidth(trace, 100_000, by)["bytes"].sum() == pytest.approx(total)


def test_rates_leave_nothing_behind() -> None:
    """A slow tensor that moves while fast ones come and go has its own rate in between."""
    starts = [0, *range(10, 100_000, 20)]
    columns = {
        "start_ns": starts,
        "duration_ns": [100_010] + [10] * (len(starts) - 1),
        "kind": ["memcpy"] * len(starts),
        "bytes": [7] + [10**5 + place for place in range(len(starts) - 1)],
    }
    table = bandwidth(Trace(events.build(columns)))
    alone = table[table["moving"] == 1]
    assert len(alone) == len(starts)
    assert alone["bandwidth"].to_numpy() == pytest.approx(7e9 / 100_010, abs=1e-3)


def test_wrong_arguments() -> None:
    columns = {"start_ns": [0], "duration_ns": [10**9], "kind": ["memcpy"], "bytes": [8]}
    trace = Trace(events.build(columns))
    with raises_id(ValueError, "not_one_of", choices="direction, device, task"):
        bandwidth(trace, "op")  # type: ignore[arg-type]
    with raises_id(ValueError, "bin_not_positive"):
        binned_bandwidth(trace, 0)
    with raises_id(ValueError, "too_many_bins", bins=1_000_000_000):
        binned_bandwidth(trace, 1)
    nothing = Trace(events.build({}, rows=0))
    for table, some in (
        (bandwidth(nothing), bandwidth(trace)),
        (binned_bandwidth(nothing, 5), binned_bandwidth(trace, 10**8)),
    ):
        assert why_not(table).id == "no_transfer_rates"
        assert table.dtypes.astype(str).to_dict() == some.dtypes.astype(str).to_dict()
