"""A monitor on a page, as a user sees it: tables that grow, orders, timelines opened in place."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.timeline import Timeline


class Monitor:
    """Drives one monitor.

    Parameters
    ----------
    host
        The element whose shadow root holds it.
    """

    def __init__(self, host: Locator) -> None:
        self.host = host
        self.page = host.page
        self.region = host.get_by_role("region", name=re.compile("^Monitor"))
        self.recording = self.region.get_by_role("button", name="show the session and its processes")
        self.banner = self.region.locator(".banner")
        self.sections = host.get_by_role("region", name=re.compile("^Opened trace"))
        self.details = self.region.get_by_role("complementary", name="Details")

    def signature(self, label: str) -> Locator:
        """The row of a signature."""
        named = self.page.get_by_role("button", name=label, exact=True)
        return self.region.get_by_role("table", name="Signatures").get_by_role("row").filter(has=named)

    def runs(self, label: str) -> Locator:
        """The cell that counts the runs of a signature."""
        return self.signature(label).locator(".c-runs")

    def expect_growth(self, label: str) -> None:
        """Wait until more runs of a signature are counted than now."""
        expect(self.runs(label)).not_to_have_text(self.runs(label).inner_text())

    @property
    def traces(self) -> Locator:
        """The buttons that open the traces, one a row."""
        return self.region.get_by_role("table", name="Traces").locator("button[aria-expanded].row")

    def order(self, name: str) -> None:
        """Press the button of an order."""
        self.region.get_by_role("button", name=name, exact=True).click()

    def opened(self, number: int = 0) -> Timeline:
        """A timeline that was opened below the tables, drawn; the one opened last first."""
        return Timeline(self.sections.nth(number).locator(".stage")).wait()


def monitor_on(page: Page) -> Monitor:
    monitor = Monitor(page.locator("#tfvis-root"))
    expect(monitor.signature("train")).to_be_visible()
    return monitor


def labels(monitor: Monitor) -> list[str]:
    return monitor.region.locator("[data-part=signatures] [data-row]").all_inner_texts()
