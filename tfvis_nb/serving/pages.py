"""The pages that the monitor sends: itself, a step on the way to it, and a sentence to who cannot have it."""

import base64
import hashlib
import html
import secrets
from dataclasses import dataclass
from string import Template

from tfvis_nb.display.refusals import Refusal

NOTHING_ALLOWED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="icon" href="data:,">
<style nonce="$nonce">
html, body { margin: 0; height: 100%; }
body { font: 13px/1.5 system-ui, sans-serif; }
.tfvis-loading { padding: 12px 16px; }
</style>
</head>
<body>
<div id="tfvis-root"><p class="tfvis-loading" role="status">Loading $title\u2026</p></div>
<noscript><p>This page is made by JavaScript, which is switched off here.</p></noscript>
<script nonce="$nonce" src="serve.js"></script>
</body>
</html>
""")

_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; background: #f4f5f7; color: #1d2129; font: 15px/1.55 system-ui, sans-serif; }
main { box-sizing: border-box; max-width: 36rem; margin: 14vh auto 0; padding: 0 1.25rem; }
article { padding: 1.5rem 1.75rem; border: 1px solid #d9dce1; border-radius: 8px; background: #fff; }
h1 { margin: 0 0 .6rem; font-size: 1.2rem; line-height: 1.3; font-weight: 600; }
p { margin: 0 0 .6rem; overflow-wrap: anywhere; }
p:last-child { margin: 0; color: #59616e; }
code { font: .9em ui-monospace, monospace; }
@media (prefers-color-scheme: dark) {
body { background: #16181c; color: #e4e7eb; }
article { border-color: #343941; background: #1f2228; }
p:last-child { color: #a0a8b4; }
}
"""

_SENTENCE = Template(f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$heading - tfvis-nb</title>
<link rel="icon" href="data:,">
<style>{_STYLE}</style>
</head>
<body>
<main><article>
<h1>$heading</h1>
<p>$sentence</p>
<p>$more</p>
</article></main>
</body>
</html>
""")

_ONWARD = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>tfvis-nb</title>
<noscript>tfvis-nb needs JavaScript, which is switched off here.</noscript>
<script nonce="$nonce">
localStorage.setItem("tfvis-nb-key", "$key");
location.replace("./");
</script>
</html>
""")

_OF_THE_ADDRESS = (
    "It ends in <code>?token=\u2026</code> and stands in the terminal of <code>tfvis-nb serve</code>,"
    " or in the log of the job. There is a new one each time: a bookmark does not keep it."
)
_OF_OTHERS = (
    "tfvis-nb shows a job here to whoever has the address that was printed when it began, with its token."
)
_WORDS = {
    400: ("This is not how to ask", "tfvis-nb shows a job here, and takes orders for it."),
    401: ("Open the address that was printed", _OF_THE_ADDRESS),
    403: ("This is not open to everybody", _OF_OTHERS),
}
"""A heading and what else there is to know, by status."""

_OF_PAGE = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The one style, by what is in it: nothing that is written into the page can bring another.
_OF_SENTENCE = (
    f"{NOTHING_ALLOWED}; img-src data:;"
    f" style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)


@dataclass(frozen=True)
class Page:
    """A page, and the header ``Content-Security-Policy``: what the browser lets it do."""

    html: str
    policy: str


def monitor_page(name: str) -> Page:
    """Return the page that shows a session, with its script to come; `name` is that of the session's file."""
    nonce = secrets.token_urlsafe(16)
    title = html.escape(f"{name} - tfvis-nb")
    return Page(_PAGE.substitute(title=title, nonce=nonce), _OF_PAGE.format(nonce=nonce))


def onward(key: str) -> Page:
    """Return a page that keeps the key for the monitor's page, and leads there.

    A redirect would lose the cookie where the user comes from another site. What the browser stores for
    a page is for that port alone, unlike a cookie.
    """
    nonce = secrets.token_urlsafe(16)
    policy = f"{NOTHING_ALLOWED}; script-src 'nonce-{nonce}'"
    return Page(_ONWARD.substitute(nonce=nonce, key=key), policy)


def refusal_page(refusal: Refusal) -> Page:
    """Tell a person, who has opened an address, why there is nothing to see."""
    heading, more = _WORDS.get(refusal.status, _WORDS[400])
    sentence = refusal.sentence
    page = _SENTENCE.substitute(
        heading=heading, sentence=html.escape(sentence[:1].upper() + sentence[1:]), more=more
    )
    return Page(page, _OF_SENTENCE)
