"""Put the clock of a GPU tracer onto the executors' clock.

Two faults are repaired, each worker's block of lanes on its own: launch times
are on the profile's clock in every version, and up to TF 2.19 the start times
are too. A kernel is launched while its op runs, so for a kernel whose op ran
once the offset between the clocks lies between ``op_start - launch`` and
``op_end - launch``; the offset that satisfies most kernels is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tfvis_nb.reading.blocks import Blocks
from tfvis_nb.reading.clocks import FAR, Times
from tfvis_nb.reading.columns import Part, Vocabularies
from tfvis_nb.reading.source import Source

_TRUNCATED = 999
"""Launch times are whole microseconds, cut off: the true one is up to this many ns later."""


class Offset(NamedTuple):
    """Where the offset between two clocks lies (ns), and how many of how many kernels agree."""

    low: int
    high: int
    agree: int
    total: int

    @property
    def middle(self) -> int:
        return self.low + (self.high - self.low) // 2


def densest_overlap(low: np.ndarray, high: np.ndarray) -> Offset:
    """Return the interval that lies in most of the intervals ``[low, high]``, the earliest of equals.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.reading.gpu_clock import densest_overlap
    >>> densest_overlap(np.array([0, 5, 90]), np.array([10, 20, 95]))
    Offset(low=5, high=10, agree=2, total=3)
    """
    lows, highs = np.sort(low), np.sort(high)
    # The depth is greatest where an interval begins: those begun less those ended before.
    depth = np.arange(1, len(lows) + 1) - np.searchsorted(highs, lows, "left")
    best = int(np.argmax(depth))
    end = highs[np.searchsorted(highs, lows[best], "left")]
    return Offset(int(lows[best]), int(end), int(depth[best]), len(lows))


def align_gpu_clocks(
    source: Source,
    blocks: Blocks,
    executors: Part,
    gpu: Part,
    times: Times,
    words: Vocabularies,
    notes: list[str],
) -> None:
    """Move start and launch times of the GPU rows in `times` onto the executors' clock."""
    if not len(gpu.rows):
        return
    entry = source.entry[gpu.rows]
    group = source.step[entry] << 32 | (blocks.number[entry] + 1)
    one_op = _ops_that_ran_once(source, executors, gpu, words)
    for key in np.unique(group).tolist():
        members = np.flatnonzero(group == key)
        rows = gpu.rows[members]
        task = words.task.texts[int(gpu.task[members[0]])]
        mine = executors.rows[
            (executors.task == gpu.task[members[0]])
            & (source.step[source.entry[executors.rows]] == key >> 32)
        ]
        mine = mine[times.has_compute[mine]]
        if len(mine):
            _align(rows, one_op[members], mine, times, _Reporter(notes, task, key >> 32, len(source.steps)))
        elif (
            times.has_scheduled[rows].any()
            and _median_gap(times.start[rows], times.scheduled[rows], times.has_scheduled[rows]) >= FAR
        ):
            times.has_scheduled[rows] = False
            notes.append(
                f"GPU of {task or 'an unknown task'}: launch times left out, there are no ops to align them by"
            )


class _Reporter:
    def __init__(self, notes: list[str], task: str, step: int, steps: int) -> None:
        self._notes = notes
        self._head = f"GPU of {task or 'an unknown task'}" + (f", step {step}" if steps > 1 else "")

    def say(self, text: str) -> None:
        self._notes.append(f"{self._head}: {text}")


def _median_gap(one: np.ndarray, other: np.ndarray, known: np.ndarray) -> float:
    return abs(float(np.median(one[known].astype(np.float64) - other[known].astype(np.float64))))


def _align(
    rows: np.ndarray, op_row: np.ndarray, executors: np.ndarray, times: Times, report: _Reporter
) -> None:
    """Align one block. `op_row` is the row of the op that launched each of `rows`, -1 where it is not certain."""
    launched = times.has_scheduled[rows]
    foreign = abs(float(np.median(times.start[rows])) - float(np.median(times.start[executors]))) >= FAR
    launches_apart = (
        bool(launched.any()) and _median_gap(times.start[rows], times.scheduled[rows], launched) >= FAR
    )
    if not foreign and not launches_apart:
        return
    certain = (op_row >= 0) & times.has_compute[op_row]
    offset = None
    usable = certain & launched
    if usable.any() and not (foreign and launches_apart):
        launch = times.scheduled[rows[usable]]
        op = op_row[usable]
        offset = densest_overlap(
            times.compute_start[op] - launch - _TRUNCATED, times.compute_end[op] - launch
        )
        if not foreign:
            offset = _before_start(offset, times.start[rows[launched]] - times.scheduled[rows[launched]])
    if foreign and offset is None:
        _place_roughly(rows, np.where(certain, op_row, -1), executors, times, report)
        if launches_apart:
            times.has_scheduled[rows] = False
        else:
            return
    elif offset is None:
        times.has_scheduled[rows] = False
        report.say("launch times left out: no kernel's op ran exactly once, so their clock cannot be told")
    else:
        times.scheduled[rows] += np.where(launched, offset.middle, 0)
        half = (offset.high - offset.low) / 2000
        agree = f"to {half:.1f} us by {offset.agree} of {offset.total} kernels"
        if foreign:
            times.start[rows] += offset.middle
            report.say(f"start and launch times were on a clock of their own; aligned with the ops {agree}")
        else:
            report.say(f"launch times were on a clock of their own; aligned with the ops {agree}")


def _before_start(offset: Offset, slack: np.ndarray) -> Offset:
    """Narrow an offset by the rule that a kernel starts after its launch, where both can be true."""
    latest = int(slack.min())
    return offset._replace(high=latest) if offset.low <= latest < offset.high else offset


def _place_roughly(
    rows: np.ndarray, op_row: np.ndarray, executors: np.ndarray, times: Times, report: _Reporter
) -> None:
    """Without launch times: a kernel cannot start before its op, so the least offset that allows all is taken."""
    certain = op_row >= 0
    if certain.any():
        offset = int((times.compute_start[op_row[certain]] - times.start[rows[certain]]).max())
        report.say("clock estimated: rows moved by the least that lets every kernel start after its op")
    else:
        offset = int(times.start[executors].min() - times.start[rows].min())
        report.say("clock unknown: the rows were moved to begin with the ops of the step")
    times.start[rows] += offset
    times.scheduled[rows] += np.where(times.has_scheduled[rows], offset, 0)


def _ops_that_ran_once(source: Source, executors: Part, gpu: Part, words: Vocabularies) -> np.ndarray:
    """Return for each kernel the source row of its op when that ran exactly once in its step and task, else -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = executors.name.dictionary_encode()
    node = pc.index_in(gpu.name, names.dictionary).fill_null(-1).to_numpy().astype(np.int64)
    width = len(names.dictionary) + 1
    tasks = len(words.task.texts)

    def key(part: Part, name: np.ndarray) -> np.ndarray:
        return (source.step[source.entry[part.rows]] * tasks + part.task) * width + name

    keys = key(executors, names.indices.to_numpy().astype(np.int64))
    distinct, first, counts = np.unique(keys, return_index=True, return_counts=True)
    distinct, first = distinct[counts == 1], first[counts == 1]
    if not len(distinct):
        return np.full(len(gpu.rows), -1)
    wanted = key(gpu, node)
    place = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    kernel = (gpu.kind == words.kind.code("kernel")) | (gpu.kind == words.kind.code("collective"))
    found = (distinct[place] == wanted) & (node >= 0) & kernel
    assert isinstance(names, pa.DictionaryArray)
    return np.where(found, executors.rows[first[place]], -1)
