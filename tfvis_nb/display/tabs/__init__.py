"""The tabs of a dashboard as plain data: charts, tables with definitions, findings.

The front end draws them without knowing their meaning; `tfvis_nb.display.tabs.blocks` defines the blocks that
it can draw. Tabs are computed one by one because each takes some time.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from tfvis_nb.core.trace import Trace

TABS: Mapping[str, str] = {
    "Overview": "overview",
    "Breakdown": "breakdown",
    "Ops": "ops",
    "Layers": "layers",
    "Flame graph": "flame_graph",
    "Input": "input",
    "Transfers": "transfers",
    "Memory": "memory",
    "Critical path": "critical_path",
    "Gaps": "gaps",
    "Steps": "steps",
    "What if": "what_if",
}
"""Title of each tab to the module with its ``blocks(trace)``, in order."""

_NOTHING = {"no_transfers": "No transfers in this trace."}
"""Reasons that mean that there is nothing, not that something is unknown."""

COMPARISON = "Compare"
"""The tab of two traces."""


def tab_names(against: Trace | None = None) -> list[str]:
    """Return the titles of the tabs in order; the last one only if there is another trace."""
    return [*TABS, *([] if against is None else [COMPARISON])]


def tab(trace: Trace, name: str, against: Trace | None = None) -> dict[str, Any]:
    """Compute the content of a tab: ``title``, and ``blocks`` of `tfvis_nb.display.tabs.blocks`.

    It contains only JSON values, without infinite or undefined numbers. `trace` is the one in the timeline:
    times count from its first event.
    """
    if name == COMPARISON and against is not None:
        from tfvis_nb.display.tabs import compare as comparison

        return {"title": name, "blocks": comparison.blocks(trace, against)}
    module = importlib.import_module(f"tfvis_nb.display.tabs.{TABS[name]}")
    return {"title": name, "blocks": _without_repeats(module.blocks(trace))}


def _without_repeats(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Show each reason once: with its titles, or alone if nothing else is shown."""
    kept: dict[str, dict[str, Any]] = {}
    for index, block in enumerate(blocks):
        reason = block.get("cannot_say", "")
        first = kept.setdefault(str(reason) or str(index), block)
        if first is not block:
            first["title"] += f" · {block['title']}"
    (first, *others) = kept.values()
    reason = first.get("cannot_say", "")
    if reason and not others:
        return [{"kind": "nothing", "text": _NOTHING.get(reason.id, f"Not available: {reason}.")}]
    return list(kept.values())
