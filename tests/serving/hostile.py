"""Hostile clients of a server: many at a time, each reconnecting when its connection is closed."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

Send = Callable[[bytes], Awaitable[None]]

PACE_S = 0.05
AGAIN_S = 0.25
STRANGER = (
    b"GET /api/socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
POST = b"POST /api/socket HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


async def silent(_: Send) -> None:
    """Connect, and no more."""
    await asyncio.sleep(60)


async def slow_headers(send: Send) -> None:
    """Send the headers a letter at a time."""
    await send(b"GET / HTTP/1.1\r\nX: ")
    while True:
        await send(b"a")
        await asyncio.sleep(PACE_S)


async def slow_body(send: Send) -> None:
    """Send a body a letter at a time."""
    await send(POST + b"Content-Length: 60000\r\n\r\n")
    while True:
        await send(b"{")
        await asyncio.sleep(PACE_S)


async def endless_body(send: Send) -> None:
    """Send a body in pieces without end."""
    await send(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        await send(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
        await asyncio.sleep(PACE_S)


async def unread_answers(send: Send) -> None:
    """Ask again and again, and read nothing."""
    while True:
        await send(STRANGER * 20)
        await asyncio.sleep(PACE_S)


async def frames_without_token(send: Send) -> None:
    """Ask for a WebSocket, and send messages without waiting for the answer."""
    await send(STRANGER)
    while True:
        await send(b"\x81\xfe\x10\x00abcd" + b" " * 0x1000)
        await asyncio.sleep(PACE_S)


async def no_http(send: Send) -> None:
    """Send bytes that are not a request."""
    while True:
        await send(b"\x16\x03\x01\x02\x00\x01\r\n\r\n")
        await asyncio.sleep(PACE_S)


_ALL = (silent, slow_headers, slow_body, endless_body, unread_answers, frames_without_token, no_http)
BEHAVIOURS = {each.__name__: each for each in _ALL}


@contextmanager
def beset(port: int, count: int, behaviour: Callable[[Send], Awaitable[None]]) -> Iterator[None]:
    """Beset the server at a port with this many clients, which have all been there once when this begins."""
    there = threading.Event()
    begun: set[int] = set()
    ends: list[Callable[[], object]] = []

    async def client(which: int) -> None:
        loop = asyncio.get_running_loop()
        while True:
            with socket.socket() as connection:
                connection.setblocking(False)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                try:
                    await loop.sock_connect(connection, ("127.0.0.1", port))
                    begun.add(which)
                    if len(begun) == count:
                        there.set()
                    await behaviour(lambda data: loop.sock_sendall(connection, data))
                except OSError:
                    pass  # it was closed
            await asyncio.sleep(AGAIN_S)

    async def all_of_them() -> None:
        clients = asyncio.gather(*map(client, range(count)))
        loop = asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(clients.cancel))
        with suppress(asyncio.CancelledError):
            await clients

    thread = threading.Thread(target=lambda: asyncio.run(all_of_them()), daemon=True)
    thread.start()
    try:
        assert there.wait(300)
        yield
    finally:
        ends[0]()
        thread.join(300)
