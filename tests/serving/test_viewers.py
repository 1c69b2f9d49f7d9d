"""Viewers with the token that ask too much or take nothing, and the process that has their monitor."""

import asyncio
import contextlib
from pathlib import Path
from typing import cast

import psutil
import pytest
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

import tfvis_nb as tv
from tests.serving.client import Viewer, ask
from tests.serving.conftest import worker_after
from tests.support.conditions import wait_until
from tfvis_nb.serving import MonitorServer, viewers
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import Text


def workers() -> list[psutil.Process]:
    """The processes that have a widget for a server of this process."""
    found = []
    for child in psutil.Process().children():
        # One that has just ended has no command any more.
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [child] if "tfvis_nb.serving.worker" in child.cmdline() else []
    return found


def reason(viewer: Viewer) -> str:
    """Return the last sentence that a viewer gets."""
    sentence = ""
    while (message := viewer.next()) is not None:
        sentence = message.get("sentence", sentence)
    return sentence


def test_all_viewers_share_one_process_that_ends_after_them(
    server: MonitorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewers, "LINGER_S", 0.2)
    assert workers() == []
    with Viewer(server) as one, Viewer(server) as other:
        one.now()
        other.now()
        (worker,) = workers()
    wait_until(lambda: workers() == [])
    with Viewer(server) as again:
        assert again.now()["name"] == "run.tfvis"
        assert workers() != [worker]


def test_a_page_that_is_loaded_again_finds_the_process(server: MonitorServer) -> None:
    assert ask(server, "/").status == 200
    wait_until(lambda: len(workers()) == 1)  # before the page connects
    (worker,) = workers()
    for _ in range(2):
        with Viewer(server) as viewer:
            viewer.now()
    assert workers() == [worker]
    server.stop()
    wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_no_files_are_left_next_to_the_session(path: Path) -> None:
    before = list(path.parent.iterdir())
    writer = Writer(path, keep=None)
    with MonitorServer(path) as server, Viewer(server) as viewer:
        assert viewer.command(do="trace_all")["rule"] == "all"
        writer.close({})
        assert viewer.ask("open", trace=1)["buffers"]
    assert list(path.parent.iterdir()) == before


def test_a_process_that_is_lost_is_replaced(server: MonitorServer) -> None:
    with Viewer(server) as one, Viewer(server) as other:
        one.now()
        (worker,) = workers()
        worker.kill()
        assert [reason(viewer) for viewer in (one, other)] == [Text("monitor_lost")] * 2
    with Viewer(server) as viewer:
        assert viewer.now()["name"] == "run.tfvis"


def test_a_process_that_cannot_begin_says_why(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_after(
        monkeypatch,
        "from tfvis_nb.serving import worker\n"
        "def broken(): raise ZeroDivisionError\n"
        "worker._show_session = broken",
    )
    with MonitorServer(path) as server, Viewer(server) as viewer:
        assert reason(viewer) == Text("failed_here", error="ZeroDivisionError")


def test_who_asks_without_end_is_disconnected(slow_traces: Path, path: Path) -> None:
    with MonitorServer(path) as server, Viewer(server) as viewer, Viewer(server) as other:
        viewer.now()
        request = {"method": "custom", "content": {"kind": "open", "trace": 1, "id": "1"}}
        for _ in range(viewers.MOST_REQUESTS + viewers.AT_ONCE + 1):
            viewer.send(request)
        assert reason(viewer) == Text("too_many_requests")
        assert other.command(do="trace_all")["rule"] == "all"
        slow_traces.touch()
        assert other.ask("open", trace=1)["buffers"]


def test_large_requests_that_wait_are_bounded(slow_traces: Path, path: Path) -> None:
    with MonitorServer(path) as server, Viewer(server) as viewer, Viewer(server) as other:
        viewer.now()
        content = {"kind": "open", "trace": 1, "id": "1", "more": "a" * 4_000_000}
        with pytest.raises((WebSocketClosedError, StreamClosedError)):  # noqa: PT012 - one of them
            for _ in range(20):
                viewer.send({"method": "custom", "content": content})
            while viewer.next() is not None:
                pass
            raise WebSocketClosedError
        assert other.command(do="trace_all")["rule"] == "all"
        slow_traces.touch()


def test_a_viewer_that_takes_no_answers_is_asked_no_more(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each answer is larger than what connections hold.
    asked = tmp_path / "asked"
    worker_after(
        monkeypatch,
        "from tfvis_nb.display.monitor import trace_files\n"
        "def large(session, trace):\n"
        f"    with open({str(asked)!r}, 'a') as file: file.write('x')\n"
        "    return 'large', bytes(20_000_000), b''\n"
        "trace_files.timeline_payload = large",
    )
    monkeypatch.setattr(viewers, "_STALLED_S", 3.0)
    monkeypatch.setattr(viewers, "_LEAST_BYTES_PER_S", 1e12)
    with MonitorServer(path) as server, Viewer(server) as stalled, Viewer(server) as other:
        stalled.now()
        for number in range(10):
            content = {"kind": "open", "trace": 1, "id": str(number)}
            stalled.send({"method": "custom", "content": content})
        wait_until(lambda: asked.exists() and len(asked.read_text()) == viewers.AT_ONCE)
        assert other.command(do="trace_all")["rule"] == "all"
        assert len(other.ask("open", trace=1)["buffers"][0]) == 20_000_000
        assert len(asked.read_text()) == viewers.AT_ONCE + 1
        wait_until(lambda: len(server_viewers(server)) == 1)


def server_viewers(server: MonitorServer) -> list[object]:
    """The connections that the server has."""
    port = server.port
    found = psutil.Process().net_connections("tcp")
    ours = [each for each in found if each.laddr.port == port and each.status == psutil.CONN_ESTABLISHED]
    return list(ours)


def test_a_state_not_sent_yet_is_replaced() -> None:
    class Socket:
        """Takes nothing before it is told to."""

        def __init__(self) -> None:
            self.sent: list[bytes] = []
            self.free = asyncio.Event()
            self.all = asyncio.Event()

        async def write_message(self, frame: bytes, **_: bool) -> None:
            await self.free.wait()
            self.sent.append(frame)
            if frame == b"answer":
                self.all.set()

    async def test() -> None:
        socket = Socket()
        viewer = viewers.Viewer(cast("WebSocketHandler", socket), lambda _: True)
        viewer.take(b"first", is_change=True)
        await asyncio.sleep(0)
        for number in range(1000):
            viewer.take(b"state %d" % number, is_change=True)
        viewer.take(b"answer")
        viewer.take(b"last", is_change=True)
        socket.free.set()
        await asyncio.wait_for(socket.all.wait(), 60)
        assert socket.sent == [b"first", b"last", b"answer"]

    asyncio.run(test())


def test_the_monitor_of_a_job_says_why_its_recording_ended(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Recording(tv.SavedSession):
        """The session of a job, whose recording ends later."""

        problem = ""

    session = Recording(path)
    monkeypatch.setattr(viewers, "_LOOK_MS", 50)
    with MonitorServer(session) as server, Viewer(server) as viewer:
        assert viewer.now()["problem"] == ""
        session.problem = "the disk is full"
        while viewer.state["problem"] == "":
            assert viewer.next() is not None
        assert viewer.state["problem"] == "the disk is full"
