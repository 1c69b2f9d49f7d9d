"""How far the clock of another host may be off, in the tooltips of its lanes."""

import re
from math import inf
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.timeline import OpenExported, Timeline, choose
from tests.real_traces import real_trace
from tfvis_nb import Trace

DATA = Path(__file__).parent.parent / "data"
DISTRIBUTED = DATA / "dist_inproc_ps_2workers_step0.pb"
HOSTS = [DATA / f"gpu_tf221_worker{number}.xplane.pb.xz" for number in range(2)]


def header(timeline: Timeline, name: str) -> Locator:
    lanes = timeline.host.get_by_role("group", name="Lanes")
    return lanes.get_by_role("button", name=re.compile(rf"^{name}"))


def saying(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


@pytest.fixture
def timeline(exported: OpenExported, tmp_path: Path) -> Timeline:
    return exported(real_trace(DISTRIBUTED).to_html(tmp_path / "clocks.html")).wait()


def test_every_clock_but_the_first_is_explained(timeline: Timeline) -> None:
    worker = header(timeline, "worker 1")
    meaning = "Times of these lanes may be up to 2.5 ms early or up to 3.4 ms late relative to worker 0"
    expect(worker).to_have_accessible_description(saying(meaning))
    expect(header(timeline, "ps 0")).to_have_accessible_description(
        saying("up to 3.3 ms early or up to 180 µs")
    )
    expect(header(timeline, "worker 0")).not_to_have_accessible_description(saying("early"))
    # Even where no header stands for the task.
    choose(timeline.host, "Group lanes", "kind")
    lanes = timeline.host.get_by_role("group", name="Lanes")
    expect(lanes.get_by_title(meaning)).to_have_count(2)


@pytest.mark.thorough
def test_a_clock_is_told_once_of_a_host_of_several_devices(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(HOSTS)
    starts = trace.events["start_ns"][trace.events["step"] == 0]
    part = (int(starts.min()), int(starts.max()))
    timeline = exported(trace.to_html(tmp_path / "hosts.html", time_range=part)).wait()
    # Only headers in view are there.
    header(timeline, "worker 0").click()
    expect(header(timeline, "worker 1")).to_have_accessible_description(
        saying("up to 22 ms early or up to 39 ms")
    )


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((-inf, inf), "does not bound the clock difference"),
        pytest.param((-2e7, inf), "times of these lanes are at most 20 ms early", marks=pytest.mark.thorough),
        pytest.param((-4e5, 4e5), "up to 400 µs early or up to 400 µs late", marks=pytest.mark.thorough),
    ],
)
def test_partly_known_clocks(
    exported: OpenExported, tmp_path: Path, bounds: tuple[float, float], text: str
) -> None:
    first, other = (f"/job:worker/replica:0/task:{task}" for task in range(2))
    trace = Trace(real_trace(DISTRIBUTED).events, clock_bounds={first: (0, 0), other: bounds})
    timeline = exported(trace.to_html(tmp_path / "clocks.html")).wait()
    expect(header(timeline, "worker 1")).to_have_accessible_description(saying(text))


def test_notes_about_clocks_follow_their_uncertainty(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(real_trace(HOSTS).to_html(tmp_path / "hosts.html")).wait()
    timeline.root.get_by_role("button", name="How sure is this?").click()
    facts = timeline.host.get_by_role("dialog", name="How sure is this?").get_by_role("listitem")
    expect(facts.nth(0)).to_contain_text("The clocks of the tasks may differ by up to")
    expect(facts.nth(1)).to_contain_text("clocks left as recorded")
    expect(facts.filter(has_text="clocks left as recorded")).to_have_count(1)
