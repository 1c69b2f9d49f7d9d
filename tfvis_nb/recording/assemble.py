"""Assemble the output of all tracers of a recording into one Trace."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from tfvis_nb.core import counters
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.metadata import MOST_ROWS, RETURNS, table_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import NODES
from tfvis_nb.reading import EmptyTraceError, read_trace
from tfvis_nb.reading.concat import merge
from tfvis_nb.reading.tasks import LOCAL, under_task
from tfvis_nb.reading.xspace.epoch import on_the_clock
from tfvis_nb.recording.jax.profile_trace import profile_trace
from tfvis_nb.recording.jax.tracer import JaxTracer
from tfvis_nb.recording.kept_rows import kept_rows
from tfvis_nb.recording.machine_samples import MachineSampler
from tfvis_nb.recording.model_layers import put_live_layers
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.profiler.capture import XSpace
from tfvis_nb.recording.profiler.function_graphs import FunctionGraph, graphs_of_steps
from tfvis_nb.recording.python_samples import PythonSampler
from tfvis_nb.recording.sessions.runs import Run
from tfvis_nb.recording.stacks.sources import (
    put_profile_stacks,
    put_sampled_lines,
    put_session_stacks,
)
from tfvis_nb.recording.tensorflow_tracer import TensorFlowTracer
from tfvis_nb.recording.written_graphs import put_written_inputs
from tfvis_nb.texts import Text, id_of


def assembled(
    runs: Sequence[Run],
    tensorflow: TensorFlowTracer | None,
    jax: JaxTracer | None,
    python: PythonSampler | None,
    machine: MachineSampler | None,
    options: TraceOptions,
) -> Trace | None:
    """Read all recorded data onto one time axis; None if there is none.

    `runs` are session runs. The Trace keeps the profiles it was read from.
    """
    sources = None if tensorflow is None else tensorflow.sources
    sessions = _sessions(runs) if runs else None
    profiled: list[Trace] = []
    profiles: list[bytes] = []
    if tensorflow is not None:
        recorded = tensorflow.profiles.recorded
        traces = [_profile(profile, tensorflow.profiles.graphs) for profile in recorded]
        profiled = [trace for trace in traces if trace is not None]
        profiles = [profile.data for profile in recorded]
        if options.partition_graphs:
            for trace in profiled:
                put_written_inputs(trace, tensorflow.functions.graphs)
    if sources is not None:
        graphs = [run.graph for run in runs]
        if sessions is not None:
            put_session_stacks(sessions, sources, graphs)
        for trace in profiled:
            put_profile_stacks(trace, sources, graphs)
    of_jax = _of_jax(jax, options) if jax is not None else []
    if of_jax and (profiled or sessions is not None):
        of_jax[0][1].notes.insert(0, Text("recorded_by_two_profilers"))
    profiled += [trace for _, trace in of_jax]
    profiles += [data for data, _ in of_jax]
    if sessions is None and not profiled:
        return None
    if sessions is not None and profiled:
        # The profile has the GPU rows of these runs.
        sessions.notes = [note for note in sessions.notes if id_of(note) != "gpu_ops_without_kernels"]
    everything = merged(sessions, _with_steps_alone(profiled))
    if python is not None:
        everything.metadata |= python.metadata()
        put_sampled_lines(everything, python.lines())
    if machine is not None:
        tasks = everything.events["task"].unique().tolist()
        sampled = machine.counters(str(tasks[0]) if len(tasks) == 1 else "")
        everything.recorded_counters = counters.joined([everything.recorded_counters, sampled])
    if tensorflow is not None:
        everything = _under_own_task(everything)
    everything.profiles = profiles
    functions = None if sources is None or runs else sources.functions.graphs()
    put_live_layers(everything, () if functions is None else functions.values())
    return whole_steps(everything) if options.steps else everything


def _under_own_task(trace: Trace) -> Trace:
    """Assign a recording of a worker of `MultiWorkerMirroredStrategy` to its task of the cluster.

    The strategy has started a server with the cluster of its resolver; before that, TF_CONFIG has it.
    """
    job, index, size = _task_of_server() or _task_of_environment() or ("", 0, 0)
    if size < 2 or not {str(task) for task in trace.events["task"].unique()} <= {"", LOCAL}:
        return trace
    task = f"/job:{job}/replica:0/task:{index}"
    own = under_task(trace, task)
    own.graphs, own.run_metadata = trace.graphs, trace.run_metadata
    own.notes.append(Text("task_of_cluster", task=task, ranks=size))
    return own


def _task_of_server() -> tuple[str, int, int] | None:
    from tensorflow.python.eager import context

    eager: Any = context._context  # noqa: SLF001 - context() would create one
    server = getattr(eager, "_collective_ops_server_def", None)
    if server is None:
        return None
    return server.job_name, server.task_index, sum(len(job.tasks) for job in server.cluster.job)


def _task_of_environment() -> tuple[str, int, int] | None:
    try:
        config = json.loads(os.environ.get("TF_CONFIG", ""))
        job, index = config["task"]["type"], int(config["task"]["index"])
        size = sum(map(len, config["cluster"].values()))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return (job, index, size) if isinstance(job, str) and re.fullmatch(r"\w+", job) else None


def _sessions(runs: Sequence[Run]) -> Trace:
    sessions = read_trace([run.metadata for run in runs])
    sessions.step_labels = dict(enumerate(run.label for run in runs))
    returns = [{"task": "", "time_ns": run.returned_ns} for run in runs[-MOST_ROWS:]]
    sessions.metadata |= {RETURNS: table_of(RETURNS, returns)}
    if any(run.requested for run in runs):
        kept = zip_longest(sessions.run_metadata, runs)
        # Concatenated serialised messages form one message.
        sessions.run_metadata = [(rest or b"") + run.requested for rest, run in kept]
    return sessions


def _profile(profile: XSpace, graphs: Sequence[FunctionGraph]) -> Trace | None:
    try:
        trace = on_the_clock(read_trace(profile.data), profile.epoch_ns)
    except EmptyTraceError:
        return None
    if graphs:
        held = graphs_of_steps(trace.events, graphs)
        trace.graphs = [[one.graph for one in step] for step in held]
        trace.run_metadata = [b"".join(dict.fromkeys(one.function for one in step)) for step in held]
    return trace


def _of_jax(jax: JaxTracer, options: TraceOptions) -> list[tuple[bytes, Trace]]:
    """Return the profiles with JAX work, and their traces."""
    profiles = [(one.data, profile_trace(one, source=options.source)) for one in jax.recorded]
    kept = [(data, trace) for data, trace in profiles if trace is not None]
    for _, trace in kept:
        jax.misses.put(trace)
    return kept


def _with_steps_alone(profiles: Sequence[Trace]) -> Sequence[Trace]:
    """Move rows of profiles without steps outside steps, if other profiles have steps."""
    if not any(trace.step_labels for trace in profiles):
        return profiles
    return [trace if trace.step_labels else _outside_steps(trace) for trace in profiles]


def _outside_steps(trace: Trace) -> Trace:
    kept = kept_rows(trace, np.arange(len(trace.events)))
    kept.events["step"] = np.int32(NO_STEP)
    return kept


def whole_steps(trace: Trace) -> Trace:
    """Drop the rows outside steps, unless all rows are."""
    inside = trace.events["step"].to_numpy() != NO_STEP
    if inside.all():
        return trace
    if not inside.any():
        trace.notes.insert(0, Text("no_step_found"))
        return trace
    outside = int((~inside).sum())
    steps = kept_rows(trace, np.flatnonzero(inside))
    steps.notes = [
        Text("loose_events_left_out", events=outside),
        *(note for note in trace.notes if id_of(note) != "events_of_no_step"),
    ]
    return steps


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


CLOSE_NS = 250_000
"""The largest difference between two recorded starts of one execution; both use the machine's clock."""


def repeats(profile: pd.DataFrame, sessions: pd.DataFrame) -> np.ndarray:
    """Return the step of the same execution in a session's trace for each row of a profile, or `NO_STEP`."""
    steps = np.full(len(profile), NO_STEP, dtype="int64")
    ours = _executions(profile)
    theirs = _executions(sessions).assign(step=sessions["step"].astype("int64"))
    if ours.empty or theirs.empty:
        return steps
    pairs = pd.merge_asof(
        ours.reset_index(names="row"),
        theirs,
        on="start_ns",
        by=["name", "op"],
        direction="nearest",
        tolerance=CLOSE_NS,
    )
    known = pairs["step"].notna()
    steps[pairs.loc[known, "row"]] = pairs.loc[known, "step"].astype("int64")
    return steps


def steps_of_runs(step: np.ndarray, run: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Give all rows of a profile's step to the session run with most of its repeated rows.

    For each row of the profile, `step` is its step there, `run` the session run whose row it repeats
    (`NO_STEP` for none), and `otherwise` its step if it is not part of a session run.

    >>> steps_of_runs(np.array([0, 0, 1, -1]), np.array([7, -1, -1, -1]), np.array([20, 20, 21, -1])).tolist()
    [7, 7, 21, -1]
    """
    repeated = (run != NO_STEP) & (step != NO_STEP)
    counts = pd.DataFrame({"step": step[repeated], "run": run[repeated]}).value_counts().reset_index()
    run_of = counts.drop_duplicates("step").set_index("step")["run"]
    known = np.isin(step, run_of.index)
    result = otherwise.copy()
    result[known] = run_of.loc[step[known]].to_numpy()
    return result


def _executions(table: pd.DataFrame) -> pd.DataFrame:
    """Return name, op and start of executor rows, with their index."""
    rows = table[is_kind(table, *NODES)]
    return pd.DataFrame(
        {"name": rows["name"].astype("str"), "op": rows["op"].astype("str"), "start_ns": rows["start_ns"]}
    )
