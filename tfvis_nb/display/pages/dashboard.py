"""The exported dashboard: timeline, charts and tables as one HTML file that opens offline."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display import bokehjs
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.options import checked_options
from tfvis_nb.display.pages.findings_html import findings_html
from tfvis_nb.display.pages.page import MAX_BYTES, packed_parts
from tfvis_nb.display.pages.static_html import static_html
from tfvis_nb.display.pages.template import framed
from tfvis_nb.display.shaping.gap_compression import closer
from tfvis_nb.display.tabs import tab, tab_names

PANES = """\
#tfvis-root { display: flex; flex-direction: column; }
.tfvis-timeline { flex: none; min-height: 0; }
.tfvis-panels { flex: 1 1 0; min-height: 0; }
.tfvis-splitter { flex: none; height: 7px; cursor: ns-resize; touch-action: none;
  background: light-dark(#e3e6ea, #2e323b); }
.tfvis-splitter:hover, .tfvis-splitter:focus-visible { background: light-dark(#2563eb, #6ea8fe); outline: 0; }
@media print { .tfvis-splitter { display: none; } }
"""


def html_dashboard(trace: Trace, title: str | None = None, *, max_bytes: int | None = MAX_BYTES) -> str:
    """Write the dashboard of a trace as one HTML text, its tabs computed here.

    Parameters
    ----------
    trace
        What to show.
    title
        Of the page; the trace's own unless given.
    max_bytes
        Of the page; None for any size.

    Raises
    ------
    tfvis_nb.display.pages.page.PageTooLargeError, FileNotFoundError
        As of `dashboard_page`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.pages.dashboard import html_dashboard
    >>> trace = Trace(events.build({"start_ns": [5], "duration_ns": [2], "kind": ["op"]}), title="a step")
    >>> "<title>a step</title>" in html_dashboard(trace)
    True
    """
    shown = closer(trace)
    return dashboard_page(
        shown,
        [tab(shown, name) for name in tab_names()],
        title=trace.title if title is None else title,
        options={**checked_options({}), "selection": None},
        max_bytes=max_bytes,
    )


def dashboard_page(
    trace: Trace,
    tabs: Sequence[dict[str, Any]],
    *,
    title: str,
    options: dict[str, Any],
    drawn: bytes | None = None,
    details: bytes | None = None,
    max_bytes: int | None = None,
) -> str:
    """Write a dashboard as one HTML text.

    Parameters
    ----------
    trace
        As the timeline shows it.
    tabs
        As `tfvis_nb.display.tabs.tab` makes them.
    title
        Of the page.
    options
        Of the timeline, and its ``selection`` as the front end holds it.
    drawn, details
        What the timeline shows, where that is packed already.
    max_bytes
        Of the page; None for any size.

    Raises
    ------
    tfvis_nb.display.pages.page.PageTooLargeError
        If the page would be larger than `max_bytes`; it is a ValueError.
    FileNotFoundError
        If the front end or BokehJS is missing.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.pages.dashboard import dashboard_page
    >>> table = events.build({"start_ns": [5], "duration_ns": [2], "kind": ["op"]})
    >>> page = dashboard_page(Trace(table), [], title="step", options={})
    >>> all(f'id="tfvis-{part}"' in page for part in ("drawn", "details", "tabs", "bokeh"))
    True
    """
    packed = json.dumps({"bokeh": bokehjs.version(), "tabs": list(tabs)}, allow_nan=False)
    beside = {"tabs": gzip.compress(packed.encode(), mtime=0), "bokeh": bokehjs.packed_code()}
    size = sum(map(len, beside.values())) * 4 // 3
    parts = packed_parts(trace, title, drawn=drawn, details=details, beside=size, max_bytes=max_bytes)
    return framed(
        what="dashboard",
        title=printable(title, 200) or "Dashboard",
        summary=one_line(trace, title),
        fallback=static_html(trace, title=title, below=findings_html(trace)),
        parts=parts | beside,
        options=options,
        code=bundle("dashboard.js"),
        style=PANES,
    )
