"""The difference of a run from the last one of its cell, as figures and as the line above the timeline."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb.analysis.steps.compared_unit import compared_unit
from tfvis_nb.analysis.steps.difference import (
    Difference,
    RunSpread,
    are_separated,
    difference,
    is_by_loops,
    run_spread,
    typical,
)
from tfvis_nb.analysis.steps.difference_text import (
    amount_text,
    difference_text,
    figures_text,
    runs_text,
    times_text,
    which_text,
)
from tfvis_nb.analysis.steps.slow_steps import kind_label
from tfvis_nb.analysis.steps.whole_recordings import Whole, whole_of_loop, whole_text
from tfvis_nb.run_history.summary import KindTimes, Summary, Times
from tfvis_nb.texts import Text


class Change(NamedTuple):
    """The difference of a run from an earlier one."""

    times: Times
    """The times that are compared."""
    kinds: tuple[str, str]
    """The kind of the steps in both."""
    difference: Difference


def change_of(before: Summary, now: Summary) -> Change | None:
    """Return the difference of a run from the previous one; None if a time is 0 or unknown."""
    unit, kinds = compared_unit(before.repeated, now.repeated)
    change = Change(unit, kinds, _difference(unit, before, now, kinds))
    if unit == "steps":
        loops = _difference("loops", before, now, kinds)
        if is_by_loops(change.difference, loops):
            change = Change("loops", kinds, loops)
    found = change.difference
    return change if math.isfinite(found.ratio) and found.ratio > 0 else None


def _difference(times: Times, before: Summary, now: Summary, kinds: tuple[str, str]) -> Difference:
    both = [
        np.array(run.times(times, kind), np.int64) for run, kind in zip((before, now), kinds, strict=True)
    ]
    found = difference(*both)
    if times != "steps" or found.shown:
        return found
    # A first step that is set apart may be one of the five that do not overlap.
    with_first = (
        np.array(run.kinds[kind].all_ns, np.int64)[None]
        for run, kind in zip((before, now), kinds, strict=True)
    )
    return found._replace(shown=bool(are_separated(*with_first)[0]))


def change_text(change: Change) -> str:
    """Format a change for a table.

    >>> from tfvis_nb.analysis.steps.difference import difference
    >>> change_text(Change("steps", ("", ""), difference([10, 11, 10, 11, 10], [50, 51, 50, 51, 50])))
    'steps: 4.87 times as long (4.33\u20135.55)'
    """
    found = change.difference
    amount = difference_text(found.ratio, found.low, found.high, shown=found.shown)
    if math.isnan(found.low) and not found.shown:
        amount = amount_text(found.ratio)
        if change.times == "steps":
            amount = Text("change_too_few", change=amount)
    return f"{change.times}: {amount}"


def known_runs(runs: Iterable[Summary]) -> list[dict[str, Any]]:
    """Return rows of `tfvis_nb.core.metadata.RUNS`, about the steps that take the most time in all runs."""
    listed = list(runs)
    total: Counter[str] = Counter()
    for run in listed:
        total.update({kind: steps.total_ns for kind, steps in run.kinds.items()})
    kind = max(sorted(total), key=lambda one: total[one], default="")
    return [
        {
            "code": run.code,
            "time_ns": run.time_ns,
            "step_ns": _typical(run, "steps", kind),
            "loop_ns": _typical(run, "loops" if run.loop is None else "iterations", kind),
        }
        for run in listed
    ]


def _typical(run: Summary, times: Times, kind: str) -> int | None:
    found = run.times(times, kind)
    is_one = times == "steps" and run.kinds[kind].steps < 2 if kind in run.kinds else False
    return round(typical(np.array(found))) if found and not is_one else None


def sentence(runs: Sequence[Summary], now: Summary, *, can_compare: bool) -> Text | None:
    """Return the line about a run and the last of the comparable earlier `runs`; None if a time is unknown.

    With `can_compare` it offers a comparison of both traces.
    """
    before = runs[-1]
    change = change_of(before, now)
    if change is None:
        return None
    is_known = change.difference.shown or change.times == "recordings"
    spread = usual_spread(runs[:-1], change.times, change.kinds[1])
    return Text(
        "run_and_last",
        change=_change(before, now, change),
        whole=_whole(before, now, change),
        events=_events(before, now, change),
        usual=Text("run_sentence", sentence=runs_text(spread)) if is_known else "",
        compare=Text("run_compare") if can_compare else "",
    )


def _change(before: Summary, now: Summary, change: Change) -> Text:
    found = change.difference
    since = Text("run_same_code" if now.code == before.code else "run_compared")
    if not found.shown and math.isnan(found.low):
        return Text(
            "run_few",
            since=since,
            what=_one(change.times, _named_kind(before, now, change)),
            **times_text(found.a, found.b),
            reason=_why_whole(before, now) if change.times == "recordings" else Text("run_few_steps"),
        )
    key = "run_differs" if found.shown else "run_alike"
    what = _many(change, _named_kind(before, now, change))
    return Text(key, since=since, what=what, **figures_text(found))


def _whole(before: Summary, now: Summary, change: Change) -> Text | str:
    """State how long both runs took if that contradicts the change of their steps."""
    if change.times == "recordings":
        return ""
    a, b = (_whole_run(run, kind) for run, kind in zip((before, now), change.kinds, strict=True))
    text = whole_text(change.difference, a, b)
    return Text("run_sentence", sentence=text) if text else ""


def _whole_run(run: Summary, kind: str) -> Whole:
    if run.loop is not None:
        return whole_of_loop(run.whole_ns or 0, run.loop)
    steps = run.kinds[kind]
    return Whole(run.whole_ns or 0, steps.total_ns, steps.steps)


def _named_kind(before: Summary, now: Summary, change: Change) -> str:
    """Return the name of the compared kind and a space; empty if both runs have steps of one kind."""
    return kind_label(change.kinds[1]) if max(len(before.kinds), len(now.kinds)) > 1 else ""


def _one(times: Times, kind: str) -> Text:
    return Text("run_whole") if times == "recordings" else Text("run_typical_step", kind=kind)


def _many(change: Change, kind: str) -> Text:
    figures = {"kind": kind} if change.times in ("steps", "loops") else {}
    return Text(f"comparison_{change.times}", which=which_text(change.difference), **figures)


def _why_whole(before: Summary, now: Summary) -> Text:
    if before.kinds and now.kinds:
        return Text("steps_unlike")
    sides = "run_both" if not (before.kinds or now.kinds) else "run_last" if now.kinds else "run_this"
    return Text("undivided_sides", sides=Text(sides))


def usual_spread(runs: Iterable[Summary], times: Times, kind: str) -> RunSpread | None:
    """Return how much runs of the same code differ, which the interval of two runs does not show."""
    by_code: dict[str, list[float]] = {}
    for run in runs:
        if typical_ns := _typical(run, times, kind):
            by_code.setdefault(run.code, []).append(typical_ns)
    return run_spread(by_code.values())


def _events(before: Summary, now: Summary, change: Change) -> str:
    """State how many kernels, or ops if there are none, were added to a step or a recording or removed."""
    a: Summary | KindTimes = before
    b: Summary | KindTimes = now
    if change.times in ("steps", "loops"):
        a, b = before.kinds[change.kinds[0]], now.kinds[change.kinds[1]]
    elif before.kinds or now.kinds:
        return ""
    known = a.kernels is not None and b.kernels is not None
    was, is_now = (a.kernels, b.kernels) if known else (a.ops, b.ops)
    if was is None or is_now is None or was == is_now:
        return ""
    return Text(
        "run_kernels" if known else "run_ops",
        of=Text("run_a_step", kind=_named_kind(before, now, change)) if now.kinds else Text("run_recording"),
        more=abs(is_now - was),
        direction="more" if is_now > was else "fewer",
    )
