"""The first tab: the overview, and the findings under it."""

from typing import Any

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.card import card
from tfvis_nb.display.overview.findings_block import findings_block


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the block of the overview, if there are events, and that of all findings."""
    overview = [{"kind": "overview", **card(trace)}] if len(trace.events) else []
    return [*overview, findings_block(trace)]
