"""The output of all tracers of one recording -> one Trace."""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import pandas as pd

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading import EmptyTraceError, read_trace
from tfvis_nb.reading.xspace.epoch import on_the_clock
from tfvis_nb.recording.merge import merged
from tfvis_nb.recording.model_layers.live import put_live_layers
from tfvis_nb.recording.profiler.capture import XSpace
from tfvis_nb.recording.profiler.function_graphs import FunctionGraph, graphs_of_steps
from tfvis_nb.recording.profiler.profiles import ProfileTracer
from tfvis_nb.recording.sessions.runs import Run
from tfvis_nb.recording.stacks.sources import put_profile_stacks, put_session_stacks
from tfvis_nb.recording.stacks.watch import SourceWatch
from tfvis_nb.texts import Text, id_of


def assembled(
    runs: Sequence[Run], profiles: ProfileTracer, sources: SourceWatch | None, *, steps: bool
) -> Trace | None:
    """Read everything that was recorded onto one time axis; None if nothing was.

    With `steps`, only events of whole steps are kept. `sources` has the code that ran.
    """
    sessions = None
    if runs:
        sessions = read_trace([run.metadata for run in runs])
        sessions.step_labels = dict(enumerate(run.label for run in runs))
        if any(run.requested for run in runs):
            kept = zip_longest(sessions.run_metadata, runs)
            # Serialised messages behind one another are one message.
            sessions.run_metadata = [(rest or b"") + run.requested for rest, run in kept]
    found = [_profile(profile, profiles.graphs) for profile in profiles.recorded]
    profiled = [trace for trace in found if trace is not None]
    if sources is not None:
        graphs = [run.graph for run in runs]
        if sessions is not None:
            put_session_stacks(sessions, sources, graphs)
        for trace in profiled:
            put_profile_stacks(trace, sources, graphs)
    if sessions is None and not profiled:
        return None
    if sessions is not None and profiled:
        # The profile has the GPU's rows of these runs.
        sessions.notes = [note for note in sessions.notes if id_of(note) != "gpu_ops_without_kernels"]
    everything = merged(sessions, profiled)
    functions = None if sources is None or runs else sources.functions.graphs()
    put_live_layers(everything, () if functions is None else functions.values())
    return whole_steps(everything) if steps else everything


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


def whole_steps(trace: Trace) -> Trace:
    """Leave out the rows that belong to no step; nothing changes where all do not."""
    inside = trace.events["step"].to_numpy() != NO_STEP
    if inside.all():
        return trace
    if not inside.any():
        trace.notes.insert(0, Text("no_step_found"))
        return trace
    outside = int((~inside).sum())
    kept = np.flatnonzero(inside)
    table: pd.DataFrame = trace.events.take(kept).reset_index(drop=True)
    return Trace(
        table,
        nested=None if trace.nested is None else trace.nested.take(kept),
        graphs=trace.graphs,
        run_metadata=trace.run_metadata,
        notes=[
            Text("loose_events_left_out", events=outside),
            *(note for note in trace.notes if id_of(note) != "events_of_no_step"),
        ],
        title=trace.title,
        step_labels=trace.step_labels,
        clock_bounds=trace.clock_bounds,
        stacks=trace.stacks,
        metadata=trace.metadata,
        recorded_counters=trace.recorded_counters,
        programs=trace.programs,
    )
