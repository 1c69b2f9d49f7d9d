"""Two timelines that are compared, as a user sees them."""

import pytest
from playwright.sync_api import Locator

from tests.browser.dashboard import Dashboard
from tests.real_traces import DATA

OLD, NEW = (DATA / f"gpu_tf{version}_mlp.pb.xz" for version in ("218", "221"))

LANES = "host => host.shadowRoot.querySelector('[data-part=lanes]').getBoundingClientRect()"


class Both:
    """Drives a comparison: ``a`` is the upper timeline with the tabs, ``b`` the lower one."""

    def __init__(self, around: Locator, panels: Locator) -> None:
        timelines = around.locator(".tfvis-timeline")
        self.a, self.b = (Dashboard(timelines.nth(number), panels) for number in range(2))
        self.around = around
        self.details = around.get_by_role("complementary", name="Details")
        self.title = self.details.locator("h2")
        self.page = panels.page

    def wait(self) -> "Both":
        self.a.wait()
        self.b.wait()
        return self

    def lanes(self) -> list[tuple[float, float]]:
        """From where to where the lanes of both reach, in CSS pixels."""
        boxes = [each.timeline.host.evaluate(LANES) for each in (self.a, self.b)]
        return [(box["x"], box["width"]) for box in boxes]

    def details_of(self, side: str) -> None:
        """Show the details of A or B."""
        self.around.get_by_role("group", name="Details of").get_by_role("button", name=side).click()

    def same(self) -> list[float]:
        """What both rulers show, once that is the same and at rest."""
        shown = self.a.settled(self.a.ruler)
        assert self.b.settled(self.b.ruler) == pytest.approx(shown, abs=1e-6)
        return shown
