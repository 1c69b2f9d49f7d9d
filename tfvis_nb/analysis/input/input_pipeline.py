"""The stages of a tf.data pipeline: their times, and the settings chosen by AUTOTUNE."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.nesting import self_times
from tfvis_nb.analysis.input.elements import ELEMENT, LANE, elements
from tfvis_nb.analysis.input.stage_calls import STAGE, stage_calls
from tfvis_nb.analysis.input.stage_names import awaits, boolean, integer, stage_label
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.intervals import lengths, overlap, union
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "stage": "The stage, below those that take elements from it.",
    "task": "The task that ran it; empty if that is not known.",
    "dataset": "Kind and number of its dataset; empty where the profile does not record it (before TF 2.8).",
    "depth": "Number of stages above it.",
    "consumer": "Row of the stage that takes its elements; NA for a root.",
    "awaits": "Whether it hands out what other threads have prepared: then self_ns is waiting for them.",
    "bottleneck": "Whether it limits the pipeline: the stage that is reached from the root by going to the "
    "input with the largest busy_ns, as long as that is at least half of the busy_ns above it.",
    "calls": "Number of elements that were asked of it.",
    "total_ns": "Sum of the durations of its calls, in ns; simultaneous calls all count.",
    "busy_ns": "Time in which at least one of its calls was under way, in ns.",
    "self_ns": "Sum of the durations of its calls without those of other stages within them, in ns.",
    "wait_ns": "Time in which its consumer waited for it, in ns: the part of busy_ns in which a call of the "
    "stage that takes its elements was under way. All of busy_ns for a root.",
    "mean_ns": "total_ns / calls.",
    "per_second": "calls / time from the start of its first call to the end of its last one, in calls a "
    "second; NA for a single call.",
    "autotune": "Whether AUTOTUNE sets its parallelism or its buffer.",
    "parallelism": "Elements that it prepares at once, as of its last call.",
    "buffer_limit": "Elements that its buffer holds at most, as of its last call.",
    "buffered_mean": "Mean number of elements in its buffer when it was called. Profiles do not record it "
    "for an empty buffer, which counts as 0 if they record it for other calls.",
    "empty": "Number of calls that found no finished element: none in its buffer, or the one that they "
    "handed out still being made. MapAndBatch counts a batch in its buffer while it is being filled.",
    "buffered_bytes": "Most memory of the elements in its buffer when it was called, in bytes. Profiles "
    "record whole MB; missing if it was always less than one.",
    "interleave_depth": "Number of interleaves above it, as of its last call.",
    "deterministic": "Whether it keeps the order of elements.",
    "cpu_budget": "CPUs that AUTOTUNE may use, of the root.",
    "ram_budget_bytes": "Memory that AUTOTUNE may use for buffers, in bytes, of the root.",
    "ram_usage_bytes": "Memory of the machine in use at its last call, in bytes, of the root.",
    "algorithm": "How AUTOTUNE searches, of the root.",
}
"""Values that a profile does not record are missing."""

_COLUMNS = {
    "stage": "str",
    "task": "str",
    "dataset": "str",
    "depth": "int64",
    "consumer": "Int64",
    "awaits": "bool",
    "bottleneck": "bool",
    "calls": "int64",
    "total_ns": "int64",
    "busy_ns": "int64",
    "self_ns": "int64",
    "wait_ns": "int64",
    "mean_ns": "float64",
    "per_second": "Float64",
    "autotune": "boolean",
    "parallelism": "Int64",
    "buffer_limit": "Int64",
    "buffered_mean": "Float64",
    "empty": "Int64",
    "buffered_bytes": "Int64",
    "interleave_depth": "Int64",
    "deterministic": "boolean",
    "cpu_budget": "Int64",
    "ram_budget_bytes": "Int64",
    "ram_usage_bytes": "Int64",
    "algorithm": "str",
    "longest": "int64",
}
_MB = 10**6


@validate_input
def input_pipeline(trace: Trace) -> pd.DataFrame:
    """Return the stages of the tf.data pipelines of a trace.

    Parameters
    ----------
    trace
        Any trace. Profiles of TensorFlow 2 have calls of iterators, ``RunMetadata`` does not.

    Returns
    -------
    pandas.DataFrame
        One row per stage, after the stage that consumes its elements: ``stage``, ``task``, ``dataset``,
        ``algorithm`` (str), ``depth``, ``calls``, ``total_ns``, ``busy_ns``, ``self_ns``, ``wait_ns``
        (int64), ``awaits``, ``bottleneck`` (bool), ``mean_ns`` (float64), ``per_second``, ``buffered_mean``
        (Float64), ``consumer``, ``parallelism``, ``buffer_limit``, ``empty``, ``buffered_bytes``,
        ``interleave_depth``, ``cpu_budget``, ``ram_budget_bytes``, ``ram_usage_bytes`` (Int64), ``autotune``,
        ``deterministic`` (boolean) as in `FIGURES`, and ``longest`` (int64), the event of its longest call.
        `cannot_say` if there are no calls of iterators.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import input_pipeline
    >>> table = events.build({"start_ns": [0, 2], "duration_ns": [10, 7], "lane": ["python"] * 2,
    ...                       "kind": ["host"] * 2, "name": ["Iterator::Root", "Iterator::Root::Map"]})
    >>> input_pipeline(Trace(table))[["stage", "calls", "self_ns"]].values.tolist()
    [['Root', 1, 3], ['Root::Map', 1, 7]]
    """
    calls = stage_calls(trace)
    if calls.empty:
        return cannot_say(_COLUMNS, Text("no_input_pipeline"))
    chosen = np.zeros(len(trace.events), bool)
    chosen[calls["event"]] = True
    own, _ = self_times(trace.events, chosen)
    calls = calls.assign(own_ns=own[calls["event"]], unfinished=unfinished(trace, calls))
    stages = calls.groupby(STAGE, sort=False)
    facts = calls.attrs["facts"]
    figures = {key: _figures(group, facts) for key, group in stages}
    keys = [(str(task), str(stage), str(dataset)) for task, stage, dataset in figures]
    number = stages.ngroup().to_numpy()
    start = calls["start_ns"].to_numpy()
    active = union(number, start, start + calls["duration_ns"].to_numpy())
    busy = lengths(active, len(keys), 2)[:, 1].tolist()
    places = stage_tree(calls, keys, number)
    consumer = np.full(len(keys), NONE)
    row = np.full(len(keys) + 1, NONE)
    for at, place in enumerate(places):
        consumer[place.stage], row[place.stage] = place.consumer, at
    waited = overlap(active, consumer[active.group], active.start, active.end)
    wait = np.zeros(len(keys), np.int64)
    np.add.at(wait, active.group, waited)
    limiting = set(bottlenecks(places, keys, busy))
    rows = [
        dict(zip(STAGE, keys[stage], strict=True))
        | figures[keys[stage]]
        | {
            "depth": depth,
            "consumer": None if above == NONE else int(row[above]),
            "bottleneck": stage in limiting,
            "busy_ns": busy[stage],
            "wait_ns": busy[stage] if above == NONE else int(wait[stage]),
        }
        for stage, above, depth in places
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))


def _figures(calls: pd.DataFrame, facts: list[dict[str, str]]) -> dict[str, Any]:
    """Return the figures of a stage, given its calls ordered by start."""
    stage = str(calls["stage"].iloc[0])
    # Calls with the same text have the same facts; the latest first.
    recorded = [facts[code] for code in pd.unique(calls["facts"].to_numpy()[::-1]) if code >= 0]
    buffered = calls["buffered"].dropna()
    start, duration = calls["start_ns"], calls["duration_ns"]
    span = int((start + duration).max()) - int(start.min())
    usage = _last(recorded, "ram_usage_megabytes") or ""
    held = max((integer(one.get("buffered_bytes_MB")) or 0 for one in recorded), default=0)
    return {
        "awaits": awaits(stage),
        "calls": len(calls),
        "total_ns": int(duration.sum()),
        "self_ns": int(calls["own_ns"].sum()),
        "mean_ns": float(duration.mean()),
        "per_second": len(calls) * 1e9 / span if len(calls) > 1 and span > 0 else None,
        "autotune": boolean(_last(recorded, "autotune")),
        "parallelism": integer(_last(recorded, "parallelism")),
        "buffer_limit": integer(_last(recorded, "buffer_limit")),
        "buffered_mean": float(buffered.mean()) if len(buffered) else None,
        "empty": int(((buffered == 0) | calls["unfinished"]).sum()) if len(buffered) else None,
        "buffered_bytes": _bytes(held or None),
        "interleave_depth": integer(_last(recorded, "interleave_depth")),
        "deterministic": boolean(_last(recorded, "deterministic")),
        "cpu_budget": integer(_last(recorded, "cpu_budget")),
        "ram_budget_bytes": _bytes(integer(_last(recorded, "ram_budget_megabytes"))),
        # Such as "7757 out of 135148 (5.74%)".
        "ram_usage_bytes": _bytes(integer(usage.partition(" ")[0])),
        "algorithm": _last(recorded, "algorithm") or "",
        "longest": int(calls["event"].iloc[duration.to_numpy().argmax()]),
    }


def _bytes(megabytes: int | None) -> int | None:
    return None if megabytes is None else min(megabytes, 2**62 // _MB) * _MB


def _last(recorded: list[dict[str, str]], name: str) -> str | None:
    # TensorFlow records "unavailable" where another thread holds the lock of what is read (seen in 2.21).
    return next((one[name] for one in recorded if one.get(name, "unavailable") != "unavailable"), None)


def unfinished(trace: Trace, calls: pd.DataFrame) -> np.ndarray:
    """Return a mask of `stage_calls` that handed out an element finished after the call started.

    tf.data records the production of an element, such as ``PrefetchProduce``, with the number under which
    ``PrefetchConsume`` hands it out in the call. Numbers handed out twice belong to several pipelines and are
    ignored.
    """
    is_unfinished = np.zeros(len(calls), bool)
    edges = elements(trace)
    made = edges[edges["edge"] == "Produce"].groupby(ELEMENT, sort=False)["end_ns"].max()
    taken = edges[edges["edge"] == "Consume"].drop_duplicates(ELEMENT, keep=False)
    if taken.empty or made.empty:
        return is_unfinished
    taken = taken.join(made.rename("made_ns"), on=ELEMENT, how="inner")
    within = calls[[*LANE, "start_ns"]].assign(row=np.arange(len(calls)))
    within["kind"] = calls["stage"].map({stage: stage_label(stage, "") for stage in calls["stage"].unique()})
    both = pd.concat([within, taken], ignore_index=True).sort_values("start_ns", kind="stable")
    # Each element with the last call of its kind that started on its thread.
    last = both.groupby([*LANE, "kind"], dropna=False, sort=False)["row"].ffill()
    row = last.sort_index()[len(calls) :]
    known = row.notna().to_numpy()
    rows, taken = row[known].to_numpy(np.int64), taken[known]
    start = calls["start_ns"].to_numpy()[rows]
    is_within = taken["end_ns"].to_numpy() <= start + calls["duration_ns"].to_numpy()[rows]
    is_unfinished[rows[is_within & (taken["made_ns"].to_numpy() > start)]] = True
    return is_unfinished


NONE = -1
"""The consumer of a root."""

Key = tuple[str, str, str]
"""Task, name and dataset of a stage."""


_MOST_LEVELS = 100
"""How many levels above a stage its consumer is searched by name: more than pipelines have."""


class Place(NamedTuple):
    """A stage in the tree: its index, its consumer's index, and the number of stages above it."""

    stage: int
    consumer: int
    depth: int


def stage_tree(calls: pd.DataFrame, keys: Sequence[Key], number: np.ndarray) -> list[Place]:
    """Return the stages, each after its consumer, otherwise in the order of their keys.

    `calls` comes from `stage_calls`, and `number` is the index in `keys` of each call's stage.
    """
    consumer = _consumers(calls, keys, number)
    below: dict[int, list[int]] = {}
    for stage in sorted(range(len(keys)), key=lambda one: _order(keys[one])):
        below.setdefault(consumer[stage], []).append(stage)
    places: dict[int, Place] = {}
    # In damaged files stages may form a cycle: the first of them is also a root.
    for root in [*below.get(NONE, ()), *sorted(range(len(keys)), key=lambda one: _order(keys[one]))]:
        waiting = [Place(root, NONE, 0)]
        while waiting:
            place = waiting.pop()
            if place.stage not in places:
                places[place.stage] = place
                inputs = reversed(below.get(place.stage, ()))
                waiting += [Place(one, place.stage, place.depth + 1) for one in inputs]
    return list(places.values())


def bottlenecks(places: Sequence[Place], keys: Sequence[Key], busy: Sequence[int]) -> list[int]:
    """Return the stage that limits each pipeline.

    Starting at the root, go to the input with the largest busy time, as long as that is at least half of the
    busy time above it.
    """
    below: dict[int, list[int]] = {}
    for place in places:
        below.setdefault(place.consumer, []).append(place.stage)
    slowest = []
    for root in below.get(NONE, ()):
        # A stage without a recorded consumer, but named below one, is not the root of a pipeline.
        stage = NONE if "::" in keys[root][1] else root
        while stage != NONE:
            largest = max(below.get(stage, ()), key=lambda one: busy[one], default=NONE)
            if largest == NONE or 2 * busy[largest] < busy[stage]:
                slowest.append(stage)
                break
            stage = largest
    return slowest


def _consumers(calls: pd.DataFrame, keys: Sequence[Key], number: np.ndarray) -> list[int]:
    """Return the consumer that the calls of each stage name, otherwise the one with the matching name."""
    tasks = calls["task"].tolist()
    of_iterator = dict(zip(zip(tasks, calls["iterator"], strict=True), number.tolist(), strict=True))
    named: dict[tuple[str, str], int] = {}
    for stage, (task, name, _) in enumerate(keys):
        named.setdefault((task, name), stage)
    consumer = [_above(named, task, name) for task, name, _ in keys]
    for stage, task, iterator in zip(number.tolist(), tasks, calls["parent_iterator"], strict=True):
        recorded = of_iterator.get((task, iterator), NONE) if iterator else NONE
        if recorded not in (NONE, stage):
            consumer[stage] = recorded
    return consumer


def _above(named: Mapping[tuple[str, str], int], task: str, name: str) -> int:
    for _ in range(_MOST_LEVELS):
        name = name.rpartition("::")[0]
        if (task, name) in named:
            return named[task, name]
    return NONE


def _order(key: Key) -> tuple[str, list[str], str]:
    task, name, dataset = key
    return task, name.split("::"), dataset
