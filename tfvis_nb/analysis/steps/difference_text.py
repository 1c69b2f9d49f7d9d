"""Format differences of step times: the one form of ratios in texts about two recordings."""

import math

from tfvis_nb.analysis.steps.difference import Difference, RunSpread
from tfvis_nb.core.format import format_duration, format_percent, format_ratio
from tfvis_nb.texts import Text

_TIMES = 2
"""Larger ratios are written as multiples, smaller ones as percentages."""
_NO_DECIMALS = 0.0995
_NEARLY_ALL = 0.985
_LEAST_LEFT = 0.0005

_WORDS = {
    "ns": ("change_times", "change_longer", "change_shorter"),
    "bytes": ("change_times_as_much", "change_more", "change_less"),
    "count": ("change_times_as_many", "change_more", "change_fewer"),
}


def amount_text(ratio: float, unit: str = "ns") -> Text:
    """Format how much longer or shorter something takes, or how much more of it there is.

    >>> str(amount_text(1.081)), str(amount_text(0.5)), str(amount_text(12)), str(amount_text(1))
    ('8.1 % longer', '50 % shorter', '12.0 times as long', 'no change')
    >>> str(amount_text(0.5, "count")), str(amount_text(1.5, "bytes")), str(amount_text(12, "count"))
    ('50 % fewer', '50 % more', '12.0 times as many')
    """
    times, more, less = _WORDS[unit]
    if ratio == 1:
        return Text("change_none")
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
    ('95 % interval 2.0 % shorter to 6.0 % longer', 'they vary too much for an interval')
    >>> str(bounds_text(0.5, 0.3, 1.1, shown=True))
    '; the times do not overlap'
    """
    if (shown and low <= 1 <= high) or math.isnan(low):
        return Text("comparison_apart")
    if shown:
        return Text("comparison_interval", interval=interval_text(ratio, low, high))
    if low > 0 and math.isfinite(high):
        return Text("comparison_bounds", low=amount_text(low), high=amount_text(high))
    return Text("comparison_no_bounds")


def times_text(a: float, b: float) -> dict[str, str]:
    """Return the figures of a sentence about two times in ns: both, and their change."""
    return {"a": format_duration(a), "b": format_duration(b), "change": amount_text(b / a)}


def figures_text(result: Difference) -> dict[str, str]:
    """Return the figures of a sentence about a difference: those of `times_text`, and the interval."""
    interval = bounds_text(result.ratio, result.low, result.high, shown=result.shown)
    return times_text(result.a, result.b) | {"interval": interval}


def runs_text(spread: RunSpread | None) -> Text:
    """State how much runs of the same code differ."""
    if spread is None:
        return Text("comparison_runs_also_differ")
    return Text("comparison_spread", limit=format_percent(spread.ratio - 1), runs=spread.runs)


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
    """Format the distance of a ratio from 1, in percent with two digits; 100 only if it is exact."""
    share = abs(ratio - 1)
    if 0 < ratio < _LEAST_LEFT:
        return ">99.9"
    if share >= _NO_DECIMALS and (ratio > 1 or share < _NEARLY_ALL):
        return f"{100 * share:.0f}"
    return format_percent(share).removesuffix(" %")
