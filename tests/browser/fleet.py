"""A fleet on a page, as a user sees it: a heat map, the timeline of a cell, tables."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect


class FleetView:
    """Drives a heat map and the tabs under it.

    Parameters
    ----------
    heat_map, panels
        The elements whose shadow roots hold them.
    """

    def __init__(self, heat_map: Locator, panels: Locator) -> None:
        self.page = heat_map.page
        self.root = heat_map
        self.cells = heat_map.get_by_role("slider")
        self.status = heat_map.get_by_role("status")
        self.metric = heat_map.get_by_role("combobox", name="Colour by")
        self.panels = panels

    def wait(self) -> FleetView:
        """Wait until the heat map is drawn."""
        expect(self.cells).to_be_visible()
        return self

    def value(self) -> str:
        """Return the heat map's text about its current cell, with plain spaces."""
        return (self.cells.get_attribute("aria-valuetext") or "").replace("\u00a0", " ")

    def expect_value(self, text: str) -> None:
        """Wait until the current cell is described like this; a pattern whose spaces may not break."""
        expect(self.cells).to_have_attribute("aria-valuetext", re.compile(text.replace(" ", r"\s")))

    def press(self, *keys: str) -> None:
        """Press keys in the heat map."""
        for key in keys:
            self.cells.press(key)

    def click(self, task: int, step: int) -> None:
        """Click a cell of a heat map that shows all steps, by the numbers of its line and column."""
        x, y, width, height = self._plot()
        tasks, steps = self._counts()
        self.cells.click(
            position={"x": x + (step + 0.5) * width / steps, "y": y + (task + 0.5) * height / tasks}
        )

    def _plot(self) -> list[float]:
        """Return where the cells are in the heat map: left, top, width and height in CSS pixels."""
        canvas = self.cells.locator("canvas")
        expect(canvas).to_have_attribute("data-plot", re.compile(r"\d"))
        return [float(number) for number in str(canvas.get_attribute("data-plot")).split(" ")]

    def _counts(self) -> tuple[int, int]:
        """Return the numbers of tasks and steps."""
        said = self.cells.get_attribute("aria-label") or ""
        tasks, steps = re.findall(r"(\d+) (?:task|step)", said)
        return int(tasks), int(steps)

    def table(self, tab: str, title: str | re.Pattern[str]) -> Locator:
        """Go to a tab, and return a table of it."""
        self.panels.get_by_role("tab", name=tab, exact=True).click()
        panel = self.panels.get_by_role("tabpanel", name=tab)
        found = panel.get_by_role("table", name=title)
        expect(found).to_be_visible()
        return found
