"""Timelines of up to 10,000,000 events: in a live JupyterLab, as a page, and in other viewers, in one run."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from benchmarks import traces
from benchmarks.live import DRAWN, TIMELINE, jupyter, opened, seen_after
from benchmarks.peers import PEERS, Peers
from benchmarks.table import Row, bounded, show
from benchmarks.watching import Felt, frame_interval, launched, tab_memory
from tfvis_nb import Trace, read_trace
from tfvis_nb.display.pages.page import PageTooLargeError

SIZES = (100_000, 0, 1_000_000, 5_000_000, 10_000_000)
PICTURE_WITHIN = {200_000: 0.7, 2_000_000: 1.5}
"""Seconds to the first picture, for traces up to a number of events; there is no bound beyond."""
ALIKE = 1.1
"""Frames are at best as frequent as screen refreshes, and the notebook's tab also contains JupyterLab."""
INTERVAL = 20.0
"""Milliseconds between frames (95th percentile)."""
SETTLES_MS = 3000

_WHOLE = "() => document.querySelector('.tfvis-nb').tfvis.store.notice === null"
_FOCUS = "() => document.querySelector('.tfvis-nb').shadowRoot.querySelector('[data-part=lanes]').focus()"
_SEEN = """() => new Promise((done) => {
    const look = () => document.getElementById('tfvis-root')?.shadowRoot?.querySelector('[data-drawn]')
        ? requestAnimationFrame(() => done(performance.now() / 1000))
        : requestAnimationFrame(look);
    look();
})"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    about = "events, about; 0 is a recorded profile"
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help=about)
    parser.add_argument("--no-peers", action="store_true", help="leave out the other viewers")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        peers = None if arguments.no_peers else Peers(folder)
        for path, times in _traces(folder, arguments.sizes):
            trace = traces.repeated(read_trace(path), times)
            what = f"{len(trace.events):,} events"
            live = _live(playwright, folder, path, times)
            rows += _rows(f"{what}: notebook", len(trace.events), live)
            page = _page(playwright, folder, trace)
            rows += _rows(f"{what}: page", len(trace.events), page)
            if peers is not None:
                peers.show([trace.events])
                for peer in PEERS:
                    rows += _against(f"{what}: {peer}", live, peers.felt(playwright, peer))
            show(what, rows)
            rows = []


def _traces(folder: Path, sizes: Sequence[int]) -> Iterator[tuple[Path, int]]:
    """Yield files, and how often each is repeated in time."""
    large = traces.large(folder)
    count = len(read_trace(large).events)
    for size in sizes:
        yield (large, -(-size // count)) if size else (traces.profile(folder), 1)


def _live(playwright: Playwright, folder: Path, path: Path, times: int) -> Felt:
    with jupyter(folder) as server, opened(playwright, server, path, times, TIMELINE) as (browser, page):
        (picture,) = seen_after(page, DRAWN)
        page.wait_for_function(_WHOLE, timeout=120_000)
        page.wait_for_timeout(SETTLES_MS)
        page.evaluate(_FOCUS)
        interval = frame_interval(page)
        return Felt(picture, interval, tab_memory(browser))


def _page(playwright: Playwright, folder: Path, trace: Trace) -> Felt | str:
    path = folder / "page.html"
    try:
        trace.to_html(path)
    except PageTooLargeError as error:
        return str(error).partition(";")[0]
    browser = launched(playwright)
    page = browser.new_context(viewport={"width": 1200, "height": 600}).new_page()
    page.goto(path.as_uri(), wait_until="commit")
    picture = float(page.evaluate(_SEEN))
    page.wait_for_timeout(SETTLES_MS)
    page.mouse.click(700, 500)
    page.keyboard.press("0")
    felt = Felt(picture, frame_interval(page), tab_memory(browser))
    browser.close()
    return felt


def _rows(what: str, events: int, felt: Felt | str) -> list[Row]:
    if isinstance(felt, str):
        return [Row(what, felt, "", "", "", kept=True)]
    within = next((seconds for most, seconds in PICTURE_WITHIN.items() if events <= most), None)
    picture = f"{what}, first picture"
    return [
        bounded(picture, felt.picture, "s", within)
        if within
        else Row(picture, f"{felt.picture:.2f} s", "", "", "", kept=True),
        bounded(f"{what}, between frames, p95", felt.interval, "ms", INTERVAL),
        Row(f"{what}, memory of the tab", f"{felt.memory:,.0f} MB", "", "", "", kept=True),
    ]


def _against(what: str, own: Felt, peer: Felt | str) -> list[Row]:
    """Return the time of the peer, and the notebook's time as a fraction of that."""
    if isinstance(peer, str):
        return [Row(what, peer, "", "", "", kept=True)]
    compared = (
        ("first picture", own.picture, peer.picture, "s"),
        ("between frames, p95", own.interval, peer.interval, "ms"),
        ("memory of the tab", own.memory, peer.memory, "MB"),
    )
    return [
        Row(
            f"{what}, {name}",
            f"{theirs:,.2f} {unit}",
            f"notebook: {ours:,.2f} {unit}",
            f"{ours / theirs:.2f} of it",
            f"<= {ALIKE}",
            ours <= ALIKE * theirs,
        )
        for name, ours, theirs, unit in compared
    ]


if __name__ == "__main__":
    main()
