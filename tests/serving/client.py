"""Asking a server as a program does, and as no program should."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tfvis_nb.serving import MonitorServer

TIMEOUT_S = 300
"""No answer takes so long, but on a busy machine the imports for a first one take tens of seconds."""
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
    """Ask with the right token unless another is given; ``""`` sends none.

    An underscore in the name of a header stands for a dash.
    """
    port = server.port
    connection = (
        http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        if context is None
        else http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_S, context=context)
    )
    sent = {name.replace("_", "-"): value for name, value in {**headers, **more}.items()}
    if token != "":
        sent["Authorization"] = f"token {server.token if token is None else token}"
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def command(server: MonitorServer, **words: Any) -> Answer:
    """Give a command."""
    return ask(server, "/api/command", "POST", json.dumps(words).encode(), Content_Type="application/json")


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
