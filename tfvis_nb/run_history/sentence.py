"""A line about a run of a cell: its step time, and the difference from the last run."""

import math
from collections.abc import Sequence

import numpy as np

from tfvis_nb.analysis.steps.difference import Difference, difference
from tfvis_nb.core.format import format_change, format_duration, format_percent
from tfvis_nb.run_history.summary import Summary
from tfvis_nb.texts import Text

_FEWEST = 3
"""The number of earlier runs that show how much runs vary."""


def change_of(before: Summary, now: Summary) -> Difference | None:
    """Return the difference of typical steps from those of the previous run; None if one took no time."""
    found = difference(np.array(before.step_ns), np.array(now.step_ns))
    return found if math.isfinite(found.ratio) and found.ratio > 0 else None


def signed_change(ratio: float, low: float, high: float) -> str:
    """Format a change of typical steps with its interval, each with a sign."""
    if math.isnan(ratio):
        return ""
    change, *ends = map(format_change, (ratio, low, high))
    return change if math.isnan(low) else f"{change} ({' to '.join(ends)})"


def sentence(runs: Sequence[Summary], now: Summary, *, can_compare: bool) -> Text:
    """Return the line about a run and the last of the comparable earlier `runs`.

    With `can_compare` it offers a comparison of both traces.
    """
    before = runs[-1]
    return Text(
        "run_and_last",
        what={0: "run", 1: "step"}.get(now.steps, "median step"),
        took=format_duration(now.median_ns),
        change=_words(change_of(before, now), runs, now),
        events=_events(before, now),
        compare=Text("run_compare") if can_compare else "",
    )


def _words(change: Difference | None, runs: Sequence[Summary], now: Summary) -> str:
    if change is None:
        return ""
    if not math.isfinite(change.low) or not math.isfinite(change.high):
        return Text("run_change_of_few_steps", change=_than(change.ratio))
    if not change.shown:
        low, high = (_than(bound).removesuffix(" than") for bound in (change.low, change.high))
        return Text("run_change_not_shown", low=low, high=high)
    low, high = (format_percent(share) for share in sorted(abs(one - 1) for one in (change.low, change.high)))
    return Text("run_change", change=_than(change.ratio), low=low, high=high, usual=_usual(runs, now))


def _usual(runs: Sequence[Summary], now: Summary) -> str:
    """State whether earlier runs differed as much, which the interval of two runs does not show."""
    times = sorted(run.median_ns for run in runs)
    if len(times) < _FEWEST:
        return Text("run_by_chance")
    low, high = map(format_duration, (times[0], times[-1]))
    where = "within" if times[0] <= now.median_ns <= times[-1] else "outside"
    return Text("run_usual", where=where, runs=len(times), low=low, high=high)


def _than(ratio: float) -> str:
    amount = format_percent(round(abs(ratio - 1), 3))
    return "as fast as" if amount == "0 %" else f"{amount} {'slower' if ratio > 1 else 'faster'} than"


def _events(before: Summary, now: Summary) -> str:
    """State how many kernels, or ops if there are none, were added or removed."""
    known = now.kernels is not None and before.kernels is not None
    was, is_now = (before.kernels, now.kernels) if known else (before.ops, now.ops)
    if was is None or is_now is None or was == is_now:
        return ""
    more = abs(is_now - was)
    return Text(
        "run_kernels" if known else "run_ops",
        more=more,
        direction="more" if is_now > was else "fewer",
        per=" per step" if now.steps else "",
    )
