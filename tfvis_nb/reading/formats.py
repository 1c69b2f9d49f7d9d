"""The readers of all formats. A new format is one module in this package and one line here."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading import memory_profile, parquet, tensorboard
from tfvis_nb.reading.chrome import reader as chrome
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.nsys import reader as nsys
from tfvis_nb.reading.pickles import reader as pickles
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.pieces import Piece
from tfvis_nb.reading.stepstats import local_trace, text_messages
from tfvis_nb.reading.stepstats.decode import decode
from tfvis_nb.reading.stepstats.local_trace import is_local_trace
from tfvis_nb.reading.stepstats.recognition import foreign
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.reading.xspace import reader as xspace
from tfvis_nb.reading.xspace.planes import is_xspace
from tfvis_nb.reading.xspace.reader import RecordedHost
from tfvis_nb.texts import Text

Read = RecordedStep | RecordedHost | Trace


class Format(NamedTuple):
    """A format: its name in messages, how its bytes are recognised, and its reader.

    `options` are those of ``threadpool``, ``allowance`` and ``room`` that `read` accepts, in addition to the
    bytes and their name.
    """

    name: str
    matches: Callable[[Data], bool]
    read: Callable[..., Read]
    options: tuple[str, ...] = ()
    titled: bool = False


FORMATS = (
    Format("a table of Trace.to_parquet", parquet.is_parquet, parquet.read, ("allowance",), titled=True),
    Format(
        "JSON of RunMetadata or StepStats", text_messages.is_message_json, text_messages.read_json, ("room",)
    ),
    Format("Chrome trace events", chrome.is_json, chrome.read),
    Format("an SQLite export of Nsight Systems", nsys.is_database, nsys.read, ("allowance",)),
    Format("a pickle of RunMetadata", pickles.is_pickle, pickles.read, ("allowance",)),
    Format(
        "an XSpace of the TensorFlow or JAX profiler", is_xspace, xspace.read, ("threadpool", "allowance")
    ),
    Format(
        "a device memory profile of JAX", memory_profile.is_memory_profile, memory_profile.read, ("room",)
    ),
    Format("a local.trace of TensorFlow 1.14 to 2.0", is_local_trace, local_trace.read, ("room",)),
    Format("a TensorBoard event file", tensorboard.is_event_file, tensorboard.read, ("allowance",)),
    Format("text RunMetadata or StepStats", text_messages.is_text, text_messages.read_text, ("room",)),
    Format("binary RunMetadata or StepStats", lambda data: not foreign(data), decode, ("room",)),
)


def read_piece(piece: Piece, *, threadpool: bool = False) -> Read:
    """Read one piece with the first format that accepts it; `threadpool` only applies to XSpaces."""
    allowance = piece.allowance
    with gate(piece.label):
        return _read(piece, {"threadpool": threadpool, "allowance": allowance, "room": allowance.room})


def _read(piece: Piece, options: Mapping[str, Any]) -> Read:
    if piece.message:
        return decode(piece.data, piece.label, piece.message, piece.allowance.room)
    for form in FORMATS:
        if form.matches(piece.data):
            read = form.read(piece.data, piece.label, **{name: options[name] for name in form.options})
            if isinstance(read, Trace) and not form.titled:
                read.title = read.title or piece.title
            return read
    what = foreign(piece.data)
    raise TraceFormatError(Text("foreign_format", label=piece.label, what=what), foreign=True)
