"""Ranks of a Horovod job, clicked: who came last, and what Horovod did in the meantime."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

import tfvis_nb as tv
from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import real_trace

DATA = Path(__file__).parent.parent / "data"
FILES = [
    *(DATA / f"horovod_rank{rank}_step3.pb.xz" for rank in (0, 1)),
    DATA / "horovod_timeline.json.xz",
]
NAME = "avg_loss"


@pytest.fixture(scope="module")
def trace() -> tv.Trace:
    return real_trace(FILES)


@pytest.fixture
def timeline(exported: OpenExported, trace: tv.Trace, tmp_path: Path) -> Timeline:
    return exported(Path(trace.to_html(tmp_path / "page.html", height=900))).wait()


def event_of(trace: tv.Trace, rank: int) -> int:
    loss = trace.events[(trace.events["name"] == NAME) & (trace.events["kind"] == "collective")]
    return int(loss.index[loss["task"] == f"/job:worker/replica:0/task:{rank}"][0])


def test_the_rank_that_came_last_is_named(timeline: Timeline, trace: tv.Trace) -> None:
    timeline.click(event_of(trace, 0))
    expect(timeline.title).to_have_text(NAME)
    said = timeline.expect_fact("Waited for")
    assert "worker 1 came last, 211 ms after the first" in said
    assert "waiting 211 ms" in timeline.details.inner_text()

    timeline.link("Waited for", NAME).click()
    said = timeline.expect_fact("Last rank")
    assert said.startswith("this one, 211 ms after the first")
    assert "worker 1" in timeline.facts()["Location"]


def test_readiness_in_a_horovod_timeline_names_the_last_rank(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(FILES[-1])
    timeline = exported(Path(trace.to_html(tmp_path / "page.html", height=900))).wait()
    waits = trace.collective_waits
    for _, row in waits[waits["spread_ns"] == waits["spread_ns"].max()].iterrows():
        timeline.host.evaluate("(host, id) => host.tfvis.store.select({ events: [id] })", int(row["event"]))
        expect(timeline.details.locator("pre")).to_have_text(row["task"])
        if row["task"] == row["last"]:
            assert timeline.expect_fact("Last rank").startswith("this one")
            assert "Waited for" not in timeline.facts()
        else:
            assert timeline.expect_fact("Waited for").startswith(row["last"])
            assert "Last rank" not in timeline.facts()


def test_an_op_leads_to_what_horovod_did(timeline: Timeline, trace: tv.Trace) -> None:
    timeline.click(event_of(trace, 0))
    listed = timeline.details.locator("section", has_text="Launched (5)")
    for op in ("NEGOTIATE_ALLREDUCE", "MEMCPY_IN_FUSION_BUFFER", "GLOO_ALLREDUCE"):
        expect(listed.get_by_role("button", name=op)).to_be_visible()
    listed.get_by_role("button", name="NEGOTIATE_ALLREDUCE").click()
    expect(timeline.details).to_contain_text("worker 0 · Horovod · negotiate")
    # Both ranks' ops: that of rank 0 handed the tensor over, that of rank 1 was waited for.
    launched = timeline.details.locator("section", has_text="Launched by").get_by_role("button")
    expect(launched).to_contain_text("worker 0 · CPU:0 · collective")
    awaited = timeline.details.locator("section", has_text="Control inputs").get_by_role("button")
    expect(awaited).to_contain_text("worker 1 · CPU:0 · collective")
