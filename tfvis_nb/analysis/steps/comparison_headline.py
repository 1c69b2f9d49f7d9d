"""The sentences that sum up a comparison, chosen by rule."""

from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.steps.breakdown import PARTS, breakdown
from tfvis_nb.analysis.steps.compare_activities import compare_activities
from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, Side, compared_pair
from tfvis_nb.analysis.steps.difference import (
    CLOSE,
    LEAST_PART,
    Difference,
    are_runs,
    is_by_loops,
    loops_tell_more,
    typical,
    typical_or_median,
)
from tfvis_nb.analysis.steps.difference_text import figures_text, runs_text, times_text, which_text
from tfvis_nb.analysis.steps.outside_steps import is_one_recording
from tfvis_nb.analysis.steps.slow_steps import median_step
from tfvis_nb.analysis.steps.step_differences import known_spread, loop_time, same_code, step_time
from tfvis_nb.analysis.steps.whole_recordings import whole_text
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.prediction import is_predicted
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_MOST_PARTS = 3
_BETWEEN = "between steps"


class _Side(NamedTuple):
    trace: Trace
    typical_ns: float  # Of the compared steps
    steps: int  # How many
    step: int | None  # The step of median duration; None without steps
    alike: bool = True  # Whether the compared steps have a typical length


def comparison_headline(
    a: Side, b: Side, steps: tuple[int | None, int | None] = (None, None), *, parts: bool = True
) -> list[Text]:
    """Describe how much longer or shorter steps of B take, in which activities, and for what that holds.

    `a`, `b` and `steps` are as in `compare`. If both have several steps, the first sentence states that
    these recordings differ, that there is no clear difference, or, if three or more runs of each or the
    spread of earlier runs show it, that the code is faster or slower. It is about loops if the time
    between steps makes these differ more or less than the steps, which then have the second sentence; loops
    without a clear difference have the second one. Another states that both ran the same code, if it is
    known. The last one states how much runs of the same code differ or, with a single step of either, that
    chance is not ruled out. Without `parts` no activities are named, which need the breakdown of both. A
    trace beside itself has a single sentence. The second one is about the whole recordings if these
    contradict the first. Empty if one took no time.
    """
    both = compared_pair(a, b, steps, "comparison_headline")
    first, second = both
    if first.numbers == second.numbers and first.trace.events.equals(second.trace.events):
        return [Text("comparison_with_itself")]
    if text := _of_several(first, second, parts):
        return text
    sides = [_side(side) for side in both]
    if first.unit == "recordings" or any(side.step is None for side in sides):
        return _of_wholes(first, second)
    a_side, b_side = sides
    if not (a_side.typical_ns and b_side.typical_ns):
        return []
    times = times_text(a_side.typical_ns, b_side.typical_ns)
    sentences = [Text("comparison_few", **times, basis=_basis(a_side, b_side))]
    sentences += _whole(first, second, step_time(first, second))
    is_close = abs(b_side.typical_ns - a_side.typical_ns) <= CLOSE * a_side.typical_ns
    changes = _parts(a_side, b_side) if parts and not is_close else ""
    if changes:
        sentences.append(_main_changes(changes, first, second))
    return [*sentences, *_equal_code(first, second), Text("comparison_by_chance")]


def _of_several(a: ComparedSteps, b: ComparedSteps, parts: bool) -> list[Text]:
    """Describe the difference of typical steps and loops; empty if there are too few steps."""
    steps, loops = step_time(a, b), loop_time(a, b)
    predicted = is_predicted(a.trace) or is_predicted(b.trace)
    if a.unit == "iterations" and loops.a > 0 and loops.b > 0:
        iterations = _statement(loops, Text("comparison_iterations", which=which_text(loops)), predicted)
        return [iterations, *_whole(a, b, loops), *_runs(a, b, "loop_ns", shown=loops.shown)]
    if not (steps.a > 0 and steps.b > 0 and (steps.shown or np.isfinite(steps.low))):
        return []
    by_loop = is_by_loops(steps, loops)
    main = loops if by_loop else steps
    key = "comparison_loops" if by_loop else "comparison_steps"
    what = Text(key, which=which_text(main), kind=b.kind)
    sentences = [_statement(main, what, predicted), *_whole(a, b, main)]
    if by_loop:
        key = "comparison_steps_alone" if steps.shown else "comparison_steps_alike"
        sentences.append(Text(key, **figures_text(steps)))
    elif not loops.shown and np.isfinite(loops.low) and loops_tell_more(steps, loops):
        which = which_text(loops).capitalize()
        sentences.append(Text("comparison_loops_alike", which=which, **figures_text(loops)))
    if parts and main.shown:
        between = {_BETWEEN: round(loops.b - loops.a - (steps.b - steps.a))} if by_loop else {}
        if changes := _shown_parts(a, b, between, main.b - main.a):
            sentences.append(_main_changes(changes, a, b))
    if not predicted:
        sentences += _runs(a, b, "loop_ns" if by_loop else "step_ns", shown=main.shown)
    return sentences


def _statement(result: Difference, what: Text, predicted: bool) -> Text:
    if not result.shown:
        return Text("comparison_not_shown", what=what, **figures_text(result))
    if predicted:
        return Text("comparison_predicted", what=what, **figures_text(result))
    if not result.code_differs:
        return Text("comparison_recordings_differ", what=what, **figures_text(result))
    direction = "slower" if result.ratio > 1 else "faster"
    return Text("comparison_code_differs", direction=direction, what=what, **figures_text(result))


def _whole(a: ComparedSteps, b: ComparedSteps, found: Difference) -> list[Text]:
    """State how long the recordings are if they contradict the difference of their steps.

    Files of single runs can lie far apart, and a prediction is about its steps.
    """
    for side in (a, b):
        if side.numbers is not None or is_predicted(side.trace) or not is_one_recording(side.trace):
            return []
    text = whole_text(found, a.whole(), b.whole())
    return [text] if text else []


def _of_wholes(a: ComparedSteps, b: ComparedSteps) -> list[Text]:
    """Describe the difference of the whole recordings; empty if one took no time."""
    before, after = (typical(np.array(side.wholes_ns)) for side in (a, b))
    if not (before > 0 and after > 0):
        return []
    whole = [letter for letter, side in (("A", a), ("B", b)) if side.is_without_steps]
    sides = " and ".join(whole)
    reason = Text("undivided_sides", sides=sides) if whole else Text("steps_unlike")
    basis = Text("comparison_of_wholes", reason=reason)
    return [Text("comparison_few", **times_text(before, after), basis=basis), *_equal_code(a, b)]


def _runs(a: ComparedSteps, b: ComparedSteps, times: str, *, shown: bool) -> list[Text]:
    """State how much runs of the same code differ, or how many runs show the difference."""
    equal = _equal_code(a, b)
    if are_runs((a.durations(), b.durations())):
        return [*equal, Text("comparison_runs", a=len(a.recordings), b=len(b.recordings))]
    return [*equal, runs_text(known_spread((a.trace, b.trace), times))] if shown else equal


def _equal_code(a: ComparedSteps, b: ComparedSteps) -> list[Text]:
    return [Text("comparison_same_code")] if same_code(a.trace, b.trace) else []


def _shown_parts(a: ComparedSteps, b: ComparedSteps, between: dict[str, int], difference_ns: float) -> str:
    """Name the parts with the largest shown differences in a typical step; for tasks, their mean."""
    table = compare_activities(a, b)
    tasks = max(table["task"].nunique(), 1)
    shown = table[table["shown"].fillna(False).to_numpy(bool)]
    changes = (shown.groupby("activity")["typical_difference_ns"].sum() / tasks).to_dict()
    return _largest(between | {str(name): round(change) for name, change in changes.items()}, difference_ns)


def _main_changes(changes: str, a: ComparedSteps, b: ComparedSteps) -> Text:
    """Word the activities that changed most, and of how many tasks they are the mean."""
    tasks = max(breakdown(side.trace)["task"].nunique() for side in (a, b))
    over = f", on average over {tasks} tasks" if tasks > 1 else ""
    return Text("comparison_parts", parts=changes, over=over)


def _side(side: ComparedSteps) -> _Side:
    took = np.concatenate([*side.durations(), np.empty(0)])
    if not len(took):  # only a first step that is set apart
        took = side.all_durations()
    step = median_step(side.trace) if side.numbers is None else side.numbers[0]
    took_ns, alike = typical_or_median(took)
    return _Side(side.trace, took_ns if len(took) else 0, len(took), step, alike)


def _basis(a: _Side, b: _Side) -> Text:
    if a.steps > 1 and b.steps > 1:
        return Text("comparison_of_typical_steps")
    if a.steps > 1:
        return Text("comparison_with_step_of_b", which=_which(a), steps=a.steps)
    if b.steps > 1:
        return Text("comparison_with_step_of_a", which=_which(b), steps=b.steps)
    return Text("comparison_of_two_steps")


def _which(side: _Side) -> str:
    return "a typical one" if side.alike else "the median"


def _parts(a: _Side, b: _Side) -> str:
    """Name the activities that changed most in the median step; for several tasks, their mean."""
    before, after = _activities(a), _activities(b)
    return _largest({name: after[name] - before[name] for name in after}, b.typical_ns - a.typical_ns)


def _largest(changes: dict[str, int], difference_ns: float) -> str:
    least = LEAST_PART * abs(difference_ns)
    largest = sorted(
        (name for name in changes if abs(changes[name]) >= least), key=lambda name: -abs(changes[name])
    )
    signed = {
        name: ("+" if changes[name] >= 0 else chr(0x2212)) + format_duration(abs(changes[name]))
        for name in largest[:_MOST_PARTS]
    }
    return ", ".join(
        f"{change} {LABELS.get(name, name.replace('_', ' '))}" for name, change in signed.items()
    )


def _activities(side: _Side) -> dict[str, int]:
    table = breakdown(side.trace)
    rows = table[((table["device"] == "") & (table["step"] == side.step)).to_numpy()]
    return {
        part.removesuffix("_ns"): round(int(rows[part].fillna(0).sum()) / max(len(rows), 1)) for part in PARTS
    }
