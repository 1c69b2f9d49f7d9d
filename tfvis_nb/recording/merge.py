"""Merge simultaneous recordings of one process into one Trace on one clock, without duplicates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.concat import merge
from tfvis_nb.recording.duplicates import repeats, steps_of_runs
from tfvis_nb.texts import Text, id_of

_Held = TypeVar("_Held")


@dataclass
class _Rows:
    """The kept rows of a trace, with steps numbered across all traces starting with `first`."""

    trace: Trace
    table: pd.DataFrame
    kept: np.ndarray
    steps: np.ndarray
    first: int


def merged(sessions: Trace | None, profiles: Sequence[Trace]) -> Trace:
    """Merge the recordings of sessions and profiles on one time axis; steps are numbered by their start.

    A profile also has the ops of session runs. These rows are left out, and the profile's other rows of the
    run get the run's step. Rows outside steps stay outside. The profiles do not overlap in time.
    """
    traces = [trace for trace in (sessions, *profiles) if trace is not None]
    if len(traces) == 1:
        return traces[0]
    every = list(_rows(sessions, profiles))
    number = _numbers(every)
    both = merge([_numbered(rows, number) for rows in every], "")
    both.graphs = _by_step(every, number, [rows.trace.graphs for rows in every], [])
    both.run_metadata = _by_step(every, number, [rows.trace.run_metadata for rows in every], b"")
    both.step_labels = dict(sorted(both.step_labels.items()))
    outside = int((both.events["step"] == NO_STEP).sum())
    both.notes = [note for note in both.notes if id_of(note) != "events_of_no_step"]
    if outside:
        both.notes.append(Text("events_of_no_step", events=outside))
    repeated = sum(len(rows.trace.events) - len(rows.kept) for rows in every)
    if repeated:
        both.notes.insert(0, Text("profile_repeats_runs", rows=repeated))
    return both


def _rows(sessions: Trace | None, profiles: Sequence[Trace]) -> Iterator[_Rows]:
    first = 0
    if sessions is not None:
        table = sessions.events
        yield _Rows(sessions, table, np.arange(len(table)), table["step"].to_numpy(), first)
        first = _count(sessions)
    for profile in profiles:
        table = profile.events
        step = table["step"].to_numpy()
        numbered = np.where(step == NO_STEP, NO_STEP, step + first)
        kept = np.arange(len(table))
        if sessions is not None:
            run = repeats(table, sessions.events)
            numbered = steps_of_runs(step, run, numbered)
            kept = np.flatnonzero(run == NO_STEP)
            table = _named_as(table, sessions.events)
        yield _Rows(profile, table.take(kept), kept, numbered[kept], first)
        first += _count(profile)


def _count(trace: Trace) -> int:
    """Return the number of steps, including those without rows."""
    return int(trace.events["step"].max()) + 1


def _named_as(profile: pd.DataFrame, sessions: pd.DataFrame) -> pd.DataFrame:
    """Name the profile's devices like the sessions, if these have a single task, which is this process."""
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


def _numbers(every: Sequence[_Rows]) -> np.ndarray:
    """Number all steps with rows by their start; the last element is `NO_STEP`, at index -1."""
    steps = np.concatenate([rows.steps for rows in every])
    starts = np.concatenate([rows.table["start_ns"].to_numpy() for rows in every])
    begins = pd.Series(starts).groupby(steps).min().drop(NO_STEP, errors="ignore").sort_values(kind="stable")
    number = np.full(every[-1].first + _count(every[-1].trace) + 1, NO_STEP, dtype="int32")
    number[begins.index] = np.arange(len(begins), dtype="int32")
    return number


def _by_step(
    every: Sequence[_Rows], number: np.ndarray, held: Sequence[list[_Held]], nothing: _Held
) -> list[_Held]:
    """Order the traces' data by step; empty if there is none."""
    by_step = [nothing] * (int(number.max()) + 1)
    for rows, steps in zip(every, held, strict=True):
        for step, one in enumerate(steps):
            if number[rows.first + step] != NO_STEP:
                by_step[number[rows.first + step]] = one
    return by_step if any(by_step) else []


def _numbered(rows: _Rows, number: np.ndarray) -> Trace:
    nested = rows.trace.nested
    return Trace(
        rows.table.assign(step=number[rows.steps]).reset_index(drop=True),
        nested=None if nested is None else nested.take(rows.kept),
        notes=rows.trace.notes,
        step_labels={
            int(number[rows.first + step]): label
            for step, label in rows.trace.step_labels.items()
            if number[rows.first + step] != NO_STEP
        },
        clock_bounds=rows.trace.clock_bounds,
        stacks=rows.trace.stacks,
        metadata=rows.trace.metadata,
        recorded_counters=rows.trace.recorded_counters,
        programs=rows.trace.programs,
    )
