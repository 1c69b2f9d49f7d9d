"""Keys work after a click anywhere, on exported pages."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import tfvis_nb
from tests.browser.clicked import DRAWN, comparison_places, tab_places, timeline_places, zooms
from tests.browser.comparison import NEW, OLD, Both
from tests.browser.dashboard import COPIES, OpenDashboard
from tests.browser.timeline import OpenExported, view_menu
from tests.real_traces import DATA, real_trace

STEPS = "gpu_tf218_function.xplane.pb.xz"


def test_keys_work_after_a_click_anywhere(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(real_trace(DATA / STEPS).to_html(tmp_path / "page.html")).wait()
    page = timeline.page
    page.emulate_media(reduced_motion="reduce")
    for name, click in timeline_places(timeline):
        click()
        assert zooms(timeline), name


@pytest.mark.thorough
def test_keys_of_the_timeline_work_in_its_tabs(
    exported_dashboard: OpenDashboard, dashboard_page: Path, page: Page
) -> None:
    shown = exported_dashboard(dashboard_page).wait()
    page.emulate_media(reduced_motion="reduce")
    for name, click in tab_places(shown):
        click()
        assert zooms(shown.timeline), name


@pytest.mark.thorough
def test_keys_work_anywhere_around_a_comparison(
    exported_dashboard: OpenDashboard, tmp_path: Path, page: Page
) -> None:
    path = tfvis_nb.show_comparison(OLD, NEW).to_html(tmp_path / "page.html")
    exported_dashboard(path)
    page.emulate_media(reduced_motion="reduce")
    both = Both(page.locator("#tfvis-root"), page.locator(".tfvis-panels")).wait()
    for name, click in [*comparison_places(both), *tab_places(both.a)]:
        click()
        assert zooms(both.a.timeline), name


def test_text_of_the_headline_can_be_selected_and_copied(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(real_trace(DATA / STEPS).to_html(tmp_path / "page.html")).wait()
    page = timeline.page
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(COPIES)
    timeline.find("op:MatMul")
    expect(timeline.title).to_contain_text("MatMul")
    headline = timeline.root.locator(".headline-bar > span")
    box = headline.bounding_box()
    assert box
    first_line = box["y"] + 8
    page.mouse.move(box["x"] + 1, first_line)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, first_line, steps=4)
    page.mouse.up()
    chosen = page.evaluate("`${getSelection()}`")
    assert chosen
    assert headline.inner_text().startswith(chosen)
    # The keys are the timeline's all the same, but Ctrl C copies the text and not the event.
    assert zooms(timeline)
    page.keyboard.press("Control+c")
    assert page.evaluate("window.copied ?? null") is None
    # A click on the lanes takes that back.
    timeline.find("op:MatMul")
    timeline.lanes.click()
    timeline.page.keyboard.press("ArrowRight")
    page.keyboard.press("Control+c")
    page.wait_for_function("window.copied !== undefined")


def test_ctrl_f_goes_to_the_search_and_escape_back(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(real_trace(DATA / STEPS).to_html(tmp_path / "page.html")).wait()
    page = timeline.page
    page.evaluate("document.addEventListener('keydown', (event) => (window.left = event.key))")
    for control in (timeline.lanes, timeline.root.get_by_role("button", name="Details", exact=True)):
        control.focus()
        page.keyboard.press("Control+f")
        expect(timeline.search_box).to_be_focused()
        assert page.evaluate("window.left") == "Control"
        page.keyboard.type("MatMul")
        # A second one is the browser's, whose own search covers the page.
        page.keyboard.press("Control+f")
        assert page.evaluate("window.left") == "f"
        page.keyboard.press("Escape")
        expect(timeline.lanes).to_be_focused()
        expect(timeline.search_box).to_have_value("")
    timeline.root.get_by_role("button", name="Details", exact=True).focus()
    page.keyboard.press("Escape")
    expect(timeline.lanes).to_be_focused()


def test_a_held_key_ends_where_the_focus_has_gone(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(real_trace(DATA / STEPS).to_html(tmp_path / "page.html")).wait()
    page = timeline.page
    page.keyboard.down("d")
    page.keyboard.press("/")
    page.keyboard.up("d")
    view = "host => JSON.stringify(host.tfvis.store.viewport)"
    page.evaluate(DRAWN)
    before = timeline.host.evaluate(view)
    for _ in range(5):
        page.evaluate(DRAWN)
    assert timeline.host.evaluate(view) == before


def test_a_choice_by_the_pointer_gives_the_focus_back(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(real_trace(DATA / STEPS).to_html(tmp_path / "page.html")).wait()
    colour = view_menu(timeline.root).get_by_role("combobox", name="Colour")
    colour.click()
    colour.select_option("op")
    expect(timeline.lanes).to_be_focused()
    # By the keyboard it stays, and letters are the choice's.
    colour.focus()
    timeline.page.keyboard.press("ArrowDown")
    expect(colour).to_have_value("device")
    expect(colour).to_be_focused()


def test_escape_closes_a_menu_before_it_has_the_focus(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(real_trace(DATA / STEPS).to_html(tmp_path / "page.html")).wait()
    export = timeline.root.get_by_role("button", name="Export")
    export.click()
    expect(timeline.root.get_by_role("menuitem").first).to_be_focused()
    export.focus()
    timeline.page.keyboard.press("Escape")
    expect(export).to_have_attribute("aria-expanded", "false")
    expect(export).to_be_focused()
