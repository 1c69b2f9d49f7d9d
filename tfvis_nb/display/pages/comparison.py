"""The exported comparison: two timelines and their differences, as one HTML file that opens offline."""

import html
from collections.abc import Sequence
from typing import Any

from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.pages.dashboard import PANES
from tfvis_nb.display.pages.page import packed_parts, packed_tabs
from tfvis_nb.display.pages.static_html import static_html
from tfvis_nb.display.pages.template import framed
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.tabs.comparison import PARTS
from tfvis_nb.display.wire.code import without_code


def comparison_page(
    traces: Sequence[Trace],
    sides: Sequence[dict[str, Any]],
    tabs: Sequence[Part],
    *,
    title: str,
    common: dict[str, Any],
    max_bytes: int | None = None,
    source: bool = True,
) -> str:
    """Write two timelines and the tabs under them as one HTML text.

    `sides` are the results of `tfvis_nb.display.timeline.linked.LinkedTimeline._as_now`, `tabs` those of
    `tfvis_nb.display.tabs.comparison.tab`. `common` has data of both: ``extent``, the minimum time that they
    show, in ns, ``memory``, from `tfvis_nb.display.shaping.side.highest_memory`, and ``headline``, sentences.
    Without `source` the page has no code.
    """
    if not source:
        traces = [without_code(trace) for trace in traces]
        sides = [side | {"details": None} for side in sides]
        tabs = [each for each in tabs if PARTS[each["title"]] != "line"]
    parts = {"tabs": packed_tabs(tabs)}
    for number, (trace, side) in enumerate(zip(traces, sides, strict=True)):
        size = sum(map(len, parts.values())) * 4 // 3
        made = packed_parts(
            trace,
            side["title"],
            drawn=side.get("drawn"),
            details=side.get("details"),
            beside=size,
            max_bytes=max_bytes,
        )
        parts |= {f"{name}-{number}": data for name, data in made.items()}
    titled = [(trace, side["title"]) for trace, side in zip(traces, sides, strict=True)]
    return framed(
        what="comparison",
        title=printable(title, 200) or "Comparison",
        summary=" beside ".join(one_line(trace, name) for trace, name in titled),
        fallback="".join(
            [
                headline_html(common["headline"]),
                *(static_html(trace, title=name, annotated=False) for trace, name in titled),
            ]
        ),
        parts=parts,
        options={**common, "sides": [side["options"] for side in sides]},
        code=bundle("comparison.js"),
        style=PANES,
    )


def headline_html(sentences: Sequence[str]) -> str:
    """Write the headline of a comparison as plain HTML; empty without sentences."""
    return f"<p><b>{html.escape(' '.join(sentences))}</b></p>" if sentences else ""
