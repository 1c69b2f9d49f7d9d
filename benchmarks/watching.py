"""Measure how any page feels in chromium: intervals between frames while keys are held, and memory."""

from __future__ import annotations

import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Page, Playwright

HELD = ("w", "d", "a", "s")
"""Zoom in, right, left, zoom out: the same keys in all viewers."""
HOLD_MS = 1500

_WATCH = """() => {
    const intervals = [];
    let last = null;
    let on = true;
    const tick = (now) => {
        if (last !== null) intervals.push(now - last);
        last = now;
        if (on) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    window.__stopWatching = () => { on = false; return intervals; };
}"""


@dataclass(frozen=True)
class Felt:
    """Measurements of one page.

    Attributes
    ----------
    picture
        Seconds to the first picture.
    interval
        95th percentile of the milliseconds between frames while keys are held.
    memory
        Megabytes of the page's process.
    """

    picture: float
    interval: float
    memory: float


def launched(playwright: Playwright) -> Browser:
    """A separate chromium without a GPU, so that memory of earlier pages does not count."""
    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("these benchmarks drive a chromium on the PATH")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    return playwright.chromium.launch(executable_path=path, args=arguments)


def frame_interval(page: Page) -> float:
    """Hold each of `HELD` and return the 95th percentile of the milliseconds between frames."""
    page.evaluate(_WATCH)
    for key in HELD:
        page.keyboard.down(key)
        page.wait_for_timeout(HOLD_MS)
        page.keyboard.up(key)
    intervals = page.evaluate("() => window.__stopWatching()")
    if len(intervals) < 2:
        return float("inf")
    return float(statistics.quantiles(intervals, n=20)[-1])


def tab_memory(browser: Browser) -> float:
    """Return the megabytes of the browser's largest page process."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = [_resident(process["id"]) for process in processes if process["type"] == "renderer"]
    return max(sizes)


def peak_memory(pid: int) -> float:
    """Return the megabytes of a process and of those that it started, each at its own peak."""
    family = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return sum(_resident(each, "VmHWM:") for each in family)


def _resident(pid: int, which: str = "VmRSS:") -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(which):
            return int(line.split()[1]) / 1000
    return 0.0
