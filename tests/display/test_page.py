import base64
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import DATA, real_trace
from tests.support.page_code import unpacked_code
from tests.support.texts import raises_id, says
from tests.wire_reader import read_container, read_drawn
from tfvis_nb import Trace, events
from tfvis_nb.analysis import overview
from tfvis_nb.analysis.overview.compare_findings import findings_against
from tfvis_nb.core.format import unbroken
from tfvis_nb.core.labels import printable
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.pages.page import PageTooLargeError, estimated_bytes
from tfvis_nb.display.timeline.timeline_widget import show_timeline
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.details import details

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """The elements of a page: tag, attributes, text directly inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[int] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.elements[self.open[-1]][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, "".join(text)) for name, attributes, text in self.elements if name == tag]

    def by_id(self, wanted: str) -> str:
        (text,) = ["".join(text) for _, attributes, text in self.elements if attributes.get("id") == wanted]
        return text


@pytest.fixture(scope="module")
def trace() -> Trace:
    return real_trace(DATA / "dist_inproc_ps_2workers_step0.pb")


def test_the_page_carries_everything_and_asks_nobody(trace: Trace) -> None:
    page = Page(trace.to_html())
    assert base64.b64decode(page.by_id("tfvis-drawn")) == bar_bytes(trace)
    assert base64.b64decode(page.by_id("tfvis-details")) == details(trace)
    (policy,) = [meta for meta, _ in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy["content"] == (
        "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:"
    )
    for _, attributes, _ in page.elements:
        assert "href" not in attributes
        assert str(attributes.get("src", "data:")).startswith("data:")


def test_the_page_is_loading_until_its_script_runs(trace: Trace) -> None:
    page = Page(trace.to_html())
    assert {"charset": "utf-8"} in [meta for meta, _ in page.all("meta")]
    (loading,) = [text for attributes, text in page.all("p") if attributes.get("role") == "status"]
    assert loading.startswith(f"Loading the timeline of {trace.title}: {len(trace.events)} events")
    kinds = [attributes.get("type") for attributes, _ in page.all("script")]
    assert kinds == [*["application/octet-stream"] * 2, "application/json", None, "application/octet-stream"]
    assert unpacked_code(page.by_id("tfvis-code")) == bundle("page.js")
    root = [attributes.get("id") for _, attributes, _ in page.elements].index("tfvis-root")
    assert root < [tag for tag, _, _ in page.elements].index("script")


def test_without_scripts_there_is_a_still_picture(trace: Trace) -> None:
    page = Page(trace.to_html())
    tags = [tag for tag, _, _ in page.elements]
    after = tags[tags.index("noscript") :]
    assert after.index("img") < after.index("table") < after.index("script")


def test_options_and_selection_are_carried(trace: Trace) -> None:
    chosen = trace.events[trace.events["kind"] == "transfer"]
    page = Page(
        trace.to_html(title="A & B", height=400, group_by="kind", lane_filter="receive", selection=chosen)
    )
    assert json.loads(page.by_id("tfvis-options")) == {
        "height": 400,
        "group_by": "kind",
        "color_by": "kind",
        "lane_filter": "receive",
        "selection": {"events": chosen.index.tolist()},
        "annotations": [],
        "view": None,
        "views": [],
        "tracks": [],
    }
    assert [text for _, text in page.all("title")] == ["A & B"]
    header, _ = read_container(base64.b64decode(page.by_id("tfvis-drawn")))
    assert header["title"] == "A & B"


@pytest.mark.parametrize(
    ("options", "error", "key"),
    [
        ({"colour_by": "op"}, TypeError, "unknown_option"),
        ({"chart": True}, TypeError, "unknown_option"),
        ({"color_by": "lane"}, ValueError, "no_such_value"),
        ({"selection": [10**6]}, ValueError, "no_such_event"),
    ],
)
def test_unknown_options_are_rejected(
    trace: Trace, options: dict[str, Any], error: type[Exception], key: str
) -> None:
    with raises_id(error, key):
        trace.to_html(**options)


def test_options_that_are_on_or_off_are_bools(trace: Trace) -> None:
    widget = show_timeline(trace)
    for shown in (trace, widget):
        for name, value in (("source", "no"), ("source", 0), ("anonymize", "yes"), ("anonymize", None)):
            options: dict[str, Any] = {name: value}
            with raises_id(TypeError, "flag_not_bool", name=name, flag=value):
                shown.to_html(None, None, **options)
    with raises_id(TypeError, "flag_not_bool", name="keep"):
        show_timeline(trace, keep="no")  # type: ignore[call-overload]


def test_a_lane_filter_that_leaves_no_lane_is_refused(trace: Trace) -> None:
    with raises_id(ValueError, "lane_filter_matches_none", text="nosuchlane"):
        trace.to_html(lane_filter="nosuchlane")


def test_a_path_is_written_as_utf_8_and_returned(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert trace.to_html(path, title="\u03bb") == path
    assert trace.to_html(str(path), title="\u03bb") == path
    assert path.read_bytes().decode("utf-8") == trace.to_html(title="\u03bb")


@pytest.mark.parametrize("name", ["page.txt", "page", "page.html.gz", ".html"])
def test_a_page_has_the_suffix_by_which_browsers_know_it(trace: Trace, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for exported in (trace, show_timeline(trace)):
        with raises_id(ValueError, "no_page_name", output=str(path)):
            exported.to_html(path)
    assert not path.exists()
    assert trace.to_html(tmp_path / "PAGE.HTM").is_file()


@pytest.mark.slow
def test_hostile_texts_are_data_in_the_page() -> None:
    hostile = hostile_trace()
    page = Page(hostile.to_html())
    assert [tag for tag, _, _ in page.elements].count("script") == 5
    assert unpacked_code(page.by_id("tfvis-code")) == bundle("page.js")
    allowed = {
        "charset",
        "http-equiv",
        "content",
        "name",
        "lang",
        "id",
        "class",
        "role",
        "type",
        "alt",
        "src",
        "align",
    }
    for tag, attributes, _ in page.elements:
        assert tag not in {"svg", "b"} or attributes == {}
        assert set(attributes) <= allowed
    header, rows = read_drawn(base64.b64decode(page.by_id("tfvis-drawn")))
    assert [row["name"] for row in rows] == list(HOSTILE)
    assert [row["op"] for row in rows] == list(HOSTILE)
    assert header["notes"] == list(HOSTILE)
    for text in HOSTILE:
        title = Page(hostile.to_html(title=text)).all("title")[0][1]
        assert title == printable(text, 200)


def test_an_empty_trace_is_a_page() -> None:
    page = Page(Trace(events.build({}, rows=0)).to_html())
    header, rows = read_drawn(base64.b64decode(page.by_id("tfvis-drawn")))
    assert (header["count"], rows) == (0, [])
    assert [text for _, text in page.all("title")] == ["Timeline"]


def test_the_code_in_a_page_is_small(trace: Trace) -> None:
    page = Page(trace.to_html())
    (start,) = [text for attributes, text in page.all("script") if not attributes]
    assert len(page.by_id("tfvis-code")) + len(start) <= 147_000


def payload(text: str, part: str) -> bytes:
    return base64.b64decode(Page(text).by_id(part))


def test_a_page_that_would_be_too_large_is_not_written(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with raises_id(PageTooLargeError, "page_too_large", most="2 kB") as caught:
        trace.to_html(path, max_bytes=2000)
    assert isinstance(caught.value, ValueError)
    assert not path.exists()
    with raises_id(PageTooLargeError, "page_too_large", most="1 byte"):
        trace.to_html(max_bytes=1)
    with raises_id(TypeError, "max_bytes_no_number", max_bytes="x"):
        trace.to_html(max_bytes="x")  # type: ignore[call-overload]
    whole = trace.to_html(max_bytes=None)
    assert len(trace.to_html(max_bytes=len(whole))) == len(whole)


def test_a_page_of_a_range_of_time(trace: Trace) -> None:
    table = trace.events
    end = table["start_ns"] + table["duration_ns"]
    first, last = int(table["start_ns"].quantile(0.4)), int(table["start_ns"].quantile(0.6))
    text = trace.to_html(time_range=(first, last))
    header, rows = read_drawn(payload(text, "tfvis-drawn"))
    inside = table[(end > first) & (table["start_ns"] < last)]
    assert header["count"] == len(inside) < len(table)
    assert [row["name"] for row in rows] == inside["name"].tolist()
    assert says(header["notes"][0], "part_of_run", events=len(inside), whole=len(table))
    assert read_container(payload(text, "tfvis-details"))[0]["count"] == len(inside)
    same = show_timeline(trace).to_html(time_range=(first, last))
    assert read_drawn(payload(same, "tfvis-drawn"))[0]["count"] == len(inside)


def test_a_page_of_a_range_of_time_selects_the_same_events(trace: Trace) -> None:
    table = trace.events
    chosen = table.index[[-3, -1]]
    first, end = int(table["start_ns"][chosen[0]]), int((table["start_ns"] + table["duration_ns"]).max())
    for options in (
        {"selection": chosen},
        {"selection": table.loc[chosen]},
        {"view": {"selection": [*chosen]}},
    ):
        for anonymize in (False, True):
            page = trace.to_html(time_range=(first, end), anonymize=anonymize, **options)
            found = json.loads(Page(page).by_id("tfvis-options"))["selection"]["events"]
            rows = read_drawn(payload(page, "tfvis-drawn"))[1]
            assert [rows[event]["start"] - rows[found[0]]["start"] for event in found] == [
                table["start_ns"][event] - first for event in chosen
            ]


@pytest.mark.parametrize(
    ("time_range", "key"),
    [
        ((0, 1), "range_outside"),
        ((5, 3), "range_reversed"),
        ((1, 2, 3), "range_no_pair"),
        ("all", "range_no_pair"),
        ((None, None), "range_no_pair"),
    ],
)
def test_a_time_range_that_is_none(trace: Trace, time_range: Any, key: str) -> None:
    with raises_id(ValueError, key):
        trace.to_html(time_range=time_range)


@pytest.mark.parametrize("anonymize", [False, True])
def test_a_page_has_differences_from_a_base(anonymize: bool) -> None:
    trace, base = (real_trace(DATA / f"gpu_tf{version}_mlp.pb.xz") for version in (221, 218))
    text = trace.to_html(against=base, anonymize=anonymize)
    shown = read_container(payload(text, "tfvis-details"))[0]["overview"]
    change = overview(trace, base)["steps"]["change"]
    assert unbroken(change) in shown["step_time"][1][0]
    (finding,) = shown["findings"]["items"]
    sentence = findings_against(trace, base)[0]["text"][0].rpartition(". ")[2]
    assert finding["text"].endswith(unbroken(sentence))
    assert (base.title in str(shown)) is not anonymize


@pytest.mark.thorough
def test_an_estimate_is_near_the_size(monkeypatch: pytest.MonkeyPatch, trace: Trace) -> None:
    monkeypatch.setattr("tfvis_nb.display.pages.page._SAMPLE", 50)
    exact = len(payload(trace.to_html(), "tfvis-drawn")) + len(payload(trace.to_html(), "tfvis-details"))
    assert 0.5 < estimated_bytes(trace) / (exact * 4 / 3) < 4
