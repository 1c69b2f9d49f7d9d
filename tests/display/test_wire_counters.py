"""Counters for the front end, read back and checked value by value."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.large_traces import answers_of, layout_of
from tests.support.examples import examples
from tests.wire_reader import read_container
from tfvis_nb import Trace, events
from tfvis_nb.analysis import counter_statistics
from tfvis_nb.core.counters import build
from tfvis_nb.display.wire.counters import MOST_TRACKS, counter_bytes, counter_tracks, reduced
from tfvis_nb.display.wire.details import details

ORIGIN = 1_700_000_000_000_000_000


def trace_of(*values: tuple[str, int, float], length: int = 100) -> Trace:
    names, times, amounts = zip(*values, strict=True)
    table = events.build({"start_ns": [ORIGIN], "duration_ns": [length], "kind": ["host"]})
    given = {"counter": list(names), "time_ns": [ORIGIN + time for time in times], "value": list(amounts)}
    return Trace(table, recorded_counters=build(given))


def lines(data: bytes) -> list[list[tuple[int, float]]]:
    header, columns = read_container(data)
    found = []
    for number, track in enumerate(header["counters"]):
        times = track["first"] + np.cumsum(np.array(columns[f"counter_{number}_gap"], np.float64))
        found.append(list(zip(times.tolist(), columns[f"counter_{number}_level"], strict=True)))
    return found


TWO = trace_of(("a", -5, 2), ("a", 10, 7), ("a", 60, 1.5), ("b", 300, 1), ("b", 50, 2**40))


def test_details_have_the_values_of_the_run() -> None:
    header, _ = read_container(details(TWO))
    assert lines(details(TWO)) == [[(0, 2), (10, 7), (60, 1.5)], [(50, 2**40)]]
    assert [(track["least"], track["most"], track["at"]) for track in header["counters"]] == [
        (1.5, 7, 10),
        (1, 2**40, 50),
    ]


def test_the_parts_of_a_large_trace() -> None:
    windows = answers_of(layout_of(TWO))
    whole = windows.answer({"kind": "counters"})[1][0]
    assert lines(whole) == lines(details(TWO))
    part = windows.answer({"kind": "window", "start": 20, "end": 55, "bucket": 1})[1][1]
    assert lines(part) == [[(20, 7)], [(50, 2**40)]]
    asked: dict[str, Any] = {"start": 5, "end": 20, "lanes": None, "step": None, "by": "op"}
    totals = windows.answer({"kind": "statistics", **asked})[0]["counters"]
    figures = counter_statistics(TWO, (ORIGIN + 5, ORIGIN + 20)).iloc[0]
    assert totals == [{name: figures[name] for name in ("least", "mean", "most")}, None]
    assert totals[0]["mean"] == pytest.approx((2 * 5 + 7 * 10) / 15)


def test_of_very_many_series_the_first_are_drawn() -> None:
    many = trace_of(*((f"{number:04}", 0, number) for number in range(MOST_TRACKS + 7)))
    tracks = counter_tracks(many)
    assert (len(tracks.header), tracks.unsent) == (MOST_TRACKS, 7)


def test_a_trace_without_counters_has_no_tracks() -> None:
    none = Trace(TWO.events)
    assert counter_tracks(none) == ([], {}, 0)
    assert Trace(TWO.events.iloc[:0]).counters.empty
    assert lines(counter_bytes(none, 0, 9, most_values=1)) == []


@settings(max_examples=examples(300))
@given(
    values=st.lists(st.tuples(st.integers(0, 90), st.integers(-5, 5)), min_size=1, max_size=60),
    buckets=st.integers(1, 9),
)
def test_fewer_values_draw_the_same_pixels(values: list[tuple[int, int]], buckets: int) -> None:
    values.sort(key=lambda one: one[0])
    time, value = (np.array(column) for column in zip(*values, strict=True))
    kept = reduced(time, value, buckets)
    assert len(kept) <= max(4 * buckets, 0)
    span = int(time[-1] - time[0]) + 1
    pixel = (time - time[0]) * buckets // span

    def drawn(rows: np.ndarray) -> list[tuple[int, ...]]:
        own = [value[rows[pixel[rows] == one]] for one in range(buckets)]
        return [(int(v[0]), int(v[-1]), int(v.min()), int(v.max())) if len(v) else () for v in own]

    assert drawn(kept) == drawn(np.arange(len(time)))
