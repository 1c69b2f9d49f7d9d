"""A RecvTensor, clicked: the same story in the notebook and in the exported file."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook
from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace

TRACE = DATA / "dist_inproc_ps_2workers_step0.pb"
SHOW = f"import tfvis_nb as tv\nwidget = tv.show_timeline({str(TRACE)!r})\nwidget"

UNITS = {
    "ns": 1.0,
    "µs": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "B/s": 1.0,
    "kB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
}
"""The units of the details in nanoseconds and in bytes per second."""


@dataclass(frozen=True)
class Received:
    """A recorded transfer, as the tables of Python have it."""

    row: dict[str, Any]
    name: str
    producer: str
    consumer: str

    @property
    def event(self) -> int:
        return int(self.row["event"])

    @property
    def query(self) -> str:
        """What finds it in the search."""
        return f"op:RecvTensor {self.row['tensor']}"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return real_trace(TRACE)


@pytest.fixture(scope="module")
def received(trace: Trace) -> Received:
    """The largest transfer that waited and whose producer and consumer were both recorded."""
    edges = trace.edges[trace.edges["kind"] == "transfer"]
    names = trace.events["name"].tolist()
    ends = list(zip(edges["source"].tolist(), edges["target"].tolist(), strict=True))
    producer = {target: names[source] for source, target in ends}
    consumer = {source: names[target] for source, target in ends}
    rows = [
        row
        for row in trace.transfers.to_dict("records")
        if row["kind"] == "transfer" and row["event"] in producer and row["event"] in consumer
    ]
    row = max((row for row in rows if row["wait_ns"] > 0), key=lambda row: row["bytes"])
    event = row["event"]
    return Received(
        {str(key): value for key, value in row.items()}, names[event], producer[event], consumer[event]
    )


@pytest.fixture(params=[pytest.param("notebook", marks=pytest.mark.thorough), "exported file"])
def timeline(request: pytest.FixtureRequest, trace: Trace, tmp_path: Path) -> Timeline:
    if request.param == "exported file":
        open_exported: OpenExported = request.getfixturevalue("exported")
        return open_exported(Path(trace.to_html(tmp_path / "page.html"))).wait()
    open_notebook: OpenNotebook = request.getfixturevalue("notebook")
    book = open_notebook([SHOW])
    book.run_all()
    return book.timeline(0)


def test_a_clicked_transfer_says_what_moved(timeline: Timeline, received: Received) -> None:
    timeline.find(received.query)
    timeline.place(received.event)
    timeline.clear()
    expect(timeline.title).not_to_have_text(received.name)

    timeline.click(received.event)

    expect(timeline.title).to_have_text(received.name)
    assert re.sub(r"\D", "", timeline.expect_fact("Bytes")) == str(received.row["bytes"])
    assert timeline.facts()["Tensor"] == received.row["tensor"]
    route = timeline.details.locator(".route")
    for end in ("source", "destination"):
        expect(route).to_contain_text(received.row[end].rpartition("/device:")[2])
    said = timeline.details.inner_text().replace("about ", "").replace("\xa0", " ")
    assert measure(said, "waiting {}") == pytest.approx(received.row["wait_ns"], rel=0.01)
    assert measure(said, "moving {}") == pytest.approx(received.row["transfer_ns"], rel=0.01)
    assert measure(said, "{} moving") == pytest.approx(received.row["bandwidth"], rel=0.01)


def test_links_lead_to_producer_and_consumer(timeline: Timeline, received: Received) -> None:
    for end, name in (("Producer", received.producer), ("Consumer", received.consumer)):
        timeline.find(received.query)
        timeline.expect_fact(end)
        timeline.link(end, name).click()
        expect(timeline.title).to_have_text(name)
        timeline.clear()


@pytest.mark.thorough
def test_keys_walk_from_a_transfer_to_its_ends(timeline: Timeline, received: Received) -> None:
    for key, name in (("[", received.producer), ("]", received.consumer)):
        timeline.find(received.query)
        timeline.expect_fact("Bytes")
        timeline.lanes.focus()
        timeline.page.keyboard.press(key)
        expect(timeline.title).to_have_text(name)
        timeline.clear()


@pytest.mark.thorough
def test_a_clicked_transfer_is_the_selection_in_python(notebook: OpenNotebook, received: Received) -> None:
    book = notebook([SHOW])
    book.run_all()
    timeline = book.timeline(0)
    timeline.find(received.query)
    timeline.place(received.event)
    timeline.clear()
    timeline.click(received.event)
    columns = ["op", "tensor", "bytes", "source", "destination"]
    book.wait_until(lambda: book.ask("print(*widget.selection.index)") == str(received.event))
    shown = book.ask(f"print(*widget.selection[{columns}].iloc[0])")
    assert shown.split() == ["RecvTensor", *(str(received.row[column]) for column in columns[1:])]


def measure(text: str, form: str) -> float:
    """What stands in `text` at the braces of `form`, in nanoseconds or bytes per second."""
    before, after = map(re.escape, form.split("{}"))
    found = re.search(rf"{before}([\d.]+)\s*([kMGnµm]?B?/?s){after}", text)
    assert found, f"no {form!r} in {text!r}"
    return float(found[1]) * UNITS[found[2]]
