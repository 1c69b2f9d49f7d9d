"""A trace in a live JupyterLab: time from running its cell until its output is visible."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Playwright

from benchmarks.watching import launched
from tests.browser.jupyter_server import JupyterServer
from tests.browser.notebook import Notebook

TIMELINE = "widget = show_timeline(trace)\nwidget"
DASHBOARD = "widget = show_dashboard(trace)\nwidget"

DRAWN = ".tfvis-nb [data-drawn]"
"""The timeline's picture; the part before the first space is the host of the shadow root with the rest."""
FIRST_TAB = ".tfvis-nb-panels .block"
"""The content of the first tab of a dashboard."""

_READ = """
import sys
sys.path.insert(0, {root!r})
from benchmarks import traces
from tfvis_nb import read_trace, show_dashboard, show_timeline
trace = read_trace({path!r})
trace = traces.repeated(trace, {times}) if {times} > 1 else trace
print(len(trace.events))
"""

# From the command to the frame after the one that drew it.
_SEEN = """async (wanted) => {
    const panel = window.jupyterapp.shell.currentWidget;
    panel.content.activeCellIndex = 1;
    panel.content.deselectAll();
    const began = performance.now();
    const frame = () => new Promise(requestAnimationFrame);
    window.jupyterapp.commands.execute('notebook:run-cell');
    const seen = [];
    for (const path of wanted) {
        const [holder, inside] = path.split(' ');
        while (!document.querySelector(holder)?.shadowRoot?.querySelector(inside)) await frame();
        await frame();
        seen.push((performance.now() - began) / 1000);
    }
    return seen;
}"""


@contextmanager
def jupyter(folder: Path) -> Iterator[JupyterServer]:
    """A separate server in a folder."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        server = JupyterServer(Path(name))
        try:
            yield server
        finally:
            server.end_kernels()
            server.close()


@contextmanager
def opened(
    playwright: Playwright, server: JupyterServer, path: Path, times: int, show: str
) -> Iterator[tuple[Browser, Page]]:
    """A separate browser with a notebook whose first cell has read a trace, which the second one shows.

    Parameters
    ----------
    path, times
        The file of the trace, and how often it is repeated in time.
    show
        The second cell: `TIMELINE` or `DASHBOARD`.
    """
    browser = launched(playwright)
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    root = str(Path(__file__).parent.parent)
    read = _READ.format(root=root, path=str(path), times=times)
    try:
        Notebook(page, server, "live.ipynb", [read, show]).run(0)
        yield browser, page
    finally:
        browser.close()
        server.end_kernels()


def seen_after(page: Page, *wanted: str) -> list[float]:
    """Run the second cell; return the seconds until each of `wanted`, such as `DRAWN`, is visible."""
    seen: list[float] = page.evaluate(_SEEN, list(wanted))
    return seen
