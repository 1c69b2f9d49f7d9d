"""Connections: too many, silent ones, ones that never read, and no files left."""

import errno
import http.client
import json
import os
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tornado.http1connection import HTTP1Connection
from tornado.simple_httpclient import HTTPStreamClosedError

from tests.serving.client import TIMEOUT_S, Viewer, ask, command
from tests.serving.hostile import BEHAVIOURS, beset, silent, unread_answers
from tests.support.conditions import wait_until
from tests.support.examples import sample
from tfvis_nb.serving import MonitorServer, connections, handlers
from tfvis_nb.texts import Text

FEW = 8
BOUND_S = 10.0
"""On a quiet machine all of it takes less than one; those who hold a connection do so for at least 30."""


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


def names(monkeypatch: pytest.MonkeyPatch, *numbers: str) -> None:
    """Let every name of a host stand for these addresses."""

    def look_up(_: str, port: int, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port)) for number in numbers]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_all_addresses_of_this_machine_have_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, "127.0.0.2", "127.0.0.3", "192.0.2.1", "127.0.0.2")
    with ExitStack() as stack:
        places = [stack.enter_context(one).getsockname() for one in connections.listening_sockets("name", 0)]
    assert [host for host, _ in places] == ["127.0.0.2", "127.0.0.3"]
    assert len({port for _, port in places}) == 1


def test_where_one_address_is_taken_no_other_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.3", 0)) as taken:
        _, port = taken.getsockname()
        names(monkeypatch, "127.0.0.2", "127.0.0.3")
        with pytest.raises(OSError, match=os.strerror(errno.EADDRINUSE)) as held:
            connections.listening_sockets("name", port)
        assert held.value.errno == errno.EADDRINUSE
        socket.create_server(("127.0.0.2", port)).close()


def test_an_address_of_another_machine_cannot_be_listened_at() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EADDRNOTAVAIL)):
        connections.listening_sockets("192.0.2.1", 0)


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def request(server: MonitorServer, path: str = "/serve.js") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {server.token}\r\n\r\n".encode()


def answered(connection: socket.socket, server: MonitorServer) -> int:
    """Return the status of an answer to a request with the token."""
    connection.settimeout(TIMEOUT_S)
    connection.sendall(request(server))
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


def test_the_number_is_a_part_of_the_files_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in (
        (1024, 96),
        (256, 64),
        (40, 10),
        (8, 4),
        (1 << 20, 96),
        (resource.RLIM_INFINITY, 96),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert connections.most_connections() == most


def test_of_too_many_the_oldest_without_the_token_go(
    narrow: MonitorServer, caplog: pytest.LogCaptureFixture
) -> None:
    with open_to(narrow, 2) as trusted:
        for one in trusted:
            assert answered(one, narrow) == 200
        with open_to(narrow, 3 * FEW) as strangers:
            assert ask(narrow, "/api/save").status == 200
            assert not any(is_open(one) for one in strangers[: 2 * FEW])
            assert sum(map(is_open, strangers)) in (FEW - 3, FEW - 2)  # the asker's may be there still
            for one in trusted:
                assert answered(one, narrow) == 200
    assert caplog.messages == [Text("too_many_connections", most=FEW)]


def test_where_all_have_the_token_the_new_one_goes(narrow: MonitorServer) -> None:
    with open_to(narrow, FEW) as trusted:
        for one in trusted:
            assert answered(one, narrow) == 200
        with open_to(narrow, 1) as (late,):
            assert late.recv(1) == b""
        assert all(is_open(one) for one in trusted)


def test_viewers_stay_whoever_comes(narrow: MonitorServer) -> None:
    with Viewer(narrow) as viewer, open_to(narrow, 3 * FEW):
        assert viewer.now()["rule"] == ""
        with Viewer(narrow) as other:
            assert other.now()["rule"] == ""


def test_there_are_only_so_many_viewers(narrow: MonitorServer) -> None:
    with ExitStack() as stack:
        viewers = [stack.enter_context(Viewer(narrow)) for _ in range(FEW)]
        for _ in range(2):
            with pytest.raises((HTTPStreamClosedError, OSError)):
                Viewer(narrow)
        assert [viewer.now()["name"] for viewer in viewers] == ["run.tfvis"] * FEW
        viewers[0].close()
        wait_until(lambda: ask_or_none(narrow) == 200)


def ask_or_none(server: MonitorServer) -> int | None:
    try:
        return ask(server, "/api/save").status
    except (http.client.HTTPException, OSError):
        return None


@pytest.mark.parametrize("behaviour", sample(BEHAVIOURS, ["silent", "unread_answers"]))
def test_the_owner_is_served_whatever_strangers_do(behaviour: str, tmp_path: Path) -> None:
    # In a process of its own: when TensorFlow 2.21 destroys a tf.data iterator, as of a test before, it may
    # wait a minute for its autotuning thread to wake up, wherever Python collects the iterator.
    command = [sys.executable, "-m", "tests.serving.owner", str(tmp_path / "run.tfvis"), behaviour]
    waits: list[float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert len(waits) == 9
    assert max(waits) < BOUND_S


def test_many_at_a_time_with_few_files_keep_nobody_out(narrow: MonitorServer) -> None:
    with beset(narrow.port, 205, silent):
        for _ in range(5):
            assert ask(narrow, "/api/save").status == 200


def test_the_end_does_not_wait_for_a_lock_on_the_file(path: Path) -> None:
    server = MonitorServer(path).start()
    with Viewer(server) as viewer, closing(sqlite3.connect(path, isolation_level=None)) as other:
        viewer.now()
        other.execute("BEGIN IMMEDIATE")
        content = {"kind": "command", "id": "1", "command": {"do": "trace_all"}}
        viewer.send({"method": "custom", "content": content})
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < BOUND_S


def test_who_does_not_take_the_answer_is_not_waited_for(
    server: MonitorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = threading.Event()
    close = HTTP1Connection.close

    def closing(connection: HTTP1Connection) -> None:
        close(connection)
        given_up.set()

    monkeypatch.setattr(handlers, "_STALLED_S", 0.3)
    monkeypatch.setattr(HTTP1Connection, "close", closing)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(TIMEOUT_S)
        reader.connect(("127.0.0.1", server.port))
        reader.sendall(request(server, "/serve.js") * 200)
        assert given_up.wait(TIMEOUT_S)
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
        assert ask(server, "/api/save").status == 200
        assert time.monotonic() - began >= 0.5
        assert tried <= 6
    assert caplog.messages == [Text("connections_refused", reason=os.strerror(errno.EMFILE))]


def test_where_no_file_is_left_strangers_give_theirs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept = socket.socket.accept
    failing = False

    def out_of_files(listening: socket.socket) -> tuple[socket.socket, object]:
        nonlocal failing
        if failing:
            failing = False
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", out_of_files)
    with MonitorServer(path) as server, open_to(server, 2) as strangers:
        assert ask(server, "/api/save").status == 200  # by now the two are there
        failing = True
        assert ask(server, "/api/save").status == 200
        assert [is_open(one) for one in strangers] == [False, True]


def test_it_ends_while_it_pauses(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = threading.Event()

    def out_of_files(_: socket.socket) -> tuple[socket.socket, object]:
        tried.set()
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    server = MonitorServer(path).start()
    with monkeypatch.context() as patch:
        patch.setattr(socket.socket, "accept", out_of_files)
        with socket.create_connection(("127.0.0.1", server.port)):
            assert tried.wait(TIMEOUT_S)
            server.stop()
    assert not server.running
    with server:
        assert ask(server, "/api/save").status == 200


def test_a_command_is_obeyed_amid_strangers(server: MonitorServer) -> None:
    with beset(server.port, 205, unread_answers):
        assert command(server, do="trace_all")["rule"] == "all"
