"""Merge files of several Horovod ranks into steps with a task for each rank.

All ranks are named ``/job:localhost/replica:0/task:0``. Only file names, such as ``rank0_step3.pb`` or
``rank0.parquet``, identify the ranks.
"""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.concat import merge, merge_tasks
from tfvis_nb.reading.sources.files import listed
from tfvis_nb.reading.stepstats.assemble import assemble
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.reading.tasks import APART, LOCAL, under_task
from tfvis_nb.texts import Text

_RANK = re.compile(r"(?<![a-z])rank[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_RANK_AND_DASH = re.compile(rf"^{_RANK.pattern}[-_.]?|[-_.]?{_RANK.pattern}", re.IGNORECASE)
_TASK = "/job:worker/replica:0/task:{}"

Item = TypeVar("Item")


def by_rank(read: Sequence[Item], labels: Sequence[str], *, fewest: int = 2) -> list[Item | Trace]:
    """Merge files of several ranks with similar names into one trace, at the position of the first.

    The files of such a group have the same steps and ran at the same time. `fewest` is the minimum number of
    ranks in a group: 1 if there is other evidence of ranks.
    """
    groups: dict[tuple[str, tuple[int, ...]], dict[int, int]] = {}
    for index, (item, label) in enumerate(zip(read, labels, strict=True)):
        match = _RANK.search(label)
        if match and _is_local(item):
            numbers = item.events["step"].unique().tolist() if isinstance(item, Trace) else [0]
            ranks = groups.setdefault((_RANK.sub("rank", label), tuple(sorted(numbers))), {})
            ranks.setdefault(int(match[1]), index)
    made: dict[int, Trace] = {}
    gone: set[int] = set()
    for ranks in groups.values():
        if len(ranks) < fewest:
            continue
        traces = {rank: _trace(read[index]) for rank, index in sorted(ranks.items())}
        runs = _at_once(traces)
        for run in runs:
            places = [ranks[rank] for rank in run]
            if len(run) >= fewest:
                made[min(places)] = _together(run)
                gone |= {*places} - {min(places)}
        if len(runs) > 1:
            first = min(ranks.values())
            made.setdefault(first, next(traces[rank] for rank, index in ranks.items() if index == first))
            names = listed([labels[index].rpartition("/")[2] for index in ranks.values()])
            made[first].notes.insert(0, Text("ranks_apart", names=names))
    return [made.get(index, item) for index, item in enumerate(read) if index not in gone]


def _is_local(item: Any) -> bool:
    """Return whether a trace comes from one process without a task name."""
    if isinstance(item, RecordedStep):
        return {where.task for where in item.places} <= {"", LOCAL}
    return isinstance(item, Trace) and set(item.events["task"].unique()) == {LOCAL}


def _trace(item: Any) -> Trace:
    return item if isinstance(item, Trace) else assemble([item])


def _at_once(traces: dict[int, Trace]) -> list[dict[int, Trace]]:
    """Divide ranks into those that ran at the same time."""
    spans = []
    for rank, trace in traces.items():
        start, duration = trace.events["start_ns"], trace.events["duration_ns"]
        spans.append((int(start.min()), int((start + duration).max()), rank))
    runs: list[list[int]] = []
    until = 0
    for first, end, rank in sorted(spans):
        if not runs or first > until + APART:
            runs.append([])
        runs[-1].append(rank)
        until = max(until, end)
    return [{rank: traces[rank] for rank in sorted(run)} for run in runs]


def _together(steps: dict[int, Trace]) -> Trace:
    traces = []
    for rank, trace in steps.items():
        traces.append(under_task(merge([trace], ""), _TASK.format(rank)))
        # Merging does not.
        traces[-1].graphs, traces[-1].run_metadata = trace.graphs, trace.run_metadata
    trace = merge_tasks(traces)
    # Without the rank, which is now a task.
    labels = {step: _RANK_AND_DASH.sub("", label) for step, label in traces[0].step_labels.items()}
    trace.step_labels = {step: label for step, label in labels.items() if label}
    trace.notes.insert(0, Text("ranks_named", task=_TASK.format(0)))
    return trace
