"""An HTTP client for fsspec whose answers are limited in bytes and time; imported only if HTTP is allowed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, NamedTuple, Self

import aiohttp

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.sources.public_urls import public_url
from tfvis_nb.reading.sources.unpacking import MOST
from tfvis_nb.texts import Text

_PIECE = 1 << 16


class Limits(NamedTuple):
    """Bytes of an answer of unknown length; seconds, and more of them for `slowest` bytes each."""

    most: int
    patience_s: float
    slowest: int


async def client(
    limits: Limits, headers: dict[str, str] | None = None, **options: Any
) -> aiohttp.ClientSession:
    """Return a session for fsspec.

    Answers stay packed, because `unpack` has limits and aiohttp has none.
    """
    defaults: dict[str, Any] = {
        "response_class": partial(_Answer, limits),
        "auto_decompress": False,
        "timeout": aiohttp.ClientTimeout(None, connect=limits.patience_s, sock_read=limits.patience_s),
    }
    return aiohttp.ClientSession(
        headers={"Accept-Encoding": "identity", **(headers or {})}, **defaults | options
    )


class _Answer(aiohttp.ClientResponse):
    def __init__(self, limits: Limits, *given: Any, **options: Any) -> None:
        self._limits = limits
        super().__init__(*given, **options)

    async def start(self, connection: Any) -> Self:
        await super().start(connection)
        size = self.content_length or 0
        if size > MOST:
            raise TraceFormatError(Text("remote_too_large", label=public_url(str(self.url)), most=MOST))
        limits = self._limits._replace(most=max(self._limits.most, size))
        # The class of aiohttp is final.
        self.content = _Limited(self.content, limits, public_url(str(self.url)))  # type: ignore[assignment]
        return self


class _Limited:
    """The content of an answer, for all ways in which fsspec reads it."""

    def __init__(self, content: aiohttp.StreamReader, limits: Limits, url: str) -> None:
        self._content, self._limits, self._url = content, limits, url
        self._received = 0
        self._begin = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def read(self, count: int = -1) -> bytes:
        if count >= 0:
            return self._counted(await self._content.read(count))
        return b"".join([piece async for piece in self.iter_chunked(_PIECE)])

    async def iter_chunked(self, count: int) -> AsyncIterator[bytes]:
        while piece := await self.read(count):
            yield piece

    def _counted(self, piece: bytes) -> bytes:
        self._received += len(piece)
        if self._received > self._limits.most:
            raise TraceFormatError(Text("remote_too_large", label=self._url, most=self._limits.most))
        if time.monotonic() - self._begin > self._limits.patience_s + self._received / self._limits.slowest:
            raise TimeoutError(Text("remote_too_slow"))
        return piece
