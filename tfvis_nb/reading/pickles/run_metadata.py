"""Read and write pickles of one RunMetadata without TensorFlow: nothing they name is imported."""

import struct
from pathlib import Path

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.pickles.reader import is_pickle, messages
from tfvis_nb.reading.sources.files import check_local_kind
from tfvis_nb.reading.sources.unpacking import unpack
from tfvis_nb.texts import Text

# Protocol 3 is the latest one that every Python 3 reads: the oldest TensorFlows run on 3.4.
_BEFORE = b"\x80\x03ctensorflow.core.protobuf.config_pb2\nRunMetadata\n)R}X\x0a\x00\x00\x00serializedB"
_AFTER = b"sb."
_MOST = 2**32 - 1


def pickled(message: bytes) -> bytes:
    """Return the pickle of a serialised RunMetadata, like ``pickle.dumps``; tfvis and tftracer load it.

    ValueError if the message has 4 GiB or more.
    """
    if len(message) > _MOST:
        raise ValueError(Text("run_metadata_too_large", bytes=len(message), most=_MOST))
    return _BEFORE + struct.pack("<I", len(message)) + message + _AFTER


def unpickled(path: Path) -> bytes:
    """Return the serialised RunMetadata in a pickle, which may be compressed with gzip or xz."""
    label = str(path)
    check_local_kind(path)
    data = unpack(path.read_bytes(), label)
    if not is_pickle(data):
        raise TraceFormatError(Text("no_pickle", label=label))
    with gate(label):
        runs = messages(data, label, [])
    if len(runs) != 1:
        raise TraceFormatError(Text("pickle_of_several", label=label, traces=len(runs)))
    if runs[0].message != "RunMetadata":
        raise TraceFormatError(Text("pickle_of_message", label=label, message=runs[0].message))
    return bytes(runs[0].data)
