"""A trace file opened by double click in JupyterLab: time until it is read, and until it is drawn."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks import traces
from benchmarks.table import Row, show
from tests.browser.file_browser import FileBrowser
from tests.browser.jupyter_server import JupyterServer
from tfvis_nb import read_trace

RUNS = 5
PICTURE_WITHIN = 2.0
"""Seconds from the arrival of the server's data to the first picture."""

_WATCH = """
const Plain = WebSocket;
window.WebSocket = class extends Plain {
  constructor(...given) {
    super(...given);
    if (!String(given[0]).includes("/tfvis-nb/file")) return;
    const opened = performance.now();
    this.addEventListener("message", () => {
      window.tfvisTimes = { read: performance.now() - opened };
      const arrived = performance.now();
      const look = () => {
        const root = document.querySelector(".tfvis-nb")?.shadowRoot?.querySelector("[data-drawn=true]");
        if (root) window.tfvisTimes.picture = performance.now() - arrived;
        else requestAnimationFrame(look);
      };
      look();
    }, { once: true });
  }
};
"""


def main() -> None:
    """Measure and print."""
    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("these benchmarks drive a chromium on the PATH")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        server = JupyterServer(folder)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            profile = traces.profile(folder)
            started = time.perf_counter()
            events = len(read_trace(profile).events)
            here = time.perf_counter() - started
            shutil.move(profile, server.root / "trace.xplane.pb")
            times = []
            for _ in range(RUNS):
                with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
                    times.append(opened(context.new_page(), server, "trace.xplane.pb"))
        finally:
            browser.close()
            server.close()
    read = statistics.median(read for read, _ in times)
    picture = statistics.median(picture for _, picture in times)
    rows = [
        Row(
            "double click to the file's arrival",
            f"{read:.2f} s",
            f"read_trace {here:.2f} s",
            f"{read / here:.1f}",
            "",
            kept=True,
        ),
        Row(
            "first picture after it",
            f"{picture:.2f} s",
            "",
            "",
            f"{PICTURE_WITHIN:.1f} s",
            picture <= PICTURE_WITHIN,
        ),
    ]
    show(f"A file of {events:,} events in JupyterLab (median of {RUNS})", rows)


def opened(page: Page, server: JupyterServer, name: str) -> tuple[float, float]:
    """Open a file on a new page; return the seconds until it was read, and then until it was drawn."""
    page.add_init_script(_WATCH)
    FileBrowser(page, f"{server.url}/lab?reset").open(name)
    page.wait_for_function("window.tfvisTimes?.picture", timeout=120_000)
    read, picture = page.evaluate("[tfvisTimes.read, tfvisTimes.picture]")
    return read / 1000, picture / 1000


if __name__ == "__main__":
    main()
