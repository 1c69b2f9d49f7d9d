"""Findings on steps that are slower than the others, or that have more to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.finding import Finding, percent, span, step_range
from tfvis_nb.analysis.steps.slow_steps import slow_steps as against_median
from tfvis_nb.analysis.unavailable import why_not

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

FEW = 0.2
"""Slow steps are told when they are at most this part of all: else the median is not what most take."""
SLOW_LIMIT = 0.005
"""Part of the time that slow steps take more than the median's, from which they are told."""
ENOUGH = 5
"""Of fewer steps a median says little."""

_MOST = 0.5
"""From this part on it is most of something."""
_OF_HOST = ("op", "host")


def slow_steps(trace: Trace) -> list[Finding]:
    """Find steps that do more on the devices than the median step, and those that just take longer.

    The first step is left out of the latter: what is done once is done in it. Which steps are slow, or
    have more to do, is what `tfvis_nb.analysis.slow_steps` says.
    """
    table = against_median(trace)
    if why_not(table) or len(table) < ENOUGH:
        return []
    more = table["more_work"].fillna(value=False).to_numpy(bool)
    longer = table["slow"].to_numpy(bool) & ~more
    longer[0] = False
    found = [_more_to_do(trace, table, more), _longer(trace, table, longer)]
    return [one for one in found if one is not None]


def _more_to_do(trace: Trace, table: pd.DataFrame, chosen: np.ndarray) -> Finding | None:
    share, slow, longest = _chosen(table, chosen)
    if not share:
        return None
    several = len(slow) > 1
    least, most = (f"{ratio:.2g}" for ratio in (slow["work_ratio"].min(), slow["work_ratio"].max()))
    much = least if least == most else f"{least} to {most}"
    title = f"{_steps(slow)} {'do' if several else 'does'} more on the devices"
    own = max(int(longest.excess_ns), 0) / max(int(slow["excess_ns"].clip(lower=0).sum()), 1)
    costs = f": it costs {percent(own * share)} of all steps' time, the others {percent((1 - own) * share)}"
    alike = f"at what {'those batches have in common' if several else 'is in its batch'}, such as"
    alike += f" {'their' if several else 'its'} size or {'their' if several else 'its'} longest sequence."
    apart = _apart_from_work(table, longest)
    if apart:
        stalled = _stalls(trace, longest)
        if stalled:
            title += f", and {f'step {longest.step} ' if several else ''}stalls on the host"
        did = f"what {'the host' if stalled else 'it'} did in step {longest.step}: select it in the timeline."
        first, then = (f"at {did}", alike) if own >= _MOST else (alike, f"at {did}")
        advice = f"Look first {first} Then {then}"
    else:
        advice = f"Look {alike}"
    return _finding(
        trace,
        longest,
        share,
        title,
        f"{'They do' if several else 'It does'} {much} times the median step's work on the busiest device;"
        f" {f'step {longest.step} takes longest,' if several else 'it takes'} {_times(longest)}"
        f"{costs if several else ''}.{apart}",
        advice,
    )


def _apart_from_work(table: pd.DataFrame, longest: pd.Series) -> str:
    """Say what a step lost apart from the work of its devices, where that is most of what it lost."""
    work = table["work_ns"].to_numpy(np.int64, na_value=0)
    more = int(longest.work_ns) - int(np.sort(work)[(len(work) - 1) // 2])
    excess = int(longest.excess_ns)
    if more >= _MOST * excess or longest.op_kind == "kernel" or not longest.activity:
        return ""
    return (
        f" Of the {span(excess)} that step {longest.step} takes more, kernels are only {span(more)}: most is"
        f" {longest.activity.replace('_', ' ')}, {span(longest.activity_ns)} more{_at(longest)}."
    )


def _at(longest: pd.Series) -> str:
    """Say at which op a step lost most: a part of the activity's time only where that is not less."""
    if longest.op and longest.op_ns <= longest.activity_ns:
        return f", {span(longest.op_ns)} of it at {_op(longest)}"
    return _summed(longest)


def _summed(longest: pd.Series) -> str:
    among = "threads" if longest.op_kind in _OF_HOST else "its events"
    return f", and {span(longest.op_ns)} more at {_op(longest)}, summed over {among}" if longest.op else ""


def _op(longest: pd.Series) -> str:
    return f"{longest.op} {'on the host' if longest.op_kind in _OF_HOST else f'of kind {longest.op_kind}'}"


def _stalls(trace: Trace, longest: pd.Series) -> bool:
    """Tell whether one event on the host is most of what a step takes longer."""
    if longest.op_kind not in _OF_HOST:
        return False
    return any(
        int(trace.events["duration_ns"].iloc[event]) >= _MOST * int(longest.excess_ns)
        for event in _event(trace, longest)
    )


def _longer(trace: Trace, table: pd.DataFrame, chosen: np.ndarray) -> Finding | None:
    share, slow, longest = _chosen(table, chosen)
    if not share:
        return None
    known = bool(slow["more_work"].notna().all())
    though = ", though the devices have no more to do than in others" if known else ""
    mostly = ""
    if longest.activity:
        named = longest.activity.replace("_", " ")
        mostly = (
            f" It has {span(longest.activity_ns)} more of {named} than the median step{_summed(longest)}."
        )
    return _finding(
        trace,
        longest,
        share,
        f"{_steps(slow)} {'take' if len(slow) > 1 else 'takes'} longer",
        f"Step {longest.step} takes {_times(longest)}{though}.{mostly}",
        "Compare it with a step of median length: what its host and its input did meanwhile.",
    )


def _chosen(table: pd.DataFrame, chosen: np.ndarray) -> tuple[float, pd.DataFrame, pd.Series]:
    """Return the part of the time that the chosen steps take more than the median, 0 below the limits."""
    slow = table[chosen]
    lost = int(slow["excess_ns"].clip(lower=0).sum())
    share = lost / max(int(table["duration_ns"].sum()), 1)
    told = 0 < len(slow) <= FEW * len(table) and share >= SLOW_LIMIT
    longest = slow.iloc[int(slow["duration_ns"].to_numpy().argmax())] if told else pd.Series(dtype=object)
    return share if told else 0.0, slow, longest


def _times(longest: pd.Series) -> str:
    median = int(longest.duration_ns) - int(longest.excess_ns)
    return f"{longest.ratio:.3g} times the median ({span(longest.duration_ns)} against {span(median)})"


def _finding(trace: Trace, longest: pd.Series, share: float, title: str, text: str, advice: str) -> Finding:
    step = int(longest.step)
    start, end = step_range(trace, step)
    return Finding("slow steps", title, text, advice, share, step, start, end, _event(trace, longest))


def _event(trace: Trace, longest: pd.Series) -> list[int]:
    """Return the longest event of what differs most, if the step has it."""
    if pd.isna(longest.op_event):
        return []
    event = int(longest.op_event)
    return [event] if int(trace.events["step"].iloc[event]) == int(longest.step) else []


def _steps(slow: pd.DataFrame, most: int = 6) -> str:
    """Write the numbers of steps as a list in words."""
    numbers = slow["step"].tolist()
    shown = [str(number) for number in numbers[:most]]
    if len(numbers) > most:
        return f"Steps {', '.join(shown)} and {len(numbers) - most} others"
    if len(shown) == 1:
        return f"Step {shown[0]}"
    return f"Steps {' and '.join([', '.join(shown[:-1]), shown[-1]])}"
