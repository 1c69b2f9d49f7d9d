"""Tasks wait for a late one: at collectives, at the end of steps, or at ops that need tensors of all."""

import re
from math import exp, lgamma, log, log1p
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.communication.negotiations import negotiations
from tfvis_nb.analysis.communication.stragglers import late_tasks, stragglers
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.findings.clocks import clocks_sentence, uncertain_clocks
from tfvis_nb.analysis.findings.finding import (
    SELECTED,
    Finding,
    longest_events,
    of_task,
    overlaps,
    step_times,
)
from tfvis_nb.analysis.findings.late_work import (
    LATENESS,
    WORK_RATIO,
    is_more,
    largest_difference,
    sentence,
    work,
)
from tfvis_nb.analysis.findings.program import framework, recorded
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    capital,
    limit,
    not_reported,
    step_name,
    step_time,
)
from tfvis_nb.analysis.source.python_samples import sampled_clause, sampled_figures, sampled_line
from tfvis_nb.analysis.steps.breakdown import activity_times
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.format import format_bytes, format_duration, format_number
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.labels import device_location
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole
from tfvis_nb.texts import Text

COLLECTIVE_SHARE = Threshold(
    0.1, "share of step time that others wait for one task at collectives, `sole_wait_ns` of `late_tasks`"
)
INPUTS_SHARE = Threshold(
    0.1, "the same at ops that need tensors of several tasks of a job, as on a parameter server"
)
END_SHARE = Threshold(
    0.25,
    "share of step time that one task still works after all others of its job are done, `sole_wait_ns` of"
    " `late_tasks`",
)
MIN_SPREAD_RATIO = Threshold(
    2,
    "how long after the first task the straggler arrives on average, in multiples of how far the ends of"
    " these collectives lie apart: all tasks leave a collective together, so their ends show how well the"
    " clocks agree",
)
MAX_CHANCE = Threshold(
    0.05,
    "chance that a task would be the last one this often if each were equally likely to be; collectives whose"
    " waits overlap count once, because a task that is late is late to all of them. A task that is always the"
    " last one is reported even if it meets the others only a few times",
)
MIN_WAIT_RATIO = Threshold(
    0.1,
    "longest wait at a time, as a fraction of the mean of these waits, from which it counts for that chance:"
    " a collective right after another one shows little of who is late",
)
MIN_BUSY_FRACTION = Threshold(0.5, "fraction of the time after the others in which the straggler is active")

_CPU = re.compile("/device:CPU:")
_BARRIERS = {"collective": COLLECTIVE_SHARE, "inputs": INPUTS_SHARE, "end": END_SHARE}


def _find(trace: Trace) -> list[Finding]:
    table = late_tasks(trace)
    if why_not(table):
        return []
    met = stragglers(trace)
    return (
        _late_to_collectives(trace, table, met)
        or _last_at_the_end(trace, table, met)
        or _late_with_inputs(trace, table, met)
    )


def _latest(table: pd.DataFrame, met: pd.DataFrame, kind: str) -> tuple[pd.Series, pd.DataFrame] | None:
    """Return the task that others wait for longest at one kind of barrier, and where it is last."""
    rows = table[table["kind"] == kind]
    if rows.empty or float(rows["share"].iloc[0]) < _BARRIERS[kind].value:
        return None
    first = rows.iloc[0].astype(object)
    return first, met[(met["kind"] == kind) & (met["task"].astype(str) == first["task"]) & met["last"]]


def _figures(trace: Trace, latest: pd.Series, late: pd.DataFrame, worst: pd.Series) -> dict[str, Any]:
    """Return figures of a late task, of the barriers at which it is last, and of the worst of them."""
    task = str(latest["task"])
    return {
        "share": float(latest["share"]),
        "task": task,
        "last": int(latest["last"]),
        "barriers": int(latest["barriers"]),
        "sole_wait_ns": int(latest["sole_wait_ns"]),
        "step": int(worst["step"]),
        "lateness_ns": int(worst["lateness_ns"]),
        "name": str(worst["name"]),
        "clocks_ns": uncertain_clocks(trace, float(late["lateness_ns"].mean())),
        "work": work(trace, task),
    }


def _late_to_collectives(trace: Trace, table: pd.DataFrame, met: pd.DataFrame) -> list[Finding]:
    pair = _latest(table, met, "collective")
    if pair is None:
        return []
    latest, late = pair
    waits = collective_waits(trace).set_index("event")
    end = waits["start_ns"] + waits["duration_ns"]
    together = met[met["barrier"].isin(late["barrier"])]
    ends = end.loc[together["event"]].groupby(together["barrier"].to_numpy())
    spread = float((ends.max() - ends.min()).mean())
    if late["lateness_ns"].mean() < MIN_SPREAD_RATIO.value * spread:
        return []
    if not _is_regular(met[met["kind"] == "collective"], str(latest["task"])) or _starts(trace, latest, late):
        return []
    worst = late.iloc[int(late["lateness_ns"].to_numpy().argmax())]
    there = together[together["barrier"] == int(worst["barrier"])]
    # All waits are shown if they can be selected; among more, they would be too short to see.
    shown = together if len(together) <= SELECTED else there
    figures = _figures(trace, latest, late, worst)
    if _CPU.search(figures["task"]) and not is_more(figures["work"], figures["sole_wait_ns"]):
        # Devices of one CPU share its cores: the one that gets them later is late with the same work.
        return []
    figures |= {
        "ends_ns": spread,
        "others": len(there) - 1,
        "negotiations": _negotiations(trace, there["event"].tolist()),
        "python": _python(trace, str(latest["task"]), int(latest["sole_wait_ns"])),
        "program": recorded(trace)["program"],
    }
    return [
        Finding(
            "straggler.collective",
            figures["share"],
            figures,
            figures["step"],
            int(shown["arrived_ns"].min()),
            int(end.loc[shown["event"]].max()),
            [*there["event"], *shown.loc[shown["barrier"] != int(worst["barrier"]), "event"]],
        )
    ]


def _starts(trace: Trace, latest: pd.Series, late: pd.DataFrame) -> bool:
    """Return whether others wait for a task only while the job starts, which happens once.

    A job starts with the broadcast of its variables. Horovod names the ranks only where it sees a tensor for
    the first time: if its later negotiations are short, the task is no longer late.
    """
    least = COLLECTIVE_SHARE.value * float(latest["sole_wait_ns"]) / float(latest["share"])
    later = late.sort_values("arrived_ns")
    later = later[np.cumsum(~later["op"].astype(str).str.contains("broadcast", case=False)) > 0]
    end = later["arrived_ns"].to_numpy(np.int64)
    start = end - later["sole_wait_ns"].to_numpy(np.int64)
    waited = int(lengths(union(np.zeros(len(end), np.int64), start, end), 1, 2)[:, 1].sum())
    rest = _negotiations(trace, late["event"].tolist())
    return waited < least or bool(rest and rest["unnamed"] and rest["unnamed_ns"] < least)


def _late_with_inputs(trace: Trace, table: pd.DataFrame, met: pd.DataFrame) -> list[Finding]:
    pair = _latest(table, met, "inputs")
    # In a single step, the order of equal tasks' transfers makes one of them late.
    if pair is None or not _is_regular(met[met["kind"] == "inputs"], str(pair[0]["task"]), by_chance=True):
        return []
    latest, late = pair
    worst = late.iloc[int(late["sole_wait_ns"].to_numpy().argmax())]
    there = met[met["barrier"] == int(worst["barrier"])]
    figures = _figures(trace, latest, late, worst) | {"others": len(there) - 1}
    start, end = int(there["arrived_ns"].min()), int(there["arrived_ns"].max())
    events = longest_events(trace, of_task(trace, figures["task"]) & overlaps(trace, start, end))
    return [Finding("straggler.inputs", figures["share"], figures, figures["step"], start, end, events)]


def _is_regular(met: pd.DataFrame, task: str, *, by_chance: bool = False) -> bool:
    """Return whether a task is always the last one at barriers, or more often than by chance.

    With `by_chance`, a task that is always last at few barriers does not count.
    """
    barriers = met.groupby("barrier", sort=False)
    own = met[met["barrier"].isin(met.loc[(met["task"] == task).to_numpy(), "barrier"])]
    first = barriers["arrived_ns"].transform("min").loc[own.index]
    longest = own.assign(first_ns=first)[own["last"]].sort_values("first_ns", kind="stable")
    reached = np.maximum.accumulate(longest["arrived_ns"].to_numpy(np.int64))
    apart = np.append(True, longest["first_ns"].to_numpy(np.int64)[1:] > reached[:-1])
    occasions = longest.loc[longest.groupby(np.cumsum(apart))["lateness_ns"].idxmax()]
    waited = occasions["lateness_ns"].to_numpy()
    last = (occasions["task"] == task).to_numpy()[waited >= MIN_WAIT_RATIO.value * waited.mean()]
    times, all_times = int(last.sum()), len(last)
    tasks = int(own.groupby("barrier")["task"].size().min())
    return (times == all_times and not by_chance) or _chance(times, all_times, tasks) <= MAX_CHANCE.value


def _chance(times: int, of: int, tasks: int) -> float:
    """Return an upper bound of the chance that any of some tasks is last this often."""

    def exactly(count: int) -> float:
        ways = lgamma(of + 1) - lgamma(count + 1) - lgamma(of - count + 1)
        return exp(ways - count * log(tasks) + (of - count) * log1p(-1 / tasks))

    return tasks * sum(exactly(count) for count in range(times, of + 1))


def _negotiations(trace: Trace, events: list[int]) -> dict[str, int] | None:
    """Return the count and time of Horovod's negotiations that do not show the last rank.

    None if the collective of `events` was not negotiated in a timeline.
    """
    known = collective_waits(trace)["event"]
    table = negotiations(trace.events)
    if not set(table["rows"].explode()) & set(events):
        return None
    shown = table["rows"].explode().isin(known).groupby(level=0).any()
    rows = table.loc[~shown, "event"].to_numpy(np.int64)
    start = trace.events["start_ns"].to_numpy(np.int64)[rows]
    end = start + trace.events["duration_ns"].to_numpy(np.int64)[rows]
    covered = lengths(union(np.zeros(len(rows), np.int64), start, end), 1, 2)[:, 1]
    return {"unnamed": len(rows), "unnamed_ns": int(covered.sum())}


def _python(trace: Trace, task: str, waited_ns: int) -> dict[str, Any] | None:
    """Return the line that a late task runs while TensorFlow does nothing on it, if that explains waits."""
    times = activity_times(trace)
    own = (times["device"].astype(str) == "") & (times["task"].astype(str) == task)
    idle = times[own & (times["activity"] == "none")].sort_values("start_ns")
    start, length = (idle[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    if length.sum() < MIN_BUSY_FRACTION.value * waited_ns:
        return None
    return sampled_figures(sampled_line(trace, start, start + length, task))


def _last_at_the_end(trace: Trace, table: pd.DataFrame, met: pd.DataFrame) -> list[Finding]:
    pair = _latest(table, met, "end")
    if pair is None:
        return []
    latest, late = pair
    worst = late.iloc[int(late["sole_wait_ns"].to_numpy().argmax())]
    task, end, step = str(latest["task"]), int(worst["arrived_ns"]), int(worst["step"])
    start = end - int(worst["sole_wait_ns"])
    spent = _activities(trace, task, step, start, end)
    idle = spent.pop("none", 0)
    if not spent or idle > (1 - MIN_BUSY_FRACTION.value) * (end - start):
        return []
    most = max(spent, key=lambda name: spent[name])
    figures: dict[str, Any] = {
        "share": float(latest["share"]),
        "task": task,
        "sole_wait_ns": int(latest["sole_wait_ns"]),
        "steps": len(step_times(trace)),
        "step": step,
        "step_sole_wait_ns": int(worst["sole_wait_ns"]),
        "activity": most,
        "activity_ns": spent[most],
        "received": _received(trace, task, step) if most == "communication" else None,
        "clocks_ns": uncertain_clocks(trace, int(worst["sole_wait_ns"])),
        "work": work(trace, task),
    }
    events = longest_events(trace, of_task(trace, task) & overlaps(trace, start, end))
    return [Finding("straggler.end", figures["share"], figures, step, start, end, events)]


def _received(trace: Trace, task: str, step: int) -> dict[str, Any] | None:
    """Return how much a task receives in a step, if that is more than any other task of its job."""
    moved = transfers(trace)
    moved = moved[(moved["step"] == step) & (moved["kind"] == "transfer") & moved["bytes"].notna()]
    receivers = moved["destination"].astype(object).map(task_of, na_action="ignore")
    groups = moved["bytes"].astype("int64").groupby(receivers)
    sums, counts = groups.sum(), groups.size()
    job = task.rpartition("/task:")[0]
    others = sums[sums.index.str.startswith(f"{job}/task:") & (sums.index != task)]
    if task not in sums.index or others.empty or int(sums[task]) <= int(others.max()):
        return None
    most = str(others.idxmax())
    return {
        "bytes": int(sums[task]),
        "tensors": int(counts[task]),
        "others": len(others),
        "other_bytes": int(others[most]),
        "other_tensors": int(counts[most]),
    }


def _activities(trace: Trace, task: str, step: int, start: int, end: int) -> dict[str, int]:
    """Return the time of each activity of a task in a part of a step, in ns."""
    table = activity_times(trace)
    own = (table["step"] == step) & (table["device"].astype(str) == "") & (table["task"].astype(str) == task)
    rows = table[own]
    begin = rows["start_ns"].clip(lower=start)
    length = ((rows["start_ns"] + rows["duration_ns"]).clip(upper=end) - begin).clip(lower=0)
    return {
        str(name): int(total)
        for name, total in length.groupby(rows["activity"], observed=True).sum().items()
        if total
    }


def _word(key: str, figures: Figures) -> Texts:
    subject = capital(device_location(figures["task"]) or figures["task"] or "the task")
    verb = "may be" if _doubt(figures) else "is"
    awaited = format_duration(figures["sole_wait_ns"])
    longest = ""
    if "lateness_ns" in figures:
        lateness = format_duration(figures["lateness_ns"])
        longest = f"The longest wait is in {step_name(figures)}, {lateness}"
    compared, python = figures["work"], figures.get("python")
    more, largest = "", ""
    if compared is not None and not python and is_more(compared, figures["sole_wait_ns"]):
        more, largest = sentence(compared), largest_difference(compared)
    batch = "more work in a batch, " if compared is None else ""
    advice = f"Rebalance its load, or find out what slows it down: {batch}a slower machine, "
    if more:
        advice = "Balance batch sizes, sequence lengths and the iterations of loops."
    if key == "straggler.collective":
        negotiated = figures["negotiations"]
        other = _other(figures)
        if python:
            more = f"; nothing of {framework(figures)} runs on it then, and {sampled_clause(python)}"
            advice = "Look for Python that this task runs between its ops, such as reading input."
        waiting = f"{other} waits" if figures["others"] == 1 else f"{other}s wait"
        met = "collectives whose negotiation names the ranks" if negotiated else "collectives"
        return Texts(
            f"{subject} {verb} a straggler",
            f"It is last at {figures['last']:,} of {figures['barriers']:,} {met}; the other {waiting}"
            f" for it alone for {awaited}{more}.",
            advice if more else f"{advice}another process on it, or input that arrives later.",
            f"{longest} at {figures['name']}.{largest}{_unnamed(negotiated)}"
            f"{clocks_sentence(figures['clocks_ns'], figures['ends_ns'])}",
        )
    if key == "straggler.inputs":
        waiting = "task waits" if figures["others"] == 1 else "tasks wait"
        return Texts(
            f"{subject} {verb} a straggler",
            f"Its tensors arrive last at {figures['last']:,} of {figures['barriers']:,} ops that need tensors"
            f" of several tasks, and the other {waiting} for it alone for {awaited}{more}.",
            advice if more else f"{advice}or a slower network to the parameter server.",
            f"{longest} at {figures['name']}.{largest}{clocks_sentence(figures['clocks_ns'])}",
        )
    where = ""
    if figures["steps"] > 1:
        where = f", {format_duration(figures['step_sole_wait_ns'])} of it in {step_name(figures)}"
    text = f"After all others have ended, it runs for {awaited}{where}{more}."
    how = (
        f"Most of that is {figures['activity'].replace('_', ' ')}, {format_duration(figures['activity_ns'])}."
    )
    received = figures["received"]
    if received:
        most = " at most" if received["others"] > 1 else ""
        how += (
            f" It receives {format_bytes(received['bytes'])} in"
            f" {format_number(received['tensors'], 'tensor')}, the others{most}"
            f" {format_bytes(received['other_bytes'])} in {received['other_tensors']:,}."
        )
    advice = advice if more else f"{advice}or a slower network to the parameter server."
    how += f"{largest}{clocks_sentence(figures['clocks_ns'])}"
    return Texts(f"{subject} {verb} a straggler", text, advice, how)


def _other(figures: Figures) -> str:
    """Return the noun for the tasks, ranks or devices that wait."""
    if figures.get("negotiations"):
        return "rank"
    return "device" if "/device:" in figures["task"] else "task"


def _doubt(figures: Figures) -> str:
    """Return an adverb if clocks are known less well than the task is late; empty otherwise.

    Collectives that end together and more work of the task support the finding, whatever the clocks.
    """
    clocks_ns = figures["clocks_ns"]
    late_ns = figures.get("lateness_ns", figures.get("step_sole_wait_ns"))
    if clocks_ns is None or (not isinstance(clocks_ns, str) and clocks_ns <= late_ns):
        return ""
    is_supported = "ends_ns" in figures or is_more(figures["work"], figures["sole_wait_ns"])
    return "probably " if is_supported else "possibly "


def _unnamed(negotiated: Figures | None) -> str:
    """Describe the negotiations without ranks, which do not show the awaited one."""
    if not negotiated or not negotiated["unnamed"]:
        return ""
    count = negotiated["unnamed"]
    return (
        f" {count:,} other negotiation{'s do' if count > 1 else ' does'} not name the ranks, and"
        f" take{'' if count > 1 else 's'} {format_duration(negotiated['unnamed_ns'])}."
    )


def _headline(figures: Figures) -> str:
    subject = capital(device_location(figures["task"]) or figures["task"] or "the task")
    share = step_time(figures)
    if "barriers" not in figures:
        return f"{subject} {_doubt(figures)}runs alone for {share}"
    last, barriers = figures["last"], figures["barriers"]
    other = _other(figures)
    others = "all others wait" if figures["others"] > 1 else f"the other {other} waits"
    which = f"all {barriers:,}" if last == barriers > 1 else f"{last:,} of {barriers:,}"
    where = "collectives" if "negotiations" in figures else "ops that need tensors of several tasks"
    return f"{subject} is {_doubt(figures)}late at {which} {where}: {others} for {share}"


def _measure(trace: Trace) -> Measurement:
    table = late_tasks(trace)
    if why_not(table):
        return Measurement.unknown(COLLECTIVE_SHARE, why_not(table))
    shares = {}
    for kind in _BARRIERS:
        share = table.loc[(table["kind"] == kind).to_numpy(), "share"].max()
        if not pd.isna(share):
            shares[kind] = float(share)
    if not shares:
        reason = Text("no_barriers")
        return Measurement.unknown(COLLECTIVE_SHARE, reason)
    stragglers_found = _find(trace)
    nearest = max(shares, key=lambda kind: shares[kind] / _BARRIERS[kind].value)
    if stragglers_found:
        nearest = stragglers_found[0].id.partition(".")[2]
    share, threshold = shares[nearest], _BARRIERS[nearest].value
    reported = share >= threshold and bool(stragglers_found)
    figures = {"share": share, "threshold": threshold, "shares": shares, "reported": reported}
    return Measurement(share, threshold, figures)


def _summarise(figures: Figures) -> str:
    where = {
        "collective": "at collectives",
        "inputs": "at ops that need tensors of several tasks",
        "end": f"at the end of {whole(figures, 'steps')}",
    }
    waits = [
        f"{step_time(figures, share)} {where[kind]} (threshold {limit(_BARRIERS[kind].value)})"
        for kind, share in figures["shares"].items()
    ]
    sentence = f"Tasks wait for the last one for {' and '.join(waits)}"
    if figures["share"] >= figures["threshold"] and not figures["reported"]:
        sentence += not_reported(
            "clocks do not show which task is late, others are late as often, the late one waits itself,"
            " it is late only while the job starts, or it shares the cores of its CPU with the others"
        )
    return f"{sentence}."


RULE = Rule(
    "late task",
    {
        "COLLECTIVE_SHARE": COLLECTIVE_SHARE,
        "INPUTS_SHARE": INPUTS_SHARE,
        "END_SHARE": END_SHARE,
        "MIN_SPREAD_RATIO": MIN_SPREAD_RATIO,
        "MAX_CHANCE": MAX_CHANCE,
        "MIN_WAIT_RATIO": MIN_WAIT_RATIO,
        "MIN_BUSY_FRACTION": MIN_BUSY_FRACTION,
        "WORK_RATIO": WORK_RATIO,
        "LATENESS": LATENESS,
    },
    _find,
    _word,
    _measure,
    _summarise,
    "Waiting for stragglers is",
    remedy=Remedy("On time,", lambda figures: {"on_time": figures["task"]}),
    headline=_headline,
)
