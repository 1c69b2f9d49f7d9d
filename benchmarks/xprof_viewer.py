"""XProf's trace viewer beside a file opened in JupyterLab: two XSpaces, each opened twice, offline.

XProf is installed from PyPI into an environment of its own. TensorBoard's Profile tab is the same program:
``tensorboard-plugin-profile`` contains nothing but its dependency on ``xprof``.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, Playwright, sync_playwright

from benchmarks import traces
from benchmarks.file_view import opened
from benchmarks.table import Row, show
from benchmarks.watching import launched, peak_memory, tab_memory
from tests.browser.jupyter_server import JupyterServer
from tfvis_nb import read_trace

WITHIN_S = 300
SETTLES_MS = 2000

# The picture is in a frame, which XProf loads twice. Its polyfill breaks `querySelector` there.
_DRAWN = """() => {
    const inside = document.querySelector('iframe')?.contentDocument;
    const canvas = inside?.getElementsByClassName('drawing-container-canvas')[1];
    if (!canvas?.width || !canvas.height) return false;
    const pixels = new Uint32Array(
        canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return new Set(pixels).size > 8 && performance.now() / 1000;
}"""
"""Seconds from the navigation to a canvas with more colours than its stripes and its grid have."""


@dataclass(frozen=True)
class Opened:
    """Seconds to the first picture, and megabytes of the tab and, at its peak, of the server."""

    picture: float
    tab: float
    server: float


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        python = _environment(folder / "environment")
        for profile in (traces.small_profile(folder), traces.profile(folder)):
            events = len(read_trace(profile).events)
            with _xprof(python, folder, profile) as (process, address):
                theirs = [_in_xprof(playwright, process, address) for _ in range(2)]
            with tempfile.TemporaryDirectory(dir=folder) as root:
                server = JupyterServer(Path(root))
                try:
                    shutil.copy(profile, server.root / "trace.xplane.pb")
                    ours = [_in_jupyterlab(playwright, server) for _ in range(2)]
                finally:
                    server.close()
            title = f"{events:,} events, {profile.stat().st_size / 1e6:.1f} MB, in XProf {_version(python)}"
            show(title, [row for time in (0, 1) for row in _rows(time, theirs[time], ours[time])])


def _environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "xprof"], check=True, timeout=WITHIN_S)
    return python


def _version(python: Path) -> str:
    ask = "import importlib.metadata; print(importlib.metadata.version('xprof'))"
    return subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _xprof(python: Path, folder: Path, profile: Path) -> Iterator[tuple[int, str]]:
    """Start a server of a log folder with one profile, which it has not seen before."""
    with tempfile.TemporaryDirectory(dir=folder) as logs, (folder / "xprof.log").open("wb") as log:
        run = Path(logs) / "plugins" / "profile" / "run"
        run.mkdir(parents=True)
        shutil.copy(profile, run / "host.xplane.pb")
        port, grpc_port = _free_port(), _free_port()
        ports = [f"--port={port}", f"--grpc_port={grpc_port}"]
        command = [str(python), str(python.parent / "xprof"), "server", f"--logdir={logs}", *ports]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        base = f"http://127.0.0.1:{port}/data/plugin/profile"
        try:
            _wait_until_up(f"{base}/version")
            yield process.pid, f"{base}/trace_viewer@?run=run&tag=trace_viewer@&host=host"
        finally:
            process.terminate()
            process.wait(15)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(address: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _in_xprof(playwright: Playwright, server: int, address: str) -> Opened:
    with _page(playwright) as (page, memory):
        page.goto(address, wait_until="commit")
        picture = page.wait_for_function(_DRAWN, timeout=WITHIN_S * 1000, polling=100).json_value()
        page.wait_for_timeout(SETTLES_MS)
        return Opened(float(picture), memory(), peak_memory(server))


def _in_jupyterlab(playwright: Playwright, server: JupyterServer) -> Opened:
    with _page(playwright) as (page, memory):
        picture = sum(opened(page, server, "trace.xplane.pb"))
        page.wait_for_timeout(SETTLES_MS)
        return Opened(picture, memory(), peak_memory(server.process.pid))


@contextmanager
def _page(playwright: Playwright) -> Iterator[tuple[Page, Callable[[], float]]]:
    """A page of a separate browser, and a function that measures its memory."""
    browser = launched(playwright)
    try:
        page = browser.new_context(viewport={"width": 1200, "height": 600}).new_page()
        yield page, lambda: tab_memory(browser)
    finally:
        browser.close()


def _rows(number: int, theirs: Opened, ours: Opened) -> list[Row]:
    when = ("first time", "second time")[number]
    compared = (
        ("first picture", theirs.picture, ours.picture, "s", 2),
        ("memory of the tab", theirs.tab, ours.tab, "MB", 0),
        ("memory of the server", theirs.server, ours.server, "MB", 0),
    )
    return [
        Row(
            f"{what}, {when}",
            f"{their:,.{digits}f} {unit}",
            f"file in JupyterLab {own:,.{digits}f} {unit}",
            f"{own / their:.2f}",
            "",
            kept=True,
        )
        for what, their, own, unit, digits in compared
    ]


if __name__ == "__main__":
    main()
