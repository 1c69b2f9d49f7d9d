"""Factors of each event's own time: on a faster GPU, on time, or without waits for Python's lock."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.participants import participants
from tfvis_nb.analysis.communication.stragglers import stragglers
from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.dataflow.edges import edges
from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.hardware.ceilings import ceilings
from tfvis_nb.analysis.hardware.devices import devices
from tfvis_nb.analysis.hardware.op_work import op_work
from tfvis_nb.analysis.prediction.python_time import of_idle_lines
from tfvis_nb.analysis.prediction.replay import no_change, replay
from tfvis_nb.analysis.prediction.typical import same_rows
from tfvis_nb.core.categories import beginning, containing, is_kind
from tfvis_nb.core.intervals import union
from tfvis_nb.core.labels import shown_task
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_SWITCH = 5_000_000
"""A thread that runs Python hands the lock over when another one has waited this long (ns): the default of
`sys.setswitchinterval` in CPython 3.2 to 3.14."""

_BUSY = ("host_compute", "preprocessing")
"""Work that keeps a core busy beside a step. A call that compiles waits for the step that it has compiled."""

_HOLDS = re.compile(r"(?:Eager)?PyFunc")
_PYTHON = re.compile(r"python")


def gpu_factors(trace: Trace, chosen: np.ndarray, name: str) -> np.ndarray:
    """Return factors for all events (float64) with which chosen CPU ops run at the speed of a GPU.

    The factor of an op is that of its type: the mean kernel time per run on the trace's GPUs / the mean
    duration on the CPU. If the type never runs on a GPU, it is the minimum time that the GPU needs for the
    op's operations and bytes / its duration.

    Raises
    ------
    ValueError
        If none of the chosen events is a CPU op, or the GPU speed of one is unknown.
    """
    events = trace.events
    launching = edges(trace)["source"][edges(trace)["kind"] == "launch"].to_numpy(np.int64)
    on_cpu = chosen & is_kind(events, "op") & (activity(trace) == NUMBER["host_compute"])
    on_cpu[launching] = False
    rows = np.flatnonzero(on_cpu)
    if not len(rows):
        raise ValueError(Text("nothing_on_cpu", name=name))
    op = events["op"].astype(object).fillna("").iloc[rows].to_numpy()
    duration = pd.Series(events["duration_ns"].to_numpy(np.float64)[rows]).clip(lower=1)
    on_gpu = pd.Series(op).map(_recorded(trace))
    factor = on_gpu / duration.groupby(op).transform("mean")
    factor = factor.fillna((pd.Series(rows).map(_bounds(trace)) / duration).clip(upper=1))
    if factor.isna().any():
        raise ValueError(Text("gpu_speed_unknown", op=op[factor.isna().to_numpy()][0]))
    factors = np.ones(len(events))
    factors[rows] = factor
    return factors


def _recorded(trace: Trace) -> pd.Series:
    """Return the mean kernel time per run of each op type on GPUs, in ns."""
    events = trace.events
    computes = activity(trace) == NUMBER["device_compute"]
    called = is_kind(events, "op") & accelerators(events)
    op = events["op"].astype(object).fillna("")
    spent = events["duration_ns"][computes].groupby(op[computes]).sum().astype("float64")
    runs = op[called].value_counts().reindex(spent.index).fillna(op[computes].value_counts())
    mean: pd.Series = (spent / runs).drop("", errors="ignore")
    return mean


def _bounds(trace: Trace) -> pd.Series:
    """Return the minimum time that a GPU needs for each op with known work, in ns, by event."""
    work = op_work(trace).set_index("event")
    for device in devices(trace)["device"]:
        rates, bandwidth = ceilings(trace, str(device))
        if not rates or np.isnan(bandwidth):
            continue
        of_type = {kind: rate.flops for rate in reversed(rates) for kind in rate.types}
        # Ops without a type do not use floats.
        flops = work["flops"] / work["type"].map(of_type).fillna(rates[0].flops)
        return (work["bytes"] / bandwidth).clip(lower=flops) * 1e9
    return pd.Series(dtype="float64")


def early_factors(trace: Trace, task: str) -> np.ndarray:
    """Return the factor of each event with which the task arrives together with the last of the others.

    A task that is late to several barriers one after another is so since the one before. Not all time before
    it arrives is its own work, so the effect of a first guess determines the rest.
    """
    met = stragglers(trace)
    late = met[(met["task"].astype(str) == task).to_numpy()]
    participant = participants(trace).astype(str)
    if late.empty or not (participant == task).any():
        raise ValueError(Text("not_at_barriers", task=shown_task(task)))
    times, lag_target = backtracker(trace).times, backtracker(trace).dependencies.target
    late = late[late["sole_wait_ns"] > 0].sort_values(["step", "arrived_ns"], ignore_index=True)
    before = late.groupby("step")["arrived_ns"].shift()
    late["since_ns"] = before.fillna(late["step"].map(trace.steps.set_index("step")["start_ns"])).astype(
        "int64"
    )
    late["lost_ns"] = late["sole_wait_ns"].clip(upper=late["arrived_ns"] - late["since_ns"]).clip(lower=0)
    late = late[late["lost_ns"] > 0].reset_index(drop=True)
    own = np.flatnonzero((participant == task).to_numpy())
    own = own[np.argsort(times.start[own], kind="stable")]
    started = pd.DataFrame({"arrived_ns": times.start[own], "step": times.step[own]})
    ends = late.assign(row=late.index).sort_values("arrived_ns", kind="stable")[["arrived_ns", "step", "row"]]
    row = pd.merge_asof(
        started, ends, on="arrived_ns", by="step", direction="forward", allow_exact_matches=False
    )["row"].to_numpy(np.float64)
    own, row = own[~np.isnan(row)], row[~np.isnan(row)].astype(np.int64)
    removed = late["lost_ns"] / (late["arrived_ns"] - late["since_ns"])

    def early() -> np.ndarray:
        factor = np.ones(len(trace.events))
        factor[own] = 1 - removed.clip(0, 1).to_numpy()[row]
        return factor

    factor = early()
    guess = replay(trace, no_change(trace)._replace(factor=factor, lag_factor=factor[lag_target]))
    event, arrived = (late[name].to_numpy(np.int64) for name in ("event", "arrived_ns"))
    side = np.where(arrived == times.start[event], guess.start[event], guess.end[event])
    gained = pd.Series(arrived - int(times.start[0]) - side)
    # What earlier steps and barriers gain moves this one as a whole.
    begins = pd.DataFrame(
        {"recorded": times.start - int(times.start[0]), "guess": guess.start, "step": times.step}
    )
    begins = begins[times.counts].groupby("step").min()
    of_step = late["step"].map(begins["recorded"] - begins["guess"])
    gained -= gained.groupby(late["step"]).shift().fillna(of_step)
    removed = removed * late["lost_ns"] / gained.clip(lower=1)
    return early()


def without_lock_waits(trace: Trace, removed: np.ndarray) -> np.ndarray:
    """Return the factor of each event's own work (float64) if removed work leaves the interpreter to others.

    A thread that returns to Python while another one runs Python waits until that one hands the lock over,
    after 5 ms at the latest, and the trace has no event for that. So if removed Python runs on another thread
    for at least half of it, waits are whole multiples of 5 ms of each stretch of work of a thread of Python,
    and what a row's own work exceeds that of the same row in the step with the least. Samples show which part
    of it is other Python of the user, such as a callback of Keras: that part stays.
    """
    times, events, factors = backtracker(trace).times, trace.events, np.ones(len(removed))
    holds = np.flatnonzero(removed & times.thread & beginning(events["op"], _HOLDS))
    may_wait = times.thread & ~removed & containing(events["lane"], _PYTHON)
    if not len(holds) or not may_wait.any():
        return factors
    event, start, end = _own_stretches(trace, may_wait)
    held = union(np.zeros(len(holds), np.int64), times.start[holds], times.end[holds])
    length = end - start
    during = _covered(held.start, held.end, end) - _covered(held.start, held.end, start)
    waited = np.where(2 * during >= length, length // _SWITCH * _SWITCH, 0)
    total, contended, lost = (np.bincount(event, part, len(factors)) for part in (length, during, waited))
    shortest = pd.Series(total).where(total > 0).groupby(same_rows(trace)).transform("min").to_numpy()
    lost = np.maximum(lost, np.where((total > 0) & (2 * contended >= total), total - shortest, 0))
    lost = np.minimum(lost, (1 - of_idle_lines(trace)) * total)
    factors[lost > 0] -= (lost / np.maximum(total, 1))[lost > 0]
    return factors


def without_shared_cores(trace: Trace, removed: np.ndarray) -> np.ndarray:
    """Return the factor of each event's own work (float64) if removed work leaves the cores to others.

    Beside threads that keep the cores busy, work waits for a core or gets fewer of them, in some steps for as
    long as the system lets another thread run. So a row that runs beside removed work for at least half of
    its time takes at most as long as the same row in the median step.
    """
    times, factors = backtracker(trace).times, np.ones(len(removed))
    works = np.isin(activity(trace), [NUMBER[name] for name in _BUSY])
    # Calls around ops may wait for others, and Python may sleep.
    runs = is_kind(trace.events, "op") & ~beginning(trace.events["op"], _HOLDS)
    busy = removed & times.thread & works & runs
    beside = times.thread & ~removed & (times.step != NO_STEP)
    if not busy.any() or not beside.any():
        return factors
    event, start, end = _own_stretches(trace, beside)
    shared = np.zeros(len(event), np.int64)
    for task in distinct_numbers(times.task[event]).tolist():
        rows, own = np.flatnonzero(busy & (times.task == task)), times.task[event] == task
        spans = union(np.zeros(len(rows), np.int64), times.start[rows], times.end[rows])
        covered = [_covered(spans.start, spans.end, when[own]) for when in (start, end)]
        shared[own] = covered[1] - covered[0]
    total, part = (np.bincount(event, each, len(factors)) for each in (end - start, shared))
    is_shared = (total > 0) & (2 * part >= total)
    usual = pd.Series(total).where(total > 0).groupby(same_rows(trace)).transform("median").to_numpy()
    factors[is_shared] = np.minimum(usual[is_shared] / total[is_shared], 1)
    return factors


def _own_stretches(trace: Trace, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return event, start and end (ns) of the stretches of own work of chosen events."""
    times, table = backtracker(trace).times, backtracker(trace).dependencies
    rows = np.flatnonzero(chosen)
    event = np.concatenate([rows, table.source, table.target, rows])
    time = np.concatenate([times.start[rows], table.released_at, table.satisfied_at, times.end[rows]])
    # Until a dependency is satisfied, its target has no work.
    works = np.repeat([True, True, False, True], [len(rows), len(table.source), len(table.target), len(rows)])
    order = np.lexsort((np.arange(len(time)), time, event))
    order = order[chosen[event[order]]]
    event, time, works = event[order], time[order], works[order]
    own = np.append(False, (event[1:] == event[:-1]) & works[1:])
    return event[own], time[np.flatnonzero(own) - 1], time[own]


def _covered(start: np.ndarray, end: np.ndarray, until: np.ndarray) -> np.ndarray:
    """Return how long intervals, ordered and apart, cover the time until each of some times (ns)."""
    done = np.append(0, np.cumsum(end - start))
    before = np.searchsorted(start, until, "right")
    # Index -1 is that of the last end, which stands for none here.
    open_ns = np.where(before > 0, np.maximum(np.append(end, 0)[before - 1] - until, 0), 0)
    covered: np.ndarray = done[before] - open_ns
    return covered
