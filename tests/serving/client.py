"""Clients of the monitor's server: regular requests, and malformed ones."""

import asyncio
import http.client
import json
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tfvis_nb.serving import MonitorServer
from tfvis_nb.serving.frames import pack

TIMEOUT_S = 300
"""No answer takes so long, but on a busy machine the imports for a first one take tens of seconds."""
SOCKET = "/api/socket"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
NO_MORE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The one sentence of a refusal."""
        assert self.status >= 400
        (sentence,) = self.json.values()
        assert isinstance(sentence, str)
        assert "\n" not in sentence
        return sentence


def ask(
    server: MonitorServer,
    path: str,
    method: str = "GET",
    body: bytes | None = None,
    *,
    token: str | None = None,
    context: ssl.SSLContext | None = None,
    more: Mapping[str, str] = NO_MORE,
    **headers: str,
) -> Answer:
    """Send a request with the right token unless another is given; ``""`` sends none.

    An underscore in the name of a header stands for a dash. A request to `SOCKET` asks for a WebSocket.
    """
    port = server.port
    connection = (
        http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        if context is None
        else http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_S, context=context)
    )
    upgrade = UPGRADE if path == SOCKET else NO_MORE
    sent = {name.replace("_", "-"): value for name, value in {**upgrade, **headers, **more}.items()}
    if token != "":
        sent["Authorization"] = f"token {server.token if token is None else token}"
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def unpacked(data: bytes) -> dict[str, Any]:
    """Return a message of a widget with its binary parts, which follow the JSON without a gap."""
    size = int.from_bytes(data[:4], "little")
    message: dict[str, Any] = json.loads(data[4 : 4 + size])
    at, parts = 4 + size, []
    for length in message["buffers"]:
        parts.append(data[at : at + length])
        at += length
    assert at == len(data)
    assert pack({name: value for name, value in message.items() if name != "buffers"}, parts) == data
    return {**message, "buffers": parts}


class Place(Protocol):
    """Where a server is, and its token."""

    @property
    def port(self) -> int: ...

    @property
    def secure(self) -> bool: ...

    token: str


@dataclass
class Printed:
    """A server of another process, by the address that it has printed."""

    url: str

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    @property
    def secure(self) -> bool:
        return self.url.startswith("https:")

    def __post_init__(self) -> None:
        self.token = urlsplit(self.url).query.removeprefix("token=")


class Viewer:
    """One WebSocket of the monitor, with the state sent last."""

    def __init__(
        self,
        server: Place,
        *,
        token: str | None = None,
        context: ssl.SSLContext | None = None,
        headers: Mapping[str, str] = NO_MORE,
    ) -> None:
        """Connect, with the right token unless another is given; an HTTPClientError has the status."""
        self._loop = asyncio.new_event_loop()
        sent = dict(headers)
        if token != "":
            sent["Authorization"] = f"token {server.token if token is None else token}"
        address = f"ws{'s' if server.secure else ''}://127.0.0.1:{server.port}{SOCKET}"
        request = HTTPRequest(address, headers=sent, ssl_options=context, request_timeout=TIMEOUT_S)
        try:
            self.socket: WebSocketClientConnection = self.run(
                lambda: websocket_connect(request, max_message_size=1 << 30)
            )
        except BaseException:
            self._loop.close()
            raise
        self.state: dict[str, Any] = {}
        self._is_over = False

    def run(self, begin: Callable[[], Awaitable[Any]]) -> Any:
        """Begin something in the loop, and return its result."""

        async def done() -> Any:
            return await asyncio.wait_for(begin(), TIMEOUT_S)

        return self._loop.run_until_complete(done())

    def next(self) -> dict[str, Any] | None:
        """Return the next message with its binary parts; None once the connection has ended."""
        data = self.run(self.socket.read_message)
        if data is None:
            self._is_over = True
            return None
        message = unpacked(data)
        if "_state" in message.get("state", {}):
            self.state = json.loads(message["state"]["_state"])
        return message

    def send(self, message: object) -> None:
        """Send a message."""
        text = message if isinstance(message, str) else json.dumps(message)
        self.run(lambda: self.socket.write_message(text))

    def ask(self, kind: str, **content: Any) -> dict[str, Any]:
        """Ask, and return the answer; the state changes meanwhile."""
        self.send({"method": "custom", "content": {**content, "kind": kind, "id": "1"}})
        while (message := self.next()) is not None:
            assert message["method"] != "refused", message
            if message["method"] == "custom":
                return {**message["content"], "buffers": message["buffers"]}
        raise AssertionError("the connection has ended")

    def error(self, kind: str, **content: Any) -> str:
        """Ask, and return the one sentence of a refusal."""
        sentence = self.ask(kind, **content)["error"]
        assert isinstance(sentence, str)
        assert "\n" not in sentence
        return sentence

    def command(self, **words: Any) -> dict[str, Any]:
        """Give a command that is obeyed, and return the state after it."""
        answer = self.ask("command", command=words)
        assert "error" not in answer, answer
        return self.state

    def now(self) -> dict[str, Any]:
        """Return the state at this time."""
        while not self.state:
            assert self.next() is not None
        self.ask("watch")
        return self.state

    def close(self) -> None:
        """Close the connection."""
        if not self._loop.is_closed():
            self.run(self._begin_to_close)
            while not self._is_over:
                self.next()
            self._loop.close()

    async def _begin_to_close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def state(server: Place, **access: Any) -> dict[str, Any]:
    """Return the state that a new viewer gets."""
    with Viewer(server, **access) as viewer:
        return viewer.now()


def command(server: Place, **words: Any) -> dict[str, Any]:
    """Give a command as a new viewer, and return the state after it."""
    with Viewer(server) as viewer:
        viewer.now()
        return viewer.command(**words)


def raw(server: MonitorServer, data: bytes, *, most: int = 1 << 30) -> bytes:
    """Send bytes and return the answer, up to the end of the connection or `most` bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
        received = b""
        try:
            connection.sendall(data)
            while len(received) < most and (piece := connection.recv(65536)):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass  # unread data is discarded
        return received
