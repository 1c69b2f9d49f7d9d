"""What can be asked of the monitor: fixed addresses, and numbers of traces in them."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, quote

from tfvis_nb.display.page import file_stem
from tfvis_nb.serving.access import Access
from tfvis_nb.serving.answers import Answers
from tfvis_nb.serving.exchange import LARGEST_BODY, MadeFile, Refusal, Request, Response, refused
from tfvis_nb.serving.pages import monitor_page, onward, said
from tfvis_nb.serving.workers import Worker


class Routes:
    """Answers requests.

    Parameters
    ----------
    answers
        About the session.
    access
        Who may ask.
    script
        The front end.
    """

    def __init__(self, answers: Answers, access: Access, script: bytes) -> None:
        self._answers = answers
        self._access = access
        self._script = script
        self._quick, self._slow, self._copying = (
            Worker(f"tfvis-nb-serve-{what}") for what in ("state", "trace", "copy")
        )
        self._routes: list[tuple[re.Pattern[str], str, Callable[..., Awaitable[Response]]]] = [
            (re.compile(path), method, handle)
            for path, method, handle in (
                (r"/", "GET", self._page),
                (r"/serve\.js", "GET", self._code),
                (r"/api/state", "GET", self._state),
                (r"/api/command", "POST", self._command),
                (r"/api/trace/([0-9]{1,18})/(drawn|details)", "GET", self._part),
                (r"/api/trace/([0-9]{1,18})/download", "GET", self._download),
                (r"/api/save", "GET", self._save),
            )
        ]

    def close(self) -> None:
        """Begin no more work; what is under way ends by itself."""
        for worker in (self._quick, self._slow, self._copying):
            worker.close()

    async def respond(self, request: Request) -> Response:
        """Answer a request.

        Raises
        ------
        Refusal
            If it is refused.
        """
        try:
            self._access.check_place(request)
            if request.method == "GET" and request.path == "/":
                given = self._access.token_in_address(request)
                if given is not None:
                    return self._let_in(request, given)
            self._access.check_token(request)
        except Refusal as refusal:
            return _in_its_form(request, refusal)
        for path, method, handle in self._routes:
            found = path.fullmatch(request.path)
            if found is None:
                continue
            if request.method != method:
                raise Refusal(405, f"this address is for {method} alone", Allow=method)
            return await handle(request, *found.groups())
        raise Refusal(404, "there is nothing at this address")

    async def unencrypted(self, request: Request) -> Response:
        """Answer a request that has come without encryption where there should be one."""
        return _in_its_form(
            request, Refusal(400, "this is served encrypted: its address begins with https, not with http")
        )

    def _let_in(self, request: Request, token: str) -> Response:
        """Take the token out of the address, where it would stay in the browser's history."""
        if not self._access.is_token(token):
            raise Refusal(
                403,
                "the token in the address is wrong: open the whole address that was printed"
                " when the server began",
            )
        cookie = self._access.set_cookie
        if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            # After a link on another site, such as a terminal in a browser, a strict cookie is not sent
            # along with a redirect, but with what this page then asks for.
            return onward(cookie)
        # Relative: behind a proxy the page may be in a folder of another server.
        return Response(status=303, headers={"Location": "./", "Set-Cookie": cookie})

    async def _page(self, _: Request) -> Response:
        return monitor_page(self._answers.name)

    async def _code(self, _: Request) -> Response:
        return Response(self._script, headers={"Content-Type": "text/javascript; charset=utf-8"})

    async def _state(self, request: Request) -> Response:
        state = await self._quick.done(self._answers.state)
        if state.tag in re.findall(r'"[^"]*"', request.headers.get("If-None-Match", "")):
            return Response(status=304, headers={"ETag": state.tag})
        headers = {"Content-Type": "application/json", "ETag": state.tag, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            packed = await self._quick.done(lambda: state.packed)
            return Response(packed, headers={**headers, "Content-Encoding": "gzip"})
        return Response(state.body, headers=headers)

    async def _command(self, request: Request) -> Response:
        kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(415, "a command is JSON: send it with Content-Type: application/json")
        if request.body is None:
            raise Refusal(413, f"a command has at most {LARGEST_BODY:,} bytes")
        command = _parsed(request.body)
        state = await self._quick.done(lambda: self._answers.obey(command))
        return Response(state.body, headers={"Content-Type": "application/json", "ETag": state.tag})

    async def _part(self, _: Request, number: str, part: str) -> Response:
        opened = await self._slow.done(lambda: self._answers.opened(int(number)))
        data: bytes = getattr(opened, part)
        return Response(data, headers=_attachment(f"{file_stem(opened.title)}.{part}.gz"))

    async def _download(self, request: Request, number: str) -> Response:
        try:
            forms = parse_qs(request.query, max_num_fields=100).get("format", [])
        except ValueError:
            forms = []
        form = forms[0] if len(forms) == 1 else ""
        return _file(*await self._slow.done(lambda: self._answers.download(int(number), form)))

    async def _save(self, _: Request) -> Response:
        return _file(*await self._copying.done(self._answers.save))


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        command = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "this is no JSON") from None
    if not isinstance(command, dict):
        raise Refusal(400, 'a command is a JSON object, such as {"do": "trace_next", "signature": null}')
    return command


def _in_its_form(request: Request, refusal: Refusal) -> Response:
    """Refuse in a page where a person has opened an address, else in JSON."""
    return said(refusal) if request.path == "/" else refused(refusal)


def _file(name: str, content: bytes | MadeFile) -> Response:
    return Response(content, headers=_attachment(name))


def _attachment(name: str) -> dict[str, str]:
    """Headers of a file to be saved: never shown by the browser, whatever it holds."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
    }
