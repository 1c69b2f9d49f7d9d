"""The first tab: the findings and the overview."""

from typing import Any

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.card import card
from tfvis_nb.display.overview.findings_block import findings_block


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the blocks of findings and of the overview, if there are events."""
    overview = [{"kind": "overview", **card(trace)}] if len(trace.events) else []
    return [findings_block(trace), *overview]
