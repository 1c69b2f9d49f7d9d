"""Chromium, a real JupyterLab and exported pages, for the tests in this folder.

Every page a test opens is watched: an error on its console or a request to
anywhere but its own origin fails the test that opened it.
"""

import re
import shutil
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    ViewportSize,
    expect,
    sync_playwright,
)
from playwright.sync_api import TimeoutError as Late

import tfvis_nb
from tests.browser.dashboard import TRACE, Dashboard, OpenDashboard
from tests.browser.jupyter_server import JupyterServer
from tests.browser.notebook import Notebook, OpenNotebook, put_away, state
from tests.browser.timeline import OpenExported, Timeline
from tests.browser.watched import Watched
from tests.real_traces import DATA, real_trace
from tests.support.shares import PAGES

FAILED = pytest.StashKey[bool]()
WINDOW: ViewportSize = {"width": 1280, "height": 1600}
FEATURES_OFF = (
    # Pages that chromium has ready below its address line: they take more than most pages of these tests.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # What playwright turns off itself; only the last of such switches counts.
    "AimEnabled",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(PAGES):
            item.add_marker("browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note a failure for the fixtures, and add to it what JupyterLab was at."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
        if lab := getattr(item, "funcargs", {}).get("lab"):
            report.sections.append(("JupyterLab", lab.state()))
    return report


def launched(playwright: Playwright) -> Browser:
    """Start a chromium."""
    path = shutil.which("chromium")
    assert path, "these tests drive a chromium on the PATH"
    off = f"--disable-features={','.join(FEATURES_OFF)}"
    # V8's further threads take processor time from the other tests.
    alone = "--js-flags=--single-threaded"
    # A page scrolled by a key keeps its position in the next frame.
    at_once = "--disable-smooth-scrolling"
    return playwright.chromium.launch(
        executable_path=path, args=["--no-sandbox", "--disable-gpu", alone, at_once, off]
    )


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    # For this package only: while playwright is there, its event loop runs, and no other test could run one.
    # Notebooks take their time on a busy machine.
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with chromium.new_context(viewport=WINDOW) as context:
        context.set_default_timeout(20_000)
        yield context


class KeptPage:
    """A page for many tests: making one takes longer than most tests.

    Parameters
    ----------
    context
        Of this page alone.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._page: Page | None = None

    def blank(self) -> Page:
        """Return the page, as a new one is."""
        if self._page is None:
            self._page = self._context.new_page()
        return self._page

    def tidy(self, *, keep: bool) -> None:
        """Undo the changes of a test to the page, or close it."""
        page = self._page if keep and self._page and not self._page.is_closed() else None
        for each in self._context.pages:
            if each is not page:
                each.close()
        self._context.clear_cookies()
        if page is not None:
            if page.url.startswith("http"):
                page.evaluate("localStorage.clear()")
            page.unroute_all(behavior="ignoreErrors")
            page.goto("about:blank")
            page.mouse.move(-1, -1)
            page.set_viewport_size(WINDOW)
            page.emulate_media(color_scheme="light", reduced_motion="no-preference", forced_colors="none")
        self._page = page


@pytest.fixture(scope="package")
def kept(chromium: Browser) -> Iterator[KeptPage]:
    with chromium.new_context(viewport=WINDOW) as context:
        context.set_default_timeout(20_000)
        yield KeptPage(context)


@pytest.fixture
def page(kept: KeptPage, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A blank page, for whatever needs no context of its own."""
    yield kept.blank()
    kept.tidy(keep=not request.node.stash.get(FAILED, False))


@pytest.fixture
def exported(page: Page) -> Iterator[OpenExported]:
    """Opens an exported file as a colleague would: over file://, with nothing else there."""
    watched: list[Watched] = []

    def open_file(path: Path) -> Timeline:
        # The page of a monitor would still ask its server.
        page.goto("about:blank")
        watched.append(Watched(page, own=path.as_uri()))
        page.goto(path.as_uri())
        return Timeline(page.locator("#tfvis-root"))

    yield open_file
    for each in watched:
        each.end()


@pytest.fixture
def exported_dashboard(exported: OpenExported) -> OpenDashboard:
    """Opens an exported dashboard likewise."""

    def open_file(path: Path) -> Dashboard:
        page = exported(path).page
        return Dashboard(page.locator(".tfvis-timeline"), page.locator(".tfvis-panels"))

    return open_file


@pytest.fixture(scope="package")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    server = JupyterServer(tmp_path_factory.mktemp("jupyter"))
    yield server
    server.close()


class Lab:
    """JupyterLab in one context of the browser.

    Its page is kept, and a kernel that has our package and forgot the rest: both take longer than most tests.
    """

    def __init__(self, context: BrowserContext, server: JupyterServer) -> None:
        self._context = context
        self._server = server
        self._kept: tuple[Page, Watched] | None = None
        self._kernel: str | None = None
        self.shown: list[Watched] = []

    def open(self, name: str, cells: Sequence[str]) -> Notebook:
        """Open a notebook: on the page that is kept and with its kernel, or else on a new one."""
        if not self.shown and self._kept is not None:
            page, watch = self._kept
            watch.forget()  # logged while kernels ended
            try:
                return self._opened(page, watch, name, cells, self._kernel)
            except Late:
                # A page that is left with a kernel or a dialog of an earlier test never gets ready.
                self._kept = None
        page = self._context.new_page()
        watch = Watched(page, own=self._server.url)
        if self._kept is None:
            self._kept = page, watch
        return self._opened(page, watch, name, cells, None)

    def _opened(
        self, page: Page, watch: Watched, name: str, cells: Sequence[str], kernel: str | None
    ) -> Notebook:
        book = Notebook(page, self._server, f"{name}{len(self.shown) + 1}.ipynb", cells, kernel)
        self.shown.append(watch)
        return book

    def tidy(self, *, keep: bool) -> None:
        """Leave nothing of a test but JupyterLab itself and a kernel, if that is wanted and they can be."""
        kernels = put_away(self._kept[0]) if self._kept and keep else None
        if kernels is None:
            self._kept = None
        self._kernel = kernels[0] if kernels else None
        self.shown = []
        for page in self._context.pages:
            if self._kept is None or page is not self._kept[0]:
                page.close()
        self._server.end_kernels(but=self._kernel)

    @property
    def pages(self) -> list[Page]:
        """Its open pages."""
        return self._context.pages

    def state(self) -> str:
        """Return what its pages show and its server has, to say where a test has failed."""
        return "\n".join([*map(state, self._context.pages), self._server.state()])


@pytest.fixture(scope="package")
def lab(chromium: Browser, jupyter: JupyterServer) -> Iterator[Lab]:
    with chromium.new_context(viewport=WINDOW) as context:
        context.set_default_timeout(20_000)
        yield Lab(context, jupyter)


@pytest.fixture
def notebook(lab: Lab, request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """Makes a notebook of some cells and opens it in JupyterLab."""
    name = re.sub(r"\W+", "_", request.node.name)
    yield lambda cells: lab.open(name, cells)
    sound = not request.node.stash.get(FAILED, False)
    try:
        for each in lab.shown:
            each.check()
    except AssertionError:
        sound = False
        raise
    finally:
        lab.tidy(keep=sound)


@pytest.fixture(scope="package")
def distributed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two workers and a parameter server."""
    trace = real_trace(DATA / "dist_inproc_ps_2workers_step0.pb")
    return trace.to_html(tmp_path_factory.mktemp("page") / "distributed.html")


@pytest.fixture(scope="module")
def dashboard_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tfvis_nb.show_dashboard(TRACE).to_html(tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture
def shown(exported_dashboard: OpenDashboard, dashboard_page: Path) -> Dashboard:
    """The dashboard of a small trace, on a page of its own."""
    return exported_dashboard(dashboard_page).wait()
