"""The file browser of JupyterLab and Notebook 7: files are opened as a user opens them."""

from playwright.sync_api import Locator, Page, expect

STARTED_WITHIN = 90_000
"""Milliseconds until a page shows its files."""


class FileBrowser:
    """A page that lists the files of the server's root folder."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        page.goto(address)
        expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=STARTED_WITHIN)

    def file(self, name: str) -> Locator:
        """The entry of a file."""
        exactly = self.page.locator(".jp-DirListing-itemText").get_by_text(name, exact=True)
        return self.page.locator(".jp-DirListing-item", has=exactly)

    def open(self, name: str) -> None:
        """Open a file by a double click."""
        self.file(name).dblclick()

    def open_with(self, name: str, view: str) -> None:
        """Open a file by its context menu."""
        self.file(name).click(button="right")
        # A click opens the menu in it at once; the pointer over it only after a while, and if it stays there.
        self.page.locator(".lm-Menu-item:visible", has_text="Open With").click()
        self.page.locator(".lm-Menu-item:visible", has_text=view).click()

    @property
    def shown(self) -> Locator:
        """The content of the front document."""
        return self.page.locator(".tfvis-nb-file:visible")
