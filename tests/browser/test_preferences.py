"""What users ask of the system: less motion, and colours of their own."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace

# The part in view before a key, right after it, and when it has come to rest.
_MOVED = """async (host) => {
    const shown = () => ({ ...host.tfvis.store.viewport });
    const before = shown();
    host.shadowRoot.querySelector('[role=application]').dispatchEvent(
        new KeyboardEvent('keydown', { code: 'Equal', key: '+', bubbles: true }));
    const atOnce = shown();
    const running = document.getAnimations().length;
    await new Promise((done) => setTimeout(done, 500));
    return [before, atOnce, shown(), running];
}"""
_SYSTEM = """(name) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = name;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
}"""
WHITE, BLACK = "rgb(255, 255, 255)", "rgb(0, 0, 0)"
_GROUND = "(host) => host.tfvis.store.painting.ground"


@pytest.fixture
def timeline(exported: OpenExported, tmp_path: Path) -> Timeline:
    path = DATA / "dist_inproc_ps_2workers_step0.pb"
    return exported(real_trace(path).to_html(tmp_path / "page.html")).wait()


def style(element: Locator, name: str, pseudo: str | None = None) -> str:
    return str(
        element.evaluate(
            "(element, [name, pseudo]) => getComputedStyle(element, pseudo)[name]", [name, pseudo]
        )
    )


def test_nothing_glides_where_motion_is_reduced(timeline: Timeline) -> None:
    before, at_once, rest, _ = timeline.host.evaluate(_MOVED)
    assert at_once == before != rest
    timeline.page.emulate_media(reduced_motion="reduce")
    before, at_once, rest, running = timeline.host.evaluate(_MOVED)
    assert before != at_once == rest
    assert running == 0


def test_forced_colours_keep_what_means_something(timeline: Timeline) -> None:
    page = timeline.page
    # The lanes are drawn on the system's ground.
    page.emulate_media(forced_colors="active", color_scheme="light")
    expect(timeline.root).to_have_attribute("data-theme", "light")
    assert [page.evaluate(_SYSTEM, "Canvas"), timeline.host.evaluate(_GROUND)] == [WHITE, "#ffffff"]
    page.emulate_media(forced_colors="active", color_scheme="dark")
    expect(timeline.root).to_have_attribute("data-theme", "dark")
    assert [page.evaluate(_SYSTEM, "Canvas"), timeline.host.evaluate(_GROUND)] == [BLACK, "#000000"]
    # Colours of activities stay: in the legend, and of the event that is selected.
    timeline.find("op:RecvTensor ReadVariableOp")
    expect(timeline.title).to_contain_text("ReadVariableOp")
    receive = timeline.root.get_by_role("group", name="Legend").get_by_role("button", name="communication")
    chip = timeline.details.locator(".chip").first
    for coloured in (receive.locator(".swatch"), chip):
        assert style(coloured, "backgroundColor") != BLACK
    assert style(chip, "color") != style(chip, "backgroundColor")
    # A link is underlined; pressed, selected and focused elements are outlined.
    assert "underline" in style(timeline.details.locator(".link b").first, "textDecorationLine")
    assert style(timeline.root.get_by_role("button", name="Details", exact=True), "outlineStyle") == "solid"
    timeline.lanes.press("g")
    graph = timeline.root.get_by_role("region", name="Graph")
    selected = graph.get_by_role("option", selected=True)
    others = graph.get_by_role("option", selected=False)
    assert style(selected, "outlineStyle") == "solid"
    page.keyboard.press("Escape")
    timeline.lanes.press("g")
    others.first.focus()
    assert style(selected, "outlineStyle") == "solid"
    timeline.lanes.focus()
    assert style(others.first, "outlineStyle") == "none"
    assert style(timeline.lanes, "borderTopStyle", "::after") == "solid"
    splitter = timeline.root.get_by_role("separator", name="Width of the labels")
    page.keyboard.press("Tab")
    expect(splitter).to_be_focused()
    assert style(splitter, "outlineStyle") == "solid"
