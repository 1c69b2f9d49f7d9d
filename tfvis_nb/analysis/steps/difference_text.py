"""Format differences of step times."""

import math

from tfvis_nb.core.format import format_percent, format_ratio
from tfvis_nb.texts import Text

_TIMES = 2
"""Larger ratios are written as multiples, smaller ones as percentages."""
_NO_DECIMALS = 0.0995


_WORDS = {
    "ns": ("change_times", "change_longer", "change_shorter"),
    "bytes": ("change_times_as_much", "change_more", "change_less"),
    "count": ("change_times_as_many", "change_more", "change_fewer"),
}


def amount_text(ratio: float, unit: str = "ns") -> Text:
    """Format how much longer or shorter something takes, or how much more of it there is.

    >>> str(amount_text(1.081)), str(amount_text(0.5)), str(amount_text(12))
    ('8.1 % longer', '50 % shorter', '12.0 times as long')
    >>> str(amount_text(0.5, "count")), str(amount_text(1.5, "bytes")), str(amount_text(12, "count"))
    ('50 % fewer', '50 % more', '12.0 times as many')
    """
    times, more, less = _WORDS[unit]
    if ratio >= _TIMES:
        return Text(times, ratio=format_ratio(ratio))
    return Text(more if ratio >= 1 else less, change=f"{_percent(ratio)} %")


def interval_text(ratio: float, low: float, high: float) -> str:
    """Format the ends of the interval of a ratio in the style of `amount_text`.

    >>> interval_text(1.08, 1.05, 1.11) == "5.0\N{EN DASH}11 %"
    True
    >>> interval_text(12, 11, math.inf)
    '11.0 or more'
    """
    if ratio >= _TIMES:
        ends, unit = [format_ratio(low), format_ratio(high)], ""
    else:
        ends, unit = [_percent(end) for end in sorted((low, high), key=lambda end: abs(end - 1))], " %"
    return f"{ends[0]}\N{EN DASH}{ends[1]}{unit}" if math.isfinite(high) else f"{ends[0]}{unit} or more"


def difference_text(ratio: float, low: float, high: float, *, shown: bool, unit: str = "ns") -> str:
    """Format a difference with its interval, or state that none is shown.

    >>> difference_text(1.081, 1.05, math.inf, shown=True), difference_text(1.02, 0.98, 1.06, shown=False)
    ('8.1 % longer (5.0 % or more)', 'no difference shown')
    """
    if not shown:
        return Text("no_difference_shown")
    return f"{amount_text(ratio, unit)} ({interval_text(ratio, low, high)})"


def _percent(ratio: float) -> str:
    """Format the distance of a ratio from 1, in percent with two digits."""
    share = abs(ratio - 1)
    return f"{100 * share:.0f}" if share >= _NO_DECIMALS else format_percent(share).removesuffix(" %")
