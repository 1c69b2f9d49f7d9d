"""Which reader reads which bytes. A new format is one module beside this one and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tfvis_nb._trace import Trace
from tfvis_nb.reading import chrome, event_files, foreign, parquet, pickles, textproto, xspace
from tfvis_nb.reading.decode import decode
from tfvis_nb.reading.errors import TraceFormatError
from tfvis_nb.reading.protowire import Data
from tfvis_nb.reading.recorded import RecordedStep
from tfvis_nb.reading.sources import Piece
from tfvis_nb.reading.xspace import RecordedHost
from tfvis_nb.reading.xspace_planes import is_xspace


class Format(NamedTuple):
    """A format: its name in messages, how its bytes are told, what reads them, and whether it has titles."""

    name: str
    matches: Callable[[Data], bool]
    read: Callable[[Data, str], RecordedStep | RecordedHost | Trace]
    titled: bool = False


def _read_text(data: Data, label: str) -> RecordedStep:
    binary, notes = textproto.to_binary(data, label)
    step = decode(binary, label)
    step.notes += notes
    return step


def _is_binary(data: Data) -> bool:
    return not foreign.recognise(data)


FORMATS = (
    Format("a table of Trace.to_parquet", parquet.is_parquet, parquet.read, titled=True),
    Format("Chrome trace events", chrome.is_json, chrome.read),
    Format("a pickle of RunMetadata", pickles.is_pickle, pickles.read),
    Format("an XSpace of the TensorFlow or JAX profiler", is_xspace, xspace.read),
    Format("a TensorBoard event file", event_files.is_event_file, event_files.read),
    Format("text RunMetadata or StepStats", textproto.is_text, _read_text),
    Format("binary RunMetadata or StepStats", _is_binary, decode),
)


def read_piece(piece: Piece, *, threadpool: bool = False) -> RecordedStep | RecordedHost | Trace:
    """Read one piece with the first format that takes it; `threadpool` is about XSpaces.

    Raises
    ------
    TraceFormatError
        When no format does, or the one that does finds it damaged.
    """
    if piece.message:
        return decode(piece.data, piece.label, piece.message)
    for form in FORMATS:
        if form.matches(piece.data):
            if threadpool and form.read is xspace.read:
                return xspace.read(piece.data, piece.label, threadpool=True)
            read = form.read(piece.data, piece.label)
            if isinstance(read, Trace) and not form.titled:
                read.title = read.title or piece.title
            return read
    what = foreign.recognise(piece.data)
    raise TraceFormatError(f"{piece.label}: this is {what}; {foreign.READABLE}", foreign=True)
