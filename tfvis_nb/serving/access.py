"""Access to the monitor: for requests with the token, from pages of the monitor itself."""

import base64
import hmac
import ipaddress
import re
import secrets
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from tornado.httputil import HTTPServerRequest

from tfvis_nb.display.refusals import Refusal
from tfvis_nb.texts import Text

LARGEST_HEADERS = 16_000
"""Maximum bytes of a request's headers."""

PROTOCOL = "tfvis-nb"
"""The subprotocol of the WebSocket. Browsers can send it no other header, so the key follows this name."""

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,1000}")
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def validate_token(token: str) -> str:
    """Return a given token; ValueError if it is too short or cannot be part of an address."""
    if not _TOKEN.fullmatch(token):
        raise ValueError(Text("token_too_short"))
    return token


def host_name(text: str) -> str | None:
    """Return the name or IP address in a ``Host`` header, or None if it is malformed.

    >>> host_name("LocalHost:8000"), host_name("[::0:1]"), host_name("a b")
    ('localhost', '::1', None)
    """
    match = _HOST.fullmatch(text.lower())
    if match is None:
        return None
    name = match["name"].strip("[]")
    if is_number(name):
        return str(ipaddress.ip_address(name))
    return None if ":" in name else name


def is_number(name: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Access:
    """Accepts permitted requests and rejects all others.

    `hosts` are names and IP addresses of this machine, in addition to those of the loopback. Any other name
    in the ``Host`` header comes from a page that made its own name point here (DNS rebinding). With
    `any_number` any IP address is allowed, because nobody can redirect one. `secure` connections are
    encrypted.
    """

    def __init__(
        self, token: str, hosts: Iterable[str], *, port: int, any_number: bool, secure: bool
    ) -> None:
        self._token = token.encode()
        self._hosts = {*_LOOPBACK, *hosts}
        self._any_number = any_number
        self._secure = secure
        # Cookies belong to a host, not to a port, so the name has the port. Other servers on this host also
        # receive the value. So it only opens the page; access to the session takes the key.
        self._cookie_name = f"tfvis-nb-{port}"
        # Derived from the token, so that an open page survives a restart of the server with the same token.
        self._cookie = self._derived(f"cookie {port}")
        self.key = self._derived(f"key {port}")

    def _derived(self, purpose: str) -> str:
        digest = hmac.digest(self._token, purpose.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def check_place(self, request: HTTPServerRequest) -> None:
        """Reject requests from pages of other sites, or under a name that is not this machine's."""
        headers = request.headers
        if sum(len(name) + len(value) for name, value in headers.get_all()) > LARGEST_HEADERS:
            raise Refusal(431, Text("headers_too_large", most=LARGEST_HEADERS))
        name = host_name(headers.get("Host", ""))
        if name is None:
            raise Refusal(400, Text("host_header_malformed"))
        if name not in self._hosts and not (self._any_number and is_number(name)):
            raise Refusal(403, Text("host_not_allowed", name=name))
        origin = headers.get("Origin")
        if origin is not None and host_of_origin(origin) != headers["Host"].lower():
            raise Refusal(403, Text("foreign_page"))
        site = headers.get("Sec-Fetch-Site", "none")
        if site not in ("none", "same-origin") and not _is_followed_link(request):
            raise Refusal(403, Text("foreign_page"))

    def check_token(self, request: HTTPServerRequest, *, cookie: bool) -> None:
        """Reject requests without the token or, if `cookie` is enough, the key that the page got for it."""
        given = request.headers.get("Authorization")
        if given is not None:
            scheme, _, token = given.partition(" ")
            self._check_key(token.strip() if scheme.lower() == "token" else "")
        elif not (cookie and _same(self._cookie_of(request), self._cookie.encode())):
            raise Refusal(401, Text("token_needed"))

    def check_protocol(self, request: HTTPServerRequest) -> None:
        """Reject WebSockets without the token or key, as a header or behind the name of the protocol."""
        name, _, key = request.headers.get("Sec-WebSocket-Protocol", "").partition(",")
        if "Authorization" in request.headers or name.strip() != PROTOCOL:
            self.check_token(request, cookie=False)
        else:
            self._check_key(key.strip())

    def _check_key(self, text: str) -> None:
        if not (self.is_token(text) or _same(text, self.key.encode())):
            raise Refusal(403, Text("token_wrong"))

    def is_token(self, text: str) -> bool:
        """Whether a text is the token, compared in constant time."""
        return _same(text, self._token)

    def _cookie_of(self, request: HTTPServerRequest) -> str:
        # By hand: http.cookies drops all cookies if another program on this host sets a malformed one.
        for cookie in request.headers.get("Cookie", "").split(";"):
            name, _, value = cookie.strip().partition("=")
            if name == self._cookie_name:
                return value
        return ""

    @property
    def set_cookie(self) -> str:
        """The ``Set-Cookie`` header that gives a browser access to the page."""
        secure = "; Secure" if self._secure else ""
        return f"{self._cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict{secure}"


def token_in_address(request: HTTPServerRequest) -> str | None:
    """Return the token in the address, or None."""
    try:
        given = parse_qs(request.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return ""
    return given["token"][0] if "token" in given else None


def _same(text: str, secret: bytes) -> bool:
    return hmac.compare_digest(text.encode(errors="replace"), secret)


def _is_followed_link(request: HTTPServerRequest) -> bool:
    """Whether the user followed a link on another page, which cannot see the response."""
    headers = request.headers
    return (
        request.method == "GET"
        and request.path == "/"
        and headers.get("Sec-Fetch-Mode") == "navigate"
        and headers.get("Sec-Fetch-Dest") == "document"
    )


def host_of_origin(origin: str) -> str | None:
    """Return host and port of an ``Origin`` header, or None if it names none.

    >>> host_of_origin("http://LocalHost:80"), host_of_origin("null")
    ('localhost:80', None)
    """
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    whole = parts.scheme in ("http", "https") and parts.netloc and not parts.path
    return parts.netloc.lower() if whole else None
