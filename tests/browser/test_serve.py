"""The page of ``tfvis-nb serve``: a job in another process, its traces, and what other pages cannot do."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

import tfvis_nb as tv
from tests.browser.timeline import Timeline
from tests.browser.watched import Watched
from tests.hostile_names import HOSTILE
from tests.serving.conftest import METADATA, write_session
from tests.support.with_tensorflow import Started
from tfvis_nb.serving import MonitorServer
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state

ROOT = Path(__file__).parents[2]
SECONDS = 60_000
"""How long a job takes at most to import TensorFlow and begin."""

A_RUN = re.compile(r"^Run \d")

OPENED_RUN = re.compile("^Opened trace")

Open = Callable[[str], Page]


@pytest.fixture
def opened(context: BrowserContext) -> Iterator[Open]:
    """Opens an address that the command printed."""
    watched: list[Watched] = []

    def open_url(url: str) -> Page:
        page = context.new_page()
        watched.append(Watched(page, own=url.partition("?")[0]))
        page.goto(url)
        return page

    yield open_url
    for each in watched:
        each.check()


@contextmanager
def running(*words: str | Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with subprocess.Popen(
        [sys.executable, "-m", *map(str, words)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def table(page: Page, name: str) -> Locator:
    return page.get_by_role("table", name=name)


@pytest.mark.thorough
@pytest.mark.tensorflow
def test_a_job_in_another_process(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    with running("tfvis_nb", "serve", path, "--no-browser") as server:
        assert server.stdout is not None
        page = opened(server.stdout.readline().strip())
        assert "token" not in page.url
        expect(page).to_have_title("run.tfvis - tfvis-nb")
        expect(page.get_by_text("there is no file run.tfvis yet").first).to_be_visible()
        with Started("-m", "tests.recording.monitored_job", path, "session"):
            row = table(page, "Signatures").get_by_role("row").filter(has_text="GradientDescent").first
            expect(row).to_be_visible(timeout=SECONDS)
            row.get_by_role("button", name="Trace next run of").click()
            trace = table(page, "Traces").get_by_role("button", name=A_RUN).first
            expect(trace).to_be_visible(timeout=SECONDS)
            page.reload()
            trace.click()
            timeline = Timeline(page.locator(".stage")).wait()
            timeline.find("MatMul")
            expect(timeline.title).to_contain_text("MatMul")
            read = tv.open_session(path).read(1)
            for entry, suffix in (("Chrome trace", "json"), ("Table", "parquet"), ("RunMetadata .pb", "pb")):
                page.get_by_role("button", name="Download run").first.click()
                with page.expect_download() as download:
                    page.get_by_role("menuitem", name=entry).click()
                saved = tmp_path / download.value.suggested_filename
                assert saved.suffix == f".{suffix}"
                download.value.save_as(saved)
                assert tv.read_trace(saved).events["name"].tolist() == read.events["name"].tolist()
            page.get_by_role("button", name="Delete run").first.click()
            page.get_by_role("group", name="Delete run").get_by_role("button").first.click()
            expect(table(page, "Traces")).to_have_count(0)
            assert len(tv.open_session(path).traces) == 0


def test_names_are_text(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    writer = Writer(path, keep=None)
    for place, name in enumerate(HOSTILE):
        number, _ = writer.add_signature(Signature("session", name, name, name, name, name))
        writer.add_trace(number, Recording("run_metadata", METADATA, place + 1, 10**18, 5, note=name), None)
    writer.close({})
    with MonitorServer(path) as server:
        page = opened(server.url)
        expect(table(page, "Traces").get_by_role("row")).to_have_count(len(HOSTILE) + 1)
        table(page, "Traces").get_by_role("button", name=A_RUN).first.click()
        Timeline(page.locator(".stage")).wait()
        page.close()


def test_each_trace_has_an_address(opened: Open, context: BrowserContext, tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    write_session(path, traces=2)
    with MonitorServer(path) as server:
        page = opened(server.url)
        with page.context.expect_page() as made:
            page.get_by_role("link", name="Open run 1 of train in a new tab").click()
        assert page.url == server.address
        tab = made.value
        assert tab.url == f"{server.address}#trace=1"
        Timeline(tab.locator(".stage")).wait()
        expect(tab.get_by_role("region", name=OPENED_RUN)).to_have_count(1)
        # The address follows what is open, and is enough for it.
        table(tab, "Traces").get_by_role("button", name="Run 2 of train", exact=True).click()
        expect(tab.get_by_role("region", name=OPENED_RUN)).to_have_count(2)
        assert tab.url == f"{server.address}#trace=2,1"
        tab.reload()
        expect(tab.get_by_role("region", name=OPENED_RUN)).to_have_count(2)
        for left in (1, 0):
            tab.get_by_role("button", name=re.compile("^Close the timeline")).first.click()
            expect(tab.get_by_role("region", name=OPENED_RUN)).to_have_count(left)
        assert tab.url == server.address
        tab.goto(f"{server.address}#trace=2")
        expect(tab.get_by_role("region", name=OPENED_RUN)).to_have_count(1)
        tab.close()
        # The printed address can name a trace, too; without the token no address shows any.
        with_token = opened(f"{server.url}#trace=2")
        expect(with_token.get_by_role("region", name=OPENED_RUN)).to_have_count(1)
        assert with_token.url == f"{server.address}#trace=2"
        with_token.close()
        page.context.clear_cookies()
        page.close()
        answer = context.new_page().goto(f"{server.address}#trace=2")
    assert answer is not None
    assert answer.status == 401


@pytest.mark.parametrize(
    "end", ["#trace=7", "#trace=<img src=x onerror=alert(1)>", "#trace=1e9,-1", "#trace="]
)
def test_addresses_of_no_trace_open_none(opened: Open, tmp_path: Path, end: str) -> None:
    path = tmp_path / "run.tfvis"
    write_session(path)
    with MonitorServer(path) as server:
        page = opened(server.url + end)
        expect(table(page, "Traces").get_by_role("button", name="Run 1 of train", exact=True)).to_be_visible()
        missing = page.get_by_text("Not among the traces below: trace 7")
        expect(missing).to_have_count(1 if end == "#trace=7" else 0)
        assert page.get_by_role("region", name=OPENED_RUN).count() == 0
        page.close()


class Stranger(ThreadingHTTPServer):
    """Another site, of one page."""

    def __init__(self, folder: Path, body: str) -> None:
        (folder / "index.html").write_text(f"<!doctype html><title>stranger</title>{body}", encoding="utf-8")

        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        super().__init__(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


TRIES = """async (server) => {
    const connect = (protocols) => new Promise((opened, refused) => {
        const socket = new WebSocket(server.replace("http", "ws") + "api/socket", protocols);
        socket.onopen = () => opened("open");
        socket.onerror = refused;
    });
    const tries = {
        read: () => fetch(server + "api/save", { credentials: "include" }).then((answer) => answer.text()),
        blind: () => fetch(server + "api/save", { credentials: "include", mode: "no-cors" })
            .then((answer) => answer.text()),
        socket: () => connect([]),
        named: () => connect(["tfvis-nb"]),
        guessed: () => connect(["tfvis-nb", "none"]),
        script: () => new Promise((ran, refused) => document.head.append(Object.assign(
            document.createElement("script"), { src: server + "serve.js", onload: ran, onerror: refused }))),
        image: () => new Promise((ran, refused) => Object.assign(
            new Image(), { src: server + "api/save", onload: ran, onerror: refused })),
    };
    const came = [];
    for (const [name, attempt] of Object.entries(tries)) {
        const got = await attempt().then((text) => text, () => "");
        if (got) came.push(name);
    }
    const frame = document.createElement("iframe");
    frame.src = server;
    const loaded = new Promise((done) => (frame.onload = done));
    document.body.append(frame);
    await loaded;
    return came;
}"""


def test_a_page_of_another_site_gets_nothing(context: BrowserContext, tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    write_session(path)
    # The same site to the browser, which sends the cookie along: only the origin tells.
    stranger = Stranger(tmp_path, "<p>here")
    with MonitorServer(path) as server:
        own = context.new_page()
        own.goto(server.url)
        expect(table(own, "Signatures")).to_be_visible()
        for host in ("127.0.0.1", "localhost"):
            page = context.new_page()
            page.goto(f"http://{host}:{stranger.server_port}/")
            assert page.evaluate(TRIES, server.address) == []
            framed = [frame for frame in page.frames if frame is not page.main_frame]
            assert [frame.locator("#tfvis-root").count() for frame in framed] == [0]
        with tv.open_session(path) as session:
            assert session_state(session)["rule"] == ""
    stranger.close()


@pytest.mark.thorough
def test_a_link_elsewhere_leads_there(context: BrowserContext, tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    write_session(path)
    with MonitorServer(path) as server:
        # As in a terminal that is a page itself, or in the file that starts the browser.
        stranger = Stranger(tmp_path, f'<a href="{server.url}">the monitor</a>')
        for address in (f"http://localhost:{stranger.server_port}/", (tmp_path / "index.html").as_uri()):
            page = context.new_page()
            page.goto(address)
            page.get_by_role("link").click()
            expect(table(page, "Signatures")).to_be_visible()
            assert page.url == server.address
            context.clear_cookies()
        stranger.close()
