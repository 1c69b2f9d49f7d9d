"""One trace of a session, as TensorFlow's message and as a Trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from tfvis_nb.core.annotations import from_json
from tfvis_nb.core.metadata import TRACING_COST, table_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.session.compression import decompress
from tfvis_nb.session.file import rows
from tfvis_nb.session.file.columns import selected
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.errors import DamagedSessionError, damage
from tfvis_nb.texts import Text

PROFILE = "xspace"
"""The format of a profile."""
PARQUET = "parquet"
"""The format of a complete trace, with facts about the end of the run; all others are session runs."""

_QUERY = (
    "SELECT data, size, format, epoch_ns, label, run, note, {optional}, duration_ns FROM traces"
    " JOIN signatures ON signatures.id = signature WHERE traces.id = ?"
)


def stored_row(connection: Guarded, number: int) -> tuple[Any, ...] | None:
    """Return the stored row of a trace, or None; DamagedSessionError if it is listed but not found."""
    query = _QUERY.format(optional=selected(connection, ["layers", "untraced_ns", "untraced_runs"]))
    answer = connection.execute(query, (number,)) if abs(number) < 2**63 else ()
    numbers = (rows.data, rows.count, rows.trace_format, rows.count)
    times = (rows.count_or_none, rows.count, rows.count)
    checks = (*numbers, rows.text, rows.whole, rows.text, rows.text_or_none, *times)
    row = next(rows.validate_rows(answer, *checks), None)
    # The file may be damaged only where SQLite looks up a row, not where it lists all.
    if row is None and (number,) in connection.execute("SELECT id FROM traces"):
        raise DamagedSessionError(damage(Text("trace_not_found", number=number)))
    return row


@dataclass(frozen=True)
class StoredTrace:
    """A trace that has not been read yet.

    - `message`: The original serialised ``RunMetadata``, or ``XSpace`` of a profile; the Parquet file of a
      run that ran out of memory.
    - `format`: ``"run_metadata"``, ``"xspace"`` or ``"parquet"``.
    - `epoch_ns`: When a profile started.
    - `label`, `run`: Its signature, and the number of the run; 0 if unknown.
    - `note`: A sentence about missing parts.
    - `layers`: The layers of the model that ran, None if unknown; see `Recording`.
    - `untraced_ns`, `untraced_runs`: The median of earlier untraced runs, and their number; None if unknown.
    - `duration_ns`: The duration of the run.
    - `annotations`: As `tfvis_nb.core.annotations.to_json` writes them.
    """

    message: bytes
    format: str
    epoch_ns: int
    label: str
    run: int
    note: str
    layers: str | None
    untraced_ns: int | None = None
    untraced_runs: int = 0
    duration_ns: int = 0
    annotations: Sequence[Any] = ()

    @classmethod
    def unpacked(cls, row: tuple[Any, ...]) -> Self:
        """Unpack a row of `stored_row`; TraceFormatError if the message is damaged."""
        data, size, *rest = row
        return cls(decompress(data, size), *rest)

    @property
    def title(self) -> str:
        """The title of the trace."""
        return f"{self.label}, run {self.run}" if self.run else self.label

    @property
    def is_profile(self) -> bool:
        """Whether the message is an ``XSpace``."""
        return self.format == PROFILE

    def read(self) -> Trace:
        """Read the trace, which keeps the message."""
        trace = self._read()
        if self.annotations:
            trace.annotations, notes = from_json(list(self.annotations), trace.events)
            trace.notes += notes
        return trace

    def _read(self) -> Trace:
        from tfvis_nb.analysis.model_layers.put import put_stored_layers
        from tfvis_nb.reading import read_trace
        from tfvis_nb.reading.xspace.epoch import on_the_clock

        trace = read_trace(self.message, title=self.title)
        if self.format == PARQUET:
            return trace
        if self.is_profile:
            trace = on_the_clock(trace, self.epoch_ns)
            trace.profiles = [self.message]
            if self.layers is not None:
                put_stored_layers(trace, self.layers)
        else:
            trace.sources = [self.message]
            trace.step_labels = {0: self.label}
            trace.notes[:0] = [self.note] if self.note else []
        self._put_cost(trace)
        return trace

    def _put_cost(self, trace: Trace) -> None:
        """Add the time of the run and of untraced runs to the trace, with a note."""
        from tfvis_nb.analysis.steps.tracing_cost import tracing_cost, tracing_cost_text

        if self.untraced_ns is None:
            return
        times = ((1, self.duration_ns, 1), (0, self.untraced_ns, self.untraced_runs))
        rows = [dict(zip(("is_traced", "duration_ns", "runs"), time, strict=True)) for time in times]
        trace.metadata[TRACING_COST] = table_of(TRACING_COST, rows)
        if (cost := tracing_cost(trace)) is not None:
            trace.notes.append(tracing_cost_text(cost))
