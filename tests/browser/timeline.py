"""A timeline on a page, as users see it: bars, search, and details."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

# A bar is a position on a canvas, which no locator finds, so the timeline itself reports it.
# It moves with each frame; a busy machine draws few, and a frame out of view none.
_LOCATE = """(host, event) => new Promise((done) => {
    const answer = () => done(host.tfvis?.locate(event) ?? null);
    requestAnimationFrame(() => requestAnimationFrame(answer));
    setTimeout(answer, 500);
})"""

_FACTS = """(panel) => [...panel.querySelectorAll('dl dt')].map(
    (term) => [term.textContent, term.nextElementSibling.textContent])"""


DRAWN_WITHIN = 90_000
"""Milliseconds: a kernel that has just started imports and reads first, and may have to share the machine."""


class Timeline:
    """Drives one timeline.

    Parameters
    ----------
    host
        The element whose shadow root holds it.
    """

    def __init__(self, host: Locator) -> None:
        self.host = host
        self.page = host.page
        self.root = host.get_by_role("region", name="Timeline")
        self.lanes = host.get_by_role("application")
        self.details = host.get_by_role("complementary", name="Details")
        self.title = self.details.locator("h2")
        self.search_box = host.get_by_role("textbox", name="Search")
        self.status = host.get_by_role("status")

    def wait(self) -> Timeline:
        """Wait until it reports that it is drawn."""
        expect(self.root).to_have_attribute("data-drawn", "true", timeout=DRAWN_WITHIN)
        return self

    def facts(self) -> dict[str, str]:
        """The details' terms and what stands next to them."""
        return {term: " ".join(text.split()) for term, text in self.details.evaluate(_FACTS)}

    def expect_fact(self, term: str) -> str:
        """What stands next to `term`, once it does."""
        expect(self.details.locator("dt", has_text=term).first).to_be_visible()
        return self.facts()[term]

    def find(self, text: str) -> None:
        """Search and go to the first match, which comes into view."""
        self.search_box.fill(text)
        self.search_box.press("Enter")

    def clear(self) -> None:
        """Put search and selection away."""
        self.search_box.press("Escape")
        self.lanes.focus()
        self.page.keyboard.press("Escape")
        expect(self.status.last).to_have_text("")

    def place(self, event: int) -> tuple[float, float]:
        """Where in the window the middle of the event's bar is, once it has come to rest."""
        before = None
        for _ in range(200):
            at = self.host.evaluate(_LOCATE, event)
            if at is not None and at == before:
                return at["x"], at["y"]
            before = at
            self.page.wait_for_timeout(60)
        raise AssertionError(f"event {event} is not in view: {before}")

    def click(self, event: int) -> None:
        """Click the event's bar."""
        self.lanes.scroll_into_view_if_needed()
        self.page.mouse.click(*self.place(event))

    def link(self, section: str, name: str) -> Locator:
        """A link to another event, in the details under `section`."""
        fact = self.details.locator(f"dt:has-text('{section}') + dd")
        listed = self.details.locator("section", has=self.page.get_by_role("heading", name=section))
        return fact.or_(listed).get_by_role("button", name=name, exact=False).first


def view_menu(root: Locator) -> Locator:
    """Opens the menu of how the timeline in `root` is drawn, unless it is open."""
    menu = root.get_by_role("dialog", name="View", exact=True)
    if menu.count() == 0:
        root.get_by_role("button", name="View", exact=True).click()
    expect(menu).to_be_visible()
    return menu


def press_in_view_menu(root: Locator, name: str) -> None:
    view_menu(root).get_by_role("button", name=name, exact=True).click()


def expect_pressed(root: Locator, name: str, *, pressed: bool) -> None:
    """Expect the state of a button of the menu, which is closed again."""
    button = view_menu(root).get_by_role("button", name=name, exact=True)
    expect(button).to_have_attribute("aria-pressed", str(pressed).lower())
    root.get_by_role("button", name="View", exact=True).click()


def choose(root: Locator, choice: str, value: str) -> None:
    """Chooses colours or groups."""
    view_menu(root).get_by_role("combobox", name=choice).select_option(value)
    root.get_by_role("button", name="View", exact=True).click()


def expect_choice(root: Locator, choice: str, value: str) -> None:
    expect(view_menu(root).get_by_role("combobox", name=choice)).to_have_value(value)
    root.get_by_role("button", name="View", exact=True).click()


def saved(page: Page, path: Path) -> Path:
    """Export the page from its own menu."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Offline page").click()
    download.value.save_as(path)
    return path


def asks_before_it_goes(page: Page) -> None:
    """Have the page reload: it must ask whether to, and it stays."""
    with page.expect_event("dialog") as asked:
        page.evaluate("setTimeout(() => location.reload())")
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()


OpenExported = Callable[[Path], Timeline]
"""The type of the fixture `exported`."""
