"""Align the clock of a GPU tracer with the executors' clock.

Two faults are repaired, separately for each worker's block of lanes: launch times use the profile's clock in
all versions, and up to TF 2.19 start times do as well. A kernel is launched while its op runs. So if the op
of a kernel ran once, the offset between the clocks lies between ``op_start - launch`` and ``op_end -
launch``. The offset that satisfies most kernels is used.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.format import format_duration
from tfvis_nb.kinds import KERNELS
from tfvis_nb.reading.columns import EventColumns, Vocabularies
from tfvis_nb.reading.stepstats.gpu_tasks import GpuTasks
from tfvis_nb.reading.stepstats.source_rows import Source
from tfvis_nb.reading.stepstats.timestamps import FAR, Times
from tfvis_nb.texts import Text

_TRUNCATED = 999
"""Launch times are truncated to microseconds: the true time is up to this many ns later."""


class Offset(NamedTuple):
    """The range of the offset between two clocks (ns), and how many of how many kernels agree."""

    low: int
    high: int
    agree: int
    total: int

    @property
    def middle(self) -> int:
        """The offset that is used."""
        return self.low + (self.high - self.low) // 2


def densest_overlap(low: np.ndarray, high: np.ndarray) -> Offset:
    """Return the interval covered by most of the intervals ``[low, high]``; of several, the earliest.

    >>> densest_overlap(np.array([0, 5, 90]), np.array([10, 20, 95]))
    Offset(low=5, high=10, agree=2, total=3)
    """
    lows, highs = np.sort(low), np.sort(high)
    # The maximum depth is at the start of an interval: those started minus those ended before.
    depth = np.arange(1, len(lows) + 1) - np.searchsorted(highs, lows, "left")
    best = int(np.argmax(depth))
    end = highs[np.searchsorted(highs, lows[best], "left")]
    return Offset(int(lows[best]), int(end), int(depth[best]), len(lows))


def align_gpu_clocks(
    source: Source,
    blocks: GpuTasks,
    executors: EventColumns,
    gpu: EventColumns,
    times: Times,
    vocabularies: Vocabularies,
    notes: list[str],
) -> None:
    """Move start and launch times of the GPU rows in `times` onto the executors' clock."""
    if not len(gpu.rows):
        return
    entry = source.entry[gpu.rows]
    step_of_executors = source.step[source.entry[executors.rows]]
    one_op = _ops_that_ran_once(source, executors, gpu, vocabularies)
    outcomes: dict[tuple[str, str], list[Offset | None]] = {}
    for key, members in _members(source.step[entry] << 32 | (blocks.number[entry] + 1)).items():
        first, last = np.searchsorted(step_of_executors, [key >> 32, (key >> 32) + 1])
        task = int(gpu.task[members[0]])
        ops = executors.rows[first:last][executors.task[first:last] == task]
        ops = ops[times.has_compute[ops] & ~times.unusable[ops]]
        fit = members[~times.unusable[gpu.rows[members]]]
        what, offset = _align(gpu.rows[fit], one_op[fit], ops, times)
        if what:
            outcomes.setdefault((vocabularies.task.texts[task] or Text("unknown_task"), what), []).append(
                offset
            )
    notes += [Text(what, task=task, **_certainty(offsets)) for (task, what), offsets in outcomes.items()]


def _members(group: np.ndarray) -> dict[int, np.ndarray]:
    """Return the indexes of each group's members."""
    order = np.argsort(group, kind="stable")
    distinct, first = np.unique(group[order], return_index=True)
    return dict(zip(distinct.tolist(), np.split(order, first[1:]), strict=True))


def _certainty(of_steps: list[Offset | None]) -> dict[str, Any]:
    """Return the precision of the offsets, and the number of steps, as figures."""
    offsets = [offset for offset in of_steps if offset is not None]
    steps = {"steps": Text("in_steps", steps=len(of_steps)) if len(of_steps) > 1 else ""}
    if not offsets:
        return steps
    certainty_ns = max(offset.high - offset.low for offset in offsets) / 2
    return steps | {
        "certainty": format_duration(certainty_ns),
        "certainty_ns": certainty_ns,
        "agree": sum(offset.agree for offset in offsets),
        "kernels": sum(offset.total for offset in offsets),
    }


def _median_gap(one: np.ndarray, other: np.ndarray, known: np.ndarray) -> float:
    return abs(float(np.median(one[known].astype(np.float64) - other[known].astype(np.float64))))


def _align(
    rows: np.ndarray, op_row: np.ndarray, executors: np.ndarray, times: Times
) -> tuple[str, Offset | None]:
    """Align one block in `times` and return the id of the note.

    `op_row` is the row of the op that launched each of `rows`, -1 if uncertain.
    """
    if not len(rows):
        return "", None
    launched = times.has_scheduled[rows]
    apart = bool(launched.any()) and _median_gap(times.start[rows], times.scheduled[rows], launched) >= FAR
    if not len(executors):
        times.has_scheduled[rows] &= not apart
        return ("gpu_launch_times_without_ops" if apart else ""), None
    middle = float(np.median(times.start[executors].astype(np.float64)))
    foreign = abs(float(np.median(times.start[rows].astype(np.float64))) - middle) >= FAR
    if not foreign and not apart:
        return "", None
    op_row = np.where((op_row >= 0) & times.has_compute[op_row] & ~times.unusable[op_row], op_row, -1)
    usable = (op_row >= 0) & launched
    if not usable.any() or (foreign and apart):
        times.has_scheduled[rows] &= not apart
        if not foreign:
            return "gpu_launch_times_unknown", None
        return _place_roughly(rows, op_row, executors, times), None
    launch = times.scheduled[rows[usable]]
    op = op_row[usable]
    offset = densest_overlap(times.compute_start[op] - launch - _TRUNCATED, times.compute_end[op] - launch)
    if not foreign:
        offset = _before_start(offset, times.start[rows[launched]] - times.scheduled[rows[launched]])
    times.scheduled[rows] += np.where(launched, offset.middle, 0)
    times.start[rows] += offset.middle if foreign else 0
    return "gpu_times_aligned" if foreign else "gpu_launch_times_aligned", offset


def _before_start(offset: Offset, slack: np.ndarray) -> Offset:
    """Narrow an offset by the rule that a kernel starts after its launch, if both can hold."""
    latest = int(slack.min())
    return offset._replace(high=latest) if offset.low <= latest < offset.high else offset


def _place_roughly(rows: np.ndarray, op_row: np.ndarray, executors: np.ndarray, times: Times) -> str:
    """Without launch times, use the smallest offset with which no kernel starts before its op."""
    certain = op_row >= 0
    if certain.any():
        offset = int((times.compute_start[op_row[certain]] - times.start[rows[certain]]).max())
        how = "gpu_clock_estimated"
    else:
        offset = int(times.start[executors].min() - times.start[rows].min())
        how = "gpu_clock_unknown"
    times.start[rows] += offset
    times.scheduled[rows] += np.where(times.has_scheduled[rows], offset, 0)
    return how


def _ops_that_ran_once(
    source: Source, executors: EventColumns, gpu: EventColumns, vocabularies: Vocabularies
) -> np.ndarray:
    """Return the source row of each kernel's op if that ran exactly once in its step and task, else -1."""
    chunks = pa.chunked_array([executors.name, gpu.name]).dictionary_encode().chunks
    name = np.concatenate([chunk.indices.to_numpy() for chunk in chunks]).astype(np.int64)
    rows = np.concatenate([executors.rows, gpu.rows])
    task = np.concatenate([executors.task, gpu.task])
    group = source.step[source.entry[rows]] * len(vocabularies.task.texts) + task
    keys = pd.Index(group * len(rows) + name)
    ran = keys[: len(executors.rows)]
    once = np.flatnonzero(~ran.duplicated(keep=False))
    index = ran[once].get_indexer(keys[len(executors.rows) :])
    kernel = np.isin(gpu.kind, [vocabularies.kind.code(kind) for kind in KERNELS])
    return np.where(kernel, np.append(executors.rows[once], -1)[index], -1)
