"""Detect traces from different runs or processes that are read together."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_JOB = re.compile(r"/job:([^/]+)")
_KINDS = {"": "without task names", "localhost": "of job localhost"}
_CLUSTER = "of jobs of a cluster"
_DAY_NS = 86_400 * 10**9
_ALIKE = 0.1
"""The share of names that steps of one program have in common, of those of the smaller step."""
_MOST_NAMED = 5


def unlike_runs(trace: Trace) -> list[str]:
    """Return a note if some steps are from one process and others from a cluster or other processes.

    Steps of one run have the same task names. Hosts recorded at the same time need not.
    """
    events = trace.events[trace.events["step"] != NO_STEP]
    kind_of = {str(task): _kind(str(task)) for task in events["task"].cat.categories}
    kinds = events["task"].astype(object).fillna("").map(lambda task: kind_of.get(task, _KINDS[""]))
    table = pd.DataFrame(
        {
            "kind": kinds,
            "step": events["step"],
            "start": events["start_ns"],
            "end": events["start_ns"] + events["duration_ns"],
        }
    )
    spans = table.groupby("kind").agg(
        start=("start", "min"), end=("end", "max"), first=("step", "min"), last=("step", "max")
    )
    spans = spans.sort_values("start")
    apart = (spans["start"].iloc[1:].to_numpy() > spans["end"].cummax().iloc[:-1].to_numpy()).all()
    if len(spans) < 2 or not apart:
        return []
    runs = [
        f"step {first} {kind}" if first == last else f"steps {first} to {last} {kind}"
        for kind, first, last in zip(spans.index, spans["first"], spans["last"], strict=True)
    ]
    return [Text("unlike_runs", runs=", ".join(runs))]


def unlike_programs(trace: Trace) -> list[str]:
    """Return a note if the ops of some steps and those of others have hardly a name in common.

    Initialisation and steps of one program share its variables.
    """
    events = trace.events
    chosen = ((events["step"] != NO_STEP) & (events["kind"] == "op") & (events["name"] != "")).to_numpy()
    names: dict[int, set[str]] = {}
    distinct = events.loc[chosen, ["step", "name"]].drop_duplicates()
    for step, name in zip(distinct["step"].tolist(), distinct["name"].tolist(), strict=True):
        names.setdefault(step, set()).add(name)
    groups: list[tuple[set[str], list[int]]] = []
    for step, own in sorted(names.items()):
        alike = [group for group in groups if len(group[0] & own) >= _ALIKE * min(len(group[0]), len(own))]
        others = [group for group in groups if all(group is not one for one in alike)]
        steps = sorted([*(number for _, numbers in alike for number in numbers), step])
        groups = [*others, (own.union(*(kinds for kinds, _ in alike)), steps)]
    if len(groups) < 2:
        return []
    first = [trace.step_labels.get(steps[0]) or f"step {steps[0]}" for _, steps in groups]
    more = f" and {len(first) - _MOST_NAMED} more" if len(first) > _MOST_NAMED else ""
    named = ", ".join(first[:_MOST_NAMED]) + more
    return [Text("unlike_programs", programs=len(groups), steps=named)]


def simultaneous_steps(trace: Trace) -> list[str]:
    """Return a note if session runs of one local task overlap in time.

    A session that runs step by step does not produce such files. Files do not record whether several
    processes or threads of one wrote them.
    """
    if set(map(_kind, trace.events["task"].astype(str).unique())) != {_KINDS["localhost"]}:
        return []
    events = trace.events[trace.events["step"] != NO_STEP]
    # Not `trace.steps`, which caches labels at its first use: recordings set theirs later.
    table = pd.DataFrame({"start": events["start_ns"], "end": events["start_ns"] + events["duration_ns"]})
    steps = table.groupby(events["step"]).agg({"start": "min", "end": "max"})
    steps = steps.sort_values("start", kind="stable")
    overlap = np.flatnonzero(steps["start"].to_numpy()[1:] < steps["end"].cummax().to_numpy()[:-1])
    if not len(overlap):
        return []
    second = int(overlap[0]) + 1
    first = int(steps["end"].iloc[:second].argmax())
    one, other = (
        trace.step_labels.get(step) or f"step {step}" for step in steps.index[[first, second]].tolist()
    )
    return [Text("simultaneous_steps", one=one, other=other)]


def days_apart(trace: Trace) -> list[str]:
    """Return a note if nothing was recorded for a day or longer between two events."""
    start = trace.events["start_ns"].to_numpy()
    end = np.maximum.accumulate(start + trace.events["duration_ns"].to_numpy())
    days = int((start[1:] - end[:-1]).max(initial=0)) // _DAY_NS
    return [Text("recorded_days_apart", days=days)] if days else []


def _kind(task: str) -> str:
    match = _JOB.match(task)
    return _KINDS.get(match[1] if match else "", _CLUSTER)
