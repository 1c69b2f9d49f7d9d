"""Request handlers of the monitor: the page, its connection, and a copy of the session."""

import asyncio
import base64
import contextlib
import hashlib
import html
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, TypeVar
from urllib.parse import quote

from tornado.http1connection import HTTP1Connection
from tornado.iostream import StreamClosedError
from tornado.web import Application, Finish, HTTPError, RequestHandler, stream_request_body
from tornado.websocket import WebSocketHandler

from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.display.pages.page import file_stem
from tfvis_nb.display.refusals import Refusal, refusal_of
from tfvis_nb.serving.access import PROTOCOL, Access, token_in_address
from tfvis_nb.serving.frames import pack
from tfvis_nb.serving.viewers import SharedMonitor, Viewer
from tfvis_nb.session.session import SavedSession
from tfvis_nb.texts import Text

NOTHING_ALLOWED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_TEMPLATES = files(__package__).joinpath("templates")
_STYLE = _TEMPLATES.joinpath("sentence.css").read_text(encoding="utf-8")

_OF_THE_ADDRESS = (
    "It ends in <code>?token=\u2026</code>. Find it in the terminal of <code>tfvis-nb serve</code>,"
    " or in the log of the job. Each start makes a new one, so bookmarks do not work."
)
_OF_OTHERS = (
    "tfvis-nb shows a job here to anyone with the address and token that were printed when it started."
)
_WORDS = {
    400: ("Malformed request", "tfvis-nb shows a job here and accepts requests for traces."),
    401: ("Open the printed address", _OF_THE_ADDRESS),
    403: ("Access denied", _OF_OTHERS),
}
"""A heading and a text by status."""

_OF_PAGE = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
    "connect-src 'self' ws://{host} wss://{host}; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The only style, by its hash: nothing injected into the page can add another.
_OF_SENTENCE = (
    f"{NOTHING_ALLOWED}; img-src data:;"
    f" style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)


@dataclass(frozen=True)
class Page:
    """A page and its ``Content-Security-Policy`` header."""

    html: str
    policy: str


def monitor_page(name: str, host: str) -> Page:
    """Return the page that shows the session file `name`; it connects to `host`, as the browser calls it."""
    nonce = secrets.token_urlsafe(16)
    title = html.escape(f"{name} - tfvis-nb")
    return Page(_filled("monitor", title=title, nonce=nonce), _OF_PAGE.format(nonce=nonce, host=host))


def onward(key: str) -> Page:
    """Return a page that stores the key for the monitor's page and redirects there.

    An HTTP redirect would lose the cookie if the user comes from another site. Unlike a cookie, browser
    storage belongs only to its port.
    """
    nonce = secrets.token_urlsafe(16)
    policy = f"{NOTHING_ALLOWED}; script-src 'nonce-{nonce}'"
    return Page(_filled("onward", nonce=nonce, key=key), policy)


def refusal_page(refusal: Refusal) -> Page:
    """Explain to a user who opened an address why it was rejected."""
    heading, more = _WORDS.get(refusal.status, _WORDS[400])
    sentence = html.escape(refusal.sentence[:1].upper() + refusal.sentence[1:])
    page = _filled("sentence", style=_STYLE, heading=heading, sentence=sentence, more=more)
    return Page(page, _OF_SENTENCE)


def _filled(template: str, **values: str) -> str:
    text = _TEMPLATES.joinpath(f"{template}.html").read_text(encoding="utf-8")
    return Template(text).substitute(values)


LARGEST_MESSAGE = 8_000_000
"""Maximum bytes of a message, such as the annotations and views of a trace."""

_PIECE = 1 << 18

_STALLED_S = 60.0
"""How long a client may take to receive a piece of a response before its connection and file are released."""

# A page with a user's graph must not get into a cache, a frame or another site.
_ALWAYS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": NOTHING_ALLOWED,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

T = TypeVar("T")


@dataclass(frozen=True)
class HandlerContext:
    """Shared by the handlers."""

    path: Path
    access: Access
    script: bytes
    monitor: SharedMonitor
    copying: asyncio.Lock

    @property
    def name(self) -> str:
        """The name of the session file as text, whatever its bytes."""
        return os.fsencode(self.path.name).decode(errors="replace")


def application(site: HandlerContext) -> Application:
    """Return the monitor as a tornado application."""
    shared = {"site": site}
    return Application(
        [
            (r"/", PageHandler, shared),
            (r"/serve\.js", ScriptHandler, shared),
            (r"/api/socket", SocketHandler, shared),
            (r"/api/save", SaveHandler, shared),
        ],
        default_handler_class=NothingHandler,
        default_handler_args=shared,
        log_function=lambda _: None,  # tornado's log has the address, which may contain the token
        websocket_max_message_size=LARGEST_MESSAGE,
    )


@dataclass(frozen=True)
class MadeFile:
    """A file in its own folder, which is removed when the file has been sent."""

    folder: TemporaryFolder
    path: Path


# With it, `prepare` runs before the body is read, so bodies of untrusted requests are never read.
@stream_request_body
class Handler(RequestHandler):
    """Checks permissions and rejects requests with a message; each request has its own handler."""

    lets_in_by_cookie = False

    def initialize(self, site: HandlerContext) -> None:
        """Store the shared state; tornado calls this for each request."""
        self.site = site
        self._working: asyncio.Future[Any] | None = None

    def set_default_headers(self) -> None:
        """Set the headers of all responses."""
        self.clear_header("Server")
        for name, value in _ALWAYS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Reject forbidden requests, and those with a body."""
        self.site.access.check_place(self.request)
        self.check_token()
        self.settings["trust"](self.request)
        if self.request.headers.get("Content-Length", "0") != "0":
            raise Refusal(413, Text("body_not_read"))

    def check_token(self) -> None:
        """Reject requests without the token."""
        self.site.access.check_token(self.request, cookie=self.lets_in_by_cookie)

    def data_received(self, _: bytes) -> None:
        """Reject a body in pieces."""
        if not self._finished:
            self.send_error(413, exc_info=(Refusal, Refusal(413, Text("body_not_read")), None))

    def on_connection_close(self) -> None:
        """Stop responding, because the client has gone."""
        super().on_connection_close()
        if self._working is not None:
            self._working.cancel()

    async def made(self, make: Callable[[], T]) -> T:
        """Return the result of `make` on another thread; any exception becomes a `Refusal`."""

        def guarded() -> T:
            try:
                return make()
            except BaseException as error:  # noqa: BLE001 - the client waits
                raise refusal_of(error, self._asked) from None

        self._working = working = asyncio.ensure_future(_on_thread(guarded, self.site.copying))
        try:
            return await working
        except asyncio.CancelledError:
            raise Finish from None

    @property
    def _asked(self) -> str:
        """The request as logged: without the query, which may contain the token."""
        return f"{self.request.method} {self.request.path}"

    def compute_etag(self) -> None:
        """Disable ETags, because tornado would read the whole response again."""

    def log_exception(self, *_: object) -> None:
        """Log nothing: `refusal_of` does, and tornado would log the address, which may contain the token."""

    def write_error(self, status_code: int, **details: Any) -> None:
        """Respond with an error message, and close the connection."""
        error = details["exc_info"][1] if "exc_info" in details else None
        if status_code == 405 and not isinstance(error, Refusal):
            self.set_header("Allow", "GET")
            refusal = Refusal(405, Text("method_not_allowed", method="GET"))
        elif isinstance(error, HTTPError):
            refusal = Refusal(status_code, Text("request_malformed"))
        else:
            refusal = refusal_of(error or RuntimeError(status_code), self._asked)
        self.set_status(refusal.status)
        if refusal.status == 401:
            self.set_header("WWW-Authenticate", 'token realm="tfvis-nb"')
        if refusal.status == 426:
            self.set_header("Upgrade", "websocket")
        self.set_header("Connection", "close")
        connection = self.request.connection
        if isinstance(connection, HTTP1Connection):
            # tornado has no other way to close a connection after a response.
            connection._disconnect_on_finish = True  # noqa: SLF001
        if self.request.path == "/":
            self.finish_page(refusal_page(refusal))
        else:
            self.finish_json({"error": refusal.sentence})

    def finish_json(self, value: object) -> None:
        """Respond with JSON."""
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))

    def finish_page(self, page: Page) -> None:
        """Respond with a page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", page.policy)
        self.finish(page.html.encode(errors="replace"))

    async def finish_file(self, name: str, made: MadeFile) -> None:
        """Respond with a file to save, which browsers never show, whatever its content."""
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
        encoded = quote(name, safe="", errors="replace")
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header(
            "Content-Disposition", f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
        )
        with made.folder, made.path.open("rb") as file:
            self.set_header("Content-Length", str(made.path.stat().st_size))
            await self._send(iter(lambda: file.read(_PIECE), b""))

    async def send_bytes(self, content: bytes) -> None:
        """Respond with bytes, possibly many."""
        self.set_header("Content-Length", str(len(content)))
        await self._send(content[at : at + _PIECE] for at in range(0, len(content), _PIECE))

    async def _send(self, pieces: Iterator[bytes]) -> None:
        """Send a long response at the pace of the client."""
        for piece in pieces:
            self.write(piece)
            flushed = asyncio.ensure_future(self.flush())
            await asyncio.wait((flushed,), timeout=_STALLED_S)
            if not flushed.done() or isinstance(flushed.exception(), StreamClosedError):
                connection = self.request.connection
                if isinstance(connection, HTTP1Connection):
                    connection.close()
                return


class NothingHandler(Handler):
    """Handles all other addresses."""

    def check_token(self) -> None:
        """Reject all requests."""
        super().check_token()
        raise Refusal(404, Text("no_such_address"))


class PageHandler(Handler):
    """Sends the page, and removes the token from its address."""

    lets_in_by_cookie = True
    _has_come_with_token = False

    def check_token(self) -> None:
        """Accept requests with the token in the address."""
        given = token_in_address(self.request) if self.request.method == "GET" else None
        if given is None:
            super().check_token()
        elif self.site.access.is_token(given):
            self._has_come_with_token = True
        else:
            raise Refusal(403, Text("address_token_wrong"))

    def get(self) -> None:
        """Answer."""
        if self._has_come_with_token:
            self.set_header("Set-Cookie", self.site.access.set_cookie)
            self.finish_page(onward(self.site.access.key))
        else:
            self.finish_page(monitor_page(self.site.name, self.request.headers["Host"]))
            with contextlib.suppress(OSError):  # the page hears of it
                self.site.monitor.start()


class ScriptHandler(Handler):
    """Sends the front end."""

    lets_in_by_cookie = True

    async def get(self) -> None:
        """Answer."""
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        await self.send_bytes(self.site.script)


class SocketHandler(Handler, WebSocketHandler):
    """Connects a viewer with the process that has the monitor."""

    _viewer: Viewer | None = None

    def check_token(self) -> None:
        """Accept the key in the header that browsers can send."""
        self.site.access.check_protocol(self.request)

    def check_origin(self, _: str) -> bool:
        """Accept every one: `prepare` has rejected those of other pages."""
        return True

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        """Return the name of the protocol, and not the key behind it."""
        return PROTOCOL if PROTOCOL in subprotocols else None

    async def get(self) -> None:
        """Turn the connection into a WebSocket."""
        headers = self.request.headers
        if not (
            headers.get("Upgrade", "").lower() == "websocket"
            and "upgrade" in headers.get("Connection", "").lower()
            and headers.get("Sec-WebSocket-Version") == "13"
            and headers.get("Sec-WebSocket-Key")
        ):
            raise Refusal(426, Text("websocket_needed"))
        await super().get()

    def open(self) -> None:
        """Begin with the state."""
        try:
            self._viewer = self.site.monitor.join(self)
        except OSError as error:  # such as no memory for another process
            refusal = refusal_of(error, self._asked)
            self.write_message(pack({"method": "refused", "sentence": refusal.sentence}), binary=True)
            self.close()

    def on_message(self, message: str | bytes) -> None:
        """Pass on a request. Viewers cannot change the state, which all of them have in common."""
        try:
            content = json.loads(message)
        except (ValueError, RecursionError):
            content = None
        is_request = isinstance(content, dict) and content.get("method") == "custom"
        if self._viewer is None or not is_request:
            self.close(1008)
        else:
            self._viewer.ask(content, len(message))

    def on_close(self) -> None:
        """Forget the viewer."""
        if self._viewer is not None:
            self.site.monitor.leave(self._viewer)


class SaveHandler(Handler):
    """Sends a copy of the session, which may be larger than any message."""

    async def get(self) -> None:
        """Answer."""
        path = self.site.path
        made = await self.made(lambda: _copy_of(path, self.site.name))
        await self.finish_file(f"{file_stem(path.stem)}.tfvis", made)


def _copy_of(path: Path, name: str) -> MadeFile:
    """Write a copy of a session as it is now."""
    folder = TemporaryFolder()
    try:
        with SavedSession(path) as session:
            return MadeFile(folder, session.save(folder.path / "copy.tfvis"))
    except FileNotFoundError:
        folder.close()
        raise Refusal(404, Text("no_file_yet", name=name)) from None
    except BaseException:
        folder.close()
        raise


async def _on_thread(work: Callable[[], T], turn: asyncio.Lock) -> T:
    """Return the result of work on a thread that, unlike an executor's, the process does not wait for."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            future.set_exception(error)

    async with turn:
        future.set_running_or_notify_cancel()
        threading.Thread(target=run, name="tfvis-nb-serve-copy", daemon=True).start()
        return await asyncio.wrap_future(future)
