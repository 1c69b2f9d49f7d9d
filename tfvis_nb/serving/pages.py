"""The pages of the monitor: the monitor itself, a redirect to it, and a message for rejected requests."""

import base64
import hashlib
import html
import secrets
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from tfvis_nb.display.refusals import Refusal

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
