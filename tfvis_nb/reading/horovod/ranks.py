"""Merge files of several Horovod ranks into steps with a task for each rank.

All ranks are named ``/job:localhost/replica:0/task:0``. Only file names, such as ``rank0_step3.pb`` or
``rank0.parquet``, identify the ranks.
"""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.concat import merge, merge_tasks
from tfvis_nb.reading.stepstats.assemble import assemble
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.reading.tasks import LOCAL, under_task
from tfvis_nb.texts import Text

_RANK = re.compile(r"(?<![a-z])rank[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_RANK_AND_DASH = re.compile(rf"^{_RANK.pattern}[-_.]?|[-_.]?{_RANK.pattern}", re.IGNORECASE)
_TASK = "/job:worker/replica:0/task:{}"

Item = TypeVar("Item")


def by_rank(read: Sequence[Item], labels: Sequence[str], *, fewest: int = 2) -> list[Item | Trace]:
    """Merge files of several ranks with similar names into one trace, at the position of the first.

    The files of such a group have the same steps. `fewest` is the minimum number of ranks in a group: 1 if
    there is other evidence of ranks.
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
        if len(ranks) >= fewest:
            steps = {rank: read[index] for rank, index in sorted(ranks.items())}
            made[min(ranks.values())] = _together(steps)
            gone |= set(ranks.values()) - {min(ranks.values())}
    return [made.get(index, item) for index, item in enumerate(read) if index not in gone]


def _is_local(item: Any) -> bool:
    """Return whether a trace comes from one process without a task name."""
    if isinstance(item, RecordedStep):
        return {where.task for where in item.places} <= {"", LOCAL}
    return isinstance(item, Trace) and set(item.events["task"].unique()) == {LOCAL}


def _together(steps: dict[int, Any]) -> Trace:
    traces = []
    for rank, item in steps.items():
        trace = item if isinstance(item, Trace) else assemble([item])
        traces.append(under_task(merge([trace], ""), _TASK.format(rank)))
        # Merging does not.
        traces[-1].graphs, traces[-1].run_metadata = trace.graphs, trace.run_metadata
    trace = merge_tasks(traces)
    # Without the rank, which is now a task.
    labels = {step: _RANK_AND_DASH.sub("", label) for step, label in traces[0].step_labels.items()}
    trace.step_labels = {step: label for step, label in labels.items() if label}
    trace.notes.insert(0, Text("ranks_named", task=_TASK.format(0)))
    return trace
