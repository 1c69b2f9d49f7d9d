"""Malformed requests: nothing but the session is read, and each gets an error message."""

import json
import re
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from tornado.websocket import WebSocketClosedError

from tests.serving.client import TIMEOUT_S, UPGRADE, Viewer, ask, raw, state
from tfvis_nb.serving import MonitorServer
from tfvis_nb.serving.access import LARGEST_HEADERS
from tfvis_nb.serving.handlers import LARGEST_MESSAGE
from tfvis_nb.texts import Text

SECRET = b"nobody is to read this"
ALL = {"method": "custom", "content": {"kind": "command", "id": "1", "command": {"do": "trace_all"}}}
UPGRADED = [f"{name}: {value}" for name, value in UPGRADE.items()]


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
        "/api/socket/../../secret.txt",
        "/api/socket/",
        "/api/state",
        "/api/save/../../secret.txt",
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


def test_traces_that_are_not_there(viewer: Viewer) -> None:
    for number in (0, -1, 10**17, 2**63, 2**70, 1.0, "1", "../1", None, True, [1], {"a": 1}):
        for kind in ("open", "download"):
            assert len(viewer.error(kind, trace=number, format="html")) < 300
    assert viewer.error("open", trace=2) == Text("trace_gone", trace=2)


@pytest.mark.parametrize(
    ("method", "place"),
    [
        *(("POST", "/"), ("POST", "/api/socket"), ("PUT", "/api/save"), ("HEAD", "/api/save")),
        *(("OPTIONS", "/api/socket"), ("TRACE", "/"), ("CONNECT", "/api/save"), ("BREW", "/api/save")),
    ],
)
def test_wrong_methods(server: MonitorServer, method: str, place: str) -> None:
    answer = ask(server, place, method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert "Access-Control-Allow-Origin" not in answer.headers


def is_refused(viewer: Viewer) -> bool:
    """Whether the server closes a connection, after more than one message perhaps."""
    while (message := viewer.next()) is not None:
        if message["method"] == "refused":
            assert "\n" not in message["sentence"]
    return True


NO_REQUESTS = (
    *("", "{", "\x00", "{'do'}", "[" * 60_000, '{"a":' * 10_000, "1" * 60_000),
    *("null", "[]", '"trace_all"', "3", '[{"method": "custom"}]', "{}", '{"method": ["custom"]}'),
    *('{"method": "open"}', '{"method": "problem", "sentence": "not of the server"}'),
    *('{"method": "request_state"}', '{"method": "update", "state": {"_state": "{}", "height": 200}}'),
)


def test_messages_that_are_no_requests_end_the_connection(viewer: Viewer, server: MonitorServer) -> None:
    for message in NO_REQUESTS:
        with Viewer(server) as stranger:
            stranger.send(message)
            assert is_refused(stranger)
            assert stranger.socket.close_code == 1008
    assert viewer.now()["rule"] == ""


def test_requests_that_mean_nothing_change_nothing(viewer: Viewer, server: MonitorServer) -> None:
    before = viewer.now()
    contents: tuple[object, ...] = (
        *(None, 7, [], {}, {"kind": None}, {"kind": ["open"]}, {"kind": "explode", "id": "1"}),
        *({"kind": "open", "trace": "\ud800", "id": {"a": []}}, {"kind": "annotate", "trace": 1}),
        {"kind": "annotate", "trace": 1, "annotations": [{"start": "x"}], "views": [7]},
    )
    for content in contents:
        with Viewer(server) as stranger:
            stranger.send({"method": "custom", "content": content})
            assert stranger.now() == before
    assert state(server) == before


def test_a_message_that_is_too_large(server: MonitorServer) -> None:
    with Viewer(server) as viewer, Viewer(server) as other:
        viewer.now()
        with suppress(WebSocketClosedError):
            viewer.send(json.dumps(ALL).ljust(LARGEST_MESSAGE + 1))
        assert is_refused(viewer)
        assert other.now()["rule"] == ""


def test_a_message_just_not_too_large(viewer: Viewer) -> None:
    viewer.send(json.dumps(ALL).ljust(LARGEST_MESSAGE))
    assert viewer.now()["rule"] == "all"


MALFORMED = (
    b"\x82\xff" + b"\x7f" + b"\xff" * 7,  # 2**63 bytes are announced
    b"\x01\xff" + (1 << 40).to_bytes(8, "big"),  # in pieces
    b"\xf1\x80abcd",  # unknown extensions
    b"\x89\xfe\x10\x00abcd",  # a ping of 4096 bytes
    b"\x80\x80abcd",  # the rest of nothing
    b"\x83\x80abcd",  # an unknown kind
    b"\x81\x82abcd\x9e\x9d",  # a text that is not UTF-8
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
)


def test_frames_that_are_malformed(viewer: Viewer, server: MonitorServer) -> None:
    for frame in MALFORMED:
        raw(server, head(server, *UPGRADED, method="GET") + frame + b"\x88\x80abcd")
    assert viewer.now()["rule"] == ""


def taken(server: MonitorServer, start: bytes, piece: bytes) -> int:
    """Send the piece up to 100 MB; return how many bytes the server took before it hung up."""
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
        connection.sendall(start)
        with suppress(OSError):
            while sent < 100_000_000:
                connection.sendall(piece)
                sent += len(piece)
    return sent


def test_a_message_in_endless_pieces(server: MonitorServer) -> None:
    piece = b"\x00\xff" + (1 << 16).to_bytes(8, "big") + b"abcd" + b" " * (1 << 16)
    assert taken(server, head(server, *UPGRADED, method="GET") + b"\x01" + piece[1:], piece) < 50_000_000
    assert state(server)["rule"] == ""


def head(server: MonitorServer, *lines: str, method: str = "POST", path: str = "/api/socket") -> bytes:
    token = f"Authorization: token {server.token}"
    first = (f"{method} {path} HTTP/1.1", "Host: localhost", token)
    return "\r\n".join((*first, *lines, "", "")).encode()


@pytest.mark.parametrize("digits", [15, 18])
def test_a_body_that_is_announced_as_endless(server: MonitorServer, digits: int) -> None:
    answer = raw(server, head(server, f"Content-Length: {'9' * digits}", "Expect: 100-continue"))
    assert b"HTTP/1.1 413 " in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"error": Text("body_not_read")}


@pytest.mark.parametrize("digits", [30, 5000])
def test_a_length_that_is_no_number(
    server: MonitorServer, digits: int, caplog: pytest.LogCaptureFixture
) -> None:
    stranger = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {'9' * digits}\r\n\r\n"
    assert re.match(rb"HTTP/1\.1 4\d\d ", raw(server, stranger.encode(), most=1 << 16))
    assert caplog.text == ""


def test_a_body_in_endless_pieces(server: MonitorServer) -> None:
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert taken(server, head(server, "Transfer-Encoding: chunked"), piece) < 50_000_000
    assert ask(server, "/api/save").status == 200


def test_headers_that_are_too_large(server: MonitorServer) -> None:
    answer = ask(server, "/api/save", Cookie="a" * LARGEST_HEADERS)
    assert (answer.status, answer.error) == (431, Text("headers_too_large", most=LARGEST_HEADERS))
    endless = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000
    assert raw(server, endless) == b""
    assert ask(server, "/api/save").status == 200


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
    assert ask(server, "/api/save").status == 200


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
        ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: YQ=="),
        ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        ("Upgrade: websocket", "Sec-WebSocket-Key: YQ==", "Sec-WebSocket-Version: 13"),
        ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: YQ==", "Sec-WebSocket-Version: 8"),
    ],
)
def test_no_other_protocol_is_gone_over_to(server: MonitorServer, lines: tuple[str, ...]) -> None:
    answer = raw(server, head(server, *lines, method="GET"))
    assert answer.startswith(b"HTTP/1.1 426 ")
    assert b"Upgrade: websocket\r\n" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"error": Text("websocket_needed")}


def statuses(answers: bytes) -> list[bytes]:
    return re.findall(rb"HTTP/1\.1 (\d+)", answers)


def test_a_second_request_on_the_connection_is_one_of_its_own(server: MonitorServer) -> None:
    save = head(server, method="GET", path="/api/save")
    stranger = b"GET /api/save HTTP/1.1\r\nHost: localhost\r\n\r\n"
    end = head(server, "Connection: close", method="GET", path="/api/none")
    assert statuses(raw(server, save + save + end)) == [b"200", b"200", b"404"]
    assert statuses(raw(server, save + stranger + save + end)) == [b"200", b"401"]


@pytest.mark.parametrize(("path", "status"), [("/api/none", b"404"), ("/api/socket", b"426")])
def test_a_connection_is_closed_after_a_refusal(server: MonitorServer, path: str, status: bytes) -> None:
    save = head(server, method="GET", path="/api/save")
    answers = raw(server, head(server, method="GET", path=path) + save)
    assert statuses(answers) == [status]
    assert b"Connection: close\r\n" in answers


def test_what_follows_a_refusal_is_not_done(server: MonitorServer) -> None:
    stranger = "\r\n".join(("GET /api/socket HTTP/1.1", "Host: localhost", *UPGRADED, "", "")).encode()
    text = json.dumps(ALL).encode()
    frame = bytes([0x81, 0x80 | len(text)]) + bytes(4) + text  # masked by zeros
    assert statuses(raw(server, stranger + frame)) == [b"401"]
    assert state(server)["rule"] == ""


def test_clients_that_go_away(server: MonitorServer) -> None:
    for data in (
        b"",
        b"GET",
        head(server, "Content-Length: 10"),
        head(server, method="GET", path="/api/save"),
        head(server, *UPGRADED, method="GET"),
        head(server, *UPGRADED, method="GET") + b"\x81",
    ):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
                connection.sendall(data)
    assert ask(server, "/api/save").status == 200
