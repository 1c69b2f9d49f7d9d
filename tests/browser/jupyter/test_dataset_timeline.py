"""A dataset of ranks in a notebook: lanes by group, one kernel, a search, totals; all as of its traces."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

import tfvis_nb as tv
from tests.browser.notebook import Notebook, OpenNotebook
from tests.browser.timeline import Timeline, expect_choice
from tests.fleet.dataset.folders import bucket
from tests.real_traces import DATA
from tfvis_nb import Trace
from tfvis_nb.core.format import format_duration

RANKS = 4
FILE = "gpu_tf221_mlp.pb.xz"
KERNEL = "Adam/update_l2/w/ResourceApplyAdam"
SHOW = "widget = tv.show_timeline(dataset, height=520)\nwidget"
TOLD = "print(*widget.selection[['task', 'name', 'start_ns', 'duration_ns']].iloc[0])"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four ranks, each with the same trace of a GPU."""
    folder = tmp_path_factory.mktemp("fleet")
    bucket(folder / "job", {f"rank{rank}/step3.pb.xz": FILE for rank in range(RANKS)})
    tv.open_traces(folder / "dataset").ingest(folder / "job", progress=False)
    return folder / "dataset"


@pytest.fixture(scope="module")
def one() -> Trace:
    return tv.read_trace(DATA / FILE)


@pytest.fixture
def shown(notebook: OpenNotebook, dataset: Path) -> tuple[Notebook, Timeline]:
    book = notebook([f"import tfvis_nb as tv\ndataset = tv.open_traces({str(dataset)!r})", SHOW])
    book.run_all()
    return book, book.timeline(1).wait()


def groups(timeline: Timeline) -> Locator:
    """The headers of groups, but not the one that stays in sight above them."""
    return timeline.root.locator("button.group:not([data-sticky])")


def lanes(timeline: Timeline) -> Locator:
    return timeline.root.locator(".label b")


def test_groups_begin_closed_and_open_to_lanes(shown: tuple[Notebook, Timeline], one: Trace) -> None:
    _, timeline = shown
    expect(groups(timeline)).to_have_count(RANKS)
    for rank in range(RANKS):
        expect(groups(timeline).nth(rank)).to_contain_text(f"worker {rank}")
        expect(groups(timeline).nth(rank)).to_contain_text(f"{len(one.events)}")
        expect(groups(timeline).nth(rank)).to_have_attribute("aria-expanded", "false")
    expect(lanes(timeline)).to_have_count(0)
    groups(timeline).nth(1).click()
    expect(groups(timeline)).to_have_count(RANKS + 2)
    groups(timeline).nth(2).click()
    of_gpu = one.lanes[one.lanes["device"].str.endswith("GPU:0")]
    expect(lanes(timeline)).to_have_count(len(of_gpu))
    filter_lanes = timeline.host.get_by_role("textbox", name="Filter lanes")
    filter_lanes.fill("worker 3 stream")
    expect(lanes(timeline)).to_have_text(["stream 13"])
    filter_lanes.fill("")
    expect(groups(timeline)).to_have_count(RANKS + 2)


def test_one_kernel_among_all_ranks(shown: tuple[Notebook, Timeline], one: Trace) -> None:
    book, timeline = shown
    kernel = one.events[(one.events["name"] == KERNEL) & (one.events["kind"] == "kernel")].iloc[0]
    timeline.find(f"{KERNEL} kind:kernel")
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text(f"1 of {RANKS}")
    expect(timeline.title).to_have_text(KERNEL)
    # Its op launched it: the neighbours of an event are read with its step.
    expect(timeline.link("Launched by", KERNEL)).to_be_visible()
    facts = timeline.facts()
    assert facts["Duration"].startswith(format_duration(int(kernel["duration_ns"])))
    assert all(part in facts["Location"] for part in ("worker 0", "GPU:0", "stream 13"))
    after = int(kernel["start_ns"]) - int(one.events["start_ns"].min())
    assert facts["Start"] == f"+{after / 1e6:.6f} ms"
    answer = f"/job:worker/replica:0/task:0 {KERNEL} {kernel['start_ns']} {kernel['duration_ns']}"
    book.wait_until(lambda: book.ask(TOLD) == answer)
    timeline.search_box.press("Enter")
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text(f"2 of {RANKS}")
    book.wait_until(lambda: book.ask(TOLD) == answer.replace("task:0", "task:1"))
    # Where its lane was in a closed group, that is open now.
    place = int(book.ask("print(widget.selection.index[0])"))
    timeline.clear()
    timeline.click(place)
    expect(timeline.title).to_have_text(KERNEL)
    # The view is named there, and Python goes back to it.
    timeline.lanes.focus()
    timeline.page.keyboard.press("v")
    timeline.root.get_by_role("textbox", name="Name of this view").fill("kernel")
    timeline.page.keyboard.press("Enter")
    book.wait_until(lambda: book.ask("print(*widget.views)") == "kernel")
    assert "/rank1/" in book.ask("print(*widget.views['kernel']['selection'][0])")
    timeline.clear()
    book.wait_until(lambda: book.ask("print(len(widget.selection))") == "0")
    book.ask("widget.view = {**widget.views['kernel'], 'color_by': 'op'}")
    expect(timeline.title).to_have_text(KERNEL)
    expect_choice(timeline.root, "Colour", "op")


def test_totals_of_a_range_are_those_of_all_ranks(shown: tuple[Notebook, Timeline], one: Trace) -> None:
    book, timeline = shown
    start = int(one.events["start_ns"].min())
    begin, end = start + 1_000_000, start + 2_000_000
    stop = one.events["start_ns"] + one.events["duration_ns"]
    inside = one.events[(one.events["start_ns"] < end) & (stop > begin)]
    book.ask(f"widget.selection = ({begin}, {end})")
    expect(timeline.details.locator("dt:has-text('Events') + dd")).to_have_text(f"{RANKS * len(inside)}")
    assert (
        book.ask("print(len(widget.selection), widget.selection.attrs['left_out'])")
        == f"{RANKS * len(inside)} 0"
    )
