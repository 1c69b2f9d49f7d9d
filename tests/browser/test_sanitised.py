"""What GitHub and nbviewer leave of a stored output: no scripts, styles, frames or attributes of style."""

import html
from html.parser import HTMLParser

import pytest
from playwright.sync_api import Page, expect

import tfvis_nb
from tests.browser.probe import TRACE
from tfvis_nb.display.pages.static_html import static_html
from tfvis_nb.display.stored_output import stored_html

REMOVED = {"script", "style", "iframe", "link", "object", "form", "input"}
KEPT = {"align", "alt", "colspan", "height", "href", "src", "title", "width"}


class Sanitised(HTMLParser):
    """Keeps what GitHub keeps of the HTML of an output."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self._inside = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside += tag in REMOVED
        if not self._inside:
            kept = "".join(f' {name}="{html.escape(value or "")}"' for name, value in attrs if name in KEPT)
            self.text += f"<{tag}{kept}>"

    def handle_endtag(self, tag: str) -> None:
        if not self._inside:
            self.text += f"</{tag}>"
        self._inside -= tag in REMOVED

    def handle_data(self, data: str) -> None:
        self.text += "" if self._inside else html.escape(data)


@pytest.mark.parametrize("framed", [False, True])
def test_picture_headline_and_longest_ops_are_readable(page: Page, framed: bool) -> None:
    trace = tfvis_nb.read_trace(TRACE)
    still = static_html(trace, title=trace.title)
    left = Sanitised(stored_html("a", still, trace.to_html() if framed else "", height=560)).text
    assert "<script" not in left
    page.set_content(left)
    picture = page.get_by_role("img", name="Activity of each lane")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 400
    expect(page.get_by_text("GPU busy 7.2 %")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="MatMul").first).to_be_visible()
