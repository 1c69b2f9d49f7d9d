"""A trace in a live JupyterLab: how long after its cell was run what it shows is seen."""

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
"""The timeline's picture; before the first space what holds the shadow root that the rest is in."""
FIRST_TAB = ".tfvis-nb-panels .block"
"""What the first tab of a dashboard shows."""

_READ = """
import sys
sys.path.insert(0, {root!r})
from benchmarks import traces
from tfvis_nb import read_trace, show_dashboard, show_timeline
trace = read_trace({path!r})
trace = traces.repeated(trace, {times}) if {times} > 1 else trace
print(len(trace.events))
"""

# From the command to the frame after the one that drew each of them.
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
    """A server of its own below a folder."""
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
    """A browser of its own with a notebook whose first cell has read a trace; its second one shows it.

    Parameters
    ----------
    path, times
        The trace's file, and how often it is repeated in time.
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
    """Run the second cell; the seconds until each of `wanted`, such as `DRAWN`, is seen, in this order."""
    seen: list[float] = page.evaluate(_SEEN, list(wanted))
    return seen
