"""A real Jupyter server: who may connect, messages to a view, and the end of its process."""

import asyncio
import os
import shutil
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from tests.file_view.server import TOKEN, Server, View, ends, started
from tests.real_traces import DATA
from tests.serving.conftest import write_session
from tests.test_files_of_users import contents, crowd

MLP = "local_mlp_step1.pb"


@pytest.fixture(autouse=True)
def _no_views_left(server: Server) -> None:
    assert asyncio.run(ends(server.workers()))


def put(server: Server, name: str, content: bytes | None = None) -> str:
    if content is None:
        shutil.copy(DATA / name, server.root / name)
    else:
        (server.root / name).write_bytes(content)
    return name


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        (None, {}),
        ("another-token", {}),
        (None, {"Cookie": "username-127-0-0-1=forged"}),
        (None, {"Origin": "http://evil.example"}),
    ],
)
def test_strangers_are_refused(server: Server, token: str | None, headers: dict[str, str]) -> None:
    async def test() -> None:
        with pytest.raises(HTTPClientError) as refused:
            await View.connect(server, token=token, headers=headers)
        assert refused.value.code == 403
        assert server.workers() == []

    run(test())


def test_pages_of_other_sites_are_rejected_despite_cookies(server: Server) -> None:
    async def test() -> None:
        cookie = await _cookie(server)
        own = {"Cookie": cookie, "Origin": f"http://{server.address}"}
        with await View.connect(server, token=None, headers=own):
            pass
        for origin in ("http://evil.example", "null", f"http://{server.address}.evil.example"):
            with pytest.raises(HTTPClientError) as refused:
                await View.connect(server, token=None, headers={"Cookie": cookie, "Origin": origin})
            assert refused.value.code == 403

    run(test())


async def _cookie(server: Server) -> str:
    """Log in as a browser does, by the printed address; return the cookie."""
    from tornado.httpclient import AsyncHTTPClient

    answer = await AsyncHTTPClient().fetch(
        f"http://{server.address}/login?next=%2F&token={TOKEN}", follow_redirects=False, raise_error=False
    )
    cookies = [given.split(";")[0] for given in answer.headers.get_list("Set-Cookie")]
    assert cookies
    return "; ".join(cookies)


def test_a_timeline_with_details_export_and_selection(server: Server) -> None:
    async def test() -> None:
        view, first = await View.open(server, put(server, MLP))
        with view:
            assert (first["method"], first["view"]) == ("open", "timeline")
            parts = {
                path[0]: part for path, part in zip(first["buffer_paths"], first["buffers"], strict=True)
            }
            assert parts["_drawn"].startswith(b"\x1f\x8b")
            assert not {"_esm", "layout"} & set(first["state"])
            await view.send({"method": "custom", "content": {"kind": "details"}})
            update = await view.next()
            assert update is not None
            assert update["buffer_paths"] == [["_details"]]
            state = {"_selection": {"events": [0]}}
            await view.send({"method": "update", "state": state, "buffer_paths": []})
            table = await view.ask({"kind": "export", "format": "csv"})
            assert table["name"].endswith(".csv")
            assert len(table["buffers"][0].splitlines()) == 2
            # A message that the widget rejects ends nothing.
            await view.send({"method": "update", "state": {"_selection": 7}, "buffer_paths": []})
            page = await view.ask({"kind": "export", "format": "html"})
            assert b"tfvis-drawn" in page["buffers"][0]

    run(test())


def test_a_session_opens_the_monitor_whose_traces_open(server: Server) -> None:
    write_session(server.root / "run.tfvis")

    async def test() -> None:
        view, first = await View.open(server, "run.tfvis")
        with view:
            assert first["view"] == "monitor"
            assert '"name": "run.tfvis"' in first["state"]["_state"]
            opened = await view.ask({"kind": "open", "trace": 1})
            assert opened["buffers"][0].startswith(b"\x1f\x8b")

    run(test())


def test_views_and_exports_change_no_files(server: Server) -> None:
    folder = server.root / "of a user"
    crowd(folder, MLP)
    shutil.copy(DATA / MLP, folder)
    before = contents(folder)

    async def test() -> None:
        for name in (MLP, "mine.txt"):
            view, _ = await View.open(server, f"of a user/{name}")
            with view:
                if name == MLP:
                    for form in ("csv", "html"):
                        assert (await view.ask({"kind": "export", "format": form}))["buffers"]
        assert await ends(server.workers())

    run(test())
    assert contents(folder) == before
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("text.xplane.pb", b"<script>alert(1)</script>" * 9, "text.xplane.pb"),
        ("no.tfvis.parquet", b"PAR1" + bytes(50) + b"PAR1", "no.tfvis.parquet"),
        # A pattern or URL is a name here.
        ("*.pb", b"nothing of a trace", "*.pb"),
    ],
)
def test_errors_explain_files_that_are_no_trace(server: Server, name: str, content: bytes, says: str) -> None:
    async def test() -> None:
        view, first = await View.open(server, put(server, name, content))
        with view:
            assert first["method"] == "refused"
            assert says in first["sentence"]
            assert str(server.root) not in first["sentence"]
            assert await view.next() is None

    run(test())


@pytest.mark.parametrize("path", ["../server.log", "/etc/passwd", "out.pb", ".hidden.pb", "", 7, None, ["a"]])
def test_files_elsewhere_are_refused(server: Server, path: object) -> None:
    put(server, ".hidden.pb", (DATA / MLP).read_bytes())
    if not (server.root / "out.pb").is_symlink():
        (server.root / "out.pb").symlink_to(DATA / MLP)

    async def test() -> None:
        view, first = await View.open(server, path)
        with view:
            assert first["method"] == "refused"
            assert "there is no file" in first["sentence"]
            assert server.workers() == []

    run(test())


@pytest.mark.parametrize("message", ["no JSON", "[1]", '"path"', "9" * 2_000_000, "[" * 100_000])
def test_malformed_messages_end_the_connection(server: Server, message: str) -> None:
    async def test() -> None:
        view = await View.connect(server)
        await view._socket.write_message(message)
        assert await view.next() is None

    run(test())


def test_the_process_ends_with_the_view_even_while_it_reads(server: Server) -> None:
    async def test() -> None:
        view, _ = await View.open(server, put(server, MLP))
        busy = await View.connect(server)
        await busy.send({"path": MLP})
        workers = await started(server, 2)
        view.close()
        busy.close()
        assert await ends(workers)

    run(test())


def test_a_process_that_is_gone_is_reported(server: Server) -> None:
    async def test() -> None:
        view, _ = await View.open(server, put(server, MLP))
        (worker,) = server.workers()
        worker.kill()
        first = await view.next()
        assert first is not None
        assert first["method"] == "refused"
        assert "ended unexpectedly" in first["sentence"]

    run(test())


def test_limits_and_the_end_of_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path, "--TraceFiles.most_views=1", "--TraceFiles.most_seconds=1")

    async def test() -> None:
        stuck = await View.connect(server)
        await stuck.send({"path": put(server, MLP)})
        workers = await started(server, 1)
        workers[0].send_signal(signal.SIGSTOP)
        second, first = await View.open(server, MLP)
        assert "TraceFiles.most_views" in first["sentence"]
        second.close()
        refused = await stuck.next()
        assert refused is not None
        assert "TraceFiles.most_seconds" in refused["sentence"]
        assert await ends(workers)

        last = await View.connect(server)
        await last.send({"path": MLP})
        workers = await started(server, 1)
        os.kill(server.process.pid, signal.SIGKILL)
        assert await ends(workers)

    try:
        run(test())
    finally:
        server.close()


def test_who_may_only_read_commands_no_job_and_limited_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "readers.py"
    rules.write_text(
        "from jupyter_server.auth import Authorizer\n"
        "class Readers(Authorizer):\n"
        "    def is_authorized(self, handler, user, action, resource):\n"
        "        return action == 'read'\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    options = ("--ServerApp.authorizer_class=readers.Readers", "--TraceFiles.most_bytes=600000000")
    server = Server(tmp_path, *options)
    write_session(server.root / "run.tfvis")
    with (server.root / "large.pb").open("wb") as file:
        file.truncate(1_000_000_000)

    async def test() -> None:
        view, first = await View.open(server, "run.tfvis")
        with view:
            assert first["view"] == "monitor"
            refused = await view.ask({"kind": "command", "command": {"do": "delete", "traces": [1]}})
            assert "not change them" in refused["error"]
            notes: dict[str, list[str]] = {"annotations": [], "views": []}
            refused = await view.ask({"kind": "annotate", "trace": 1, **notes})
            assert "not change them" in refused["error"]
            opened = await view.ask({"kind": "open", "trace": 1})
            assert opened["buffers"], opened
        view, first = await View.open(server, "large.pb")
        with view:
            assert "TraceFiles.most_bytes" in first["sentence"]

    try:
        run(test())
    finally:
        server.close()
