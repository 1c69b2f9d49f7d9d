"""Annotations in widgets, pages, pictures and Parquet files."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import traitlets

import tfvis_nb as tv
from tests.display.test_gap_compression import far_apart
from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tfvis_nb import Trace, read_trace, show_dashboard, show_timeline
from tfvis_nb.core.trace import replaced
from tfvis_nb.display.pages.static_html import static_html

HOSTILE = '</script><b onclick="x">\u202e & <!--'


@pytest.fixture
def trace() -> Trace:
    whole = real_trace(DATA / "local_mlp_step1.pb")
    return replaced(whole, whole.events)


def origin(trace: Trace) -> int:
    return int(trace.events["start_ns"].iloc[0])


def made(**given: Any) -> dict[str, Any]:
    """An annotation as sent by the front end."""
    rest = {"id": "x", "kind": "mark", "start": 5, "end": 5, "lanes": None, "event": None}
    return {**rest, "event_name": "", "name": "here", "text": "", **given}


def test_the_front_end_and_python_see_the_same(trace: Trace) -> None:
    widget, other = show_timeline(trace), show_timeline(trace)
    widget._annotations = [
        made(),
        made(id="y", kind="range", start=10, end=500_000, lanes=[0], name="range"),
        made(id="z", kind="event", event=7, name="event"),
    ]
    found = widget.annotations
    assert found["name"].tolist() == ["here", "range", "event"]
    assert (found["start_ns"] - origin(trace)).tolist()[:2] == [5, 10]
    assert found["event"].tolist()[2] == 7
    assert found["event_name"].tolist()[2] == trace.events["name"].iloc[7]
    place = tuple(trace.events.iloc[7][["task", "device", "lane"]].astype(str))
    assert found["lanes"].tolist() == [[], [place], [place]]
    assert trace.annotations.to_dict("records") == found.to_dict("records")
    # Another timeline of the trace shows them as well.
    assert other._annotations == widget._annotations
    other.annotations = found[found["name"] == "range"]
    assert [each["name"] for each in widget._annotations] == ["range"]
    assert (widget._annotations[0]["start"], widget._annotations[0]["lanes"]) == (10, [0])
    wrongs: list[Any] = [
        made(name=""),
        {"name": "here"},
        made(lanes=[[0]]),
        made(lanes=[-1]),
        made(event="7"),
    ]
    wrongs += [
        made(start="5"),
        made(end=float("inf")),
        made(id=7),
        made(kind=[]),
        made(event=None, start=None),
    ]
    for wrong in wrongs:
        with pytest.raises(traitlets.TraitError):
            widget._annotations = [wrong]
    assert [each["name"] for each in widget._annotations] == ["range"]


def test_pages_have_them(trace: Trace) -> None:
    trace.annotations = [{"event": 7, "name": HOSTILE, "text": HOSTILE}, {"event": 60, "name": "late"}]
    for page in (trace.to_html(), show_timeline(trace).to_html()):
        shown = page_options(page)["annotations"]
        assert [(each["event"], each["name"]) for each in shown] == [(7, HOSTILE), (60, "late")]
        assert HOSTILE not in page
        assert "onclick=&quot;" in page
    assert page_options(show_dashboard(trace).to_html())["annotations"] == shown
    comparison = tv.show_comparison(trace, trace).to_html()
    assert [len(side["annotations"]) for side in page_options(comparison)["sides"]] == [2, 2]
    # A part of the run has those of its own events.
    first = trace.events.iloc[7]
    start = int(first["start_ns"])
    part = page_options(trace.to_html(time_range=(start, start + int(first["duration_ns"]))))["annotations"]
    assert [each["name"] for each in part] == [HOSTILE]
    assert part[0]["event"] < 7


def test_parquet_keeps_them(trace: Trace, tmp_path: Path) -> None:
    trace.annotations = [
        {"event": 7, "name": HOSTILE, "text": "a\nb"},
        {"start_ns": origin(trace), "end_ns": origin(trace) + 9, "name": "range"},
    ]
    again = read_trace(trace.to_parquet(tmp_path / "trace.parquet"))
    assert again.annotations.to_dict("records") == trace.annotations.to_dict("records")
    both = read_trace([tmp_path / "trace.parquet", tmp_path / "trace.parquet"])
    assert sorted(both.annotations["name"]) == sorted([HOSTILE, "range"] * 2)


def test_the_still_picture_has_them(trace: Trace) -> None:
    assert "<ol>" not in static_html(trace)
    trace.annotations = [{"event": 7, "name": HOSTILE}, {"start_ns": origin(trace), "name": "start"}]
    still = static_html(trace)
    assert re.findall(r"<li>(.*?)</li>", still)[0] == "start"
    assert HOSTILE not in still
    image = re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', still)
    assert image
    picture = base64.b64decode(image[1]).decode()
    assert [int(number) for number in re.findall(r">(\d+)</text>", picture)] == [1, 2]


def test_they_are_at_the_times_that_are_drawn() -> None:
    widget = show_timeline(far_apart())
    start = widget.trace.events["start_ns"].tolist()
    shown = [start[0], start[1], start[1] + 5 + 10**9]
    widget.annotations = [{"event": 2, "name": "event"}, {"start_ns": start[2] + 1, "name": "mark"}]
    event, mark = widget._annotations
    assert (event["start"], mark["start"]) == (shown[2], shown[2] + 1)
    widget._annotations = [mark, made()]
    assert widget.annotations["start_ns"].tolist() == [5, start[2] + 1]
