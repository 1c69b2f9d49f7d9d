"""The memory of allocators below the lanes: values, times, and buffers."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebook import OpenNotebook
from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace
from tfvis_nb.analysis import live_buffers, memory_peaks

TRACE = DATA / "local_mlp_step1.pb"
SHOW = f"import tfvis_nb as tv\nwidget = tv.show_timeline({str(TRACE)!r})\nwidget"

_READ = """async (host) => {
  const { store } = host.tfvis;
  while (!store.details) await new Promise((resolve) => setTimeout(resolve, 20));
  const epoch = (time) => String(store.drawn.originNs + BigInt(time));
  return store.tracks.map((track) => ({
    task: track.task,
    allocator: track.allocator,
    curve: Array.from(track.times, (time, at) => [epoch(time), track.levels[at]]),
    buffers: Array.from(track.starts, (start, at) => {
      const end = epoch(start + track.lengths[at] * track.unit);
      return [epoch(start), end, track.sizes[at], track.events[at] - 1, track.name(at)];
    }),
  }));
}"""
_PLACE = """(host, [allocator, time]) => {
  const { store } = host.tfvis;
  const item = store.arrangement.items.find((item) => item.track?.allocator === allocator);
  const box = host.shadowRoot.querySelector('.lanes').getBoundingClientRect();
  const { start, end } = store.viewport;
  const at = Number(BigInt(time) - store.drawn.originNs);
  return [box.left + ((at - start) / (end - start)) * store.width, box.top + item.y - store.scroll + 20];
}"""
_TIME = "(host) => String(host.tfvis.store.drawn.originNs + BigInt(Math.round(host.tfvis.store.cursor)))"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return real_trace(TRACE)


@pytest.fixture(scope="module")
def peak(trace: Trace) -> dict[str, Any]:
    return {str(name): value for name, value in memory_peaks(trace).iloc[0].items()}


@pytest.fixture
def timeline(exported: OpenExported, trace: Trace, tmp_path: Path) -> Timeline:
    return exported(Path(trace.to_html(tmp_path / "page.html"))).wait()


def label(timeline: Timeline, allocator: str) -> Locator:
    return timeline.host.get_by_role("group", name="Lanes").get_by_role("button", name=allocator).first


def level(trace: Trace, time: int) -> int:
    before = trace.memory[trace.memory["time_ns"] <= time]["bytes"]
    return int(before.iloc[-1]) if len(before) else 0


def size(text: str) -> float:
    """Read a number of bytes as the front end writes it."""
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    number, unit = re.sub(r"\s", " ", text.replace(",", "")).split()
    return float(number) * units[unit]


def test_the_peak_and_the_tensors_alive_at_it(timeline: Timeline, trace: Trace, peak: dict[str, Any]) -> None:
    expect(label(timeline, "mklcpu")).to_have_text("mklcpu■ peak 1.27 MiB")
    label(timeline, "mklcpu").click()
    expect(timeline.title).to_have_text("mklcpu")
    assert timeline.expect_fact("Allocated") == "1.27 MiB of 1.27 MiB at the peak"
    alive = live_buffers(trace, peak["at_ns"], allocator="mklcpu")
    listed = timeline.details.locator("ul.links button")
    assert [text.split() for text in listed.all_inner_texts()] == [
        [row["name"], *written(row["bytes"])] for row in alive.to_dict("records")
    ]
    listed.first.click()
    expect(timeline.title).to_have_text(alive["name"].iloc[0])
    assert timeline.host.evaluate("(host) => host.tfvis.store.selected") == alive["event"].iloc[0]
    timeline.details.get_by_role("button", name="Close").click()
    expect(timeline.title).to_have_text("Whole run")


def written(count: int) -> list[str]:
    return [str(count), "B"] if count < 2**10 else [f"{count / 2**10:.0f}", "KiB"]


@pytest.mark.thorough
def test_a_click_on_the_curve_lists_live_buffers(timeline: Timeline, trace: Trace) -> None:
    expect(label(timeline, "mklcpu")).to_be_visible()
    when = int(trace.lifetimes.loc[trace.lifetimes["name"] == "logits", "alloc_ns"].iloc[0]) + 90_000
    x, y = timeline.host.evaluate(_PLACE, ["mklcpu", str(when)])
    timeline.page.mouse.move(x, y)
    expect(label(timeline, "mklcpu")).to_contain_text(re.compile(r"of \W*1\.27 MiB"))
    now = int(timeline.host.evaluate(_TIME))
    shown = label(timeline, "mklcpu").inner_text().removeprefix("mklcpu").partition(" of ")[0]
    assert size(shown) == pytest.approx(level(trace, now), rel=0.01)
    timeline.page.mouse.click(x, y)
    said = timeline.expect_fact("Allocated").partition(" of ")[0]
    assert size(said) == pytest.approx(level(trace, now), rel=0.01)
    names = [
        text.rsplit(maxsplit=2)[0] for text in timeline.details.locator("ul.links button").all_inner_texts()
    ]
    assert names == live_buffers(trace, now, allocator="mklcpu")["name"].tolist() == ["Relu", "logits"]
    timeline.lanes.focus()
    timeline.page.keyboard.press("Escape")
    expect(timeline.title).to_have_text("Whole run")


@pytest.mark.thorough
def test_it_can_be_hidden_and_found_like_a_lane(timeline: Timeline) -> None:
    expect(label(timeline, "mklcpu")).to_be_visible()
    label(timeline, "mklcpu").hover()
    timeline.host.get_by_role("button", name="Hide mklcpu").click()
    expect(label(timeline, "mklcpu")).to_have_count(0)
    timeline.host.get_by_role("button", name="+1 hidden").click()
    expect(label(timeline, "mklcpu")).to_be_visible()
    filtering = timeline.host.get_by_role("textbox", name="Filter lanes")
    filtering.fill("memory")
    expect(timeline.host.get_by_text("ops", exact=True)).to_have_count(0)
    expect(label(timeline, "mklcpu")).to_be_visible()
    filtering.fill("ops")
    expect(label(timeline, "mklcpu")).to_have_count(0)


@pytest.mark.thorough
def test_the_notebook_shows_it_too(notebook: OpenNotebook, trace: Trace) -> None:
    book = notebook([SHOW])
    book.run_all()
    timeline = book.timeline(0)
    label(timeline, "mklcpu").click()
    expect(timeline.title).to_have_text("mklcpu")
    first = live_buffers(trace, int(memory_peaks(trace)["at_ns"].iloc[0]), allocator="mklcpu").iloc[0]
    timeline.details.get_by_role("button", name=first["name"]).click()
    book.wait_until(lambda: book.ask("print(*widget.selection.index)") == str(first["event"]))


@pytest.mark.thorough
def test_of_a_trace_too_large_to_hold_the_kernel_is_asked(notebook: OpenNotebook, trace: Trace) -> None:
    book = notebook([f"from tfvis_nb.display.timeline import delivery\ndelivery.MOST_HELD = 10\n{SHOW}"])
    book.run_all()
    timeline = book.timeline(0)
    label(timeline, "mklcpu").click()
    alive = live_buffers(trace, int(memory_peaks(trace)["at_ns"].iloc[0]), allocator="mklcpu")
    listed = timeline.details.locator("ul.links button")
    expect(listed).to_have_count(len(alive))
    listed.first.click()
    expect(timeline.title).to_have_text(alive["name"].iloc[0])


@pytest.mark.parametrize(
    "name",
    ["gpu_tf221_dist.pb.xz", pytest.param("gpu_tf218_function.xplane.pb.xz", marks=pytest.mark.thorough)],
)
def test_the_browser_reads_the_recorded_values(exported: OpenExported, tmp_path: Path, name: str) -> None:
    trace = real_trace(DATA / name)
    timeline = exported(Path(trace.to_html(tmp_path / "page.html"))).wait()
    tracks = timeline.host.evaluate(_READ)
    assert tracks
    for track in tracks:
        where = ["task", "allocator"]
        curve, buffers = (
            table[(table[where] == [track[key] for key in where]).all(axis=1)]
            for table in (trace.memory, trace.lifetimes)
        )
        points = {(str(time), size) for time, size in curve[["time_ns", "bytes"]].itertuples(index=False)}
        assert points <= {tuple(point) for point in track["curve"]}
        columns = ["alloc_ns", "free_ns", "bytes", "event", "name"]
        expected = buffers[columns].astype({"alloc_ns": str}).to_numpy(object).tolist()
        for (start, end, *rest), (alloc_ns, free_ns, *known) in zip(track["buffers"], expected, strict=True):
            assert (start, rest) == (alloc_ns, known)
            assert end == str(free_ns) or free_ns is pd.NA
