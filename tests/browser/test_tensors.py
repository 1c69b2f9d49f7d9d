"""Tensors in memory as bars: texts, links, and hidden by default."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.timeline import OpenExported, Timeline, expect_pressed, press_in_view_menu, view_menu
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace

# The middle of the bar of a tensor, in the window.
_PLACE = """(host, name) => {
  const { store } = host.tfvis;
  for (const item of store.arrangement.items)
    for (const { row, top, height } of item.tensors?.rows ?? [])
      for (const [index, at] of row.ids.entries())
        if (item.track.name(at) === name) {
          const { start, end } = store.viewport;
          const box = host.shadowRoot.querySelector('.lanes').getBoundingClientRect();
          const middle = (row.start[index] + row.end[index]) / 2;
          const x = box.left + ((middle - start) / (end - start)) * store.width;
          return [x, box.top + item.y - store.scroll + top + height / 2];
        }
  return null;
}"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return real_trace(DATA / "local_mlp_step1.pb")


@pytest.fixture
def timeline(exported: OpenExported, trace: Trace, tmp_path: Path) -> Timeline:
    return exported(Path(trace.to_html(tmp_path / "page.html"))).wait()


def bars(timeline: Timeline) -> Locator:
    return timeline.host.get_by_role("list", name="Largest of mklcpu tensors").get_by_role("listitem")


def test_of_one_step_its_own_buffers_are_counted_and_listed(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "tftracer_session.pickle.gz")
    timeline = exported(Path(trace.to_html(tmp_path / "page.html"))).wait()
    press_in_view_menu(timeline.root, "Tensors")
    label = timeline.host.get_by_role("button", name="cpu tensors").first.locator("small")
    expect(label).to_have_text(f"{len(trace.lifetimes)} buffers")
    timeline.host.get_by_role("combobox", name="Step", exact=True).select_option(index=3)
    own = trace.lifetimes[trace.lifetimes["step"] == 2].sort_values(
        ["bytes", "alloc_ns"], ascending=[False, True]
    )
    expect(label).to_have_text(f"{len(own)} buffers")
    listed = timeline.host.get_by_role("list", name="Largest of cpu tensors").get_by_role("listitem")
    said = [text.partition(",")[0].strip("\u2068\u2069") for text in listed.all_text_contents()]
    assert said == own["name"].tolist()


def test_a_low_lane_of_memory_keeps_its_name_under_the_pointer(
    exported: OpenExported, tmp_path: Path
) -> None:
    trace = real_trace(DATA / "gpu_tf221_mixed.pb.xz")
    view = {"group_by": "kind"}
    timeline = exported(Path(trace.to_html(tmp_path / "page.html", view=view))).wait()
    label = timeline.host.get_by_role("button", name="gpu_host_bfc")
    expect(label.locator("small")).to_have_text("\u25a0 peak 512 B")
    before = label.locator("b").evaluate("name => name.clientWidth")
    timeline.lanes.hover()
    expect(label.locator("small")).to_have_text(re.compile("^[0-9]+ B$"))
    assert label.locator("b").evaluate("name => name.clientWidth") >= before


def hover(timeline: Timeline, name: str) -> tuple[float, float]:
    place: list[float] = timeline.host.evaluate(_PLACE, name)
    timeline.page.mouse.move(*place)
    return place[0], place[1]


def largest(trace: Trace) -> dict[str, Any]:
    row = trace.lifetimes.sort_values(["bytes", "alloc_ns"], ascending=[False, True]).iloc[0]
    return {str(name): value for name, value in row.items()}


def test_bars_come_and_go_and_are_those_of_the_trace(timeline: Timeline, trace: Trace) -> None:
    expect_pressed(timeline.root, "Tensors", pressed=False)
    expect(bars(timeline)).to_have_count(0)
    press_in_view_menu(timeline.root, "Tensors")
    expect_pressed(timeline.root, "Tensors", pressed=True)
    rows = trace.lifetimes.sort_values(["bytes", "alloc_ns"], ascending=[False, True])
    expect(bars(timeline)).to_have_count(len(rows))
    legend = timeline.root.get_by_role("group", name="Legend")
    expect(legend.get_by_text("tensor", exact=True)).to_be_visible()
    timeline.root.get_by_role("button", name="Export").click()
    with timeline.page.expect_download() as download:
        timeline.page.get_by_role("menuitem", name="Picture as vectors").click()
    drawn = [text.text for text in ET.parse(download.value.path()).iter() if text.text]
    assert drawn[-legend.locator("> *").count() :] == legend.locator("> *").all_inner_texts()
    said = bars(timeline).all_text_contents()
    assert [text.partition(",")[0].strip("\u2068\u2069") for text in said] == rows["name"].tolist()
    assert [text.endswith("not freed") for text in said] == rows["free_ns"].isna().tolist()
    lanes = timeline.host.get_by_role("group", name="Lanes")
    expect(lanes.get_by_role("button", name="mklcpu tensors").first).to_contain_text(f"{len(rows)} buffers")
    timeline.lanes.focus()
    timeline.page.keyboard.press("t")
    expect(bars(timeline)).to_have_count(0)
    expect_pressed(timeline.root, "Tensors", pressed=False)


def test_a_bar_names_its_tensor_and_leads_to_its_op(timeline: Timeline, trace: Trace) -> None:
    tensor = largest(trace)
    press_in_view_menu(timeline.root, "Tensors")
    expect(bars(timeline).first).to_be_attached()
    place = hover(timeline, tensor["name"])
    tip = timeline.host.locator(".tooltip")
    expect(tip.locator("b")).to_have_text(tensor["name"])
    expect(tip).to_contain_text(tensor["op"])
    expect(tip).to_contain_text("float32")
    for alias in tensor["aliases"].split(", "):
        expect(tip).to_contain_text(alias)
    timeline.page.mouse.click(*place)
    expect(timeline.title).to_have_text(tensor["name"])
    assert timeline.host.evaluate("(host) => host.tfvis.store.selected") == tensor["event"]


def test_details_state_lifetimes_and_last_users_of_outputs(timeline: Timeline, trace: Trace) -> None:
    rows = trace.lifetimes
    relu = rows[rows["name"] == "Relu"].iloc[0]
    timeline.find("name:Relu")
    expect(timeline.title).to_have_text("Relu")
    section = timeline.details.get_by_role("region", name="Lifetimes")
    row = section.locator("tbody tr").first
    expect(row.locator("td")).to_have_text(["output 0", "512 KiB", f"{relu['lifetime_ns'] / 1e6:.2f} ms"])
    # The gradient of Relu reads its output and ends when it is freed.
    ends = trace.events["start_ns"] + trace.events["duration_ns"]
    readers = trace.edges.loc[trace.edges["source"] == relu["event"], "target"]
    last = (ends.loc[readers] - relu["free_ns"]).abs().idxmin()
    link = section.get_by_role("button", name=trace.events["name"][last])
    link.click()
    expect(timeline.title).to_have_text(trace.events["name"][last])


def test_estimates_are_called_so(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "run_meta.v1")
    timeline = exported(Path(trace.to_html(tmp_path / "page.html"))).wait()
    lanes = timeline.host.get_by_role("group", name="Lanes")
    press_in_view_menu(timeline.root, "Tensors")
    label = lanes.get_by_role("button", name="cpu tensors").first
    expect(label).to_contain_text(f"{len(trace.lifetimes)} buffers, estimated")
    listed = timeline.host.get_by_role("list", name="Largest of cpu tensors").get_by_role("listitem")
    expect(listed).to_have_count(len(trace.lifetimes))
    assert all("estimated" in text for text in listed.all_text_contents())
    # Nothing was recorded of how much memory was allocated.
    expect(lanes.get_by_role("button", name="cpu", exact=True)).to_have_count(0)
    expect(lanes.locator(".memory")).to_have_count(1)
    timeline.find("op:Conv2D")
    expect(timeline.details.get_by_role("heading", name="Lifetimes (estimated)")).to_be_visible()


def test_without_records_there_is_nothing_to_show(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "horovod_timeline.json.xz")
    timeline = exported(Path(trace.to_html(tmp_path / "page.html"))).wait()
    expect(view_menu(timeline.root).get_by_role("button", name="Fit")).to_be_visible()
    expect(view_menu(timeline.root).get_by_role("button", name="Tensors")).to_have_count(0)
    timeline.page.keyboard.press("Escape")
    timeline.lanes.press("t")
    expect(timeline.host.get_by_text("does not record when tensors were allocated")).to_be_visible()
