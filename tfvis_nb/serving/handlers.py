"""Request handlers of the monitor: fixed addresses, with numbers of traces."""

import asyncio
import base64
import hashlib
import html
import json
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote

from tornado.http1connection import HTTP1Connection
from tornado.iostream import StreamClosedError
from tornado.web import Application, Finish, HTTPError, RequestHandler, stream_request_body

from tfvis_nb.display.pages.page import file_stem
from tfvis_nb.display.refusals import Refusal, refusal_of
from tfvis_nb.serving.access import Access, token_in_address
from tfvis_nb.serving.service import MadeFile, MonitorService
from tfvis_nb.serving.workers import Worker
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
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
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


def monitor_page(name: str) -> Page:
    """Return the page that shows a session and loads its script; `name` is that of the session file."""
    nonce = secrets.token_urlsafe(16)
    title = html.escape(f"{name} - tfvis-nb")
    return Page(_filled("monitor", title=title, nonce=nonce), _OF_PAGE.format(nonce=nonce))


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


LARGEST_BODY = 64_000
"""Maximum bytes of a command."""
LARGEST_NOTES = 8_000_000
"""Maximum bytes of the annotations and views of a trace."""

_DIGITS = 19
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
    """Shared by the handlers: `quick` is for state and commands, `slow` for traces, `copying` for copies."""

    service: MonitorService
    access: Access
    script: bytes
    quick: Worker
    slow: Worker
    copying: Worker


def application(site: HandlerContext) -> Application:
    """Return the monitor as a tornado application."""
    shared = {"site": site}
    return Application(
        [
            (r"/", PageHandler, shared),
            (r"/serve\.js", ScriptHandler, shared),
            (r"/api/state", StateHandler, shared),
            (r"/api/command", CommandHandler, shared),
            (r"/api/trace/([0-9]{1,18})/(drawn|details)", PartHandler, shared),
            (r"/api/trace/([0-9]{1,18})/notes", NotesHandler, shared),
            (r"/api/trace/([0-9]{1,18})/annotate", AnnotateHandler, shared),
            (r"/api/trace/([0-9]{1,18})/download", DownloadHandler, shared),
            (r"/api/save", SaveHandler, shared),
        ],
        default_handler_class=NothingHandler,
        default_handler_args=shared,
        log_function=lambda _: None,  # tornado's log has the address, which may contain the token
    )


# With it, `prepare` runs before the body is read, so bodies of untrusted requests are never read.
@stream_request_body
class Handler(RequestHandler):
    """Checks permissions and rejects requests with a message; each request has its own handler."""

    method = "GET"
    """The HTTP method of its address."""

    largest_body = LARGEST_BODY

    lets_in_by_cookie = False

    def initialize(self, site: HandlerContext) -> None:
        """Store the shared state; tornado calls this for each request."""
        self.site = site
        self.body = bytearray()
        self._working: asyncio.Future[Any] | None = None

    def set_default_headers(self) -> None:
        """Set the headers of all responses."""
        self.clear_header("Server")
        for name, value in _ALWAYS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Reject forbidden requests, and bodies announced as too large."""
        self.site.access.check_place(self.request)
        self.check_token()
        self.settings["trust"](self.request)
        declared = self.request.headers.get("Content-Length", "")
        # Python rejects numbers with thousands of digits.
        if declared.isdecimal() and (len(declared) >= _DIGITS or int(declared) > self.largest_body):
            raise _too_large(self.largest_body)

    def check_token(self) -> None:
        """Reject requests without the token."""
        self.site.access.check_token(self.request, cookie=self.lets_in_by_cookie)

    def data_received(self, chunk: bytes) -> None:
        """Store a piece of the body."""
        self.body += chunk
        if len(self.body) > self.largest_body and not self._finished:
            self.send_error(413, exc_info=(Refusal, _too_large(self.largest_body), None))

    def on_connection_close(self) -> None:
        """Stop responding, because the client has gone."""
        super().on_connection_close()
        if self._working is not None:
            self._working.cancel()

    async def made(self, worker: Worker, make: Callable[[], T]) -> T:
        """Return a worker's result; any exception becomes a `Refusal`."""

        def guarded() -> T:
            try:
                return make()
            except BaseException as error:  # noqa: BLE001 - the client waits
                raise refusal_of(error, self._asked) from None

        self._working = working = asyncio.ensure_future(worker.done(guarded))
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
            self.set_header("Allow", self.method)
            refusal = Refusal(405, Text("method_not_allowed", method=self.method))
        elif isinstance(error, HTTPError):
            refusal = Refusal(status_code, Text("request_malformed"))
        else:
            refusal = refusal_of(error or RuntimeError(status_code), self._asked)
        self.set_status(refusal.status)
        if refusal.status == 401:
            self.set_header("WWW-Authenticate", 'token realm="tfvis-nb"')
        self.set_header("Connection", "close")
        connection = self.request.connection
        if isinstance(connection, HTTP1Connection):
            # tornado has no other way to close a connection after a response.
            connection._disconnect_on_finish = True  # noqa: SLF001
        if self.request.path == "/":
            self.finish_page(refusal_page(refusal))
        else:
            self.finish_json({"error": refusal.sentence})

    def given(self) -> dict[str, Any]:
        """Return the body, which has to be a JSON object."""
        kind = self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(415, Text("command_not_json_type"))
        return _parsed(bytes(self.body))

    def finish_json(self, value: object) -> None:
        """Respond with JSON."""
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))

    def finish_page(self, page: Page) -> None:
        """Respond with a page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", page.policy)
        self.finish(page.html.encode(errors="replace"))

    async def finish_file(self, name: str, content: bytes | MadeFile) -> None:
        """Respond with a file to save, which browsers never show, whatever its content."""
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
        encoded = quote(name, safe="", errors="replace")
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header(
            "Content-Disposition", f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
        )
        if isinstance(content, bytes):
            await self.send_bytes(content)
            return
        with content.folder, content.path.open("rb") as file:
            self.set_header("Content-Length", str(content.path.stat().st_size))
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


def _too_large(most: int) -> Refusal:
    return Refusal(413, Text("command_too_large", most=most))


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
            self.finish_page(monitor_page(self.site.service.name))


class ScriptHandler(Handler):
    """Sends the front end."""

    lets_in_by_cookie = True

    async def get(self) -> None:
        """Answer."""
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        await self.send_bytes(self.site.script)


class StateHandler(Handler):
    """Sends the session's counts and traces."""

    async def get(self) -> None:
        """Answer."""
        state = await self.made(self.site.quick, self.site.service.state)
        self.set_header("Content-Type", "application/json")
        self.set_header("ETag", state.tag)
        self.set_header("Vary", "Accept-Encoding")
        if self.check_etag_header():
            self.set_status(304)
        elif "gzip" in self.request.headers.get("Accept-Encoding", ""):
            self.set_header("Content-Encoding", "gzip")
            self.write(await self.made(self.site.quick, lambda: state.compressed))
        else:
            self.write(state.body)


class CommandHandler(Handler):
    """Executes a command."""

    method = "POST"

    async def post(self) -> None:
        """Respond with the state after it."""
        command = self.given()
        state = await self.made(self.site.quick, lambda: self.site.service.execute_command(command))
        self.set_header("Content-Type", "application/json")
        self.set_header("ETag", state.tag)
        self.write(state.body)


class PartHandler(Handler):
    """Sends a part of a trace in the format of the timeline."""

    async def get(self, number: str, part: str) -> None:
        """Answer."""
        opened = await self.made(self.site.slow, lambda: self.site.service.opened(int(number)))
        await self.finish_file(f"{file_stem(opened.title)}.{part}.gz", getattr(opened, part))


class NotesHandler(Handler):
    """Sends the annotations and views of a trace."""

    async def get(self, number: str) -> None:
        """Answer."""
        self.finish_json(await self.made(self.site.slow, lambda: self.site.service.notes(int(number))))


class AnnotateHandler(Handler):
    """Stores the annotations and views of a trace."""

    method = "POST"
    largest_body = LARGEST_NOTES

    async def post(self, number: str) -> None:
        """Store them."""
        notes = self.given()
        await self.made(self.site.slow, lambda: self.site.service.annotate(int(number), notes))
        self.finish_json({})


class DownloadHandler(Handler):
    """Sends a trace as a file."""

    async def get(self, number: str) -> None:
        """Answer."""
        try:
            forms = parse_qs(self.request.query, max_num_fields=100).get("format", [])
        except ValueError:
            forms = []
        form = forms[0] if len(forms) == 1 else ""
        name, content = await self.made(self.site.slow, lambda: self.site.service.download(int(number), form))
        await self.finish_file(name, content)


class SaveHandler(Handler):
    """Sends a copy of the session."""

    async def get(self) -> None:
        """Answer."""
        await self.finish_file(*await self.made(self.site.copying, self.site.service.save))


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        command = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, Text("command_not_json")) from None
    if not isinstance(command, dict):
        raise Refusal(400, Text("command_no_object"))
    return command
