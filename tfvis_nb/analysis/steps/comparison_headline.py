"""The sentences that sum up a comparison, chosen by rule."""

from statistics import median
from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.compare_activities import compare_activities
from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, Side, compared_steps
from tfvis_nb.analysis.steps.difference import differences
from tfvis_nb.analysis.steps.difference_text import amount_text, interval_text
from tfvis_nb.analysis.steps.slow_steps import median_step
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_CLOSE = 0.02
"""Times that differ by less than this share count as equal."""
_LARGE = 10
"""Larger shares are written without decimals."""
_SMALL = 1.2
"""Smaller ratios are written with two decimals."""
_LEAST_PART = 0.1
"""Activities that explain a smaller share of the difference are not named."""
_MOST_PARTS = 3


class _Side(NamedTuple):
    trace: Trace
    took: np.ndarray  # The durations of the compared steps in ns; of the whole trace if it has no steps
    step: int | None  # The step of median duration; None without steps

    @property
    def median(self) -> int:
        return int(median(self.took.tolist()))


def comparison_headline(
    a: Side, b: Side, steps: tuple[int | None, int | None] = (None, None), *, parts: bool = True
) -> list[Text]:
    """Describe how much longer or shorter steps of B take and, in a second sentence, in which activities.

    `a`, `b` and `steps` are as in `compare`. If both have several steps, typical steps are compared, with the
    interval of their ratio; otherwise medians, with a last sentence that chance is not ruled out. Without
    `parts` there is no second sentence, which needs the breakdown of both. A trace beside itself has a single
    sentence. Empty if one took no time.
    """
    both = [compared_steps(side, step) for side, step in zip((a, b), steps, strict=True)]
    first, second = both
    if first.numbers == second.numbers and first.trace.events.equals(second.trace.events):
        return [Text("comparison_with_itself")]
    if found := _typical(both, parts):
        return found
    sides = [_side(side.trace, step) for side, step in zip(both, steps, strict=True)]
    if any(side.step is None for side in sides):
        sides = [_Side(side.trace, np.array([_span_ns(side.trace)]), None) for side in sides]
    a_side, b_side = sides
    if not (a_side.median and b_side.median):
        return []
    unsure = [] if a_side.step is None else [Text("comparison_by_chance")]
    if _alike(a_side, b_side):
        return [_sentence("same", a_side, b_side), *unsure]
    sentences = [_sentence("faster" if b_side.median < a_side.median else "slower", a_side, b_side)]
    changes = _parts(a_side, b_side) if parts and a_side.step is not None else ""
    return [*sentences, *([Text("comparison_parts", parts=changes)] if changes else []), *unsure]


def _typical(sides: list[ComparedSteps], parts: bool) -> list[Text]:
    """Describe the difference of typical steps; empty if its interval is unknown."""
    found = differences(*([took[None] for took in side.durations()] for side in sides))
    a, b, shift_low, shift_high, low, high, _ = (float(values[0]) for values in found)
    if not (a > 0 and b > 0 and np.isfinite(low)):
        return []
    times = {"a": format_duration(a), "b": format_duration(b)}
    if shift_low <= 0 <= shift_high:
        change, *ends = (_signed(_percent(abs(one - 1)), one - 1) for one in (b / a, low, high))
        return [Text("comparison_not_shown", **times, change=change, low=ends[0], high=ends[1])]
    sentence = Text(
        "comparison_shown", **times, change=amount_text(b / a), interval=interval_text(b / a, low, high)
    )
    changes = _shown_parts(sides, b - a) if parts else ""
    return [sentence, Text("comparison_parts", parts=changes)] if changes else [sentence]


def _shown_parts(sides: list[ComparedSteps], difference_ns: float) -> str:
    """Name the activities with the largest shown differences in a typical step; for tasks, their mean."""
    table = compare_activities(sides[0], sides[1])
    tasks = max(table["task"].nunique(), 1)
    shown = table[table["shown"].fillna(False).to_numpy(bool)]
    changes = (shown.groupby("activity")["typical_difference_ns"].sum() / tasks).to_dict()
    return _largest({str(name): round(change) for name, change in changes.items()}, difference_ns)


def _side(trace: Trace, step: int | None) -> _Side:
    steps = trace.steps[trace.steps["step"] != NO_STEP]
    if step is not None:
        steps = steps[steps["step"] == step]
    took = steps["duration_ns"].to_numpy(np.int64)
    return _Side(trace, took, median_step(trace) if step is None else step)


def _span_ns(trace: Trace) -> int:
    table = trace.events
    if table.empty:
        return 0
    return int((table["start_ns"] + table["duration_ns"]).max()) - int(table["start_ns"].min())


def _alike(a: _Side, b: _Side) -> bool:
    return abs(b.median - a.median) <= _CLOSE * a.median


def _sentence(verdict: str, a: _Side, b: _Side) -> Text:
    change = b.median / a.median - 1
    figures = {
        "a": format_duration(a.median),
        "b": format_duration(b.median),
        "change": _signed(_percent(abs(change)), change),
    }
    if verdict != "same":
        ratio = max(a.median, b.median) / min(a.median, b.median)
        decimals = 2 if ratio < _SMALL else 1 if ratio < 9.95 else 0
        figures["factor"] = f"{ratio:,.{decimals}f}"
    several = [len(side.took) > 1 for side in (a, b)]
    if all(several):
        return Text(
            {
                "faster": "comparison_steps_faster",
                "slower": "comparison_steps_slower",
                "same": "comparison_steps_same",
            }[verdict],
            **figures,
        )
    key = {"faster": "comparison_faster", "slower": "comparison_slower", "same": "comparison_same"}[verdict]
    return Text(key, **figures, basis=_basis(a, b))


def _basis(a: _Side, b: _Side) -> Text:
    if a.step is None:
        return Text("comparison_of_wholes")
    if len(a.took) > 1:
        return Text("comparison_with_step_of_b", steps=len(a.took))
    if len(b.took) > 1:
        return Text("comparison_with_step_of_a", steps=len(b.took))
    return Text("comparison_of_two_steps")


def _parts(a: _Side, b: _Side) -> str:
    """Name the activities that changed most in the median step; for several tasks, their mean."""
    before, after = _activities(a), _activities(b)
    return _largest({name: after[name] - before[name] for name in after}, b.median - a.median)


def _largest(changes: dict[str, int], difference_ns: float) -> str:
    least = _LEAST_PART * abs(difference_ns)
    largest = sorted(
        (name for name in changes if abs(changes[name]) >= least), key=lambda name: -abs(changes[name])
    )
    signed = {
        name: _signed(format_duration(abs(changes[name])), changes[name]) for name in largest[:_MOST_PARTS]
    }
    return ", ".join(
        f"{change} {LABELS.get(name, name.replace('_', ' '))}" for name, change in signed.items()
    )


def _activities(side: _Side) -> dict[str, int]:
    table = side.trace.breakdown
    rows = table[((table["device"] == "") & (table["step"] == side.step)).to_numpy()]
    return {
        part.removesuffix("_ns"): round(int(rows[part].fillna(0).sum()) / max(len(rows), 1)) for part in PARTS
    }


def _percent(share: float) -> str:
    if share >= _LARGE:
        return f"{share:,.0%}".replace("%", " %") if np.isfinite(share) else "\N{INFINITY}"
    return format_percent(share)


def _signed(text: str, value: float) -> str:
    return f"{'+' if value >= 0 else chr(0x2212)}{text}"
