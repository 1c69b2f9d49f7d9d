"""One request and its response: what is read from a connection, within limits, and written to it."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from asyncio import Future
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

from tornado import httputil
from tornado.http1connection import HTTP1Connection
from tornado.iostream import StreamClosedError

LARGEST_BODY = 64_000
"""Bytes of a command."""

LARGEST_HEADERS = 16_000
"""Bytes of a request's headers."""

_DRAINED = 8_000_000
"""Bytes of a body that are read only to be refused: a client that still sends does not see the answer."""

_DIGITS = 19
_PIECE = 1 << 18

_STALLED_S = 60.0
"""How long a client may take for a piece of an answer; then it holds a connection, and a file, for nobody."""

# A page of somebody's graph is for nobody else: not for a cache, a frame or another site.
_ALWAYS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
NOTHING_ALLOWED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_log = logging.getLogger("tfvis_nb")


class Refusal(Exception):  # noqa: N818 - an answer, not a mistake of the program's
    """What is asked is not done; the sentence says why.

    Parameters
    ----------
    status
        Of the answer, from 400 on.
    sentence
        For the user.
    **headers
        More of the answer; an underscore stands for a dash.
    """

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True)
class Request:
    """What was asked, with a body of at most `LARGEST_BODY` bytes; None where it was larger."""

    method: str
    target: str
    headers: httputil.HTTPHeaders
    body: bytes | None

    @property
    def path(self) -> str:
        """The path as it was sent: nothing in it is decoded, as no name of a file is ever made of it."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What follows the question mark."""
        return self.target.partition("?")[2]


@dataclass(frozen=True)
class MadeFile:
    """A file in a folder of its own, which goes when it has been sent."""

    folder: TemporaryDirectory[str]
    path: Path


@dataclass(frozen=True)
class Response:
    """What is answered: bytes, or a file that was made for it."""

    body: bytes | MadeFile = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Respond = Callable[[Request], Awaitable[Response]]


def json_response(value: object, status: int = 200, **headers: str) -> Response:
    """Answer with JSON."""
    return Response(json.dumps(value).encode(), status, {"Content-Type": "application/json", **headers})


def refused(refusal: Refusal) -> Response:
    """Answer that something is not done.

    Examples
    --------
    >>> from tfvis_nb.serving.exchange import Refusal, refused
    >>> refused(Refusal(404, "there is no trace 7")).body
    b'{"error": "there is no trace 7"}'
    """
    return json_response({"error": str(refusal)}, refusal.status, **refusal.headers)


class Exchanges(httputil.HTTPServerConnectionDelegate):
    """Gives each request of each connection to a function, and what that returns to the client.

    Parameters
    ----------
    respond
        Returns the response, or raises a `Refusal`. It is cancelled when the client has gone.
    """

    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    def start_request(
        self,
        server_conn: object,  # noqa: ARG002 - the interface's
        request_conn: httputil.HTTPConnection,
    ) -> Exchange:
        """Take a request that begins."""
        assert isinstance(request_conn, HTTP1Connection)
        return Exchange(request_conn, self._respond)


class Exchange(httputil.HTTPMessageDelegate):
    """A request that comes, and its answer; made by `Exchanges`."""

    def __init__(self, connection: HTTP1Connection, respond: Respond) -> None:
        self._connection = connection
        self._respond = respond
        self._body = bytearray()
        self._size = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> bool:
        """Whether the request has not come yet, or not all of it."""
        return self._task is None

    def headers_received(
        self,
        start_line: httputil.RequestStartLine | httputil.ResponseStartLine,
        headers: httputil.HTTPHeaders,
    ) -> None:
        """Take the headers; a body that is announced as far too large is not waited for."""
        assert isinstance(start_line, httputil.RequestStartLine)
        self._start, self._headers = start_line, headers
        if self._declared() > _DRAINED:
            self._begin()

    def data_received(self, chunk: bytes) -> None:
        """Take a piece of the body."""
        self._size += len(chunk)
        if self._size <= LARGEST_BODY:
            self._body += chunk
        elif self._size > _DRAINED:
            self._begin()

    def finish(self) -> None:
        """Answer: all of the request has come."""
        self._begin()

    def on_connection_close(self) -> None:
        """Answer no more: the client has gone."""
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        if self._task is None:
            whole = max(self._size, self._declared()) <= LARGEST_BODY
            body = bytes(self._body) if whole else None
            request = Request(self._start.method, self._start.path, self._headers, body)
            self._connection.set_close_callback(self.on_connection_close)
            self._task = asyncio.ensure_future(self._answer(request))

    def _declared(self) -> float:
        """Return how large the body is said to be, in bytes."""
        declared = self._headers.get("Content-Length", "")
        if not (declared.isascii() and declared.isdecimal()):
            return 0
        # Python makes no number of thousands of digits.
        return int(declared) if len(declared) < _DIGITS else math.inf

    async def _answer(self, request: Request) -> None:
        try:
            response = await self._respond(request)
        except Refusal as refusal:
            response = refused(refusal)
        except Exception as error:  # noqa: BLE001 - whatever fails, the client is told
            # Without the query, which may hold the token.
            _log.exception("%s %s failed", request.method, request.path)
            response = refused(Refusal(500, f"this failed here: {type(error).__name__}; the log says more"))
        made = response.body if isinstance(response.body, MadeFile) else None
        try:
            await self._write(request, response)
        except StreamClosedError:
            pass  # the client has gone
        finally:
            if made is not None:
                made.folder.cleanup()

    async def _write(self, request: Request, response: Response) -> None:
        body = response.body
        size = len(body) if isinstance(body, bytes) else body.path.stat().st_size
        headers = httputil.HTTPHeaders(_ALWAYS)
        headers["Content-Security-Policy"] = NOTHING_ALLOWED
        headers["Date"] = formatdate(usegmt=True)
        if response.status != HTTPStatus.NOT_MODIFIED:
            headers["Content-Length"] = str(size)
        for name, value in response.headers.items():
            headers[name] = value
        start = httputil.ResponseStartLine("HTTP/1.1", response.status, HTTPStatus(response.status).phrase)
        await self._taken(self._connection.write_headers(start, headers))
        if request.method != "HEAD" and response.status != HTTPStatus.NOT_MODIFIED:
            await self._write_body(body)
        self._connection.finish()

    async def _write_body(self, body: bytes | MadeFile) -> None:
        if isinstance(body, bytes):
            for place in range(0, len(body), _PIECE):
                await self._taken(self._connection.write(body[place : place + _PIECE]))
            return
        with body.path.open("rb") as file:
            while piece := file.read(_PIECE):
                await self._taken(self._connection.write(piece))

    async def _taken(self, written: Future[None]) -> None:
        """Wait until the client has taken what was written."""
        await asyncio.wait((written,), timeout=_STALLED_S)
        if not written.done():
            self._connection.stream.close()
            raise StreamClosedError
        written.result()
