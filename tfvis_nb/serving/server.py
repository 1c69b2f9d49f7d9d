"""`MonitorServer`: serves the monitor of a session to browsers with the token."""

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tfvis_nb.serving.access import Access, host_name, is_number, new_token, validate_token
from tfvis_nb.serving.connections import LimitedServer, listening_sockets
from tfvis_nb.serving.handlers import HandlerContext, application
from tfvis_nb.serving.viewers import SharedMonitor
from tfvis_nb.session.session import SavedSession
from tfvis_nb.texts import Text

_ENDING_S = 0.3
"""How long `stop` waits for closed connections to end."""


class MonitorServer:
    """Serves the monitor of a session: its signatures, requests and traces.

    It runs in its own thread. It serves anyone with the token, and only accepts commands. A process of its
    own reads the session file, which need not exist yet, while there are viewers.

    A `host` other than the loopback can be reached from other machines; `port` 0 means any free port. `token`
    has at least 16 characters and is random by default. `certfile` and `keyfile` are PEM files of a
    certificate chain and its key, for encrypted connections; the first may contain both. `allowed_hosts` are
    additional host names for browsers, such as that of a proxy. ValueError if one of these is invalid.

    >>> import urllib.request
    >>> with MonitorServer("run.tfvis") as server:
    ...     with urllib.request.urlopen(server.url) as page:
    ...         print(page.status)
    200
    """

    def __init__(
        self,
        session: SavedSession | str | Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        certfile: str | Path | None = None,
        keyfile: str | Path | None = None,
        allowed_hosts: Iterable[str] = (),
    ) -> None:
        if not 0 <= port < 1 << 16:
            raise ValueError(Text("port_out_of_range", port=port))
        if keyfile is not None and certfile is None:
            raise ValueError(Text("keyfile_alone"))
        self._session = session if isinstance(session, SavedSession) else SavedSession(session)
        self.host = host
        self.token = new_token() if token is None else validate_token(token)
        self._port = port
        self._certificate = (certfile, keyfile)
        self._allowed = [_validate_host(name) for name in allowed_hosts]
        self._numbers: list[str] = []
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None

    @property
    def secure(self) -> bool:
        """Whether connections are encrypted."""
        return self._certificate[0] is not None

    @property
    def running(self) -> bool:
        """Whether it is running."""
        return self._thread is not None and not self._over.is_set()

    @property
    def port(self) -> int:
        """The port; before `start`, 0 if any free port is used."""
        return self._port

    @property
    def address(self) -> str:
        """The address of the running server, without the token."""
        host = socket.gethostname() if self._everywhere else self.host
        bracketed = f"[{host}]" if ":" in host else host
        return f"http{'s' if self.secure else ''}://{bracketed}:{self.port}/"

    @property
    def url(self) -> str:
        """The address to open in a browser, with the token: anyone who sees it can use it."""
        return f"{self.address}?token={self.token}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it; False before `start`."""
        numbers = [ipaddress.ip_address(number) for number in self._numbers]
        return bool(numbers) and all(number.is_loopback for number in numbers)

    def start(self) -> Self:
        """Start serving in a thread that does not keep the process alive.

        OSError if it cannot listen at the host and port, or a certificate file cannot be read or is invalid;
        FileNotFoundError if this is a source checkout whose front end is not built.
        """
        from tfvis_nb.display.bundles import bundle

        if self.running:
            raise RuntimeError(Text("serving_already"))
        script = bundle("serve.js").encode()
        context = self._encryption()
        sockets = listening_sockets(self.host, self._port)
        self._port = sockets[0].getsockname()[1]
        self._numbers = [_ip_address(one.getsockname()[0]) for one in sockets]
        begun: Future[None] = Future()
        self._over.clear()
        self._thread = threading.Thread(
            target=lambda: _run(self._serve(script, sockets, context, begun), begun, self._over),
            name=f"tfvis-nb-serve-{self._port}",
            daemon=True,
        )
        self._thread.start()
        begun.result()
        return self

    def stop(self) -> None:
        """Stop the server and its running requests; a watched job continues."""
        loop, ended = self._loop, self._ended
        if loop is not None and ended is not None:
            # It may already be ending.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)
        self.join()

    def join(self, timeout: float | None = None) -> None:
        """Wait until another thread stops it, or for `timeout` seconds."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            # Not with `Thread.join`: if Ctrl-C or a signal interrupts it, Python 3.11 considers the thread
            # ended, and the process would exit around a thread that still serves.
            self._over.wait(timeout)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def _serve(
        self, script: bytes, sockets: list[socket.socket], context: ssl.SSLContext | None, begun: Future[None]
    ) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        path = self._session.path
        monitor = SharedMonitor(path, lambda: getattr(self._session, "problem", ""))
        app = application(HandlerContext(path, self._access(), script, monitor, asyncio.Lock()))
        http = LimitedServer(app, ssl_options=context)
        app.settings["trust"] = http.trust
        http.listen_to(sockets)
        begun.set_result(None)
        try:
            await self._ended.wait()
        finally:
            self._loop = self._ended = None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(http.close_all(), _ENDING_S)
            await monitor.close()

    def _encryption(self) -> ssl.SSLContext | None:
        certfile, keyfile = self._certificate
        if certfile is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        # Never prompt for a password: encrypted keys are rejected.
        context.load_cert_chain(certfile, keyfile, password="")
        return context

    def _access(self) -> Access:
        names = {*self._allowed, *self._numbers}
        if not is_number(self.host):
            names.add(self.host.lower())
        if self._everywhere:
            names.add(socket.gethostname().lower())
        return Access(self.token, names, port=self._port, any_number=self._everywhere, secure=self.secure)

    @property
    def _everywhere(self) -> bool:
        """Whether it serves at all addresses of this machine."""
        return any(ipaddress.ip_address(number).is_unspecified for number in self._numbers)


def _run(serving: Coroutine[Any, Any, None], begun: Future[None], over: threading.Event) -> None:
    try:
        try:
            asyncio.run(serving)
        finally:
            over.set()
    except BaseException as error:
        if begun.done():
            raise
        begun.set_exception(error)


def _ip_address(number: str) -> str:
    """Normalise an IP address for comparison with the ``Host`` header; IPv6 without its zone."""
    return str(ipaddress.ip_address(number.partition("%")[0]))


def _validate_host(name: str) -> str:
    host = host_name(f"[{name}]" if ":" in name else name)
    if host is None:
        raise ValueError(Text("allowed_host_no_name", name=name))
    return host
