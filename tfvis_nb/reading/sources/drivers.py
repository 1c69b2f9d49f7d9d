"""Open the file systems of URLs layer by layer, and fetch their files within limits of bytes and time."""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.sources.files import check_local_kind
from tfvis_nb.reading.sources.public_urls import WEB, public_url
from tfvis_nb.reading.sources.unpacking import MOST, SMALL, Allowance, Budget, unpack
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

PATIENCE_S = 60.0
"""Seconds that a storage may take for an answer, and for a file in addition to those at `SLOWEST`."""
SLOWEST = 1 << 14
"""Bytes per second below which a transfer is given up."""
LISTING_S = 600.0

_HTTP = WEB | {"webhdfs", "jupyter", "jlab", "webdav", "dbfs", "github", "gist"}
"""Protocols whose drivers send HTTP requests, to servers that are not those of a bucket."""
_ARCHIVES = frozenset(("zip", "tar"))
_CACHES = frozenset(("simplecache", "filecache", "blockcache", "cached"))
_LAYERS = _ARCHIVES | _CACHES | {"libarchive", "dir", "reference", "generic", "dask"}
"""Protocols whose drivers open other URLs; of those that are not caches or archives, any at all."""
_PIECE = 1 << 20
_BLOCK = 1 << 22

Result = TypeVar("Result")


class Remote(NamedTuple):
    """How URLs are opened: the options of their file system, and whether HTTP is allowed."""

    options: Mapping[str, Any]
    http: bool


class Opened(NamedTuple):
    """The file system of a URL and the path there.

    `packed` is the size of the outermost archive that contains it, None if there is none.
    """

    system: AbstractFileSystem
    path: str
    packed: int | None
    budget: Budget
    remote: Remote

    def fetch(self, path: str, label: str) -> Transfer:
        """Begin to fetch a file."""
        allowance = None if self.packed is None else self.budget.of_file(self.packed)
        return Transfer(self.system, path, label, self.budget, allowance)


class Waiting(Generic[Result]):
    """Work of a driver in a thread that neither delays the caller for ever nor the end of the process."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self.received = 0
        self.given_up = False
        self._begin = time.monotonic()
        self._future: Future[Result] = Future()
        Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Callable[[], Result]) -> None:
        try:
            self._future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self._future.set_exception(error)

    def result(self, seconds: float) -> Result:
        """Return the result; TimeoutError if it takes so long, plus the time for the bytes received."""
        while not self._future.done():
            left = self._begin + seconds + self.received / SLOWEST - time.monotonic()
            if left <= 0:
                self.given_up = True
                raise TimeoutError(errno.ETIMEDOUT, Text("remote_too_slow"))
            try:
                return self._future.result(left)
            except TimeoutError:
                continue
        return self._future.result()


class Transfer(Waiting[bytes]):
    """A file on its way."""

    def __init__(
        self,
        system: AbstractFileSystem,
        path: str,
        label: str,
        budget: Budget,
        allowance: Allowance | None = None,
    ) -> None:
        self._system, self._path, self._label = system, path, label
        self._budget, self._allowance = budget, allowance
        super().__init__(self._fetched)

    def content(self) -> bytes:
        """Return the file's bytes.

        Raises
        ------
        TraceFormatError
            If it has more bytes than its size and `SMALL`, or an archive unpacks to more than allowed.
        TimeoutError
            If it arrives too slowly.
        """
        return self.result(PATIENCE_S)

    def _fetched(self) -> bytes:
        check_kind(self._system, self._path)
        web = bool(protocols(type(self._system)) & WEB)
        made = io.BytesIO()
        # Without blocks, HTTP sends a file in one answer.
        with self._system.open(self._path, "rb", block_size=0 if web else _BLOCK) as file:
            most = max(most_of(self._budget), min(_size(file) or 0, MOST))
            while (piece := file.read(_PIECE)) and not self.given_up:
                self.received += len(piece)
                if self._allowance:
                    self._allowance.take(len(piece), self._label)
                elif self.received > most:
                    raise TraceFormatError(Text("remote_too_large", label=self._label, most=most))
                made.write(piece)
        return made.getvalue()


def _size(file: Any) -> int | None:
    size = getattr(file, "size", None)
    if size is None:
        # A streaming answer of fsspec has its size only here.
        size = getattr(getattr(file, "r", None), "content_length", None)
    return size if isinstance(size, int) else None


def within(seconds: float, work: Callable[..., Result], *given: Any) -> Result:
    """Call a driver; TimeoutError if it takes longer."""
    return Waiting(partial(work, *given)).result(seconds)


def most_of(budget: Budget) -> int:
    """Return how many bytes a file of unknown size may have."""
    return SMALL if budget.limited else max(SMALL, budget.most)


def opened(url: str, remote: Remote, budget: Budget) -> Opened:
    """Open the file system of a URL, in which ``::`` separates layers.

    Each layer is opened here, the innermost first: left to themselves, drivers open whatever they are told.

    Raises
    ------
    OSError
        If the file of an archive cannot be fetched, or is a pipe or a device.
    TraceFormatError
        If an archive is larger than allowed.
    ValueError
        If a layer needs HTTP, and that is not allowed, or is of a kind that is not read.
    """
    from fsspec.core import _un_chain
    from fsspec.registry import get_filesystem_class

    layers = _un_chain(url, dict(remote.options))
    names = [protocols(get_filesystem_class(protocol)) | {protocol.lower()} for _, protocol, _ in layers]
    for name in names:
        if name & _HTTP and not remote.http:
            raise ValueError(Text("http_not_allowed", url=public_url(url)))
    inner = names[-1] & _LAYERS
    for refused in (inner, *(name for name in names[:-1] if not name & (_ARCHIVES | _CACHES))):
        if refused:
            raise ValueError(Text("url_layer_refused", url=public_url(url), layer=min(refused)))
    path, protocol, options = layers.pop()
    source = Opened(_source(protocol, options, budget), path, None, budget, remote)
    for path, protocol, options in reversed(layers):
        source = _around(source, protocol, path, options, url)
    # Drivers cache listings, but jobs keep writing.
    source.system.invalidate_cache()
    return source


def protocols(kind: type) -> frozenset[str]:
    """Return the protocols of a driver, including those of the drivers that it extends."""
    named = (vars(base).get("protocol", ()) for base in kind.__mro__)
    return frozenset(
        name.lower() for names in named for name in ((names,) if isinstance(names, str) else names)
    ) - {"abstract"}


def _source(protocol: str, options: dict[str, Any], budget: Budget) -> AbstractFileSystem:
    from fsspec import filesystem

    if protocol.lower() in WEB:
        from tfvis_nb.reading.sources.http_client import Limits, client

        # fsspec's own client holds answers in memory, unpacked, whatever their size.
        limited = partial(client, Limits(most_of(budget), PATIENCE_S, SLOWEST))
        options = {"get_client": limited, "skip_instance_cache": True} | options
    return filesystem(protocol, **options)


def _around(inner: Opened, protocol: str, path: str, options: dict[str, Any], url: str) -> Opened:
    """Open a cache or an archive."""
    from fsspec.registry import get_filesystem_class

    kind = get_filesystem_class(protocol)
    if protocol in _CACHES:
        # A cache would write files of an archive to the disk without limits.
        if inner.packed is not None:
            raise ValueError(Text("url_layer_refused", url=public_url(url), layer=protocol))
        return inner._replace(system=kind(fs=inner.system, **options), path=path or inner.path)
    content = inner.fetch(inner.path, public_url(url)).content()
    packed = len(content) if inner.packed is None else inner.packed
    plain = unpack(content, public_url(url), inner.budget.of_file(packed))
    return inner._replace(system=kind(fo=io.BytesIO(plain), **options), path=path, packed=packed)


def check_kind(system: AbstractFileSystem, path: str) -> None:
    """Raise OSError if a local path is a pipe, a socket or a device, which may be endless."""
    # A cache has its own file system in this attribute.
    system = getattr(system, "fs", system)
    if protocols(type(system)) & {"file", "local"}:
        check_local_kind(Path(path))
