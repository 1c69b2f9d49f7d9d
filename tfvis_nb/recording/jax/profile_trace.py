"""Read a JAX profile as a Trace, without the work that the recording itself caused."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.nested_columns import PROGRAM
from tfvis_nb.core.python_rows import CALLBACK, NEXT_BATCH, SAVING
from tfvis_nb.core.stacks import STACK
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading import EmptyTraceError, read_trace
from tfvis_nb.reading.xspace.epoch import on_the_clock
from tfvis_nb.recording.jax.capture import WAIT, JaxXSpace
from tfvis_nb.recording.kept_rows import kept_rows
from tfvis_nb.recording.profiler.capture import XSpace
from tfvis_nb.recording.stacks.sources import put_program_stacks
from tfvis_nb.texts import Text, id_of

_IDLE = {"PythonRefManager::CollectGarbage", "python", NEXT_BATCH, CALLBACK, SAVING}
"""The types of rows in a program that has imported JAX without using it."""

_PROGRAM = f"jit_{WAIT}("
_EXECUTE = "ThunkExecutor::Execute"


def profile_trace(profile: XSpace, *, source: bool) -> Trace | None:
    """Read a profile; None if JAX ran nothing in it. Without `source`, lines of code are left out."""
    try:
        trace = on_the_clock(read_trace(profile.data), profile.epoch_ns)
    except EmptyTraceError:
        return None
    if isinstance(profile, JaxXSpace):
        trace = _without_wait(trace, profile.ended_ns)
    if _IDLE.issuperset(trace.events["op"].unique()):
        return None
    if source:
        put_program_stacks(trace)
    elif trace.stacks is not None and trace.nested is not None:
        trace.stacks, trace.nested = None, trace.nested.drop_columns([STACK])
    return trace


def _without_wait(trace: Trace, ended_ns: int) -> Trace:
    """Remove the time spent waiting for JAX after the end of the recorded code."""
    events = trace.events
    start = events["start_ns"].to_numpy(np.int64)
    late = start >= ended_ns
    own = _ran_wait(trace)
    lane = events["lane"].cat.codes.to_numpy()
    is_host = is_kind(events, "host")
    # Threads that still run ops of the program continue up to the waiting call.
    busy = np.unique(lane[late & ~is_host & ~own])
    left_out = own | (late & is_host & ~np.isin(lane, busy))
    execute = (events["name"] == _EXECUTE).to_numpy(bool)
    for row in np.flatnonzero(own & np.isin(lane, busy)).tolist():
        on_lane = late & is_host & (lane == lane[row])
        around = np.flatnonzero(on_lane & execute & (start <= start[row]))
        left_out |= on_lane & (start >= start[around[-1] if len(around) else row])
    kept = kept_rows(trace, np.flatnonzero(~left_out))
    kept.programs = {name: data for name, data in trace.programs.items() if not name.startswith(_PROGRAM)}
    outside = int((kept.events["step"] == NO_STEP).sum())
    kept.notes = [note for note in trace.notes if id_of(note) != "events_of_no_step"]
    if 0 < outside < len(kept.events):
        kept.notes.append(Text("events_of_no_step", events=outside))
    return kept


def _ran_wait(trace: Trace) -> np.ndarray:
    """Return a mask of the instructions of the waiting call."""
    if trace.nested is None or PROGRAM not in trace.nested.column_names:
        return np.zeros(len(trace.events), bool)
    programs = trace.nested[PROGRAM].cast(pa.string())
    mask: np.ndarray = pc.fill_null(pc.starts_with(programs, _PROGRAM), False).to_numpy()
    return mask
