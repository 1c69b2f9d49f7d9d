"""Chromium, a real JupyterLab and exported pages, for the tests in this folder.

Every page a test opens is watched: an error on its console or a request to
anywhere but its own origin fails the test that opened it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.browser.dashboard import Dashboard, OpenDashboard
from tests.browser.jupyter_server import JupyterServer
from tests.browser.notebook import Notebook, OpenNotebook, put_away
from tests.browser.timeline import OpenExported, Timeline
from tests.browser.watched import Watched

HERE = Path(__file__).parent
WINDOW: ViewportSize = {"width": 1280, "height": 1600}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    # For this package only: while playwright is there, its event loop runs, and no other test could run one.
    path = shutil.which("chromium")
    assert path, "these tests drive a chromium on the PATH"
    # Notebooks take their time on a busy machine.
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with chromium.new_context(viewport=WINDOW) as context:
        context.set_default_timeout(20_000)
        yield context


@pytest.fixture
def exported(context: BrowserContext) -> Iterator[OpenExported]:
    """Opens an exported file as a colleague would: over file://, with nothing else there."""
    watched: list[Watched] = []

    def open_file(path: Path) -> Timeline:
        page = context.new_page()
        watched.append(Watched(page, own=path.as_uri()))
        page.goto(path.as_uri())
        return Timeline(page.locator("#tfvis-root"))

    yield open_file
    for each in watched:
        each.check()


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

    def __init__(self, context: BrowserContext, url: str) -> None:
        self._context = context
        self._url = url
        self._kept: tuple[Page, Watched] | None = None
        self.kernel: str | None = None

    def pages(self) -> Iterator[tuple[Page, Watched]]:
        """The page that is kept, then as many new ones as are wanted."""
        if self._kept is None:
            self._kept = self._new()
        page, watch = self._kept
        watch.forget()  # what was logged while kernels ended
        yield page, watch
        while True:
            yield self._new()

    def _new(self) -> tuple[Page, Watched]:
        page = self._context.new_page()
        return page, Watched(page, own=self._url)

    def tidy(self, *, keep: bool) -> None:
        """Leave nothing of a test but JupyterLab itself and a kernel, if that is wanted and they can be."""
        kernels = put_away(self._kept[0]) if self._kept and keep else None
        if kernels is None:
            self._kept = None
        self.kernel = kernels[0] if kernels else None
        for page in self._context.pages:
            if self._kept is None or page is not self._kept[0]:
                page.close()


@pytest.fixture(scope="package")
def lab(chromium: Browser, jupyter: JupyterServer) -> Iterator[Lab]:
    with chromium.new_context(viewport=WINDOW) as context:
        context.set_default_timeout(20_000)
        yield Lab(context, jupyter.url)


@pytest.fixture
def notebook(lab: Lab, jupyter: JupyterServer, request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """Makes a notebook of some cells and opens it in JupyterLab."""
    watched: list[Watched] = []
    pages = lab.pages()

    def open_notebook(cells: Sequence[str]) -> Notebook:
        page, watch = next(pages)
        watched.append(watch)
        name = re.sub(r"\W+", "_", request.node.name)
        kernel = lab.kernel if len(watched) == 1 else None
        return Notebook(page, jupyter, f"{name}{len(watched)}.ipynb", cells, kernel)

    yield open_notebook
    try:
        for each in watched:
            each.check()
    except AssertionError:
        lab.tidy(keep=False)
        raise
    else:
        lab.tidy(keep=bool(watched))
    finally:
        jupyter.end_kernels(but=lab.kernel)
