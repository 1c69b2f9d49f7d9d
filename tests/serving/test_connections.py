"""Connections: too many of them, such as never ask, such as never read, and none left to have."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.serving.client import TIMEOUT_S, ask, raw
from tfvis_nb.serving import MonitorServer, connections, exchange
from tfvis_nb.serving.exchange import Request, Response
from tfvis_nb.serving.routes import Routes

FEW = 8
ASKED = b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def narrow(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MonitorServer]:
    """A server that has few connections at a time."""
    monkeypatch.setattr(connections, "most_connections", lambda: FEW)
    with MonitorServer(path) as server:
        yield server


@contextmanager
def open_to(server: MonitorServer, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S))
            for _ in range(count)
        ]


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def answered(connection: socket.socket) -> bytes:
    connection.sendall(ASKED)
    received = b""
    while not received.endswith(b"}"):
        received += connection.recv(65536)
    return received


def test_the_number_is_a_part_of_the_files_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in (
        (1024, 200),
        (256, 64),
        (40, 10),
        (8, 4),
        (1 << 20, 200),
        (resource.RLIM_INFINITY, 200),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert connections.most_connections() == most


def test_of_too_many_those_that_have_waited_longest_go(
    narrow: MonitorServer, caplog: pytest.LogCaptureFixture
) -> None:
    with open_to(narrow, FEW) as first:
        for one in reversed(first):
            assert b"401" in answered(one)  # the last has waited longest now
        with open_to(narrow, 3) as late:
            for one in late:
                assert b"401" in answered(one)
            assert [is_open(one) for one in first] == [True] * (FEW - 3) + [False] * 3
        with open_to(narrow, 10 * FEW):
            assert ask(narrow, "/api/state").status == 200
    (line,) = caplog.messages
    assert line.startswith(f"the monitor has {FEW} connections, and no more at a time")


def test_headers_that_come_a_letter_at_a_time_keep_nobody_out(narrow: MonitorServer) -> None:
    with open_to(narrow, 3 * FEW) as slow:
        for letter in b"GET / HTTP/1.1\r\n":
            for one in slow:
                with suppress(OSError):  # it may be closed for another
                    one.send(bytes([letter]))
            assert ask(narrow, "/api/state").status == 200
        assert 0 < sum(map(is_open, slow)) <= FEW


def test_who_is_being_answered_is_not_closed_for_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []
    go_on = threading.Event()

    async def respond(_: Routes, request: Request) -> Response:
        asked.append(request)
        assert await asyncio.to_thread(go_on.wait, TIMEOUT_S)
        return Response(b"{}")

    monkeypatch.setattr(connections, "most_connections", lambda: FEW)
    monkeypatch.setattr(Routes, "respond", respond)
    with MonitorServer(path) as server, open_to(server, FEW) as busy:
        for one in busy:
            one.sendall(ASKED)
        until = time.monotonic() + TIMEOUT_S
        while len(asked) < FEW and time.monotonic() < until:
            time.sleep(0.01)
        assert raw(server, ASKED) == b""
        assert all(is_open(one) for one in busy)
        go_on.set()
        for one in busy:
            one.settimeout(TIMEOUT_S)
            assert one.recv(65536).startswith(b"HTTP/1.1 200 ")
        while not raw(server, ASKED, most=1) and time.monotonic() < until:
            time.sleep(0.01)  # it has answered, and is about to wait again
    assert len(asked) == FEW + 1


def test_who_does_not_take_the_answer_is_not_waited_for(
    server: MonitorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_STALLED_S", 0.3)
    request = f"GET /serve.js HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {server.token}\r\n\r\n"
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(TIMEOUT_S)
        reader.connect(("127.0.0.1", server.port))
        reader.sendall(request.encode() * 200)
        time.sleep(1.5)
        received = 0
        try:
            while piece := reader.recv(1 << 20):
                received += len(piece)
        except ConnectionResetError:
            pass
    assert 0 < received < 200 * len(ask(server, "/serve.js").body)


def test_where_no_file_is_left_it_tries_again_after_a_moment(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0
    accept = socket.socket.accept

    def out_of_files(listening: socket.socket) -> tuple[socket.socket, object]:
        nonlocal tried
        tried += 1
        if tried <= 3:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return accept(listening)

    monkeypatch.setattr(connections, "_PAUSE_S", 0.2)
    monkeypatch.setattr(socket.socket, "accept", out_of_files)
    with MonitorServer(path) as server:
        began = time.monotonic()
        assert ask(server, "/api/state").status == 200
        assert time.monotonic() - began >= 0.5
        assert tried <= 6
    assert caplog.messages == ["the monitor can accept no connection now: Too many open files"]


def test_it_ends_while_it_pauses(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_files(_: socket.socket) -> tuple[socket.socket, object]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    server = MonitorServer(path).start()
    with monkeypatch.context() as patch:
        patch.setattr(socket.socket, "accept", out_of_files)
        with socket.create_connection(("127.0.0.1", server.port)):
            time.sleep(0.2)
            server.stop()
    assert not server.running
    with server:
        assert ask(server, "/api/state").status == 200
