"""Merging the events of a large trace: nothing may be lost or counted twice."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.large_traces import answers_of, decoded, layout_of, made_up
from tests.real_traces import DATA, SHARED, real_trace
from tests.support.examples import examples
from tfvis_nb import Trace
from tfvis_nb.analysis.events.row_packing import pack_rows
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.level_of_detail import Entries, coarsest_needed, everything, merge

REAL = [DATA / "local_mlp_step1.pb", *sorted(SHARED.glob("h200/inception_step1.pb.xz"))]


def naive_rows(start: list[int], duration: list[int]) -> list[int]:
    free: list[int] = []
    rows = []
    for begin, length in zip(start, duration, strict=True):
        row = next((row for row, time in enumerate(free) if time <= begin), len(free))
        if row == len(free):
            free.append(0)
        free[row] = begin + max(length, 1)
        rows.append(row)
    return rows


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=60))
def test_rows_are_first_fit(pairs: list[tuple[int, int]]) -> None:
    pairs.sort()
    start, duration = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    got = pack_rows(np.array(start, "i8"), np.array(duration, "i8"), np.array([len(pairs)]))
    assert got.tolist() == naive_rows(start, duration)


def test_rows_of_a_lane_with_more_rows_than_are_found_one_by_one() -> None:
    random = np.random.default_rng(4)
    start = np.sort(random.integers(0, 4000, 2000))
    duration = random.integers(0, 900, 2000)
    got = pack_rows(start, duration, np.array([2000]))
    assert got.max() > 100
    assert got.tolist() == naive_rows(start.tolist(), duration.tolist())


@pytest.mark.parametrize("shift", [0, 3, 6, 10, 14, 40])
@pytest.mark.parametrize("seed", [1, 2])
def test_merging_keeps_every_event_once(shift: int, seed: int) -> None:
    trace = made_up(3000, 3, seed)
    layout = layout_of(trace)
    entries = merge(layout, everything(layout), shift)
    covered = np.concatenate(
        [np.arange(a, a + n) for a, n in zip(entries.position, entries.count, strict=True)]
    )
    assert covered.tolist() == list(range(3000))
    assert sorted(layout.event.tolist()) == list(range(3000))
    durations = layout.end - layout.start
    for entry in range(len(entries)):
        check_entry(layout, entries, entry, shift, durations)
    busy_of_lane = pd.Series(entries.busy).groupby(layout.slot_lane[entries.slot]).sum().tolist()
    lanes = pd.Series(trace.events["duration_ns"].to_numpy()).groupby(layout.lanes.of_event).sum().tolist()
    assert busy_of_lane == lanes


def check_entry(layout: Layout, entries: Entries, entry: int, shift: int, durations: np.ndarray) -> None:
    places = range(entries.position[entry], entries.position[entry] + entries.count[entry])
    assert {int(np.searchsorted(layout.bounds, place, "right")) - 1 for place in places} == {
        entries.slot[entry]
    }
    assert entries.busy[entry] == sum(durations[place] for place in places)
    assert entries.longest[entry] == max(places, key=lambda place: (durations[place], -place))
    if len(places) > 1:
        assert len({layout.start[place] >> shift for place in places}) == 1
        assert all(durations[place] < 1 << shift for place in places)
    assert all(layout.end[a] <= layout.start[a + 1] for a in places[:-1])


def test_the_coarsest_needed_is_the_finest_that_fits() -> None:
    layout = layout_of(made_up(4000, 2, 7))
    every = everything(layout)
    shift = coarsest_needed(layout, every, 2, 1500)
    assert len(merge(layout, every, shift)) <= 1500 < len(merge(layout, every, shift - 1))
    # Events longer than any bucket never merge; looking for a bucket that merges them must end.
    assert coarsest_needed(layout, every, 2, 1) < 64


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_an_outline_counts_the_rows_of_the_table(path: Path) -> None:
    check_outline(real_trace(path))


def check_outline(trace: Trace) -> None:
    layout = layout_of(trace)
    header, entries = decoded(answers_of(layout).outline_bytes("Mine", "windows"))
    assert (header["title"], header["total"], header["rest"]) == ("Mine", len(trace.events), "windows")
    assert entries["count"].sum() == len(trace.events)
    assert entries["busy"].sum() == trace.events["duration_ns"].sum()
    by_lane = entries.groupby("lane")["count"].sum()
    assert by_lane.tolist() == [lane["events"] for lane in header["lanes"]]
    assert (entries.groupby("lane")["row"].max() + 1).tolist() == [lane["rows"] for lane in header["lanes"]]
    # Nothing in a row is drawn over anything else.
    rows = entries.groupby(["lane", "row"])
    assert (rows["start"].shift(-1).fillna(np.inf) >= entries["end"]).all()
    longest = trace.events.iloc[entries["event"]]
    assert longest["duration_ns"].tolist() == entries["duration"].tolist()
    assert (longest["start_ns"] - int(header["origin_ns"])).tolist() == entries["begin"].tolist()
    assert longest["op"].astype("str").tolist() == [header["ops"][op] for op in entries["op"]]
