"""Recordings of different days, years, or of no date at all, on one axis."""

import pandas as pd

import tfvis_nb as tv
from tests.wire_reader import read_drawn
from tfvis_nb import Trace, events
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.timeline.timeline_widget import TimelineWidget
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.texts import Text

DAY_NS = 24 * 3600 * 10**9
STARTS = [0, 7, 400 * DAY_NS + 3, 400 * DAY_NS + 4, 20_000 * DAY_NS]


def far_apart() -> Trace:
    columns = {
        "start_ns": STARTS,
        "duration_ns": [5] * 5,
        "scheduled_ns": [pd.NA, 6, *STARTS[2:]],
        "step": [0, 0, 1, 1, 2],
        "name": list("abcde"),
        "kind": ["op"] * 5,
    }
    return Trace(events.build(columns))


def test_within_recordings_every_nanosecond_stays() -> None:
    shown = compress_gaps(far_apart())
    start = shown.events["start_ns"]
    assert [start[1] - start[0], start[3] - start[2]] == [7, 1]
    assert start[2] - (start[1] + 5) == start[4] - (start[3] + 5) == 10**9
    waits = shown.events["start_ns"] - shown.events["scheduled_ns"]
    assert waits.tolist()[1:] == [1, 0, 0, 0]
    assert shown.notes[-1] == Text("pauses_shortened", pauses=2)
    header, rows = read_drawn(bar_bytes(shown))
    assert header["count"] == len(rows) == 5


def test_what_fits_is_left_alone() -> None:
    short = Trace(events.build({"start_ns": [0, 40 * DAY_NS], "duration_ns": [1, 1], "kind": ["op", "op"]}))
    assert compress_gaps(short) is short


def test_the_selection_is_of_the_times_as_recorded() -> None:
    widget = tv.show_timeline(far_apart())
    assert isinstance(widget, TimelineWidget)
    widget.selection = (400 * DAY_NS, 400 * DAY_NS + 10)
    assert widget.selection["name"].tolist() == ["c", "d"]
    assert widget.selection["start_ns"].tolist() == STARTS[2:4]
    widget.selection = far_apart().events.loc[[4]]
    assert widget.selection.index.tolist() == [4]
    assert "2 pauses" in far_apart().to_html()
