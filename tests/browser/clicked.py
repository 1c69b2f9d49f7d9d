"""Clicks on every kind of element in a view; afterwards its keys must work."""

from collections.abc import Callable, Iterator
from functools import partial

from playwright.sync_api import Locator

from tests.browser.comparison import Both
from tests.browser.dashboard import Dashboard
from tests.browser.fleet import FleetView
from tests.browser.monitor import Monitor
from tests.browser.timeline import Timeline, press_in_view_menu

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
FOCUSED = """() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at.ariaLabel;
}"""

Act = Callable[[], None]


def timeline_places(timeline: Timeline) -> Iterator[tuple[str, Act]]:
    """Controls, and parts of a timeline that cannot be pressed, each with what clicks it.

    The trace has several steps, a finding that can be shown and tensors.
    """
    root, details = timeline.root, timeline.details
    path = root.get_by_role("button", name="Critical path", exact=True)
    yield "Critical path", path.click
    yield "Critical path again", path.click
    for name in ("Fit", "Tensors"):
        press = partial(press_in_view_menu, root, name)
        yield name, press
        yield f"{name} again", press
    yield "a step bar", root.locator(".step-bars [data-bar]").nth(1).click
    yield "all steps", partial(leave_step, root)
    yield "the label of a lane", root.locator(".label .text").first.click
    yield "the label of a group", root.locator("button.group").first.click
    yield "the label of a group again", root.locator("button.group").first.click
    yield "the lane that it hides", partial(hide, root.locator(".label").first)
    yield "the hidden lanes", root.get_by_role("button", name="hidden").click
    legend = root.get_by_role("group", name="Legend").get_by_role("button").first
    yield "the legend", legend.click
    yield "the legend again", legend.click
    yield "the headline", root.locator(".headline-bar > span").click
    yield "a free spot of the toolbar", corner(root.locator(".toolbar"))
    yield "the ruler", drag(root.get_by_role("img", name="Time axis"))
    yield "the overview", drag(root.get_by_role("img", name="Activity over time"))
    yield "the edge of the labels", root.get_by_role("separator", name="Width of the labels").click
    yield "text of the details", details.locator("h2").click
    yield "a finding", details.locator("summary").first.click
    yield "a finding again", details.locator("summary").first.click
    yield "Show", details.get_by_role("button", name="Show: ").first.click
    yield "the lanes", timeline.lanes.click


def leave_step(root: Locator) -> None:
    """Show one step, then all again."""
    root.locator(".step-bars [data-bar]").nth(1).click()
    root.locator(".steps .corner button").click()


def hide(label: Locator) -> None:
    """Hide a lane by the tools that its label shows under the pointer."""
    label.hover()
    label.get_by_role("button", name="Hide").click()


def zooms(timeline: Timeline) -> bool:
    """Whether the keys for everything, to zoom in and to go back do that."""
    views: list[str] = []
    for key in ("0", "w", "Backspace"):
        timeline.page.keyboard.press(key)
        timeline.page.evaluate(DRAWN)
        views.append(timeline.host.evaluate("host => JSON.stringify(host.tfvis.store.viewport)"))
    return views[0] == views[2] != views[1]


def corner(place: Locator) -> Act:
    """Click where nothing else is on top: at the lower left."""

    def click() -> None:
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        assert box
        place.page.mouse.click(box["x"] + 3, box["y"] + box["height"] - 3)

    return click


def drag(place: Locator) -> Act:
    def pull() -> None:
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        assert box
        place.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 8)
        place.page.mouse.down()
        place.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 8, steps=3)
        place.page.mouse.up()

    return pull


def tab_places(shown: Dashboard) -> Iterator[tuple[str, Act]]:
    """Controls and free spots of the tabs under a timeline."""
    panels = shown.panels
    yield "a tab", panels.get_by_role("tab").nth(1).click
    panel = panels.locator(".tab-panel:not([hidden])")
    yield "a free spot next to the tabs", corner(panels.locator(".tab-bar"))
    yield "a title in a tab", panel.locator("h3").first.click
    yield "a column", panel.locator("thead button").nth(1).click
    yield "a row", panel.locator("tbody button.row").first.click
    # The button of its row covers it.
    yield "a figure", partial(panel.locator("tbody td").nth(1).click, force=True)


def comparison_places(both: Both) -> Iterator[tuple[str, Act]]:
    """Parts that two compared timelines share, and parts of the lower one."""
    around = both.around
    yield "what differs", around.locator(".verdict").click
    yield "Fit", partial(press_in_view_menu, around, "Fit")
    yield "text of the details", both.details.locator("h2").first.click
    yield "a side of the details", lambda: both.details_of("A")
    yield "a lane of the lower one", both.b.timeline.root.locator(".label .text").first.click
    yield "the ruler of the upper one", drag(both.a.ruler)


def fleet_places(view: FleetView) -> Iterator[tuple[str, Act]]:
    """Parts around a heat map."""
    yield "the title of the fleet", view.root.get_by_role("heading", level=2).click
    yield "the line below the map", view.status.click
    table = view.root.get_by_role("button", name="Table", exact=True)
    yield "Table", table.click
    yield "Table again", table.click
    yield "a free spot of the toolbar", corner(view.root.locator(".toolbar"))
    yield "a tab below", view.panels.get_by_role("tab").nth(1).click


def monitor_places(monitor: Monitor) -> Iterator[tuple[str, Act]]:
    """Parts of a monitor; its first table has a signature `train`."""
    yield "the name of the session", monitor.region.locator(".toolbar .title").click
    yield "the session", monitor.recording.click
    yield "a figure of a signature", partial(monitor.runs("train").click, force=True)
    yield "text of the details", monitor.details.locator("h2").first.click
    yield "a column", monitor.region.locator("thead button").first.click
    yield "a free spot", corner(monitor.region.locator(".toolbar"))


def zooms_steps(view: FleetView) -> bool:
    """Whether + shows fewer steps of a fleet, and 0 all of them."""
    every = view.root.get_by_role("button", name="All steps")
    seen = []
    for key in ("+", "0"):
        view.page.keyboard.press(key)
        view.page.evaluate(DRAWN)
        seen.append(every.count())
    return seen == [1, 0]


def filters(monitor: Monitor) -> bool:
    """Whether / goes to the filter of a monitor."""
    monitor.page.keyboard.press("/")
    return "filter" in str(monitor.page.evaluate(FOCUSED)).lower()
