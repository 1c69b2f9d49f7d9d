"""A RecvTensor, clicked: the same story in the notebook and in the exported file."""

from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook
from tests.browser.timeline import OpenExported, Timeline
from tfvis_nb import Trace, read_trace

TRACE = Path(__file__).parent.parent / "data" / "dist_inproc_ps_2workers_step0.pb"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return read_trace(TRACE)


@pytest.fixture(scope="module")
def received(trace: Trace) -> pd.Series:
    """The transfer that is clicked: the largest whose producer and consumer were both recorded."""
    linked = trace.edges[trace.edges["kind"] == "transfer"]
    transfers = trace.transfers[trace.transfers["kind"] == "transfer"]
    both = transfers[transfers["event"].isin(linked["target"]) & transfers["event"].isin(linked["source"])]
    assert len(both)
    return both.sort_values("bytes").iloc[-1]


@pytest.fixture(params=["notebook", "exported file"])
def timeline(request: pytest.FixtureRequest, trace: Trace, tmp_path: Path) -> Timeline:
    if request.param == "exported file":
        path = tmp_path / "page.html"
        trace.to_html(path)
        open_exported: OpenExported = request.getfixturevalue("exported")
        return open_exported(path).wait()
    open_notebook: OpenNotebook = request.getfixturevalue("notebook")
    notebook = open_notebook([f"import tfvis_nb as tv\ntv.show_timeline(tv.read_trace({str(TRACE)!r}))"])
    notebook.run_all()
    return notebook.timeline(0)


def device(name: str) -> str:
    """As a person says it: "ps · CPU:0" for "/job:ps/replica:0/task:0/device:CPU:0"."""
    return name.rpartition("/device:")[2]


def test_a_clicked_transfer_says_what_moved(timeline: Timeline, trace: Trace, received: pd.Series) -> None:
    event = int(received["event"])
    timeline.find(f"op:{trace.events.loc[event, 'op']} {received['tensor']}")
    timeline.place(event)
    timeline.clear()
    expect(timeline.title).not_to_have_text(str(trace.events.loc[event, "name"]))

    timeline.click(event)

    expect(timeline.title).to_have_text(str(trace.events.loc[event, "name"]))
    assert digits(timeline.expect_fact("Bytes")) == str(received["bytes"])
    facts = timeline.facts()
    assert facts["Tensor"] == received["tensor"]
    assert "b/s" in facts["Bandwidth"]
    route = timeline.details.locator(".route")
    expect(route).to_contain_text(device(received["source"]))
    expect(route).to_contain_text(device(received["destination"]))
    expect(timeline.details).to_contain_text("waiting")
    expect(timeline.details).to_contain_text("moving")


def test_links_lead_to_producer_and_consumer(timeline: Timeline, trace: Trace, received: pd.Series) -> None:
    event = int(received["event"])
    edges = trace.edges[trace.edges["kind"] == "transfer"]
    producer = trace.events.loc[edges.loc[edges["target"] == event, "source"].iloc[0], "name"]
    consumer = trace.events.loc[edges.loc[edges["source"] == event, "target"].iloc[0], "name"]
    for end, name in (("Producer", producer), ("Consumer", consumer)):
        timeline.find(f"op:{trace.events.loc[event, 'op']} {received['tensor']}")
        timeline.expect_fact(end)
        timeline.link(end, str(name)).click()
        expect(timeline.title).to_have_text(str(name))
        timeline.clear()


def test_keys_walk_from_a_transfer_to_its_ends(timeline: Timeline, trace: Trace, received: pd.Series) -> None:
    event = int(received["event"])
    name = str(trace.events.loc[event, "name"])
    timeline.find(f"op:{trace.events.loc[event, 'op']} {received['tensor']}")
    timeline.expect_fact("Bytes")
    timeline.lanes.focus()
    timeline.page.keyboard.press("[")
    expect(timeline.title).not_to_have_text(name)
    timeline.page.keyboard.press("]")
    expect(timeline.status.last).not_to_have_text("")


def digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
