"""Read parts of a dataset back as the original `Trace`, or as one trace of several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.clocks.alignment import aligned
from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset.layout import DETAILS, part_folder
from tfvis_nb.fleet.dataset.manifest import Entry
from tfvis_nb.fleet.dataset.stored_parts import naming_part, read_part
from tfvis_nb.reading.concat import merge
from tfvis_nb.reading.parquet import KEY, NESTED, from_table
from tfvis_nb.reading.sources.unpacking import MOST, Budget


class Chosen(NamedTuple):
    """A source to read back, with the selected tasks and steps; None for all steps."""

    entry: Entry
    tasks: Sequence[str]
    steps: Collection[int] | None


def read_back(folder: Path, chosen: Sequence[Chosen]) -> Trace:
    """Return one trace with the chosen parts of sources of one run.

    Its steps count from 0, in the order of their numbers in the dataset. These numbers become labels of steps
    without their own label if the number changes. The clocks of several tasks are aligned, as
    `tfvis_nb.read_trace` does.
    """
    traces = [_of_source(folder, one) for one in chosen]
    numbers = sorted({step for _, steps in traces for step in steps})
    place = {number: at for at, number in enumerate(numbers)}
    if len(traces) == 1:
        return _renumbered(*traces[0], place)
    moved = [_renumbered(trace, steps, place) for trace, steps in traces]
    trace = merge(moved, f"{len(traces)} traces: {chosen[0].entry.run}")
    trace.graphs = [
        [graph for one in moved for graph in (one.graphs[at] if at < len(one.graphs) else ())]
        for at in range(max(len(one.graphs) for one in moved))
    ]
    # Concatenated serialised messages form one message.
    trace.run_metadata = [
        b"".join(one.run_metadata[at] for one in moved if at < len(one.run_metadata))
        for at in range(max(len(one.run_metadata) for one in moved))
    ]
    return aligned(trace) if trace.events["task"].nunique() > 1 else trace


def _of_source(folder: Path, chosen: Chosen) -> tuple[Trace, list[int]]:
    """Return the selected part of a source, and the numbers of its steps in the dataset."""
    entry, tasks, wanted = chosen
    events = pa.concat_tables(
        table.append_column("task", pa.array([entry.tasks[task]] * table.num_rows, pa.string()))
        for task in tasks
        for table in (_part(folder, entry, path) for path in parts_of(entry, "events", task))
    )
    part = f"{DETAILS}/{entry.key}.parquet"
    details = _part(folder, entry, part)
    steps = list(entry.steps)
    with naming_part(folder / part):
        events = events.sort_by("event")
        if wanted is not None:
            events = events.filter(pc.is_in(events["step"], pa.array([*wanted], pa.int32())))
        if events.num_rows < details.num_rows:
            details = details.take(events["event"])
        # Back to the numbers of the trace, which are in the same order as those of the dataset.
        number = events["step"].to_numpy()
        local = np.searchsorted(np.array(steps, np.int64), number).astype(np.int32)
        columns = {name: events[name] for name in event_table.COLUMNS}
        columns["step"] = pa.array(np.where(number == NO_STEP, NO_STEP, local).astype(np.int32))
        columns |= {name: details[name] for name in details.column_names if name.startswith(NESTED)}
        table = pa.table(columns, metadata={KEY: details.schema.metadata[KEY]})
        trace = from_table(table, entry.source, Budget(MOST).of_file(0))
    if wanted is None:
        return trace, steps
    kept = sorted({*number.tolist()} - {NO_STEP})
    return _only(trace, [steps.index(step) for step in kept]), kept


def parts_of(entry: Entry, table: str, task: str) -> list[str]:
    """Return the paths of an entry's parts of a table for a task."""
    folder = part_folder(table, entry.run, task)
    return [path for path in entry.parts if path.startswith(folder)]


def _part(folder: Path, entry: Entry, path: str) -> pa.Table:
    return read_part(folder, path, None, entry.parts[path])


def _only(trace: Trace, steps: Sequence[int]) -> Trace:
    """Return a trace with only the events of some steps, numbered from 0."""
    table = trace.events.copy(deep=False)
    table["step"] = np.searchsorted(np.array(steps, np.int64), table["step"].to_numpy()).astype(np.int32)
    labels = {at: trace.step_labels[step] for at, step in enumerate(steps) if step in trace.step_labels}
    graphs = [trace.graphs[step] for step in steps if step < len(trace.graphs)]
    rest = [trace.run_metadata[step] for step in steps if step < len(trace.run_metadata)]
    return replaced(trace, table, step_labels=labels, graphs=graphs, run_metadata=rest)


def _renumbered(trace: Trace, steps: Sequence[int], place: dict[int, int]) -> Trace:
    """Renumber the steps of a trace, given their numbers in the dataset."""
    new = np.array([*(place[step] for step in steps), NO_STEP], np.int64)
    labels = {
        int(new[at]): trace.step_labels.get(at) or f"step {number}"
        for at, number in enumerate(steps)
        if trace.step_labels.get(at) or number != new[at]
    }
    if (new[:-1] == np.arange(len(steps))).all():
        return replaced(trace, trace.events, step_labels=labels)
    table = trace.events.copy(deep=False)
    table["step"] = new[table["step"].to_numpy()].astype(np.int32)
    count = len(place)
    graphs: list[list[bytes]] = [[] for _ in range(count if trace.graphs else 0)]
    rest = [b"" for _ in range(count if trace.run_metadata else 0)]
    for at, one in enumerate(trace.graphs[: len(steps)]):
        graphs[new[at]] = one
    for at, message in enumerate(trace.run_metadata[: len(steps)]):
        rest[new[at]] = message
    return replaced(trace, table, step_labels=labels, graphs=graphs, run_metadata=rest)
