"""Parse serialised graphs of a trace into messages; damaged ones are left out, with a note."""

from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.protobuf.schema import message_class
from tfvis_nb.texts import Text, id_of, text_of


def parsed(trace: Trace, message: str, data: bytes) -> Any:
    """Return a message of ``run_metadata`` in ``messages.json``; an empty one if `data` is damaged."""
    kind = message_class(message)
    try:
        with gate(f"a {message}"):
            return kind.FromString(data)
    except TraceFormatError as error:
        note_damage(trace, error)
        return kind()


def note_damage(trace: Trace, error: TraceFormatError) -> None:
    """Add a note for the first damaged graph."""
    if not any(id_of(note) == "damaged_graphs_left_out" for note in trace.notes):
        trace.notes.append(Text("damaged_graphs_left_out", reason=text_of(error)))
