"""Recognise files that people mistake for a trace, so that the error can say what they are."""

import re

from tfvis_nb.reading.protobuf.wire import Data

_SQLITE = b"SQLite format 3"
_APPLICATION_AT = 68
_SESSION = b"tfvs"
"""The ``application_id`` in the database of a session."""

_MAGIC = (
    (b"PK\x03\x04", "a zip archive (perhaps a saved Keras model); unpack it first"),
    (b"\x89PNG", "a PNG image"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (_SQLITE, "an SQLite database, perhaps of Nsight Systems"),
    (b"BZh", "a bzip2 file; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file; unpack it first"),
)


def describe(data: Data) -> str:
    """Return what `data` is when it is plainly something else than a trace, or an empty text."""
    head = bytes(data[:4096])
    if head.startswith(_SQLITE) and head[_APPLICATION_AT:].startswith(_SESSION):
        return "a session of tfvis_nb; tfvis_nb.open_session(path).read(number) gives a trace of it"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb"<(?:!doctype|html|svg|\?xml)", text, re.IGNORECASE):
        return "an HTML or XML page"
    if text and re.fullmatch(rb"[\t\n\r\x20-\x7e]*", head):
        first = text.split(None, 1)[0][:40].decode("ascii")
        return f"text that begins with {first!r}, which no RunMetadata or StepStats does"
    return ""
