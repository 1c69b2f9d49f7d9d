"""The tabs of a dashboard as plain data: charts, tables with definitions, findings.

The front end draws them without knowing their meaning; `tfvis_nb.display.tabs.blocks` defines the blocks that
it can draw. Tabs are computed one by one because each takes some time.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import (
    Block,
    ChartBlock,
    FlameBlock,
    Part,
    StagesBlock,
    TableBlock,
    WhatIfBlock,
)

TABS: Mapping[str, Sequence[str]] = {
    "Overview": ["Overview"],
    "Time": ["Breakdown", "Steps", "Gaps", "Critical path"],
    "Ops": ["Ops", "Layers", "Kernels", "Flame graph"],
    "Transfers": ["Transfers"],
    "Memory": ["Memory"],
    "Input": ["Input"],
    "What if": ["What if"],
}
"""Title of each tab to the titles of its parts, in order.

The module of a part has its ``blocks(trace, against)``, with differences from a base unless in
`_WITHOUT_BASE`, and ``why_none(trace)``, the reason if a trace has none.
"""

_WITHOUT_BASE = ("Flame graph",)
"""The parts without differences from a base: the tables next to it have those of its frames."""

COMPARISON = "Compare"
"""The part with two traces, in the tab of times."""
_TIME = "Time"


def parts(trace: Trace, against: Trace | None = None) -> list[tuple[str, str]]:
    """Return the titles of tab and part for each part that the trace has; the last one with another trace."""
    titles_of_tabs = [
        (tab, part) for tab, titles in TABS.items() for part in titles if not why_none(trace, part)
    ]
    return [*titles_of_tabs, *([] if against is None else [(_TIME, COMPARISON)])]


def why_none(trace: Trace, name: str) -> str:
    """Return why a trace has nothing in a part; empty if it has something, or if finding out fails."""
    reason_of = getattr(_module(name), "why_none", None)
    try:
        reason: str = "" if reason_of is None else reason_of(trace)
    except Exception:  # noqa: BLE001 - the part itself says what fails
        return ""
    return reason


def tab(trace: Trace, name: str, against: Trace | None = None) -> Part:
    """Compute the content of a part of a tab.

    `trace` is the one in the timeline: times count from its first event. Figures have their differences
    from a base `against`.
    """
    if name == COMPARISON and against is not None:
        from tfvis_nb.display.tabs import compare as comparison

        return {"tab": _TIME, "title": name, "blocks": comparison.blocks(trace, against)}
    base = [] if name in _WITHOUT_BASE else [against]
    blocks = _available(_module(name).blocks(trace, *base))
    (of,) = (title for title, titles in TABS.items() if name in titles)
    return {"tab": of, "title": name, "blocks": blocks}


def _module(name: str) -> Any:
    if not any(name in titles for titles in TABS.values()):
        raise KeyError(name)
    return importlib.import_module(f"tfvis_nb.display.tabs.{name.lower().replace(' ', '_')}")


def _available(blocks: list[Block]) -> list[Block]:
    """Leave out blocks without contents; if none has any, show each reason once, with its titles.

    The block of findings stays, because it is what the overview is for. The control of What if is not a
    content: pages without a kernel do not show it.
    """
    available = [block for block in blocks if not block.get("cannot_say") or block["kind"] == "findings"]
    if any(block["kind"] != "what_if" for block in available):
        return available
    kept: dict[str, TableBlock | ChartBlock | StagesBlock | FlameBlock | WhatIfBlock] = {}
    for index, block in enumerate(blocks):
        if block["kind"] == "overview" or block["kind"] == "findings":  # Always with contents
            continue
        first = kept.setdefault(str(block.get("cannot_say", "")) or str(index), block)
        if first is not block:
            first["title"] += f" · {block['title']}"
    return [*kept.values()]
