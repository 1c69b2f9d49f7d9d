"""Connections: how many there are at a time, which goes when there are more, and whether one is encrypted."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import time
from collections.abc import Callable, Sequence

from tornado import httputil
from tornado.http1connection import HTTP1ConnectionParameters, HTTP1ServerConnection
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream, SSLIOStream

from tfvis_nb.serving.exchange import Exchange, Exchanges

_MOST = 200
"""Connections at a time; a browser has up to six."""

_SHARE = 4
"""Of the files that the process may open, every which may be a connection: the job may be this process."""

_PAUSE_S = 1.0
"""How long nobody is accepted after that failed, which it would go on doing as fast as it is tried."""

_SILENT_S = 30.0
"""How often the log says the same."""

_AT_ONCE = 50
"""Connections that are accepted before others are served again."""

_IDLE_S = 75.0
_BODY_S = 30.0
"""How long a connection may be quiet or send headers, and a body may take to come."""

_PARAMETERS = HTTP1ConnectionParameters(
    max_header_size=1 << 18,  # above it a connection is closed without an answer
    max_body_size=1 << 62,  # Exchanges limits it, with an answer that says so
    header_timeout=_IDLE_S,
    body_timeout=_BODY_S,
)

_log = logging.getLogger("tfvis_nb")


def most_connections() -> int:
    """Return how many connections there may be at a time: well below the files this process may open.

    Examples
    --------
    >>> from tfvis_nb.serving.connections import most_connections
    >>> 4 <= most_connections() <= 200
    True
    """
    try:
        import resource
    except ImportError:  # of Unix alone
        return _MOST
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if files == resource.RLIM_INFINITY else max(4, min(_MOST, files // _SHARE))


class Connections:
    """Accepts connections, and gives what they ask to the exchanges.

    Of too many, the one goes that has waited longest without asking anything; where all are being
    answered, the new one goes.

    Parameters
    ----------
    sockets
        That listen; they are closed at the end.
    exchanges
        For what is asked.
    context
        To encrypt with.
    unencrypted
        For what is asked without encryption where there is a `context`.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        exchanges: Exchanges,
        *,
        context: ssl.SSLContext | None = None,
        unencrypted: Exchanges | None = None,
    ) -> None:
        self._sockets = sockets
        self._exchanges = exchanges
        self._context = context
        self._unencrypted = unencrypted
        self._most = most_connections()
        # Those that have waited longest stand first.
        self._open: dict[_Served | _Unknown, None] = {}
        self._loop = IOLoop.current()
        self._accepting = False
        self._resuming: object = None
        self._said: dict[str, float] = {}

    def begin(self) -> None:
        """Accept connections from now on."""
        self._resuming = None
        if self._accepting:
            return
        self._accepting = True
        for listening in self._sockets:
            self._loop.add_handler(listening, self._accept, IOLoop.READ)

    async def close(self) -> None:
        """Accept no more, and end those there are."""
        self._pause()
        if self._resuming is not None:
            self._loop.remove_timeout(self._resuming)
        for listening in self._sockets:
            listening.close()
        for one in list(self._open):
            await one.ended()

    def _pause(self) -> None:
        if self._accepting:
            self._accepting = False
            for listening in self._sockets:
                self._loop.remove_handler(listening)

    def _accept(self, listening: socket.socket, _: int) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                # Out of files, mostly: who has a connection and asks nothing has to give one back.
                self._drop_idlest()
                self._say(f"the monitor can accept no connection now: {error.strerror or error}")
                self._pause()
                self._resuming = self._loop.call_later(_PAUSE_S, self.begin)
                return
            self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        if len(self._open) >= self._most:
            self._say(
                f"the monitor has {self._most} connections, and no more at a time:"
                " those that ask nothing are closed for others"
            )
            if not self._drop_idlest():
                connection.close()
                return
        connection.setblocking(False)
        if self._context is None:
            self._serve(IOStream(connection), self._exchanges)
        else:
            unknown = _Unknown(connection, self._decided)
            self._open[unknown] = None

    def _decided(self, unknown: _Unknown, first: bytes) -> None:
        """Encrypt a connection that begins so; there is no HTTP whose first byte is not a letter."""
        self._open.pop(unknown, None)
        if not first:
            unknown.connection.close()
        elif first.isalpha() and self._unencrypted is not None:
            self._serve(IOStream(unknown.connection), self._unencrypted)
        else:
            assert self._context is not None
            try:
                wrapped = self._context.wrap_socket(
                    unknown.connection, server_side=True, do_handshake_on_connect=False
                )
            except OSError:  # it has gone already
                unknown.connection.close()
                return
            self._serve(SSLIOStream(wrapped), self._exchanges)

    def _serve(self, stream: IOStream, exchanges: Exchanges) -> None:
        self._waits(_Served(stream, exchanges, self._waits, self._gone))

    def _waits(self, one: _Served) -> None:
        """Put one that waits for a request behind those that have waited longer."""
        self._gone(one)
        self._open[one] = None

    def _gone(self, one: _Served) -> None:
        self._open.pop(one, None)

    def _drop_idlest(self) -> bool:
        for one in self._open:
            if one.waiting:
                del self._open[one]
                one.close()
                return True
        return False

    def _say(self, message: str) -> None:
        now = time.monotonic()
        if now - self._said.get(message, -_SILENT_S) >= _SILENT_S:
            self._said[message] = now
            _log.warning(message)


class _Served(httputil.HTTPServerConnectionDelegate):
    """A connection on which requests come."""

    def __init__(
        self,
        stream: IOStream,
        exchanges: Exchanges,
        waits: Callable[[_Served], None],
        gone: Callable[[_Served], None],
    ) -> None:
        self._exchanges = exchanges
        self._waits = waits
        self._gone = gone
        self._exchange: Exchange | None = None
        self._connection = HTTP1ServerConnection(stream, _PARAMETERS)
        self._connection.start_serving(self)

    @property
    def waiting(self) -> bool:
        """Whether no whole request has come that is not answered."""
        return self._exchange is None or self._exchange.waiting

    def start_request(
        self, server_conn: object, request_conn: httputil.HTTPConnection
    ) -> httputil.HTTPMessageDelegate:
        self._waits(self)
        self._exchange = self._exchanges.start_request(server_conn, request_conn)
        return self._exchange

    def on_close(self, server_conn: object) -> None:  # noqa: ARG002 - the interface's
        self._gone(self)

    def close(self) -> None:
        self._connection.stream.close()

    async def ended(self) -> None:
        await self._connection.close()


class _Unknown:
    """A connection of which nothing has come that says whether it is encrypted."""

    waiting = True

    def __init__(self, connection: socket.socket, decided: Callable[[_Unknown, bytes], None]) -> None:
        self.connection = connection
        self._decided = decided
        self._loop = IOLoop.current()
        self._timeout = self._loop.call_later(_IDLE_S, lambda: self._end(b""))
        self._loop.add_handler(connection, self._readable, IOLoop.READ)

    def _readable(self, _: socket.socket, __: int) -> None:
        try:
            first = self.connection.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        self._end(first)

    def _end(self, first: bytes) -> None:
        self._forget()
        self._decided(self, first)

    def _forget(self) -> None:
        self._loop.remove_timeout(self._timeout)
        self._loop.remove_handler(self.connection)

    def close(self) -> None:
        self._forget()
        with contextlib.suppress(OSError):
            self.connection.close()

    async def ended(self) -> None:
        self.close()
