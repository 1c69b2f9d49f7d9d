"""Concatenate traces, with consecutive step numbers."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core import annotations, counters, metadata
from tfvis_nb.core.clock_bounds import combined
from tfvis_nb.core.nested_lists import with_same_fields
from tfvis_nb.core.stacks import joined, renumbered
from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.texts import Text, id_of

_COUNTS = {
    "bars",
    "empty",
    "ends",
    "entries",
    "events",
    "groups",
    "lost",
    "marks",
    "ops",
    "records",
    "rows",
    "runs",
    "stacks",
    "steps",
    "traces",
    "transfers",
    "values",
}
"""Figures of notes that can be added up."""

_SEPARATED = {
    "steps_by_group_id": "groups",
    "steps_by_marks": "marks",
    "steps_by_ranges": "marks",
    "steps_by_source_rows": "steps",
    "steps_by_step_num": "marks",
}
"""Notes that count the steps of a trace, and the figure."""


def concatenate(traces: Sequence[Trace], title: str) -> Trace:
    """Concatenate traces: the step numbers of each continue those of the previous one."""
    if len(traces) == 1:
        return merge(traces, title)
    firsts = first_steps(traces)
    trace = merge([_numbered_on(trace, first) for trace, first in zip(traces, firsts, strict=True)], title)
    pairs = list(zip(traces, map(_step_count, traces), strict=True))
    graphs = [step for trace, count in pairs for step in trace.graphs or [[] for _ in range(count)]]
    trace.graphs = graphs if any(graphs) else []
    rest = [step for trace, count in pairs for step in trace.run_metadata or [b""] * count]
    trace.run_metadata = rest if any(rest) else []
    return trace


def first_steps(traces: Sequence[Trace]) -> list[int]:
    """Return the number of each trace's first step in the concatenated trace."""
    return [0, *accumulate(map(_step_count, traces[:-1]))]


def _step_count(trace: Trace) -> int:
    known = len(trace.graphs or trace.run_metadata)
    return known or int(trace.events["step"].max()) + 1 if len(trace.events) else 0


def merge(traces: Sequence[Trace], title: str) -> Trace:
    """Merge several traces with the same step numbers."""
    if len(traces) == 1:
        return replaced(traces[0], traces[0].events, title=title)
    columns = {name: _column(name, traces) for name in event_table.COLUMNS}
    table, before = event_table.order(event_table.build(columns))
    nested = None
    stacks, firsts = joined([trace.stacks for trace in traces])
    if any(trace.nested is not None for trace in traces):
        parts = [
            renumbered(_nested(trace), trace.stacks, first)
            for trace, first in zip(traces, firsts, strict=True)
        ]
        nested = (
            pa.concat_tables(with_same_fields(parts), promote_options="default")
            .unify_dictionaries()
            .combine_chunks()
            .take(before)
        )
    merged = Trace(
        table,
        nested=nested,
        notes=merge_notes([note for trace in traces for note in trace.notes]),
        sources=[source for trace in traces for source in trace.sources],
        profiles=[profile for trace in traces for profile in trace.profiles],
        title=title,
        step_labels={step: label for trace in traces for step, label in trace.step_labels.items()},
        clock_bounds=combined(traces),
        stacks=stacks,
        metadata=metadata.joined(trace.metadata for trace in traces),
        recorded_counters=counters.joined(trace.recorded_counters for trace in traces),
        programs={name: proto for trace in reversed(traces) for name, proto in trace.programs.items()},
    )
    merged.annotations = annotations.carried((trace.annotations for trace in traces), table)
    return merged


def merge_tasks(traces: Sequence[Trace]) -> Trace:
    """Merge traces of different tasks, with the graphs and messages of each step."""
    trace = merge([_counting_steps(one, traces) for one in traces], "")
    count = max(len(one.graphs) for one in traces)
    trace.graphs = [
        [graph for one in traces for graphs in one.graphs[step : step + 1] for graph in graphs]
        for step in range(count)
    ]
    # Concatenated serialised messages form one message.
    trace.run_metadata = [
        b"".join(steps) for steps in zip_longest(*(one.run_metadata for one in traces), fillvalue=b"")
    ]
    return trace


def _counting_steps(trace: Trace, traces: Sequence[Trace]) -> Trace:
    """Return a trace whose notes on how steps were separated count only steps that no earlier task has.

    Notes of one form add up when they are merged.
    """
    earlier = traces[: [one is trace for one in traces].index(True)]
    notes: list[str] = []
    for note in trace.notes:
        if isinstance(note, Text) and (name := _SEPARATED.get(note.id)):
            alike = [one for one in earlier if any(id_of(other) == note.id for other in one.notes)]
            counted = {number for one in alike for number in one.events["step"].unique().tolist()}
            own = {*trace.events["step"].unique().tolist()} - counted - {event_table.NO_STEP}
            if own or not alike:
                notes.append(Text(note.id, **note.figures | {name: len(own)}))
        else:
            notes.append(note)
    return replaced(trace, trace.events, notes=notes)


def with_steps(trace: Trace, numbers: Mapping[int, int]) -> Trace:
    """Give steps other numbers; events of steps that have none are outside steps."""
    table = trace.events.copy(deep=False)
    step = table["step"].to_numpy()
    new = np.full(int(step.max(initial=-1)) + 2, event_table.NO_STEP, np.int32)
    for old, number in numbers.items():
        new[old] = number
    table["step"] = new[step]
    labels = {numbers[old]: label for old, label in trace.step_labels.items() if old in numbers}
    renamed = replaced(trace, table, step_labels=labels)
    before = {number: old for old, number in numbers.items()}
    count = max(before, default=-1) + 1
    if trace.graphs:
        renamed.graphs = [[*trace.graphs[before[n]]] if n in before else [] for n in range(count)]
    if trace.run_metadata:
        renamed.run_metadata = [trace.run_metadata[before[n]] if n in before else b"" for n in range(count)]
    return renamed


def _nested(trace: Trace) -> pa.Table:
    """Return the nested columns; for a trace without any, the names of its devices."""
    if trace.nested is not None:
        return trace.nested
    names = pa.array(trace.events["device"].astype(object), pa.string())
    return pa.table({"raw_device": names.dictionary_encode()})


def merge_notes(notes: Sequence[str]) -> list[str]:
    """Merge equal notes, with the sum of their counts.

    >>> from tfvis_nb.texts import Text, id_of
    >>> merge_notes([Text("labels_unknown", rows=3, example="x"), "old", "old"])
    ["3 rows have a label of unknown form, such as 'x'", 'old']
    """
    sums: dict[Any, dict[str, Any]] = {}
    for note in notes:
        if not isinstance(note, Text):
            sums.setdefault(note, {})
            continue
        counts = {
            name: figure
            for name, figure in note.figures.items()
            if name in _COUNTS and isinstance(figure, int)
        }
        rest = {name: figure for name, figure in note.figures.items() if name not in counts}
        before = sums.setdefault((note.id, repr(rest)), dict.fromkeys(counts, 0) | rest)
        before |= {name: before[name] + count for name, count in counts.items()}
    return [Text(key[0], **figures) if isinstance(key, tuple) else key for key, figures in sums.items()]


def _numbered_on(trace: Trace, first: int) -> Trace:
    """Number the steps of a trace starting with `first`; events outside steps stay so."""
    table = trace.events.copy(deep=False)
    step = table["step"].to_numpy()
    table["step"] = np.where(step == event_table.NO_STEP, step, step + first).astype(np.int32)
    labels = {first + step: label for step, label in trace.step_labels.items()}
    return replaced(trace, table, step_labels=labels)


def _column(name: str, traces: Sequence[Trace]) -> pd.Series | pd.Categorical:
    columns = [trace.events[name] for trace in traces]
    if event_table.COLUMNS[name] == "category":
        if len({column.cat.categories.dtype for column in columns}) > 1:
            # Before pandas 3, texts have several dtypes.
            columns = [column.cat.rename_categories([*column.cat.categories]) for column in columns]
        return pd.api.types.union_categoricals(columns)
    return pd.concat(columns, ignore_index=True)
