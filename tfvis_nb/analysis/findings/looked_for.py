"""What findings are looked for: how large each figure is, and from where on it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.stragglers import late_tasks
from tfvis_nb.analysis.findings import cpu_ops as placement
from tfvis_nb.analysis.findings import devices, parts, peers
from tfvis_nb.analysis.findings import slow_steps as steps
from tfvis_nb.analysis.findings.finding import percent, span
from tfvis_nb.analysis.steps.slow_steps import slow_steps as against_median
from tfvis_nb.analysis.unavailable import cannot_say, why_not
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

FIGURES = {
    "share": "The part of all steps' time that it takes, from 0 to 1, told as a finding or not; NaN where "
    "the trace does not say.",
    "limit": "The share from which it is told as a finding.",
}

_COLUMNS = {"kind": "str", "share": "float64", "limit": "float64", "text": "str"}
_Row = tuple[str, float, float, str]
_UNKNOWN = float("nan")


@validate_input
def looked_for(trace: Trace) -> pd.DataFrame:
    """Return how much of the time each thing takes that findings are looked for in.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per kind of `tfvis_nb.analysis.findings.findings.findings`, what a device does first, then the
        nearest to its limit, what is not known last: ``kind`` (str), ``share`` and ``limit`` (float64)
        as `FIGURES` says, and ``text`` (str), sentences without the last full stop. `cannot_say` as of
        the findings.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.findings.looked_for import looked_for
    >>> columns = {"start_ns": [0, 100], "duration_ns": [100, 9_900], "kind": ["op"] * 2,
    ...            "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    >>> table = looked_for(Trace(events.build(columns))).set_index("kind")
    >>> print(table.loc["input", "text"])
    1.0 % passed waiting for input (a finding from 5 % on)
    >>> print(table.loc["launches", "text"])
    cannot say how far a GPU waited for launches: the trace has no rows of what a GPU ran in a step
    """
    whole = trace.breakdown
    if why_not(whole):
        return cannot_say(_COLUMNS, why_not(whole))
    if not int(whole["step_ns"].max()):
        return cannot_say(_COLUMNS, "all steps last 0 ns")
    rows = [
        _launches(trace),
        _part(trace, "input", "passed waiting for input", parts.INPUT_LIMIT, parts.INPUT_LEAST_NS),
        _late(trace),
        _communication(trace),
        _cpu_ops(trace),
        _copies(trace),
        _part(trace, "compiling", "was tracing and compiling", parts.COMPILE_LIMIT, 0),
        _slow(trace),
    ]
    table = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(
        {name: event_table.TEXT if dtype == "str" else dtype for name, dtype in _COLUMNS.items()}
    )
    near = (table["share"] / table["limit"]).fillna(-1.0).to_numpy()
    order = np.lexsort((-near, table.index.to_numpy() > 0, near < 0))
    return table.take(order).reset_index(drop=True)


def _from(limit: float) -> str:
    return f"(a finding from {_round(limit)} on)"


def _round(limit: float) -> str:
    return f"{limit * 100:g} %"


def _because(reason: str) -> str:
    """Say why what exceeds its limit is no finding."""
    return f". No finding, because {reason}"


def _told(trace: Trace, kind: str) -> bool:
    return kind in set(trace.findings["kind"])


def _launches(trace: Trace) -> _Row:
    table, limit = devices.waiting_devices(trace), devices.LAUNCH_LIMIT
    if why_not(table):
        said = f"cannot say how far a GPU waited for launches: {why_not(table)}"
        return "launches", _UNKNOWN, limit, _least_used(trace) + said
    most = table.iloc[0]
    share, few = float(most["share"]), float(most["launches"]) / float(most["steps"])
    busy = percent(most["busy_ns"] / max(most["step_ns"], 1))
    said = f"{devices.device_name(most)} worked {busy} of the time and waited {percent(share)} for launches"
    said += f" {_from(limit)}" if share < limit else ""
    said += _rest(trace, str(most["task"]), str(most["device"]))
    if share >= limit and few < devices.ENOUGH_LAUNCHES:
        said += _because(
            f"a step has only {few:.0f} launches (from {devices.ENOUGH_LAUNCHES} on): most of that is what"
            " tracing costs"
        )
    elif share >= limit and not most["told"]:
        said += _because(
            f"that is only {percent(most['of_idle'])} of the time in which it does not work"
            f" (from {_round(devices.LAUNCH_MOST)} on)"
        )
    return "launches", share, limit, said


def _least_used(trace: Trace) -> str:
    """Say how much the accelerator worked that worked least, where that is known."""
    table = trace.utilisation
    table = table[table["hta_kernel_ns"].notna()].astype(
        {"task": object, "device": object, "busy_ns": "int64"}
    )
    sums = table.groupby(["task", "device"])[["busy_ns", "step_ns"]].sum().reset_index()
    sums = sums.assign(part=sums["busy_ns"] / sums["step_ns"]).dropna().sort_values("part", kind="stable")
    if sums.empty:
        return ""
    least = sums.iloc[0]
    called, part = devices.device_name(least), percent(least["part"])
    return f"{called} worked {part} of the time{_rest(trace, str(least['task']), str(least['device']))}; "


def _rest(trace: Trace, task: str, device: str) -> str:
    """Say what most of the idle time of a device is due to."""
    gaps = trace.gaps
    own = gaps[(gaps["task"].astype(str) == task) & (gaps["device"].astype(str) == device)]
    idle = own.groupby(own["cause"].astype(str))["duration_ns"].sum().sort_values(ascending=False)
    if idle.empty or not int(idle.iloc[0]):
        return ""
    return f"; most of its idle time, {percent(idle.iloc[0] / idle.sum())}, has the cause {idle.index[0]}"


def _part(trace: Trace, kind: str, what: str, limit: float, least_ns: int) -> _Row:
    spent = parts.most_spent(trace, f"{'compile' if kind == 'compiling' else kind}_ns")
    if spent is None:
        return kind, _UNKNOWN, limit, f"cannot say how much {what}: no task has a step that takes time"
    said = f"{percent(spent.share)} {what}"
    if spent.share >= limit and spent.mean_ns < least_ns:
        said += _because(f"that is only {span(spent.mean_ns)} a step (from {span(least_ns)} on)")
    else:
        said += f" {_from(limit)}"
    return kind, spent.share, limit, said


def _late(trace: Trace) -> _Row:
    table, limit = late_tasks(trace), peers.LATE_LIMIT
    if why_not(table):
        return "late task", _UNKNOWN, limit, f"cannot say whether a task was late: {why_not(table)}"
    said: list[tuple[float, float, str]] = []
    for kind, least, where in (
        ("collective", peers.LATE_LIMIT, "to collectives"),
        ("end", peers.END_LIMIT, "to be done"),
    ):
        share = table.loc[(table["kind"] == kind).to_numpy(), "share"].max()
        if not pd.isna(share):
            said.append(
                (float(share), least, f"{percent(share)} of the time for the last {where} {_from(least)}")
            )
    if not said:
        return "late task", _UNKNOWN, limit, "cannot say whether a task was late: tasks did not meet"
    share, limit, _ = max(said, key=lambda one: one[0] / one[1])
    words = "others waited " + " and ".join(one[2] for one in said)
    if share >= limit and not _told(trace, "late task"):
        words += _because("clocks do not tell who was late, or the last one only waited, too")
    return "late task", share, limit, words


def _communication(trace: Trace) -> _Row:
    limit = peers.COMMUNICATION_LIMIT
    sums = peers.communicating_tasks(trace)
    if sums.empty:
        return "communication", 0.0, limit, "no task received tensors or reduced them with others"
    share = float(sums["share"].min())
    said = f"{percent(share)} was communication behind which nothing computed {_from(limit)}"
    return "communication", share, limit, said


def _cpu_ops(trace: Trace) -> _Row:
    found, limit = placement.idle_meanwhile(trace), placement.LIMIT
    if isinstance(found, str):
        return "cpu ops", _UNKNOWN, limit, f"cannot say whether ops on a CPU held a GPU up: {found}"
    while_so = "a GPU was idle while ops ran on the CPU or copied to the host"
    said = f"during {percent(found)} {while_so} {_from(limit)}"
    return "cpu ops", found, limit, said


def _copies(trace: Trace) -> _Row:
    sums, limit = devices.exposed_copies(trace), devices.COPY_LIMIT
    if sums.empty:
        return (
            "copies",
            _UNKNOWN,
            limit,
            "cannot say what copies took: the trace has no rows of what a GPU ran",
        )
    share = float(sums["share"].iloc[0])
    return "copies", share, limit, f"{percent(share)} was copies to and from the host {_from(limit)}"


def _slow(trace: Trace) -> _Row:
    table, limit = against_median(trace), steps.SLOW_LIMIT
    if why_not(table) or len(table) < steps.ENOUGH:
        few = why_not(table) or f"there are {len(table)} steps, fewer than {steps.ENOUGH}"
        return "slow steps", _UNKNOWN, limit, f"cannot say whether steps were slow: {few}"
    more = table["more_work"].fillna(value=False).astype(bool)
    slow = table["slow"] & (table.index > 0) | more
    share = int(table.loc[slow, "excess_ns"].clip(lower=0).sum()) / int(table["duration_ns"].sum())
    those, every = int(slow.sum()), len(table)
    said = (
        f"{those} of {every} steps were slow or had more to do, {SLOW_STEP_RATIO} times the median or more,"
    )
    said += f" which cost {percent(share)}"
    if share >= limit and those > steps.FEW * every and not _told(trace, "slow steps"):
        said += _because(f"it is told only of few steps, up to {_round(steps.FEW)} of them")
    else:
        said += f" {_from(limit)}"
    if table["slow"].iloc[0] and not slow.iloc[0]:
        said += "; the first one, in which is done what is done once, does not count"
    return "slow steps", share, limit, said
