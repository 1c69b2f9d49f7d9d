"""The site, opened from disk: it loads nothing from elsewhere, pages are sound and links lead somewhere."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.watched import Watched
from tests.support.site import build

pytestmark = pytest.mark.thorough

ERRORS = ("DamagedSessionError", "EmptyTraceError", "TraceFormatError")
"""Classes without methods."""

# Live timelines are in frames of pages that have a heading.
FAULTS = """({ headings }) => {
    const faults = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    if (headings && all("h1").length !== 1) faults.push(`${all("h1").length} h1`);
    if (!document.title.trim()) faults.push("no title");
    if (!document.documentElement.lang) faults.push("no lang");
    if (!document.querySelector("meta[name=viewport]")) faults.push("no viewport");
    for (const image of all("img:not([alt])")) faults.push(`no alt: ${image.src}`);
    for (const image of all("img"))
        if (image.complete && !image.naturalWidth) faults.push(`not loaded: ${image.src}`);
    for (const frame of all("iframe:not([title])")) faults.push(`no title: ${frame.src}`);
    const ids = all("[id]").map(({ id }) => id);
    for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) faults.push(`id twice: ${id}`);
    return faults;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build("html", folder / "html", folder / "doctrees")
    return folder / "html"


def pages_of(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


@pytest.fixture
def watched(page: Page, site: Path) -> Iterator[Watched]:
    watched = Watched(page, own=site.as_uri())
    yield watched
    watched.end()


@pytest.mark.usefixtures("watched")
def test_every_page_loads_nothing_from_elsewhere_and_is_sound(page: Page, site: Path) -> None:
    page.route(lambda url: not url.startswith(("file:", "data:", "blob:")), lambda route: route.abort())
    pages = pages_of(site)
    assert len(pages) > 100
    unsound = {}
    for path in pages:
        # That at the root leads to another.
        if path != site / "index.html":
            page.goto(path.as_uri(), wait_until="load")
            faults = page.evaluate(FAULTS, {"headings": path.parent.name != "live"})
            if faults:
                unsound[str(path.relative_to(site))] = faults
    assert not unsound


@pytest.mark.usefixtures("watched")
def test_the_first_page_has_a_live_timeline_in_its_theme(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/docs/index.html")
    frame = page.frame_locator("iframe.live")
    for theme in ("dark", "light"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        expect(frame.get_by_role("region", name="Timeline")).to_have_attribute("data-theme", theme)
    frame.get_by_role("textbox", name="Search").fill("op:Conv2D")
    frame.get_by_role("textbox", name="Search").press("Enter")
    expect(frame.get_by_role("complementary", name="Details").locator("h2")).to_contain_text("Conv2D")


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize(
    ("query", "title"),
    [("install", "Install"), ("gpu rows missing", "GPU rows missing"), ("straggler", "One task is late")],
)
def test_search(page: Page, site: Path, query: str, title: str) -> None:
    page.goto(f"{(site / 'search.html').as_uri()}?{urlencode({'q': query})}")
    results = page.locator("ul.search a")
    expect(results.filter(has_text=title).first).to_be_visible()
    if query in title.lower():
        expect(results.first).to_contain_text(title)


def test_signatures_have_types(site: Path) -> None:
    pages = (site / "docs" / "api").glob("*.html")
    untyped = {page.stem for page in pages if 'class="sig-return"' not in page.read_text(encoding="utf-8")}
    assert untyped == {f"tfvis_nb.{error}" for error in ERRORS}


class Links(HTMLParser):
    """Collects the addresses that a page refers to, and the names of its parts."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: set[str] = set()
        self.parts: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, _: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to and is called."""
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.addresses.add(value)
            elif name in ("id", "name") and value:
                self.parts.add(value)


def test_links_lead_somewhere(site: Path) -> None:
    found = {path: Links(path) for path in pages_of(site) if path.parent.name != "live"}
    lost = []
    for path, links in found.items():
        for address in links.addresses:
            url = urlsplit(address)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.exists() or (
                url.fragment and target in found and unquote(url.fragment) not in found[target].parts
            ):
                lost.append(f"{path.relative_to(site)}: {address}")
    assert not lost, "\n".join(lost)


def test_nothing_is_embedded_from_elsewhere(site: Path) -> None:
    for path in pages_of(site):
        text = path.read_text(encoding="utf-8")
        assert ' src="http' not in text, path
        assert '<link href="http' not in text, path
        assert '<link rel="stylesheet" href="http' not in text, path
