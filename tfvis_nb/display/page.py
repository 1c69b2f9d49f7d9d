"""The exported page: a timeline as one HTML file that opens offline, from disk or in a sandboxed frame."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from string import Template
from typing import Any

from tfvis_nb._trace import Trace
from tfvis_nb.display.fallback import static_html
from tfvis_nb.display.labels import one_line, printable
from tfvis_nb.display.options import DEFAULTS, checked_options
from tfvis_nb.display.selection import selection_of
from tfvis_nb.display.wire import drawn as write_drawn
from tfvis_nb.display.wire_details import details as write_details
from tfvis_nb.unknown_options import refuse_unknown

_STATIC = Path(__file__).parent.parent / "static"

# No host may be asked for anything: a page with somebody's graph in it must not be able to tell.
_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' blob:; \
style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
html, body { margin: 0; height: 100%; }
body { font: 13px/1.5 system-ui, sans-serif; }
.tfvis-loading { padding: 12px 16px; }
</style>
</head>
<body>
<div id="tfvis-root"><p class="tfvis-loading" role="status">Loading the timeline of $summary\u2026</p></div>
<noscript>
<p>This page draws its timeline with JavaScript, which is switched off here. A summary:</p>
$fallback
</noscript>
<script type="application/octet-stream" id="tfvis-drawn">$drawn</script>
<script type="application/octet-stream" id="tfvis-details">$details</script>
<script type="application/json" id="tfvis-options">$options</script>
<script>$code</script>
</body>
</html>
""")


def html_page(trace: Trace, title: str | None = None, *, selection: Any = None, **options: Any) -> str:
    """Write a trace's timeline as one HTML text.

    Parameters
    ----------
    trace
        What to show.
    title
        Of the page; the trace's own unless given.
    selection
        What is selected at first: rows of ``trace.events``, a mask over them, event
        ids, or a tuple ``(start_ns, end_ns)`` in epoch nanoseconds.
    **options
        As of `tfvis_nb.show_timeline`.

    Raises
    ------
    TypeError, ValueError
        If an option is unknown or has a value it cannot have.
    FileNotFoundError
        If this is a checkout of the source whose front end is not built.
    """
    refuse_unknown(options, [*DEFAULTS, "selection", "title"])
    return page_text(trace, title=title, selection=selection_of(trace.events, selection), **options)


def page_text(
    trace: Trace,
    *,
    title: str | None = None,
    selection: dict[str, Any] | None = None,
    drawn: bytes | None = None,
    details: bytes | None = None,
    **options: Any,
) -> str:
    """Fill in the page; `selection` as the front end holds it, the bytes where they are made already."""
    title = trace.title if title is None else title
    values = {**checked_options(options), "selection": selection}
    return _PAGE.substitute(
        title=html.escape(printable(title, 200) or "Timeline"),
        summary=html.escape(one_line(trace, title)),
        fallback=static_html(trace, title=title),
        drawn=_base64(write_drawn(trace, title=title) if drawn is None else drawn),
        details=_base64(write_details(trace) if details is None else details),
        # Inside a script element only "<" could end the text.
        options=json.dumps(values).replace("<", "\\u003c"),
        code=bundle("page.js"),
    )


def write_text(path: str | Path, text: str) -> Path:
    """Write UTF-8 whatever the platform's own encoding is, and return the path."""
    path = Path(path)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def bundle_path(name: str) -> Path:
    """Where the bundle ``widget.js`` or ``page.js`` is, or is to be."""
    return _STATIC / name


def bundle(name: str) -> str:
    """Read a bundle.

    Raises
    ------
    FileNotFoundError
        If the front end was not built, with the command that builds it.
    """
    path = bundle_path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"the front end is not built: {path} is missing. "
            "In a checkout of the source run `npm ci && npm run build`; an installed package brings it along."
        )
    return path.read_text(encoding="utf-8")


def file_stem(title: str) -> str:
    """Make a title into a file's name that every platform takes.

    Examples
    --------
    >>> from tfvis_nb.display.page import file_stem
    >>> file_stem("step 3: a/b")
    'step-3-a-b'
    """
    return re.sub(r"[^\w.-]+", "-", title)[:80].strip("-.") or "timeline"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
