"""What one process recorded side by side -> one Trace on one clock, with nothing in it twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb._trace import Trace
from tfvis_nb.recording.repeats import repeats, steps_of_runs

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class _Rows:
    """The rows of a trace that are kept, with their steps numbered through all traces."""

    trace: Trace
    table: pd.DataFrame
    places: np.ndarray
    steps: np.ndarray


def merged(sessions: Trace | None, profiles: Sequence[Trace]) -> Trace:
    """Lay what sessions and profiles recorded on one time axis, the steps numbered by their start.

    A profile has the ops of session runs, too. Such a row is left out, and what else the
    profile has of the run belongs to its step. Rows of no step, which have step -1, stay such.

    Parameters
    ----------
    sessions
        Session runs, each a step; None if there were none.
    profiles
        Profiles of the same process, of which no two overlap in time.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.recording.merging import merged
    >>> def trace(start, label):
    ...     columns = {"start_ns": [start], "duration_ns": [1], "kind": ["op"], "name": [label]}
    ...     return Trace(events.build(columns), step_labels={0: label})
    >>> both = merged(trace(9, "run"), [trace(5, "train 0")])
    >>> both.step_labels, both.events["step"].tolist()
    ({0: 'train 0', 1: 'run'}, [0, 1])
    """
    traces = [trace for trace in (sessions, *profiles) if trace is not None]
    if len(traces) == 1:
        return traces[0]
    every = list(_rows(sessions, profiles))
    notes = list(dict.fromkeys(note for trace in traces for note in trace.notes))
    repeated = sum(len(rows.trace.events) - len(rows.places) for rows in every)
    if repeated:
        notes.insert(0, f"{repeated} rows of the profile repeat the session runs' own and were left out")
    return _joined(every, notes)


def _rows(sessions: Trace | None, profiles: Sequence[Trace]) -> Iterator[_Rows]:
    first = 0
    if sessions is not None:
        table = sessions.events
        yield _Rows(sessions, table, np.arange(len(table)), table["step"].to_numpy())
        first = _count(sessions)
    for profile in profiles:
        table = profile.events
        step = table["step"].to_numpy()
        numbered = np.where(step < 0, -1, step + first)
        places = np.arange(len(table))
        if sessions is not None:
            run = repeats(table, sessions.events)
            numbered = steps_of_runs(step, run, numbered)
            places = np.flatnonzero(run < 0)
            table = _named_as(table, sessions.events)
        yield _Rows(profile, table.take(places), places, numbered[places])
        first += _count(profile)


def _count(trace: Trace) -> int:
    """Return how many steps there are, those included that have no rows."""
    return int(trace.events["step"].max()) + 1


def _named_as(profile: pd.DataFrame, sessions: pd.DataFrame) -> pd.DataFrame:
    """Name the profile's devices as the sessions do, where these are of one task: it is this process."""
    tasks = sessions["task"].unique().tolist()
    if len(tasks) != 1 or profile["task"].unique().tolist() != [""]:
        return profile
    columns: dict[str, pd.Series | pd.Categorical] = {"task": pd.Categorical([tasks[0]] * len(profile))}
    for name in ("device", "source", "destination"):
        known = profile[name].cat.categories
        columns[name] = profile[name].cat.rename_categories(
            {device: tasks[0] + device for device in known if device.startswith("/device:")}
        )
    return profile.assign(**columns)


def _joined(every: Sequence[_Rows], notes: Sequence[str]) -> Trace:
    labels: dict[int, str] = {}
    graphs: dict[int, list[bytes]] = {}
    first = 0
    for rows in every:
        labels |= {first + step: label for step, label in rows.trace.step_labels.items()}
        graphs |= {first + step: held for step, held in enumerate(rows.trace.graphs)}
        first += _count(rows.trace)
    steps = np.concatenate([rows.steps for rows in every])
    starts = np.concatenate([rows.table["start_ns"].to_numpy() for rows in every])
    # A profile's step that is a session run's has no number of its own.
    begins = pd.Series(starts).groupby(steps).min().drop(-1, errors="ignore").sort_values(kind="stable")
    old = [int(step) for step in begins.index]
    number = np.full(first + 1, -1)  # the last is what -1 finds
    number[old] = np.arange(len(old))
    columns = {name: _column(name, [rows.table[name] for rows in every]) for name in event_table.COLUMNS}
    table, before = event_table.order(event_table.build(columns | {"step": number[steps]}))
    return Trace(
        table,
        nested=_nested(every, before),
        graphs=[graphs.get(step, []) for step in old] if any(graphs.values()) else (),
        notes=notes,
        step_labels={new: labels[step] for new, step in enumerate(old) if step in labels},
    )


def _column(name: str, columns: list[pd.Series]) -> pd.Series:
    if event_table.COLUMNS[name] == "category":
        return pd.Series(pd.api.types.union_categoricals(columns))
    return pd.concat(columns, ignore_index=True)


def _nested(every: Sequence[_Rows], before: np.ndarray) -> pa.Table | None:
    import pyarrow as pa

    if all(rows.trace.nested is None for rows in every):
        return None
    tables = []
    for rows in every:
        nested = rows.trace.nested
        if nested is None:
            names = pa.array([""] * len(rows.trace.events), pa.string())
            nested = pa.table({"raw_device": names.dictionary_encode()})
        tables.append(nested.take(rows.places))
    table = pa.concat_tables(tables, promote_options="default").unify_dictionaries()
    return table.combine_chunks().take(before)
