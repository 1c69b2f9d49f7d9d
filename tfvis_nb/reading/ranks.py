"""Files of several Horovod ranks -> one step with a task for each rank.

Every rank's RunMetadata says ``/job:localhost/replica:0/task:0``. Only the names of the
files, such as ``rank0_step3.pb``, tell the ranks apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb._trace import Trace
from tfvis_nb.reading.joining import laid_together
from tfvis_nb.reading.recorded import RecordedStep
from tfvis_nb.reading.stepstats import assemble

_RANK = re.compile(r"(?<![a-z])rank[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_RANK_AND_DASH = re.compile(rf"^{_RANK.pattern}[-_.]?|[-_.]?{_RANK.pattern}", re.IGNORECASE)
_LOCAL = "/job:localhost/replica:0/task:0"
_TASK = "/job:worker/replica:0/task:{}"

Item = TypeVar("Item")


def by_rank(read: Sequence[Item], labels: Sequence[str], *, fewest: int = 2) -> list[Item | Trace]:
    """Make one trace of the files of several ranks that are named alike, in the place of the first.

    Parameters
    ----------
    read
        What was read of each file.
    labels
        The names of the files.
    fewest
        How many ranks make a group; 1 where something else tells of ranks, too.

    Returns
    -------
    list
        `read`, with a `Trace` for each group; unchanged where no group has enough ranks.
    """
    groups: dict[str, dict[int, int]] = {}
    for place, (item, label) in enumerate(zip(read, labels, strict=True)):
        match = _RANK.search(label)
        if match and isinstance(item, RecordedStep) and _is_local(item):
            ranks = groups.setdefault(_RANK.sub("rank", label), {})
            ranks.setdefault(int(match[1]), place)
    made: dict[int, Trace] = {}
    gone: set[int] = set()
    for ranks in groups.values():
        if len(ranks) >= fewest:
            steps = {rank: read[place] for rank, place in sorted(ranks.items())}
            made[min(ranks.values())] = _together(steps)
            gone |= set(ranks.values()) - {min(ranks.values())}
    return [made.get(place, item) for place, item in enumerate(read) if place not in gone]


def _is_local(step: RecordedStep) -> bool:
    return {where.task for where in step.places} <= {"", _LOCAL}


def _together(steps: dict[int, Item]) -> Trace:
    traces = []
    for rank, step in steps.items():
        assert isinstance(step, RecordedStep)
        traces.append(_as_task(assemble([step]), _TASK.format(rank)))
    trace = laid_together(traces, "")
    trace.graphs = [[graph for one in traces for graphs in one.graphs for graph in graphs]]
    # Without the rank, which is a task now.
    names = [_RANK_AND_DASH.sub("", step.name) for step in steps.values() if isinstance(step, RecordedStep)]
    trace.step_labels = {0: names[0]} if names[0] else {}
    trace.notes.insert(0, "ranks were told by the names of the files: rank 0 is " + _TASK.format(0))
    return trace


def _as_task(trace: Trace, task: str) -> Trace:
    """Put what ran on the local machine under a task."""
    for name in ("task", "device", "source", "destination"):
        column = trace.events[name].cat
        words = [
            task + word.removeprefix(_LOCAL) if word.startswith(_LOCAL) else word
            for word in column.categories
        ]
        trace.events[name] = column.rename_categories(pd.Index(words, dtype=event_table.TEXT).tolist())
    return trace
