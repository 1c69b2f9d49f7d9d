"""Merging the events of a large trace: nothing may be lost or counted twice."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.large_traces import answers_of, decoded, layout_of, made_up
from tests.real_traces import DATA, SHARED, real_trace
from tfvis_nb import Trace
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.level_of_detail import Entries, coarsest_needed, everything, merge

REAL = [DATA / "local_mlp_step1.pb", *sorted(SHARED.glob("h200/inception_step1.pb.xz"))]


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
