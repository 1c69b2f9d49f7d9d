"""The exported dashboard: timeline, charts and tables as one HTML file that opens offline."""

from collections.abc import Sequence
from typing import Any

from tfvis_nb.core.html_export import MAX_BYTES
from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display import bokehjs
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.options import validate_options
from tfvis_nb.display.pages.page import packed_parts, packed_tabs
from tfvis_nb.display.pages.static_html import overview_html, static_html
from tfvis_nb.display.pages.template import framed
from tfvis_nb.display.shaping.annotations import drawn_annotations
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.tabs import COMPARISON, parts, tab
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.wire.code import without_code

PANES = """\
#tfvis-root { display: flex; flex-direction: column; --pane: min(290px, 25vh); }
.tfvis-timeline { flex: none; min-height: 0; }
.tfvis-panels { flex: 1 1 0; min-height: 150px; }
.tfvis-splitter { flex: none; height: 7px; cursor: ns-resize; touch-action: none;
  background: light-dark(#e3e6ea, #2e323b); }
.tfvis-splitter:hover, .tfvis-splitter:focus-visible { background: light-dark(#2563eb, #6ea8fe); }
.tfvis-splitter:focus-visible { outline: 2px solid light-dark(#2563eb, #6ea8fe); outline-offset: -1px; }
@media print { .tfvis-splitter { display: none; } }
@media (max-height: 620px) {
  #tfvis-root { height: auto; }
  .tfvis-timeline { height: 340px !important; }
  .tfvis-splitter { display: none; }
  .tfvis-panels { flex: none; }
}
"""


def html_dashboard(trace: Trace, title: str | None = None, *, max_bytes: int | None = MAX_BYTES) -> str:
    """Write the dashboard of a trace as one HTML text, its tabs computed here."""
    shown = compress_gaps(trace)
    return dashboard_page(
        shown,
        [tab(shown, name) for _, name in parts(shown)],
        title=trace.title if title is None else title,
        options={
            **validate_options({}),
            "selection": None,
            "annotations": drawn_annotations(trace, shown),
        },
        max_bytes=max_bytes,
    )


def dashboard_page(
    trace: Trace,
    tabs: Sequence[Part],
    *,
    title: str,
    options: dict[str, Any],
    drawn: bytes | None = None,
    details: bytes | None = None,
    against: Trace | None = None,
    max_bytes: int | None = None,
    source: bool = True,
) -> str:
    """Write a dashboard as one HTML text, without code unless `source`.

    `tabs` are results of `tfvis_nb.display.tabs.tab`, `options` those of the timeline with its ``selection``
    in the form of the front end. `drawn` and `details` are given if already packed. `against` is the base.
    """
    if not source:
        trace, details = without_code(trace), None
        against = None if against is None else without_code(against)
        # Many tabs contain lines of code; the comparison does not.
        tabs = [each if each["title"] == COMPARISON else tab(trace, each["title"], against) for each in tabs]
    beside = {"tabs": packed_tabs(tabs, bokehjs.version()), "bokeh": bokehjs.compressed_code()}
    size = sum(map(len, beside.values())) * 4 // 3
    given = {"drawn": drawn, "details": details}
    parts = packed_parts(trace, title, against=against, **given, beside=size, max_bytes=max_bytes)
    return framed(
        what="dashboard",
        title=printable(title, 200) or "Dashboard",
        summary=one_line(trace, title),
        fallback=static_html(trace, title=title, below=overview_html(trace, against), annotated=False),
        parts=parts | beside,
        options=options,
        code=bundle("dashboard.js"),
        style=PANES,
    )
