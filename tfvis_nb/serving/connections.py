"""Connections: where they are accepted, their limit, and which one is closed above it."""

import contextlib
import errno
import logging
import os
import socket
import ssl
import time
from collections.abc import Sequence

from tornado import httputil
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream, SSLIOStream
from tornado.netutil import ssl_wrap_socket
from tornado.web import Application

from tfvis_nb.texts import Text

_BACKLOG = 1024
"""Connections that the kernel queues until they are accepted; others retry after seconds."""

_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Errors for an address that this machine does not have, for example without IPv6."""

_MOST = 96
"""Maximum connections at a time; a browser has up to six.

While another thread of the job computes, each sending connection may cost 5 ms, Python's switch interval.
"""

_AT_ONCE = 8
"""One in this many connections is accepted before data from the others is read."""

_SHARE = 4
"""Connections use at most one in this many of the files that this process may open, because it may be the
job."""

_PAUSE_S = 1.0
"""How long to accept nothing after a failure, which would otherwise repeat in a busy loop."""

_SILENT_S = 30.0
"""How often the log repeats a message."""

_IDLE_S = 30.0
"""How long a connection may be idle, or take to send the headers of a request."""

_BODY_S = 30.0
"""How long the body of a request may take."""

_HEADER_BYTES = 1 << 16
"""Limit above which a connection is closed without a response."""

_log = logging.getLogger("tfvis_nb")


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Listen at each address of a host on this machine, all at the same port.

    OSError if this machine has no address of the host, or cannot listen at one; then nothing stays open,
    unlike with Tornado's `bind_sockets`.
    """
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    missing: int | None = None
    with contextlib.ExitStack() as opened:
        for family, address in sorted({(one[0], one[-1]) for one in addresses}):
            port = sockets[0].getsockname()[1] if sockets else port
            try:
                one = socket.create_server((address[0], port, *address[2:]), family=family, backlog=_BACKLOG)
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    # Without the address that Python appends, because the report of the error names it.
                    raise OSError(error.errno, os.strerror(error.errno or 0)) from None
                missing = error.errno
                continue
            one.setblocking(False)
            sockets.append(opened.enter_context(one))
        if missing is not None and not sockets:
            raise OSError(missing, os.strerror(missing))
        opened.pop_all()
    return sockets


def most_connections() -> int:
    """Return the maximum number of connections, well below the number of files this process may open."""
    try:
        import resource
    except ImportError:  # only on Unix
        return _MOST
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if files == resource.RLIM_INFINITY else max(4, min(_MOST, files // _SHARE))


class LimitedServer(HTTPServer):
    """An HTTP server that always has room for clients with the token.

    A connection is untrusted until a request on it shows the token. If there are too many connections, or no
    file is left for another one, the oldest untrusted one is closed, whatever it is doing. Trusted
    connections stay.
    """

    def initialize(self, application: Application, ssl_options: ssl.SSLContext | None = None) -> None:  # type: ignore[override]
        """Set up the server; tornado calls this in the constructor."""
        super().initialize(
            application,
            ssl_options=ssl_options,
            max_header_size=_HEADER_BYTES,
            max_body_size=1 << 62,  # the handlers limit it, with a response that explains it
            idle_connection_timeout=_IDLE_S,
            body_timeout=_BODY_S,
        )
        self._context = ssl_options
        self._most = most_connections()
        self._listening: Sequence[socket.socket] = ()
        self._trusted: set[IOStream] = set()
        # The oldest is first.
        self._strangers: dict[IOStream, None] = {}
        self._logged: dict[str, float] = {}

    def listen_to(self, sockets: Sequence[socket.socket]) -> None:
        """Start accepting connections."""
        self._listening = sockets
        self._resume()

    def trust(self, request: httputil.HTTPServerRequest) -> None:
        """Trust the connection of a request with the token."""
        stream = request.server_connection.stream  # type: ignore[attr-defined]
        if stream in self._strangers:  # it may already be closed
            del self._strangers[stream]
            self._trusted.add(stream)

    async def close_all(self) -> None:
        """Stop accepting, close all connections immediately, and wait until they have ended."""
        self._pause()
        for listening in self._listening:
            listening.close()
        self._listening = ()
        for stream in [*self._strangers, *self._trusted]:
            stream.close()
        await self.close_all_connections()

    def _resume(self) -> None:
        for listening in self._listening:
            IOLoop.current().add_handler(listening, self._accept, IOLoop.READ)

    def _pause(self) -> None:
        for listening in self._listening:
            IOLoop.current().remove_handler(listening)

    def _accept(self, listening: socket.socket, _: int) -> None:
        """Accept some waiting connections, which must not wait behind all data that untrusted ones send.

        Not all of them: data that has arrived on a connection is read before it is closed for another one.
        """
        for _ in range(max(1, self._most // _AT_ONCE)):
            if not self._accept_one(listening):
                return

    def _accept_one(self, listening: socket.socket) -> bool:
        """Accept a waiting connection; return False if there is none, or none can be accepted."""
        try:
            connection, address = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            # Usually out of files.
            self._warn(Text("connections_refused", reason=error.strerror or error))
            if not self._drop_a_stranger():
                self._pause()
                IOLoop.current().call_later(_PAUSE_S, self._resume)
            return False
        self._trusted = {stream for stream in self._trusted if not stream.closed()}
        if len(self._strangers) + len(self._trusted) >= self._most:
            self._warn(Text("too_many_connections", most=self._most))
            if not self._drop_a_stranger():
                connection.close()
                return True
        try:
            stream = self._stream_of(connection)
        except OSError:  # it has already gone
            connection.close()
            return True
        self._strangers[stream] = None
        self.handle_stream(stream, address)
        return True

    def _stream_of(self, connection: socket.socket) -> IOStream:
        connection.setblocking(False)
        if self._context is None:
            return IOStream(connection)
        return SSLIOStream(
            ssl_wrap_socket(connection, self._context, server_side=True, do_handshake_on_connect=False)
        )

    def start_request(
        self, server_conn: object, request_conn: httputil.HTTPConnection
    ) -> httputil.HTTPMessageDelegate:
        """Accept a new request; tornado calls this even after the connection was closed."""
        if server_conn.stream.closed():  # type: ignore[attr-defined]
            return _Late()
        return super().start_request(server_conn, request_conn)

    def on_close(self, server_conn: object) -> None:
        """Forget a connection that has ended; tornado calls this, and when one becomes a WebSocket."""
        super().on_close(server_conn)
        self._strangers.pop(server_conn.stream, None)  # type: ignore[attr-defined]
        self._trusted = {stream for stream in self._trusted if not stream.closed()}

    def _drop_a_stranger(self) -> bool:
        if not self._strangers:
            return False
        stream = next(iter(self._strangers))
        del self._strangers[stream]
        stream.close()
        return True

    def _warn(self, message: str) -> None:
        now = time.monotonic()
        if now - self._logged.get(message, -_SILENT_S) >= _SILENT_S:
            self._logged[message] = now
            _log.warning(message)


class _Late(httputil.HTTPMessageDelegate):
    """Ignores the request, because nobody would get the response."""

    def headers_received(self, start_line: object, headers: object) -> None:  # noqa: ARG002
        raise httputil.HTTPInputError("the connection is closed")
