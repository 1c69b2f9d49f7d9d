"""Tracks of the user's own: tables that are drawn under the lanes, also in pages and pictures."""

import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from tests.display.test_gap_compression import far_apart
from tests.hostile_names import HOSTILE
from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tests.support.texts import raises_id
from tfvis_nb import Trace, show_dashboard, show_timeline

SVG = "{http://www.w3.org/2000/svg}"
TRACE = real_trace(DATA / "local_mlp_step1.pb")
FIRST = int(TRACE.events["start_ns"].iloc[0])
LAST = int((TRACE.events["start_ns"] + TRACE.events["duration_ns"]).max())

BARS = pd.DataFrame(
    {
        "start_ns": [FIRST + 3000, FIRST + 1000, FIRST + 4000],
        "end_ns": [FIRST + 9000, FIRST + 2000, FIRST + 4000],
        "name": ["send", "load", None],
    },
    index=[5, 5, 7],
)
VALUES = pd.DataFrame({"time_ns": [FIRST + 5, FIRST + 2], "value": [2, 0.5], "unit": ["bytes", "bytes"]})


EXPECTED = [
    {
        "name": "phases",
        "starts": [1000, 3000, 4000],
        "lengths": [1000, 6000, 0],
        "names": ["load", "send", ""],
        "rows": [0, 0, 1],
    },
    {"name": "NIC", "unit": "bytes", "times": [2, 5], "values": [0.5, 2.0]},
]


def test_tracks_are_in_the_widget_and_in_pages() -> None:
    widget = show_timeline(TRACE)
    widget.add_track("phases", BARS)
    widget.add_track("NIC", VALUES)
    assert widget._tracks == EXPECTED
    tracks = {"phases": BARS, "NIC": VALUES}
    assert show_timeline(TRACE, tracks=tracks)._tracks == EXPECTED
    assert show_dashboard(TRACE, tracks=tracks).timeline._tracks == EXPECTED
    for page in (widget.to_html(), TRACE.to_html(tracks=tracks)):
        assert page_options(page)["tracks"] == EXPECTED
    for part in (
        widget.to_html(time_range=(FIRST, LAST)),
        TRACE.to_html(tracks=tracks, time_range=(FIRST, LAST)),
    ):
        assert page_options(part)["tracks"] == EXPECTED
    late = {**tracks, "late": {"time_ns": [LAST], "value": [1]}}
    shorter = TRACE.to_html(tracks=late, time_range=(FIRST, LAST - 1))
    assert page_options(shorter)["tracks"] == EXPECTED
    for anonymous in (widget.to_html(anonymize=True), TRACE.to_html(tracks=tracks, anonymize=True)):
        assert page_options(anonymous)["tracks"] == []
    # Setting the returned tracks makes the same again; a track of the same name replaces one.
    assert show_timeline(TRACE, tracks=widget.tracks)._tracks == EXPECTED
    widget.add_track("NIC", {"start_ns": [FIRST], "duration_ns": [5.0]})
    assert [track["name"] for track in widget._tracks] == ["phases", "NIC"]
    assert widget._tracks[1]["lengths"] == [5]
    widget.tracks = {}
    assert widget._tracks == []


def test_times_follow_the_drawn_ones() -> None:
    widget = show_timeline(far_apart())
    starts = widget.trace.events["start_ns"].to_numpy()
    widget.add_track("a", {"start_ns": starts[2:], "duration_ns": np.ones(len(starts) - 2, "i4")})
    drawn = widget._shown.events["start_ns"].to_numpy()
    assert widget._tracks[0]["starts"] == (drawn[2:] - drawn[0]).tolist()
    assert widget.tracks["a"]["start_ns"].tolist() == starts[2:].tolist()


@pytest.mark.parametrize(
    ("table", "error", "key", "figures"),
    [
        (5, TypeError, "track_no_table", {"type": "int"}),
        ({}, ValueError, "track_columns", {"columns": "no columns"}),
        ({"start_ns": [1]}, ValueError, "track_columns", {}),
        (pd.concat([BARS, BARS[["name"]]], axis=1), ValueError, "track_columns", {}),
        ({"start_ns": [1], "end_ns": [2], "duration_ns": [1]}, ValueError, "track_columns", {}),
        ({"start_ns": [1], "end_ns": [2], "colour": ["red"]}, ValueError, "track_columns", {}),
        ({"time_ns": [1]}, ValueError, "track_columns", {}),
        ({"start_ns": [FIRST, None], "end_ns": [FIRST, FIRST]}, ValueError, "track_value", {"row": 1}),
        ({"start_ns": [FIRST], "end_ns": [np.nan]}, ValueError, "track_value", {"column": "end_ns"}),
        (
            {"start_ns": [FIRST], "end_ns": [FIRST - 1]},
            ValueError,
            "track_value",
            {"column": "end_ns", "row": 0},
        ),
        ({"start_ns": [FIRST], "duration_ns": [-1]}, ValueError, "track_value", {"value": "-1"}),
        ({"start_ns": ["soon"], "duration_ns": [1]}, ValueError, "track_value", {"value": "soon"}),
        ({"start_ns": [True], "duration_ns": [1]}, ValueError, "track_value", {"value": "True"}),
        (
            {"start_ns": [2**62], "duration_ns": [1]},
            ValueError,
            "track_value",
            {"expected": "nanoseconds between -2**62 and 2**62"},
        ),
        ({"time_ns": [FIRST], "value": [1j]}, ValueError, "track_value", {"column": "value"}),
        ({"start_ns": [1, 2], "end_ns": [3]}, ValueError, "track_unreadable", {"name": "a"}),
        ({"time_ns": [FIRST], "value": [np.inf]}, ValueError, "track_value", {"column": "value"}),
        (
            {"time_ns": [FIRST, FIRST], "value": [1, 2], "unit": ["s", "%"]},
            ValueError,
            "track_units",
            {"units": "%, s"},
        ),
        (
            [1, 2],
            ValueError,
            "track_unreadable",
            {"reason": "its rows are not dicts of columns"},
        ),
        (
            {"start_ns": FIRST, "duration_ns": 1},
            ValueError,
            "track_unreadable",
            {"reason": "its columns are single values, not lists"},
        ),
        (
            {"start_ns": [FIRST], "duration_ns": [1, 2]},
            ValueError,
            "track_unreadable",
            {"reason": "its columns have different lengths"},
        ),
        (
            {"time_ns": [FIRST // 10**9], "value": [1]},
            ValueError,
            "track_outside",
            {"first": FIRST, "last": LAST},
        ),
        (
            {"start_ns": [FIRST] * 20_001, "duration_ns": [1] * 20_001},
            ValueError,
            "too_many_track_rows",
            {"most": 20_000},
        ),
    ],
)
def test_invalid_tracks_are_named_and_change_nothing(
    table: Any, error: type[Exception], key: str, figures: dict[str, Any]
) -> None:
    widget = show_timeline(TRACE, tracks={"NIC": VALUES})
    with raises_id(error, key, **figures):
        widget.add_track("a", table)
    assert list(widget.tracks) == ["NIC"]
    with raises_id(error, key, **figures):
        TRACE.to_html(tracks={"a": table})


def test_names_of_tracks_are_texts() -> None:
    for name in ("", " ", "a" * 201, 5):
        with raises_id(ValueError, "track_name", name=name):
            show_timeline(TRACE, tracks={name: VALUES})  # type: ignore[dict-item]
    with raises_id(TypeError, "tracks_no_dict"):
        show_timeline(TRACE, tracks=[VALUES])  # type: ignore[call-overload]


def test_empty_tables_are_empty_tracks() -> None:
    widget = show_timeline(TRACE, tracks={"bars": BARS[:0], "values": VALUES[:0]})
    assert [len(table) for table in widget.tracks.values()] == [0, 0]
    ET.fromstring(widget.to_svg())


def test_pictures_have_them() -> None:
    hostile = [*HOSTILE][:50]
    times = np.linspace(FIRST, LAST, len(hostile) + 1).astype("i8")
    bars = {"start_ns": times[:-1], "end_ns": times[1:], "name": hostile}
    widget = show_timeline(TRACE)
    plain = ET.fromstring(widget.to_svg(width="40 cm"))
    widget.tracks = {"<phases>": bars, "NIC": VALUES}
    svg = widget.to_svg(width="40 cm")
    root = ET.fromstring(svg)
    (tracks,) = [group for group in root.iter(f"{SVG}g") if group.get("class") == "tracks"]
    labels = [text.text for text in tracks.findall(f"{SVG}text")]
    assert labels == ["<phases>", "NIC", "max 2 B"]
    shapes = [path.get("d", "").count("M") for path in tracks.findall(f"{SVG}path")]
    assert shapes == [len(hostile), 1]
    high = [float(each.get("viewBox", "").split()[3]) for each in (plain, root)]
    assert high[1] > high[0]
    # Only what lies in the range, and room for it in a height that is given.
    part = ET.fromstring(widget.to_svg(time_range=(FIRST, int(times[3]) - 1), height="12 cm"))
    (tracks,) = [group for group in part.iter(f"{SVG}g") if group.get("class") == "tracks"]
    assert [path.get("d", "").count("M") for path in tracks.findall(f"{SVG}path")] == [3, 1]
    assert Trace(TRACE.events).to_svg(tracks={"NIC": VALUES}).count('class="tracks"') == 1


def test_a_picture_has_bars_without_length_at_its_edges() -> None:
    svg = TRACE.to_svg(tracks={"marks": {"start_ns": [FIRST, LAST], "duration_ns": [0, 0]}})
    (tracks,) = [group for group in ET.fromstring(svg).iter(f"{SVG}g") if group.get("class") == "tracks"]
    assert [path.get("d", "").count("M") for path in tracks.findall(f"{SVG}path")] == [2]


def test_a_picture_of_a_range_has_its_values() -> None:
    values = {"time_ns": [FIRST, FIRST + 10, FIRST + 40, FIRST + 90], "value": [9, 1, 2, 7]}
    svg = TRACE.to_svg(time_range=(FIRST + 20, FIRST + 60), tracks={"loss": values})
    (tracks,) = [group for group in ET.fromstring(svg).iter(f"{SVG}g") if group.get("class") == "tracks"]
    (path,) = tracks.findall(f"{SVG}path")
    corners = re.findall(r"L([\d.]+) ([\d.]+)", path.get("d", ""))
    # Two values, each from its start to its end, and the ground under the last one.
    assert len(corners) == 5
    assert float(corners[0][1]) > float(corners[2][1])
