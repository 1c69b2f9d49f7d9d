"""A line about a run of a cell: its step time, and the difference from the last run."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfvis_nb.analysis.steps.difference import (
    Difference,
    RunSpread,
    difference,
    loops_tell_more,
    run_spread,
    typical,
)
from tfvis_nb.core.format import format_change, format_duration, format_percent
from tfvis_nb.run_history.summary import Summary
from tfvis_nb.texts import Text


def change_of(before: Summary, now: Summary) -> Difference | None:
    """Return the difference of typical steps from those of the previous run; None if one took no time."""
    change = difference(np.array(before.step_ns), np.array(now.step_ns))
    return change if math.isfinite(change.ratio) and change.ratio > 0 else None


def signed_change(ratio: float, low: float, high: float) -> str:
    """Format a change of typical steps with its interval, each with a sign."""
    if math.isnan(ratio):
        return ""
    if math.isnan(low):
        return format_change(ratio)
    return f"{format_change(ratio)} ({_bounds(low, high)})"


def _bounds(low: float, high: float) -> str:
    if low > 0 and math.isfinite(high):
        return Text("run_bounds", low=format_change(low), high=format_change(high))
    return Text("run_vary")


def known_run(run: Summary) -> dict[str, Any]:
    """Return a row of `tfvis_nb.core.metadata.RUNS`."""
    known = {"code": run.code, "time_ns": run.time_ns}
    return known | {name: _typical(run, name) for name in ("step_ns", "loop_ns")}


def _typical(run: Summary, times: str) -> int | None:
    return round(typical(np.array(getattr(run, times)))) if run.steps > 1 and getattr(run, times) else None


def sentence(runs: Sequence[Summary], now: Summary, *, can_compare: bool) -> Text:
    """Return the line about a run and the last of the comparable earlier `runs`.

    With `can_compare` it offers a comparison of both traces.
    """
    before = runs[-1]
    return Text(
        "run_and_last",
        what={0: "run", 1: "step"}.get(now.steps, "median step"),
        took=format_duration(now.median_ns),
        change=_change(runs, now),
        events=_events(before, now),
        compare=Text("run_compare") if can_compare else "",
    )


def _change(runs: Sequence[Summary], now: Summary) -> str:
    """State the change of steps, or of loops if these change differently."""
    before = runs[-1]
    steps = change_of(before, now)
    if steps is None:
        return ""
    loops = difference(np.array(before.loop_ns or []), np.array(now.loop_ns or []))
    if loops.shown and loops_tell_more(steps, loops):
        return _words(loops, "loops", _usual(runs[:-1], "loop_ns"))
    return _words(steps, "steps", _usual(runs[:-1], "step_ns"))


def _words(change: Difference, what: str, usual: str) -> str:
    if not change.shown:
        if math.isnan(change.low):
            return Text("run_change_of_few_steps", change=_than(change.ratio))
        return Text("run_change_not_shown", bounds=_bounds(change.low, change.high))
    if change.low <= 1 <= change.high:
        interval = Text("run_each_longer" if change.ratio > 1 else "run_each_shorter")
    elif math.isfinite(change.high) and change.low > 0:
        ends = sorted(abs(one - 1) for one in (change.low, change.high))
        low, high = map(format_percent, ends)
        interval = Text("run_bounds", low=low, high=high)
    else:
        interval = Text("run_or_more", low=format_percent(min(abs(change.low - 1), abs(change.high - 1))))
    return Text(
        "run_change",
        what=Text(f"comparison_{what}"),
        change=_than(change.ratio),
        interval=interval,
        usual=usual,
    )


def usual_spread(runs: Iterable[Summary], times: str = "step_ns") -> RunSpread | None:
    """Return how much runs of the same code differ, which the interval of two runs does not show."""
    by_code: dict[str, list[float]] = {}
    for run in runs:
        if typical_ns := _typical(run, times):
            by_code.setdefault(run.code, []).append(typical_ns)
    return run_spread(by_code.values())


def _usual(runs: Sequence[Summary], times: str) -> str:
    spread = usual_spread(runs, times)
    if spread is None:
        return Text("run_by_chance")
    return Text("run_usual", limit=format_percent(spread.ratio - 1), runs=spread.runs)


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
