"""A dashboard on a page, as a user sees it: a timeline, and under it tabs with charts and tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.timeline import Timeline
from tests.real_traces import DATA

TRACE = DATA / "local_mlp_step1.pb"
MEMORY = "Memory allocated"
PARTS = {
    **dict.fromkeys(("Breakdown", "Steps", "Gaps", "Critical path"), "Time"),
    **dict.fromkeys(("Layers", "Kernels", "Flame graph", "Nodes", "Scopes", "Lines"), "Ops"),
}
"""The tab of each part of another name."""
# Copied text is in a variable of the page, independent of the browser's clipboard permissions.
COPIES = """() => Object.defineProperty(navigator, "clipboard", {
    value: { writeText: async (text) => void (window.copied = text) } })"""


class Dashboard:
    """Drives one dashboard.

    Parameters
    ----------
    timeline, panels
        The elements whose shadow roots hold the timeline and the tabs.
    """

    def __init__(self, timeline: Locator, panels: Locator) -> None:
        self.page = panels.page
        self.timeline = Timeline(timeline)
        self.panels = panels
        self.tabs = panels.get_by_role("tab")
        # The lower one of two that are compared has none in sight.
        self.ruler = timeline.get_by_role("img", name="Time axis", include_hidden=True)

    def wait(self) -> Dashboard:
        """Wait until the timeline is drawn and the tabs are there."""
        self.timeline.wait()
        expect(self.tabs.first).to_be_visible()
        return self

    def tab(self, name: str) -> Locator:
        """Go to a tab or to a part of one; its contents, once they are there."""
        of = PARTS.get(name, name)
        self.panels.get_by_role("tab", name=of, exact=True).click()
        panel = self.panels.get_by_role("tabpanel", name=of, exact=True)
        expect(panel).to_be_visible()
        choice = panel.get_by_role("group", name="Parts of").get_by_role("button", name=name, exact=True)
        if choice.count():
            choice.click()
            expect(choice).to_have_attribute("aria-pressed", "true")
        part = panel.locator(".part:not([hidden])")
        expect(part.locator(".block").first).to_be_visible()
        return part

    def chart(self, tab: str, title: str) -> Locator:
        """A chart of a tab, drawn."""
        chart = self.tab(tab).get_by_role("img", name=title)
        expect(chart).to_have_attribute("data-drawn", "true")
        return chart

    def table(self, tab: str, title: str) -> Locator:
        """A table of a tab."""
        return self.tab(tab).get_by_role("table", name=title)

    def click(self, table: Locator, row: int = 0) -> None:
        """Click somewhere in a row of a table; its first cell's button covers all of it."""
        table.locator("tbody tr").nth(row).locator("td").nth(3).click(force=True)

    def range(self, axis: Locator) -> list[float]:
        """From when to when, in ms, the ruler or a chart says that it shows."""
        label = (axis.get_attribute("aria-label") or "").replace("\u2212", "-")
        found = re.findall(r"([+-])([\d.,]+) (ns|\u00b5s|ms|s)\b", label)
        units = {"ns": 1e-6, "\u00b5s": 1e-3, "ms": 1.0, "s": 1e3}
        return [float(sign + number.replace(",", "")) * units[unit] for sign, number, unit in found]

    def settled(self, axis: Locator) -> list[float]:
        """`range`, once it does not change any more."""
        before: list[float] = []
        for _ in range(60):
            now = self.range(axis)
            if now and now == before:
                return now
            before = now
            self.page.wait_for_timeout(120)
        raise AssertionError(f"this goes on moving: {before}")

    def moved(self, axis: Locator, before: list[float]) -> list[float]:
        """`settled`, once that is something else."""
        for _ in range(60):
            if self.range(axis) != before:
                return self.settled(axis)
            self.page.wait_for_timeout(120)
        raise AssertionError(f"this does not move: {before}")


OpenDashboard = Callable[[Path], Dashboard]
"""The type of the fixture `exported_dashboard`."""
