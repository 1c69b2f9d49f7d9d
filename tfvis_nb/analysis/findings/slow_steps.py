"""Steps are slower than the median step, or have more work; some of them in a fixed period."""

from collections.abc import Callable
from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.finding import MINOR, Finding, step_range
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Rule,
    Texts,
    Threshold,
    beyond,
    capital,
    limit,
    not_reported,
    step_name,
    step_time,
)
from tfvis_nb.analysis.findings.slow_step_work import (
    HOST_KINDS,
    MOST,
    collector_time,
    is_of_op,
    larger_input,
    line_of_op,
    lock_waited_for,
    longest_event,
    python_line,
    rare_call,
    stalls,
)
from tfvis_nb.analysis.findings.uneven_steps import ID as UNEVEN
from tfvis_nb.analysis.findings.uneven_steps import explained_ns, uneven_steps, word_uneven
from tfvis_nb.analysis.source.lock_waits import LOCK_ADVICE, other_thread, running_thread
from tfvis_nb.analysis.source.python_samples import (
    COLLECT_LESS,
    mostly_at,
    sampled_clause,
    sampled_figures,
)
from tfvis_nb.analysis.steps.slow_steps import OtherSteps, slow_steps
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_bytes, format_duration, format_percent, format_ratio
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

SHARE = Threshold(0.005, "share of step time that slow steps take in excess of the median step")
MAX_FRACTION = Threshold(
    0.2,
    "fraction of the steps that may be slow: if more are, the median is not typical. Steps differ in length"
    " if more than this fraction take 1.5 times as long as each of another such fraction. Of fewer than"
    " MIN_UNEVEN steps, almost half may be slow if the median is less than 1.5 times the shortest",
)
MIN_STEPS = Threshold(5, "fewer steps are not compared with their median")
MIN_UNEVEN = Threshold(10, "fewer steps may differ in length by chance")
MIN_PERIODS = Threshold(3, "fewer slow steps at equal distances may be chance")

_LEAST = 0.1
"""An op with a smaller part of the extra time is not named."""
_AGAIN = "Record again to see whether the same steps take longer."
_OF_INPUT = "Replace it with TensorFlow ops, or cache() data that is read again."
_MAX_NAMED = 6


def _compared(trace: Trace) -> tuple[pd.DataFrame, np.ndarray, np.ndarray] | Text:
    """Compare steps with the median; return those with more work and those only longer, or a reason.

    The latter leave out the first step, because it includes one-time work.
    """
    table = slow_steps(trace)
    if why_not(table):
        return why_not(table)
    if len(table) < MIN_STEPS.value:
        return Text("few_steps", steps=len(table), least=int(MIN_STEPS.value))
    more = table["more_work"].fillna(value=False).to_numpy(bool)
    longer = table["slow"].to_numpy(bool) & ~more
    # A first step that is set apart is not in the table.
    if not isinstance(trace, OtherSteps):
        longer[0] = False
    return table, more, longer


def reported_steps(trace: Trace) -> pd.Series:
    """Return the median step that each reported slow step is compared with, indexed by step."""
    found = [finding for finding in _find(trace) if finding.id != UNEVEN]
    steps = [step for finding in found for step in finding.figures["steps"]]
    medians: pd.Series = slow_steps(trace).set_index("step")["median_step"].loc[steps]
    return medians


@per_trace
def _find(trace: Trace) -> list[Finding]:
    compared = _compared(trace)
    if isinstance(compared, Text):
        return []
    table, more, longer = compared
    longer &= ~_is_explained(trace, table)
    periodic = _periodic(trace, table, longer)
    if periodic is not None:
        longer &= ~table["step"].isin(periodic.figures["steps"]).to_numpy()
    else:
        longer = _with_most(table, longer)
    candidates = [periodic, _more_work(trace, table, more), _longer(trace, table, longer)]
    if not any(candidates) and len(table) >= MIN_UNEVEN.value:
        candidates = [uneven_steps(trace, MAX_FRACTION.value)]
    return [finding for finding in candidates if finding is not None]


def _with_most(table: pd.DataFrame, longer: np.ndarray) -> np.ndarray:
    """Return a mask of the longest of slow steps if these are too many, but a few have most of the time.

    Steps of a few milliseconds vary by the load of the machine.
    """
    excess = table["excess_ns"].to_numpy(np.int64)
    longest = longer & (excess >= MOST * excess[longer].max(initial=0))
    is_too_many = longer.sum() > _most(table) * len(table)
    return longest if is_too_many and excess[longest].sum() >= MOST * excess[longer].sum() else longer


def _is_explained(trace: Trace, table: pd.DataFrame) -> np.ndarray:
    """Return a mask of the steps whose extra time other findings have for the most part."""
    ns = explained_ns(trace).reindex(table["step"], fill_value=0).to_numpy()
    median = explained_ns(trace).reindex(table["median_step"], fill_value=0).to_numpy()
    mask: np.ndarray = ns - median >= MOST * table["excess_ns"].to_numpy().clip(1)
    return mask


def _chosen(
    table: pd.DataFrame, chosen: np.ndarray, most: float | None = None
) -> tuple[pd.DataFrame, pd.Series, dict[str, Any]] | None:
    """Return the chosen steps, the longest one and the figures of a finding; None below the threshold.

    `most` is the largest fraction of the steps, by default `_most`.
    """
    slow = table[chosen]
    excess = int(slow["excess_ns"].clip(lower=0).sum())
    share = excess / max(int(table["duration_ns"].sum()), 1)
    most = _most(table) if most is None else most
    if not 0 < len(slow) <= most * len(table) or share < SHARE.value:
        return None
    longest = slow.iloc[int(slow["duration_ns"].to_numpy().argmax())]
    figures = {
        "share": share,
        "steps": slow["step"].tolist(),
        "step": int(longest.step),
        "ratio": float(longest.ratio),
        "duration_ns": int(longest.duration_ns),
        "excess_ns": int(longest.excess_ns),
    }
    for name in ("activity", "op", "op_kind"):
        figures[name] = str(longest[name])
    for name in ("activity_ns", "op_ns"):
        figures[name] = None if pd.isna(longest[name]) else int(longest[name])
    if figures["op"] and int(longest["op_ns"]) < _LEAST * int(longest.excess_ns):
        figures["op"] = ""
    return slow, longest, figures


def _most(table: pd.DataFrame) -> float:
    """Return the fraction of the steps that may be slow: of few ones, almost half if the others are equal.

    If some are as much shorter than the median as slow ones are longer, their lengths differ by chance.
    """
    steps, shortest = len(table), int(table["duration_ns"].min())
    are_equal = table["duration_ns"].median() < SLOW_STEP_RATIO * shortest
    return (steps - 1) / (2 * steps) if steps < MIN_UNEVEN.value and are_equal else MAX_FRACTION.value


def _more_work(trace: Trace, table: pd.DataFrame, chosen: np.ndarray) -> Finding | None:
    slowest = _chosen(table, chosen)
    if slowest is None:
        return None
    slow, longest, figures = slowest
    work = median_low(table["work_ns"].to_numpy(np.int64, na_value=0))
    excess = max(int(slow["excess_ns"].clip(lower=0).sum()), 1)
    figures |= {
        "work_ratios": [float(slow["work_ratio"].min()), float(slow["work_ratio"].max())],
        "own_part": max(int(longest.excess_ns), 0) / excess,
        "work_excess_ns": int(longest.work_ns) - int(work),
        "h2d_bytes": larger_input(trace, table["step"], slow["step"]),
    }
    figures["stalls"] = _mostly_not_work(figures) and stalls(trace, longest)
    return _finding(trace, "slow_steps.more_work", longest, figures)


def _longer(trace: Trace, table: pd.DataFrame, chosen: np.ndarray) -> Finding | None:
    slowest = _chosen(table, chosen)
    if slowest is None:
        return None
    slow, longest, figures = slowest
    if call := rare_call(trace, longest):
        longest = pd.Series({**longest, **call})
        figures |= {name: call[name] for name in ("op", "op_kind", "op_ns")}
    python = python_line(trace, slow, longest)
    rare_op = is_of_op(trace, slow, longest)
    figures |= {
        "work_known": bool(slow["more_work"].notna().all()),
        "line": line_of_op(trace, longest),
        "python": python,
        "gc": collector_time(trace, slow),
        "rare_op": rare_op,
        "thread": sampled_figures(running_thread(trace, str(longest.activity_task))),
        "lock": lock_waited_for(trace, slow, str(longest.activity_task)),
    }
    # Steps that differ by chance, such as by the load of the machine, differ in ops that all steps run.
    level = "" if rare_op or mostly_at(python) or figures["gc"] else MINOR
    return _finding(trace, "slow_steps.longer", longest, figures, level)


def _periodic(trace: Trace, table: pd.DataFrame, longer: np.ndarray) -> Finding | None:
    period, chosen = period_of(table["excess_ns"].to_numpy(np.int64), longer)
    slowest = _chosen(table, chosen, most=MOST)
    if not period or slowest is None:
        return None
    slow, longest, figures = slowest
    figures |= {
        "period": period,
        "line": line_of_op(trace, longest),
        "python": python_line(trace, slow, longest),
    }
    figures["gc"] = collector_time(trace, slow)
    return _finding(trace, "slow_steps.periodic", longest, figures)


def period_of(excess_ns: np.ndarray, slow: np.ndarray) -> tuple[int, np.ndarray]:
    """Return after how many steps a slow one follows the last, and a mask of these; 0 if there is no period.

    They are all steps of that period, at least `MIN_PERIODS`, and most of what slow steps take in excess. The
    longest may be much longer than the others, as the first save of a model.

    >>> excess = np.array([0, 0, 9, 0, 0, 8, 1, 0, 9, 0])
    >>> period, steps = period_of(excess, excess > 0)
    >>> period, np.flatnonzero(steps).tolist()
    (3, [2, 5, 8])
    """
    none = np.zeros(len(slow), bool)
    if slow.sum() < MIN_PERIODS.value:
        return 0, none
    longest = np.flatnonzero(slow & (excess_ns >= MOST * np.sort(excess_ns[slow])[-2]))
    if len(longest) < MIN_PERIODS.value:
        return 0, none
    periods, counts = np.unique(np.diff(longest), return_counts=True)
    period = int(periods[counts.argmax()])
    phases, counts = np.unique(longest % period, return_counts=True)
    none[int(phases[counts.argmax()]) :: period] = True
    # The first step can be in the period without being one of the slow steps.
    regular = none.copy()
    regular[0] = False
    is_complete = period > 1 and slow[regular].all() and regular.sum() >= MIN_PERIODS.value
    regular = none & slow
    if not is_complete or excess_ns[regular].sum() < MOST * excess_ns[slow].sum():
        return 0, np.zeros(len(slow), bool)
    return period, regular


def _mostly_not_work(figures: Figures) -> bool:
    """Return whether most of a step's extra time is not work of its devices, and what it is instead."""
    is_work = figures["work_excess_ns"] >= MOST * figures["excess_ns"] or figures["op_kind"] == "kernel"
    return bool(figures["activity"]) and not is_work


def _finding(trace: Trace, key: str, longest: pd.Series, figures: dict[str, Any], level: str = "") -> Finding:
    start, end = step_range(trace, figures["step"])
    events = longest_event(trace, longest)
    return Finding(key, figures["share"], figures, figures["step"], start, end, events, level)


def _word(key: str, figures: Figures) -> Texts:
    words = {
        UNEVEN: word_uneven,
        "slow_steps.more_work": _word_more_work,
        "slow_steps.periodic": _word_periodic,
    }
    return words.get(key, _word_longer)(figures)


def _word_more_work(figures: Figures) -> Texts:
    several, step, own = len(figures["steps"]) > 1, figures["step"], figures["own_part"]
    much = _range(figures["work_ratios"], format_ratio)
    title = f"{_named(figures['steps'])} {'give' if several else 'gives'} the devices more work"
    text = (
        f"On the busiest device, {'their' if several else 'its'} kernels run {much} times as long as in the"
    )
    text += " median step."
    if figures["h2d_bytes"]:
        typical, *copied = figures["h2d_bytes"]
        text += (
            f" {'They copy' if several else 'It copies'} {_range(copied, format_bytes)} to the devices"
            f" instead of {format_bytes(typical)}, which points to"
            f" {'larger batches' if several else 'a larger batch'}."
        )
    how = f"{f'{capital(step_name(figures))} takes the longest' if several else 'It takes'}"
    how += f"{',' if several else ''} {_times(figures)}"
    if several:
        share = figures["share"]
        costs = step_time(figures, own * share)
        how += f": it costs {costs}, the others {format_percent((1 - own) * share)}"
    how += "."
    batch = f"at the size and the longest sequence of {'these batches' if several else 'its batch'}"
    if not _mostly_not_work(figures):
        return Texts(title, text, f"Look {batch}.", how)
    how += (
        f" Kernels are only {format_duration(figures['work_excess_ns'])} of the extra"
        f" {format_duration(figures['excess_ns'])} in step {step}. Most of it is"
        f" {figures['activity'].replace('_', ' ')}, {format_duration(figures['activity_ns'])}"
        f" more{_op_part(figures)}."
    )
    if figures["stalls"]:
        title += f"; step {step} also stalls on the host" if several else ", and stalls on the host"
    host = f"at what the {'host' if figures['stalls'] else 'program'} did in step {step}"
    first, then = (host, batch) if own >= MOST else (batch, host)
    return Texts(title, text, f"Look first {first}, then {then}.", how)


def _range(values: list[Any], written: Callable[[Any], str]) -> str:
    least, most = map(written, values)
    return least if least == most else f"{least} to {most}"


def _word_longer(figures: Figures) -> Texts:
    text = f"{capital(step_name(figures))} takes {_times(figures)}"
    text += ", although its devices have no more to do." if figures["work_known"] else "."
    text += _why(figures)
    return Texts(
        f"{_named(figures['steps'])} {'take' if len(figures['steps']) > 1 else 'takes'} longer",
        text,
        _advice(figures),
    )


def _why(figures: Figures) -> str:
    """State what most of the extra time is."""
    if not figures["activity"]:
        return ""
    much, python, collects = format_duration(figures["activity_ns"]), figures["python"], figures.get("gc")
    clause = f"; {sampled_clause(python)}" if python else _op_sum(figures)
    if collects:
        took, where = format_duration(collects["ns"]), mostly_at(collects["python"])
        clause = f"; Python's garbage collector runs for {took}{where}"
    if figures["activity"] != "idle":
        name = capital(LABELS[figures["activity"]])
        return f" {name} takes {much} more than in the median step{clause}."
    return f" For {much} more than in the median step, nothing is recorded{clause}."


def _advice(figures: Figures) -> str:
    """Name the cause that is recorded."""
    step, thread, lock = figures["step"], figures["thread"], figures.get("lock")
    chance, then = "other programs on the machine can be the cause", _AGAIN
    if lock:
        holder = "the input pipeline" if lock["of_input"] else other_thread(lock["python"])
        chance = f"Python of {holder} can be the cause: the program waits for the interpreter lock it holds"
        then = _OF_INPUT if lock["of_input"] else LOCK_ADVICE
    elif thread:
        then = LOCK_ADVICE
        chance = f"Python of {other_thread(thread)} can be the cause: it runs in most samples"
    if figures.get("gc"):
        return COLLECT_LESS
    if mostly_at(figures["python"]) and figures["activity"] == "input":
        return f"Make batches ahead of the steps that need them, and do less at {figures['python']['line']}."
    if mostly_at(figures["python"]):
        return f"Run {figures['python']['line']} in fewer steps, or on a thread of its own."
    if figures["op"] and figures["rare_op"]:
        return f"Run {_op(figures)} in fewer steps, or outside of them."
    if figures["op"] and figures["op_ns"] >= MOST * figures["excess_ns"]:
        return f"Check whether {_op(figures)} has more to do in step {step}. If not, {chance}."
    if figures["activity"] not in ("", "idle", "runtime"):
        name = LABELS[figures["activity"]]
        return f"Check whether step {step} has more to do for its {name}. If not, {chance}."
    return f"{capital(chance)}. {then}"


def _word_periodic(figures: Figures) -> Texts:
    period, python = figures["period"], figures["python"]
    look = f"Look for what the program does every {period} steps, such as saving, logging or evaluating"
    if python:
        look = f"Look at {python['line']}, which the program runs every {period} steps"
    text = (
        f"{_named(figures['steps'])} take longer, which costs {step_time(figures)}:"
        f" {step_name(figures)} takes {_times(figures)}."
    )
    text += _why(figures)
    advice = COLLECT_LESS if figures.get("gc") else f"{look}: do it less often, or on a thread of its own."
    return Texts(f"One in {period} steps takes longer", text, advice)


def _times(figures: Figures) -> str:
    took = format_duration(figures["duration_ns"])
    median = format_duration(figures["duration_ns"] - figures["excess_ns"])
    return f"{format_ratio(figures['ratio'])} times the median ({took} instead of {median})"


def _op_part(figures: Figures) -> str:
    """Name the op at which a step loses most: as a part of the activity's time only if it is not longer."""
    if figures["op"] and figures["op_ns"] <= figures["activity_ns"]:
        return f", {format_duration(figures['op_ns'])} of it at {_op(figures)}"
    return _op_sum(figures)


def _op_sum(figures: Figures) -> str:
    if not figures["op"]:
        return ""
    among = "threads" if figures["op_kind"] in HOST_KINDS else "its events"
    return f", and {_op(figures)} {format_duration(figures['op_ns'])} more, summed over {among}"


def _op(figures: Figures) -> str:
    where = "on the host" if figures["op_kind"] in HOST_KINDS else f"of kind {figures['op_kind']}"
    line = f" ({figures['line']})" if figures.get("line") else ""
    return f"{figures['op']} {where}{line}"


def _named(steps: list[int]) -> str:
    """Write the numbers of steps as a list in words."""
    shown = [str(number) for number in steps[:_MAX_NAMED]]
    if len(steps) > _MAX_NAMED:
        more = len(steps) - _MAX_NAMED
        return f"Steps {', '.join(shown)} and {more} other{'s' if more > 1 else ''}"
    if len(shown) == 1:
        return f"Step {shown[0]}"
    return f"Steps {' and '.join([', '.join(shown[:-1]), shown[-1]])}"


def _measure(trace: Trace) -> Measurement:
    compared = _compared(trace)
    if isinstance(compared, Text):
        return Measurement.unknown(SHARE, compared)
    table, more, longer = compared
    slow = more | longer
    share = int(table.loc[slow, "excess_ns"].clip(lower=0).sum()) / int(table["duration_ns"].sum())
    figures = {
        "share": share,
        "threshold": SHARE.value,
        "slow_steps": int(slow.sum()),
        "steps": len(table),
        "slow_first_step": bool(table["slow"].iloc[0] and not slow[0]),
        "reported": bool(_find(trace)),
        "most": _most(table),
        "explained": int((slow & _is_explained(trace, table)).sum()),
    }
    return Measurement(share, SHARE.value, figures)


def _summarise(figures: Figures) -> str:
    slow, steps = figures["slow_steps"], figures["steps"]
    sentence = (
        f"{slow} of {steps} steps take at least {SLOW_STEP_RATIO} times the median or have that much more"
        f" work on their devices, which costs {step_time(figures)}"
    )
    unreported = figures["share"] >= figures["threshold"] and not figures["reported"]
    if unreported and 2 * figures["explained"] > slow:
        sentence += not_reported("other findings have this time")
    elif unreported and slow > figures["most"] * steps:
        most = limit(round(figures["most"], 2))
        sentence += not_reported(f"more than {most} of the steps are slow")
    else:
        sentence += beyond(figures)
    first = " The first step (one-time setup) is excluded."
    return f"{sentence}.{first if figures['slow_first_step'] else ''}"


RULE = Rule(
    "slow steps",
    {
        "SHARE": SHARE,
        "MAX_FRACTION": MAX_FRACTION,
        "MIN_STEPS": MIN_STEPS,
        "MIN_UNEVEN": MIN_UNEVEN,
        "MIN_PERIODS": MIN_PERIODS,
    },
    _find,
    _word,
    _measure,
    _summarise,
    "Slow steps are",
    below=("shuffle buffer",),
    below_from=0.5,
)
