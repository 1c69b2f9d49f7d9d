"""Assemble the output of all tracers of a recording into one Trace."""

import json
import os
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tfvis_nb.core.metadata import MOST_ROWS, RETURNS, table_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading import EmptyTraceError, read_trace
from tfvis_nb.reading.tasks import LOCAL, under_task
from tfvis_nb.reading.xspace.epoch import on_the_clock
from tfvis_nb.recording.jax.profile_trace import profile_trace
from tfvis_nb.recording.jax.tracer import JaxTracer
from tfvis_nb.recording.kept_rows import kept_rows
from tfvis_nb.recording.merge import merged
from tfvis_nb.recording.model_layers.live import put_live_layers
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.profiler.capture import XSpace
from tfvis_nb.recording.profiler.function_graphs import FunctionGraph, graphs_of_steps
from tfvis_nb.recording.python_samples import PythonSampler
from tfvis_nb.recording.sessions.runs import Run
from tfvis_nb.recording.stacks.sources import put_profile_stacks, put_session_stacks
from tfvis_nb.recording.tensorflow_tracer import TensorFlowTracer
from tfvis_nb.texts import Text, id_of


def assembled(
    runs: Sequence[Run],
    tensorflow: TensorFlowTracer | None,
    jax: JaxTracer | None,
    python: PythonSampler | None,
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
    return [(data, trace) for data, trace in profiles if trace is not None]


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
