"""Separate the runs in one message, as ``RunMetadata.MergeFrom`` and files written one after the other have.

Each executor runs the node ``_SOURCE`` first, once per run. Where it starts again on a device while the task
runs nothing else, the next run starts. Functions may also run it, but during the op that calls them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.stepstats.recorded_step import RecordedStep, concat_arrays
from tfvis_nb.reading.stepstats.timestamps import ABSURD, FAR, row_starts, to_nanos

SOURCE = "_SOURCE"


class _Unit(NamedTuple):
    """The rows of an entry in one run of its task: that run's number, their start, and the first of them."""

    entry: int
    device: str
    task: str
    number: int
    start: int
    row: int


@dataclass
class _Rows:
    """All rows of a step: entry, start and end (ns), and whether they are the ``_SOURCE`` of an executor."""

    entry: np.ndarray
    start: np.ndarray
    end: np.ndarray
    source: np.ndarray


def separate_runs(step: RecordedStep) -> list[RecordedStep]:
    """Return a step for each run in `step`, in order of time: usually `step` alone."""
    named = [pc.equal(chunk.field("node_name"), SOURCE) for chunk in step.chunks]
    source = concat_arrays([mask.to_numpy(zero_copy_only=False) for mask in named] or [np.zeros(0, bool)])
    source &= np.array([place.family == "executor" for place in step.places], bool)[step.entry]
    devices = [step.places[entry].device for entry in step.entry[source].tolist()]
    if len(devices) == len(set(devices)):
        return [step]
    start = row_starts(step.numbers)
    ends = to_nanos(step.numbers("all_end_rel_micros"))
    length = np.where(step.numbers("all_start_nanos") != 0, step.numbers("all_end_rel_nanos"), ends)
    end = start + np.where((length < 0) | (length > ABSURD), 0, length)
    rows = _Rows(step.entry, start, end, source)
    units, unit = _units(step, rows)
    # By time, unless the clocks of tasks differ so much that their runs do not meet: then as merged.
    runs = min(
        (_runs(units, order) for order in (np.argsort([one.start for one in units], kind="stable"), None)),
        key=lambda runs: len(set(runs)),
    )
    if len(set(runs)) == 1:
        return [step]
    run = _run_of_rows(step, rows, units, unit, np.array(runs))
    return [_part(step, run == number, first=not number) for number in range(max(runs) + 1)]


def _units(step: RecordedStep, rows: _Rows) -> tuple[list[_Unit], np.ndarray]:
    """Return the units of all executors, and the unit of each row; -1 for other rows."""
    sources = np.flatnonzero(rows.source)
    own = sorted(set(rows.entry[sources].tolist()))
    executed = np.isin(rows.entry, own)
    task = np.array([place.task for place in step.places])[rows.entry]
    begins = {
        one: _begins_on_task(step, rows, np.flatnonzero(executed & (task == one)))
        for one in set(task[sources].tolist())
    }
    units: list[_Unit] = []
    unit = np.full(len(rows.entry), -1)
    for entry in own:
        members = np.flatnonzero(rows.entry == entry)
        place = step.places[entry]
        number = np.searchsorted(begins[place.task], rows.start[members], "right")
        for part in np.unique(number).tolist():
            chosen = members[number == part]
            unit[chosen] = len(units)
            start = int(rows.start[chosen].min())
            units.append(_Unit(entry, place.device, place.task, part, start, int(chosen[0])))
    return units, unit


def _begins_on_task(step: RecordedStep, rows: _Rows, members: np.ndarray) -> np.ndarray:
    """Return when the second and later runs of a task begin, from its executed rows `members`."""
    members = members[np.argsort(rows.start[members], kind="stable")]
    busy = np.maximum.accumulate(rows.end[members])
    begun = members[rows.source[members]]
    before = np.searchsorted(rows.start[members], rows.start[begun]) - 1
    idle = (before < 0) | (busy[before] <= rows.start[begun])
    begins: list[int] = []
    seen: set[str] = set()
    for row, is_idle in zip(begun.tolist(), idle.tolist(), strict=True):
        device = step.places[rows.entry[row]].device
        if device in seen and is_idle:
            begins.append(int(rows.start[row]))
            seen = set()
        seen.add(device)
    return np.array(begins, np.int64)


def _runs(units: list[_Unit], order: Iterable[int] | None) -> list[int]:
    """Number the run of each unit: a run ends where the next run of one of its devices is met."""
    run = [0] * len(units)
    number, seen = 0, dict[str, int]()
    for index in range(len(units)) if order is None else order:
        one = units[index]
        if seen.get(one.device, one.number) != one.number:
            number, seen = number + 1, {}
        seen[one.device] = one.number
        run[index] = number
    starts = [
        min(one.start for one, of in zip(units, run, strict=True) if of == n) for n in range(number + 1)
    ]
    rank = np.argsort(np.argsort(starts, kind="stable"))
    return [int(rank[of]) for of in run]


def _run_of_rows(
    step: RecordedStep, rows: _Rows, units: list[_Unit], unit: np.ndarray, runs: np.ndarray
) -> np.ndarray:
    """Return the run of each row: of its unit, or by time, or by place if its clock is another."""
    run = np.where(unit >= 0, runs[unit], -1)
    first = np.array([one.row for one in units])
    whole = len({one.entry for one in units}) == len(units)
    for entry in np.unique(rows.entry[unit < 0]).tolist():
        members = np.flatnonzero((rows.entry == entry) & (unit < 0))
        begins = _begins(units, runs, step.places[entry].task)
        start = rows.start[members]
        if whole:
            # Lanes of a host also have a few rows of earlier steps.
            start = np.full(len(start), np.partition(start, len(start) // 2)[len(start) // 2])
        by_time = np.searchsorted(begins, start, "right") - 1
        # A GPU's rows may be on another clock. Their lanes stand before the executors of their task, of which
        # timeline.py joins those of two runs if they stand side by side.
        near = np.abs(start.astype(np.float64) - float(begins[0])) < FAR
        by_place = runs[np.where(first > members[0], first, first + len(rows.entry)).argmin()]
        run[members] = np.where(near, np.maximum(by_time, 0), by_place)
    return run


def _begins(units: list[_Unit], runs: np.ndarray, task: str) -> np.ndarray:
    """Return when each run begins on a task, or anywhere if it does not run there."""
    begins = []
    for number in range(int(runs.max()) + 1):
        members = [one for one, of in zip(units, runs.tolist(), strict=True) if of == number]
        own = [one.start for one in members if one.task == task]
        begins.append(min(own or [one.start for one in members]))
    return np.maximum.accumulate(np.array(begins))


def _part(step: RecordedStep, keep: np.ndarray, *, first: bool) -> RecordedStep:
    """Return some rows of a step as one of their own; graphs of all runs are not told apart."""
    chunks, at = [], 0
    for chunk in step.chunks:
        chunks.append(chunk.filter(pa.array(keep[at : at + len(chunk)])))
        at += len(chunk)
    used, entry = np.unique(step.entry[keep], return_inverse=True)
    return replace(
        step,
        devices=[step.devices[index] for index in used.tolist()],
        places=[step.places[index] for index in used.tolist()],
        threads=[step.threads[index] for index in used.tolist()],
        chunks=chunks,
        entry=entry,
        graphs=list(dict.fromkeys(step.graphs)),
        repeated=step.repeated if first else 0,
        doubled=step.doubled if first else 0,
        notes=step.notes if first else [],
    )
