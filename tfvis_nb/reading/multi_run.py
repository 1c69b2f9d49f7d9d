"""Read files with several recorded runs as one `Trace`, with a step for each run."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tfvis_nb.core.errors import EmptyTraceError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.stepstats.assemble import assemble
from tfvis_nb.reading.stepstats.decode import decode
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.texts import Text


class RunBytes(NamedTuple):
    """One run in a file: its name in messages, its bytes, their message type, and the label of its step."""

    label: str
    data: Data
    message: str = "RunMetadata"
    step: str = ""


def read_runs(
    parts: Iterable[RunBytes],
    notes: Sequence[str],
    nothing: str,
    room: RecordMemory,
) -> Trace:
    """Read runs as steps; those without events are left out with a note.

    `nothing` is the message of the EmptyTraceError if none has events; `room` is the memory for all records.
    """
    steps: list[RecordedStep] = []
    empty = 0
    for part in parts:
        try:
            steps.append(decode(part.data, part.label, part.message, room))
            steps[-1].name = part.step
        except EmptyTraceError:
            empty += 1
    if not steps:
        raise EmptyTraceError(nothing)
    trace = assemble(steps)
    trace.notes = [*notes, *trace.notes]
    if empty:
        trace.notes.append(Text("runs_without_events", empty=empty, runs=empty + len(steps)))
    return trace
