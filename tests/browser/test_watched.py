"""The watching itself: a page that misbehaves must fail its test."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.watched import Watched


@pytest.mark.parametrize(
    "body",
    [
        "<script>console.error('said on the console')</script>",
        "<script>throw new Error('thrown')</script>",
        "<script>Promise.reject(new Error('nobody caught this'))</script>",
        "<script>alert('a name in a trace ran')</script>",
        "<img src='http://127.0.0.1:9/elsewhere.png'>",
        "<script>fetch('file:///etc/hostname').catch(() => 0)</script>",
    ],
)
def test_misbehaviour_is_seen(page: Page, tmp_path: Path, body: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><title>t</title><p>here{body}", encoding="utf-8")
    watched = Watched(page, own=path.as_uri())
    page.goto(path.as_uri())
    page.wait_for_load_state("networkidle")
    with pytest.raises(AssertionError):
        watched.end()


def test_a_quiet_page_passes(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><title>t</title><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")
    watched = Watched(page, own=path.as_uri())
    page.goto(path.as_uri())
    watched.end()
    assert page.title() == "t"
