"""The exported page in chromium without a GPU: its size, its first picture, and its frames while zooming."""

from __future__ import annotations

import re
import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks import traces
from benchmarks.table import Row, bounded, show
from tfvis_nb import Trace, read_trace

INSTRUMENT = Path(__file__).with_name("frames.js").read_text(encoding="utf-8")
NAVIGATIONS = 5
PICTURE_WITHIN = {20_000: 0.7, 200_000: 0.7, 2_000_000: 1.5}
"""Seconds to the first picture, for traces up to a number of events."""
INTERVAL = 20.0
WORK = 9.0
"""Milliseconds between frames (95th percentile), and of the page's own work per frame (median)."""
DRAWN = 6.0
ALL = 30.0
"""Bytes per event: for drawing, and including the details."""
CODE = 150_000
"""Bytes of the page without events."""

# Small steps, like on a trackpad: each frame has another scale, from the whole run to a 256th of it.
ZOOM_IN = [{"deltaY": -0.6, "ctrlKey": True}] * 120
ZOOM_OUT = [{"deltaY": 0.6, "ctrlKey": True}] * 120
TO_A_QUARTER = [{"deltaY": -0.6, "ctrlKey": True}] * 30
PAN = [{"deltaX": 20, "deltaY": 0}] * 60 + [{"deltaX": -20, "deltaY": 0}] * 60
GESTURES: dict[str, list[dict[str, Any]]] = {
    "zoom in": ZOOM_IN,
    "zoom out": ZOOM_OUT,
    "": TO_A_QUARTER,
    "pan": PAN,
}
"""The one without a name is not measured: it moves the view to the start of the next one."""


@dataclass
class Frames:
    """What one gesture took, in milliseconds."""

    interval: float
    work: float


def main() -> None:
    """Measure and print."""
    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("these benchmarks drive a chromium on the PATH")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        large = read_trace(traces.large(folder))
        sizes: list[Row] = []
        pictures: list[Row] = []
        frames: list[Row] = []
        medium = read_trace(traces.medium(folder))
        huge = traces.repeated(large, -(-1_000_000 // len(large.events)))
        for trace in (medium, large, huge):
            page = folder / "page.html"
            trace.to_html(page)
            # Repeated data compresses better than any real trace of that length.
            if trace is not huge:
                sizes += _sizes(page.read_text(encoding="utf-8"), trace)
            # A separate browser, so that memory of earlier pages does not count.
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            pictures.append(_picture(browser, page, trace))
            frames += _frames(browser, page, trace)
            browser.close()
    show("Exported page: size", sizes)
    show(f"Exported page: first picture after navigation (median of {NAVIGATIONS})", pictures)
    show("Exported page: frames, 1200 x 600, no GPU", frames)


def _sizes(text: str, trace: Trace) -> list[Row]:
    events = len(trace.events)
    drawn, details = (_payload(text, part) for part in ("drawn", "details"))
    code = _payload(text, "code")
    besides = len(text.encode()) - drawn - details
    what = f"{events:,} events"
    return [
        bounded(f"{what}: drawn", drawn / events, "B/event", DRAWN),
        bounded(f"{what}: with details", (drawn + details) / events, "B/event", ALL),
        bounded(f"{what}: the page's code", code, "B", CODE),
        Row(f"{what}: all but the events, with the still picture", f"{besides:,} B", "", "", "", kept=True),
    ]


def _payload(text: str, part: str) -> int:
    found = re.search(rf'id="tfvis-{part}"[^>]*>([^<]*)<', text)
    if found is None:
        raise SystemExit(f"the page has no part {part!r}")
    return len(found[1])


def _open(browser: Browser, path: Path) -> Page:
    page = browser.new_context(viewport={"width": 1200, "height": 600}).new_page()
    page.add_init_script(INSTRUMENT)
    page.goto(path.as_uri())
    page.wait_for_function("() => window.__bench.picture !== null", timeout=120_000)
    return page


def _picture(browser: Browser, path: Path, trace: Trace) -> Row:
    taken = []
    for _ in range(NAVIGATIONS):
        page = _open(browser, path)
        taken.append(page.evaluate("() => window.__bench.picture") / 1000)
        page.context.close()
    middle = statistics.median(taken)
    events = len(trace.events)
    bound = next(within for most, within in PICTURE_WITHIN.items() if events <= most)
    return bounded(f"{events:,} events", middle, "s", bound)


def _frames(browser: Browser, path: Path, trace: Trace) -> list[Row]:
    page = _open(browser, path)
    # The details are read after the picture; a gesture at that time would measure both.
    page.wait_for_timeout(3000)
    rows = []
    for gesture, steps in GESTURES.items():
        measured = _drive(page, steps)
        if not gesture:
            continue
        what = f"{len(trace.events):,} events: {gesture}"
        rows += [
            bounded(f"{what}, between frames, p95", measured.interval, "ms", INTERVAL),
            bounded(f"{what}, own work, median", measured.work, "ms", WORK),
        ]
    page.context.close()
    return rows


def _drive(page: Page, steps: list[dict[str, Any]]) -> Frames:
    got = page.evaluate("(steps) => window.__bench.drive(steps)", steps)
    if got["still"] > len(steps) // 10:
        raise SystemExit(
            f"the view stood still in {got['still']} of {len(steps)} frames: nothing was measured"
        )
    return Frames(
        interval=statistics.quantiles(got["intervals"], n=20)[-1], work=statistics.median(got["work"])
    )


if __name__ == "__main__":
    main()
