"""The exported fleet: heat map, tables and a few timelines as one HTML file that opens offline."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from tfvis_nb.core.format import UNKNOWN, format_duration, format_file_size, format_ratio
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.pages.page import PageTooLargeError, packed_parts, packed_tabs
from tfvis_nb.display.pages.template import framed
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.wire.code import without_code
from tfvis_nb.texts import Text

TIMELINES_BYTES = 8_000_000
"""The timelines in a page are no larger together, unless the first one is."""

_STILL_ROWS = 5
_STYLE = """\
html { background: light-dark(#ffffff, #16181d); }
#tfvis-root { height: auto; }
.tfvis-timeline { height: 62vh; min-height: 380px; border-block: 1px solid light-dark(#e3e6ea, #2e323b); }
.tfvis-timeline[hidden] { display: none; }
"""


def fleet_page(
    parts: dict[str, bytes],
    tabs: Sequence[Part],
    timelines: Iterable[tuple[int, Trace, str]],
    *,
    title: str,
    summary: str,
    options: dict[str, Any],
    max_bytes: int | None,
    source: bool,
) -> str:
    """Write a fleet as one HTML text.

    `parts` are the grid and the values of its figures, `timelines` the number of a cell with its trace and
    title, of which the page has as many as fit, and without code unless `source`. PageTooLargeError is raised
    if the rest is larger than `max_bytes`.
    """
    parts = {**parts, "tabs": packed_tabs(tabs)}
    size = _size(parts)
    if max_bytes is not None and size > max_bytes:
        figures = {"size": format_file_size(size), "most": format_file_size(max_bytes)}
        raise PageTooLargeError(Text("fleet_page_too_large", **figures))
    room = TIMELINES_BYTES if max_bytes is None else min(TIMELINES_BYTES, max_bytes - size)
    worst: list[int] = []
    for cell, trace, name in timelines:
        shown = compress_gaps(trace if source else without_code(trace))
        try:
            made = packed_parts(shown, name, max_bytes=room)
        except PageTooLargeError:
            break
        room -= _size(made)
        parts |= {f"{part}-{len(worst)}": data for part, data in made.items()}
        worst.append(cell)
    return framed(
        what="fleet",
        title=printable(title, 200) or "Fleet",
        summary=summary,
        fallback=fleet_still(summary, tabs),
        parts=parts,
        options={**options, "worst": worst},
        code=bundle("fleet_page.js"),
        style=_STYLE,
    )


def fleet_still(summary: str, tabs: Sequence[Part] = ()) -> str:
    """Write a fleet's view without scripts: its size, and the first rows of its first table."""
    lines = [f"<p><b>{html.escape(summary)}</b></p>"]
    for block in [block for tab in tabs[:1] for block in tab["blocks"] if block["kind"] == "table"]:
        columns = block["columns"]
        rows = [
            [_text(cell, column["unit"]) for cell, column in zip(row, columns, strict=True)]
            for row in block["rows"][:_STILL_ROWS]
        ]
        lines.append(f"<p>{html.escape(block['title'])}</p>")
        lines.append(_table([column["label"] for column in columns], rows))
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [("th", heads), *(("td", row) for row in rows)]
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{html.escape(text)}</{tag}>' for text in line)}</tr>" for tag, line in lines
    )
    return f"<table>{body}</table>"


def _text(cell: Any, unit: str) -> str:
    if cell is None:
        return UNKNOWN
    return {"ns": format_duration, "ratio": format_ratio}.get(unit, str)(cell)


def _size(parts: dict[str, bytes]) -> int:
    return sum(map(len, parts.values())) * 4 // 3
