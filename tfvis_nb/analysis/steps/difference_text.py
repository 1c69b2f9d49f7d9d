"""Format differences of step times: the one form of ratios in texts about two recordings."""

import math

import numpy as np
import pandas as pd

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


def which_text(result: Difference) -> str:
    """Return the word for the steps or rounds whose times `difference` compares.

    >>> from tfvis_nb.analysis.steps.difference import difference
    >>> which_text(difference([10, 11], [12, 13])), which_text(difference([1, 1, 90, 90], [12, 13]))
    ('typical', 'average')
    """
    return "typical" if result.alike else "average"


def runs_text(spread: RunSpread | None) -> Text:
    """State how much runs of the same code differ."""
    if spread is None:
        return Text("comparison_runs_also_differ")
    return Text("comparison_spread", limit=format_percent(spread.ratio - 1), runs=spread.runs)


def difference_text(
    ratio: float, low: float, high: float, *, shown: bool, unit: str = "ns", brief: bool = False
) -> str:
    """Format a difference with its interval, if that excludes 1, or state that none is shown.

    >>> difference_text(1.081, 1.05, math.inf, shown=True), difference_text(1.02, 0.98, 1.06, shown=False)
    ('8.1 % longer (5.0 % or more)', 'no clear difference')
    >>> difference_text(9, 0.2, 90, shown=True), difference_text(1.081, 1.05, 1.1, shown=True, brief=True)
    ('9.00 times as long', '8.1 % longer')
    """
    if not shown:
        return Text("no_clear_difference")
    amount = amount_text(ratio, unit)
    is_bounded = not brief and (low > 1 or high < 1)
    return f"{amount} ({interval_text(ratio, low, high)})" if is_bounded else amount


def untested_text(before: float, after: float) -> str:
    """Format the difference of two figures that nothing tests: a sign, and none of the words of a claim.

    Empty if one is unknown.

    >>> untested_text(100, 112), untested_text(100, 1200), untested_text(7, 7), untested_text(0, 3)
    ('+12 %', '12.0 times', 'no change', 'added')
    >>> untested_text(100, 84) == "\N{MINUS SIGN}16 %", untested_text(math.nan, 84)
    (True, '')
    """
    if math.isnan(before) or math.isnan(after):
        return ""
    if before == after:
        return Text("change_none")
    if min(before, after) <= 0:
        return Text("change_added" if before <= 0 else "change_removed")
    ratio = after / before
    if ratio >= _TIMES:
        return f"{format_ratio(ratio)} times"
    percent = f"{_percent(ratio)} %"
    return percent if percent[0] == "<" else f"{'+' if ratio > 1 else chr(0x2212)}{percent}"


def share_in_base(share: float) -> str:
    """Format the share of the base next to that of the trace; empty if it is unknown.

    >>> share_in_base(0.94), share_in_base(math.nan)
    ('94.0 % in the base', '')
    """
    return "" if math.isnan(share) else Text("share_in_base", share=format_percent(share))


def change_texts(changes: pd.DataFrame, a: str, b: str, *, brief: bool = False) -> list[str]:
    """Format the difference of each row of `compare` or `compare_activities`.

    Without intervals, the times in the columns `a` and `b` are compared per step, by `untested_text`.
    """
    if "no_interval" in changes.attrs:
        before, after = (
            changes[name].to_numpy(np.float64, na_value=np.nan) / steps
            for name, steps in zip((a, b), changes.attrs["steps"], strict=True)
        )
        return list(map(untested_text, before, after))
    texts: list[str] = []
    for row in changes.to_dict("records"):
        if pd.isna(row["shown"]):
            texts.append(Text("too_few_steps"))
        elif row.get("change") in ("added", "removed") and row["shown"]:
            texts.append(row["change"])
        elif row["shown"] and not np.isfinite(row["typical_ratio"]):
            texts.append(Text("change_added"))
        else:
            ratio, low, high = (row[f"{name}_ratio"] for name in ("typical", "low", "high"))
            texts.append(difference_text(ratio, low, high, shown=row["shown"], brief=brief))
    return texts


def _percent(ratio: float) -> str:
    """Format the distance of a ratio from 1, in percent with two digits; 100 only if it is exact."""
    share = abs(ratio - 1)
    if 0 < ratio < _LEAST_LEFT:
        return ">99.9"
    if share >= _NO_DECIMALS and (ratio > 1 or share < _NEARLY_ALL):
        return f"{100 * share:.0f}"
    return format_percent(share).removesuffix(" %")
