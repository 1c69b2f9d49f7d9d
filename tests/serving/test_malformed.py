"""Malformed requests: nothing but the session is read, and each gets an error message."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest

from tests.serving.client import TIMEOUT_S, ask, raw
from tfvis_nb.serving import MonitorServer
from tfvis_nb.serving.access import LARGEST_HEADERS
from tfvis_nb.serving.handlers import LARGEST_BODY
from tfvis_nb.texts import Text

SECRET = b"nobody is to read this"


def post(server: MonitorServer, body: bytes) -> tuple[int, str]:
    answer = ask(server, "/api/command", "POST", body, Content_Type="application/json; charset=utf-8")
    return answer.status, answer.error


@pytest.mark.parametrize(
    "target",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%252fsecret.txt",
        "/..%c0%afsecret.txt",
        "/..\\secret.txt",
        "/..%5csecret.txt",
        "//secret.txt",
        "/./secret.txt",
        "/secret.txt",
        "/secret.txt%00",
        "{folder}/secret.txt",
        "/{folder}/secret.txt",
        "/api/../secret.txt",
        "/api/trace/../../secret.txt",
        "/api/trace/..%2f..%2fsecret.txt/drawn",
        "/api/trace/1/../../../secret.txt",
        "/api/trace/1/drawn/..",
        "/api/trace/1%00/drawn",
        "/api/trace/1%0a/drawn",
        "/api/trace/-1/drawn",
        "/api/trace/1.0/drawn",
        "/api/trace/%31/drawn",
        "/api/trace/\u0661/drawn",
        "/api/trace/0x1/drawn",
        "/api/trace/1e0/drawn",
        "/api/trace/99999999999999999999/drawn",
        "/api/trace/1/data",
        "/api/trace/1",
        "/api/trace//drawn",
        "/api/save/../../secret.txt",
        "/api/state/",
        "/serve.js/../../__init__.py",
        "/serve.js%00.txt",
        "/page.js",
        "/static/serve.js",
        "/run.tfvis",
        "/favicon.ico",
        "file://{folder}/secret.txt",
        "http://127.0.0.1{folder}/secret.txt",
        "secret.txt",
        "*",
    ],
)
def test_no_address_leads_to_a_file(server: MonitorServer, path: Path, target: str) -> None:
    (path.parent / "secret.txt").write_bytes(SECRET)
    address = target.format(folder=path.parent).encode().decode("latin-1")
    head = f"GET {address} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {server.token}\r\n"
    answer = raw(server, f"{head}Connection: close\r\n\r\n".encode("latin-1"))
    assert re.match(rb"HTTP/1\.1 (404 Not Found|400 Bad Request)\r\n", answer)
    assert SECRET not in answer
    assert b"import" not in answer


@pytest.mark.parametrize("number", [0, 2, 10**17])
@pytest.mark.parametrize("what", ["drawn", "details", "download?format=html"])
def test_traces_that_are_not_there(server: MonitorServer, number: int, what: str) -> None:
    answer = ask(server, f"/api/trace/{number}/{what}")
    assert (answer.status, answer.error) == (404, Text("trace_gone", trace=number))


@pytest.mark.parametrize(
    ("method", "place", "allowed"),
    [
        ("POST", "/", "GET"),
        ("POST", "/api/state", "GET"),
        ("PUT", "/api/command", "POST"),
        ("GET", "/api/command", "POST"),
        ("DELETE", "/api/trace/1/drawn", "GET"),
        ("HEAD", "/api/state", "GET"),
        ("OPTIONS", "/api/command", "POST"),
        ("TRACE", "/", "GET"),
        ("CONNECT", "/api/state", "GET"),
        ("BREW", "/api/save", "GET"),
    ],
)
def test_wrong_methods(server: MonitorServer, method: str, place: str, allowed: str) -> None:
    answer = ask(server, place, method)
    assert (answer.status, answer.headers["Allow"]) == (405, allowed)
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"\x00",
        b'{"do": "trace_all"',
        b"'do'",
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"1" * 60_000,
        b"null",
        b"[]",
        b'"trace_all"',
        b"3",
        b'[{"do": "trace_all"}]',
        b'{"do": "\\ud800"}',
    ],
)
def test_json_without_a_command(server: MonitorServer, body: bytes) -> None:
    status, sentence = post(server, body)
    assert status == 400
    assert len(sentence) < 300
    assert ask(server, "/api/state").json["rule"] == ""


def test_a_body_that_is_too_large(server: MonitorServer) -> None:
    command = json.dumps({"do": "trace_all"}).encode().ljust(LARGEST_BODY + 1)
    assert post(server, command) == (413, Text("command_too_large", most=LARGEST_BODY))
    assert ask(server, "/api/state").json["rule"] == ""


def test_a_body_just_not_too_large(server: MonitorServer) -> None:
    body = b'{"do": "trace_all"}'.ljust(LARGEST_BODY)
    assert ask(server, "/api/command", "POST", body, Content_Type="application/json").json["rule"] == "all"


def head(server: MonitorServer, *lines: str, method: str = "POST", path: str = "/api/command") -> bytes:
    token = f"Authorization: token {server.token}"
    first = (f"{method} {path} HTTP/1.1", "Host: localhost", token, "Content-Type: application/json")
    return "\r\n".join((*first, *lines, "", "")).encode()


@pytest.mark.parametrize("digits", [15, 18])
def test_a_body_that_is_announced_as_endless(server: MonitorServer, digits: int) -> None:
    answer = raw(server, head(server, f"Content-Length: {'9' * digits}", "Expect: 100-continue"))
    assert b"HTTP/1.1 413 " in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {
        "error": Text("command_too_large", most=LARGEST_BODY)
    }


@pytest.mark.parametrize("digits", [30, 5000])
def test_a_length_that_is_no_number(
    server: MonitorServer, digits: int, caplog: pytest.LogCaptureFixture
) -> None:
    stranger = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {'9' * digits}\r\n\r\n"
    assert re.match(rb"HTTP/1\.1 4\d\d ", raw(server, stranger.encode(), most=1 << 16))
    assert caplog.text == ""


def test_a_body_in_endless_pieces(server: MonitorServer) -> None:
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
        connection.sendall(head(server, "Transfer-Encoding: chunked"))
        sent = 0
        try:
            while sent < 100_000_000:
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            pass  # it has enough
    assert sent < 50_000_000
    assert ask(server, "/api/state").status == 200


def test_headers_that_are_too_large(server: MonitorServer) -> None:
    answer = ask(server, "/api/state", Cookie="a" * LARGEST_HEADERS)
    assert (answer.status, answer.error) == (431, Text("headers_too_large", most=LARGEST_HEADERS))
    endless = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000
    assert raw(server, endless) == b""
    assert ask(server, "/api/state").status == 200


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a@localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n: no name\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5, 6\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \xb2\r\n\r\nab",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request(server: MonitorServer, data: bytes) -> None:
    answer = raw(server, data, most=1)
    assert re.match(rb"HTTP/1\.1 4\d\d ", answer)
    assert b"200" not in answer
    assert ask(server, "/api/state").status == 200


def test_no_other_protocol_is_gone_over_to(server: MonitorServer) -> None:
    wanted = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: YQ==")
    answer = raw(server, head(server, *wanted, method="GET", path="/api/state"), most=1)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"upgrade" not in answer.lower()


def test_a_second_request_on_the_connection_is_one_of_its_own(server: MonitorServer) -> None:
    state = head(server, method="GET", path="/api/state")
    stranger = b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n"
    end = head(server, "Connection: close", method="GET", path="/api/none")
    assert re.findall(rb"HTTP/1\.1 (\d+)", raw(server, state + state + end)) == [b"200", b"200", b"404"]
    answers = raw(server, state + stranger + state + end)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [b"200", b"401"]


@pytest.mark.parametrize(
    ("path", "status"), [("/api/none", b"404"), ("/api/trace/9/drawn", b"404"), ("/api/command", b"405")]
)
def test_a_connection_is_closed_after_a_refusal(server: MonitorServer, path: str, status: bytes) -> None:
    state = head(server, method="GET", path="/api/state")
    answers = raw(server, head(server, method="GET", path=path) + state)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [status]
    assert b"Connection: close\r\n" in answers


def test_what_follows_a_refusal_is_not_done(server: MonitorServer) -> None:
    body = b'{"do": "trace_all"}'
    raw(server, head(server, method="GET", path="/api/none") + head(server, "Content-Length: 19") + body)
    assert ask(server, "/api/state").json["rule"] == ""


def test_clients_that_go_away(server: MonitorServer) -> None:
    for data in (
        b"",
        b"GET",
        head(server, "Content-Length: 10"),
        head(server, method="GET", path="/api/save"),
    ):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
                connection.sendall(data)
    assert ask(server, "/api/state").status == 200
