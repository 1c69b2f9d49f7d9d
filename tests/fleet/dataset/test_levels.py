"""Bars that are merged beforehand are what merging the events one by one gives."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from tests.large_traces import made_up
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.events.merging import merge_neighbours, pieces
from tfvis_nb.fleet.dataset import levels
from tfvis_nb.fleet.dataset.levels import KEY, SHIFTS, level_table, rows_of

Event = tuple[int, int]


@st.composite
def overlapping(draw: st.DrawFn) -> list[Event]:
    """Starts and ends, ordered by start."""
    count = draw(st.integers(1, 12))
    starts = sorted(draw(st.lists(st.integers(0, 60), min_size=count, max_size=count)))
    return [(start, start + draw(st.integers(0, 25))) for start in starts]


@given(overlapping())
def test_pieces_cover_the_same_time_as_the_events(made: list[Event]) -> None:
    start, end = (np.array(column, "i8") for column in zip(*made, strict=True))
    has, until = pieces(start, end)
    covered = {time for first, last in made for time in range(first, last)}
    of_piece = [range(int(first), int(last)) for first, last in zip(start[has], until, strict=True)]
    assert sorted(time for piece in of_piece for time in piece) == sorted(covered)
    assert (start[has][1:] >= until[:-1]).all()
    # Wherever anything was, also without length, there is something.
    marks = set(start[has].tolist()) | covered
    assert set(start.tolist()) <= marks | set(until.tolist())


@given(overlapping(), st.integers(0, 6))
def test_merged_neighbours_are_those_merged_one_by_one(made: list[Event], shift: int) -> None:
    start = np.array([first for first, _ in made], "i8")
    length = np.array([last - first for first, last in made], "i8")
    slot = np.zeros(len(made), "i8")
    found = merge_neighbours(slot, start, length, length, shift)
    wanted: list[list[int]] = []
    for at, (first, size) in enumerate(zip(start.tolist(), length.tolist(), strict=True)):
        last = wanted[-1][-1] if wanted else None
        is_short = size < 2**shift
        if (
            last is not None
            and is_short
            and length[last] < 2**shift
            and start[last] >> shift == first >> shift
        ):
            wanted[-1].append(at)
        else:
            wanted.append([at])
    assert found.heads.tolist() == [bar[0] for bar in wanted]
    assert found.count.tolist() == [len(bar) for bar in wanted]
    assert found.longest.tolist() == [max(bar, key=lambda at: (length[at], -at)) for bar in wanted]


def test_every_level_has_every_event_once() -> None:
    trace = made_up(3000, 3, 1, longest=200_000)
    ids = np.arange(3000)
    table = level_table(trace, ids, trace.events["step"].to_numpy())
    described = json.loads(table.schema.metadata[KEY])
    lanes = order_lanes(trace.events)
    frame = table.to_pandas()
    real = frame[frame["lane"] < len(lanes.table)]
    for level, rows in real.groupby("level"):
        assert rows["count"].sum() == 3000
        assert rows["busy_ns"].sum() == trace.events["duration_ns"].sum()
        assert described["levels"][str(level)][0] == len(rows)
        longest = trace.events.take(rows["event"].to_numpy())
        assert rows["duration_ns"].tolist() == longest["duration_ns"].tolist()
        assert rows["begin_ns"].tolist() == longest["start_ns"].tolist()
        assert rows["name"].tolist() == longest["name"].tolist()
        assert rows["op"].tolist() == longest["op"].tolist()
        assert rows["lane"].tolist() == lanes.of_event[rows["event"]].tolist()
        assert rows["row"].tolist() == rows_of(trace.events)[rows["event"]].tolist()
    # A level that is hardly shorter than the events is not worth its bytes.
    assert (real.groupby("level").size()[lambda sizes: sizes.index < SHIFTS[-1]] <= 1500).all()
    assert described["events"] == 3000
    assert [lane["events"] for lane in described["lanes"]] == lanes.table["events"].tolist()
    steps = pd.DataFrame(described["steps"])
    assert steps["events"].tolist() == trace.events.groupby("step").size().tolist()


def test_the_first_picture_is_in_the_first_row_group(tmp_path: Path) -> None:
    trace = made_up(3000, 3, 2)
    table = level_table(trace, np.arange(3000), trace.events["step"].to_numpy())
    levels.write(table, tmp_path / "part.parquet")
    meta = pq.ParquetFile(tmp_path / "part.parquet")
    assert json.loads(meta.schema_arrow.metadata[KEY]) == json.loads(table.schema.metadata[KEY])
    first = meta.read_row_group(0).to_pandas()
    # The steps of these events overlap on their device.
    assert set(first["lane"]) == {3, 4}
    assert first["lane"].is_monotonic_increasing
    assert all(own["level"].is_monotonic_decreasing for _, own in first.groupby("lane"))
    assert sum(meta.metadata.row_group(at).num_rows for at in range(meta.num_row_groups)) == table.num_rows


def test_only_work_of_a_device_counts_for_it() -> None:
    table = events.build(
        {
            "start_ns": [0, 10, 20, 0],
            "duration_ns": [100, 5, 7, 100],
            "kind": ["host", "kernel", "memcpy", "host"],
            "lane": ["Steps", "stream:1", "memcpy H2D", "python"],
            "device": ["/device:GPU:0"] * 3 + ["/device:CPU:0"],
        }
    )
    trace = Trace(events.order(table)[0])
    described = json.loads(level_table(trace, np.arange(4), np.zeros(4, "i4")).schema.metadata[KEY])
    assert [(each["device"], each["kind"], each["busy"]) for each in described["devices"]] == [
        ("/device:GPU:0", "kernel", 12),
        ("/device:CPU:0", "host", 100),
    ]


def test_an_event_keeps_its_row_whatever_is_read_with_it() -> None:
    trace = made_up(500, 2, 3, longest=50_000)
    alone = level_table(trace, np.arange(500), np.zeros(500, "i4")).to_pandas()
    coarsest = alone[alone["level"] == SHIFTS[-1]]
    rows = rows_of(trace.events)
    assert coarsest[coarsest["lane"] < 2]["row"].max() == rows.max()
