"""The first tab: the findings and the overview."""

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.card import card
from tfvis_nb.display.overview.findings_block import findings_block
from tfvis_nb.display.tabs.blocks import Block


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return the blocks of findings and of the overview, if there are events."""
    overview: list[Block] = [{"kind": "overview", **card(trace, against)}] if len(trace.events) else []
    return [findings_block(trace, against), *overview]
