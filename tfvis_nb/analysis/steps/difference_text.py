"""Format differences of step times."""

import math

from tfvis_nb.core.format import format_change, format_percent, format_ratio
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
    >>> interval_text(12, 11, math.inf), interval_text(0.2, 0, 0.4)
    ('11.0 or more', '60 % or more')
    """
    if ratio >= _TIMES:
        ends, unit = [format_ratio(low), format_ratio(high)], ""
    else:
        ends, unit = [_percent(end) for end in sorted((low, high), key=lambda end: abs(end - 1))], " %"
    is_closed = low > 0 and math.isfinite(high)
    return f"{ends[0]}\N{EN DASH}{ends[1]}{unit}" if is_closed else f"{ends[0]}{unit} or more"


def bounds_text(ratio: float, low: float, high: float, *, shown: bool) -> Text:
    """Format what a sentence states behind a ratio: its interval, or why that says nothing.

    >>> str(bounds_text(1.02, 0.98, 1.06, shown=False)), str(bounds_text(2, 0, math.inf, shown=False))
    ('95 % interval \u22122.0 % to +6.0 %', 'they vary too much for an interval')
    >>> str(bounds_text(0.5, 0.3, 1.1, shown=True))
    '; each takes less time than any of A'
    """
    if (shown and low <= 1 <= high) or math.isnan(low):
        return Text("comparison_each_longer" if ratio > 1 else "comparison_each_shorter")
    if shown:
        return Text("comparison_interval", interval=interval_text(ratio, low, high))
    if low > 0 and math.isfinite(high):
        return Text("comparison_bounds", low=format_change(low), high=format_change(high))
    return Text("comparison_no_bounds")


def difference_text(ratio: float, low: float, high: float, *, shown: bool, unit: str = "ns") -> str:
    """Format a difference with its interval, if that excludes 1, or state that none is shown.

    >>> difference_text(1.081, 1.05, math.inf, shown=True), difference_text(1.02, 0.98, 1.06, shown=False)
    ('8.1 % longer (5.0 % or more)', 'no clear difference')
    >>> difference_text(9, 0.2, 90, shown=True)
    '9.00 times as long'
    """
    if not shown:
        return Text("no_clear_difference")
    amount = amount_text(ratio, unit)
    return f"{amount} ({interval_text(ratio, low, high)})" if low > 1 or high < 1 else amount


def _percent(ratio: float) -> str:
    """Format the distance of a ratio from 1, in percent with two digits."""
    share = abs(ratio - 1)
    return f"{100 * share:.0f}" if share >= _NO_DECIMALS else format_percent(share).removesuffix(" %")
