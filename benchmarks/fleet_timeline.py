"""All ranks of a job in one timeline, read from a dataset: first picture, time between frames, memory.

The Perfetto UI shows the same ranks beside it: as many of them as it opens, twice as many each time.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from playwright.sync_api import Page, Playwright, sync_playwright

from benchmarks import traces
from benchmarks.fleet_traces import ranks
from benchmarks.live import DRAWN, jupyter, seen_after
from benchmarks.peers import Peers
from benchmarks.table import Row, bounded, show
from benchmarks.watching import frame_interval, launched, tab_memory
from tests.browser.jupyter_server import JupyterServer
from tests.browser.notebook import Notebook
from tests.browser.timeline import Timeline
from tfvis_nb.fleet.dataset import TraceDataset

RANKS = 128
PICTURE_WITHIN = 3.0
"""Seconds from running the cell to the first picture."""
INTERVAL = 20.0
"""Milliseconds between frames (95th percentile)."""
KERNEL, TAB = 2000.0, 500.0
"""Megabytes of the kernel at its most, and of the tab."""
SETTLES_MS = 3000

_OPEN = """
import sys
sys.path.insert(0, {root!r})
import tfvis_nb as tv
dataset = tv.open_traces({path!r})
print(len(dataset.sources))
"""
_SHOW = "widget = dataset.show_timeline()\nwidget"
# Unlike getrusage, without the memory of this process, which a new process takes over on Linux.
_MEMORY = "print(next(int(line.split()[1]) for line in open('/proc/self/status') if 'VmHWM' in line) / 1000)"
_FOCUS = "() => document.querySelector('.tfvis-nb').shadowRoot.querySelector('[data-part=lanes]').focus()"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=RANKS, help="how many ranks have the profile's events")
    parser.add_argument("--no-peers", action="store_true", help="leave out the Perfetto UI")
    arguments = parser.parse_args()
    count = arguments.ranks
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        dataset = ranks(folder, traces.profile(folder), count)
        events = int(dataset.sources["events"].sum())
        with jupyter(folder) as server:
            rows = _measured(playwright, server, dataset.path)
        if not arguments.no_peers:
            peers = folder / "peers"
            peers.mkdir()
            rows.append(_perfetto(playwright, dataset, Peers(peers), count))
    show(f"A dataset of {events:,} events of {count} ranks in JupyterLab, no GPU", rows)


def _measured(playwright: Playwright, server: JupyterServer, path: Path) -> list[Row]:
    browser = launched(playwright)
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    root = str(Path(__file__).parent.parent)
    book = Notebook(page, server, "live.ipynb", [_OPEN.format(root=root, path=str(path)), _SHOW, _MEMORY])
    try:
        book.run(0)
        (picture,) = seen_after(page, DRAWN)
        timeline = book.timeline(1).wait()
        far = _interval(page)
        took = _to_one_kernel(timeline)
        near = _interval(page)
        book.run(2)
        kernel, tab = json.loads(book.output(2).inner_text()), tab_memory(browser)
    finally:
        browser.close()
    return [
        bounded("first picture", picture, "s", PICTURE_WITHIN),
        bounded("between frames, p95, from the whole run", far, "ms", INTERVAL),
        Row("search for a kernel among all events", f"{took:.1f} s", "", "", "", kept=True),
        bounded("between frames, p95, around one kernel", near, "ms", INTERVAL),
        bounded("memory of the kernel's process at its most", kernel, "MB", KERNEL),
        bounded("memory of the tab", tab, "MB", TAB),
    ]


def _perfetto(playwright: Playwright, dataset: TraceDataset, peers: Peers, count: int) -> Row:
    """Open ranks in the Perfetto UI, twice as many each time; return the row of the most that it opened."""
    opened, found = "none", peers.failed.get("Perfetto", "")
    size = 1
    while size <= count and not found:
        peers.show(_events(dataset, size))
        felt = peers.felt(playwright, "Perfetto")
        if isinstance(felt, str):
            found = f"{size} ranks: {felt}"
        else:
            events = int(dataset.sources["events"][:size].sum())
            figures = f"{felt.picture:.1f} s, frames every {felt.interval:.0f} ms, {felt.memory:,.0f} MB"
            opened = f"{size} of {count} ranks, {events:,} events: {figures}"
            print(f"  the Perfetto UI opens {opened}", flush=True)
        size *= 2
    return Row("most that the Perfetto UI opens", opened, found, "", "", kept=True)


def _events(dataset: TraceDataset, ranks: int) -> Iterator[pd.DataFrame]:
    """Yield the events of each rank; all of them together would not fit into memory."""
    parts = dataset.events[["name", "start_ns", "duration_ns", "device", "lane"]].partitions
    for rank in range(ranks):
        yield parts[rank].compute(scheduler="synchronous")


def _to_one_kernel(timeline: Timeline) -> float:
    """Go to the first kernel that a search finds; return the seconds until its details are there."""
    started = time.perf_counter()
    timeline.find("kind:kernel")
    found = timeline.root.get_by_role("search").locator("output")
    found.filter(has_text=re.compile(r"^1 of [0-9]")).wait_for(timeout=300_000)
    took = time.perf_counter() - started
    timeline.page.keyboard.press("Escape")
    timeline.page.keyboard.press("f")
    return took


def _interval(page: Page) -> float:
    page.wait_for_timeout(SETTLES_MS)
    page.evaluate(_FOCUS)
    return frame_interval(page)


if __name__ == "__main__":
    main()
