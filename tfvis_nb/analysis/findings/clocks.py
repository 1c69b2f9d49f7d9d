"""How far apart the clocks of tasks may be, if that matters for a figure."""

from math import isinf

from tfvis_nb.core.clock_bounds import uncertainty
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.trace import Trace

MATTERS = 0.1
"""The fraction of a figure from which the uncertainty of clocks matters."""


def uncertain_clocks(trace: Trace, figure_ns: float) -> float | str | None:
    """Return by how many ns clocks may be wrong, if that matters for a figure; "unknown" without a bound."""
    known = uncertainty(trace.clock_bounds)
    if known < MATTERS * figure_ns or not known:
        return None
    return "unknown" if isinf(known) else known


def clocks_sentence(clocks_ns: float | str | None, ends_ns: float | None = None) -> str:
    """Describe how well the clocks are known; with `ends_ns`, tasks leave collectives together."""
    if clocks_ns is None:
        return ""
    by = "an unknown amount" if isinstance(clocks_ns, str) else f"up to {format_duration(clocks_ns)}"
    text = f" The clocks of the tasks may differ by {by}"
    if ends_ns is not None:
        ends = format_duration(ends_ns)
        return f"{text}, but probably agree: the tasks leave collectives within {ends} of each other."
    return f"{text}: waits between tasks are right if the clocks agree."
