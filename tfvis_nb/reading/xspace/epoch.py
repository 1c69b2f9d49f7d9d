"""Epoch times for profiles whose files do not record their start."""

from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.events import TIMES
from tfvis_nb.texts import Text, id_of

EARLIEST_NS = 10**17
"""In 1973. Earlier times count from the start of the profile, not from the epoch."""


def on_the_clock(trace: Trace, epoch_ns: int) -> Trace:
    """Convert the times of a profile to epoch times, if they count from its start at `epoch_ns`."""
    table = trace.events
    if not len(table) or int(table["start_ns"].max()) >= EARLIEST_NS:
        return trace
    estimated = Text("start_time_estimated")
    notes = [estimated if id_of(note) == "no_start_time" else note for note in trace.notes]
    counters = trace.recorded_counters
    return replaced(
        trace,
        table.assign(**{name: table[name] + epoch_ns for name in TIMES}),
        notes=notes,
        recorded_counters=counters.assign(time_ns=counters["time_ns"] + epoch_ns),
    )
