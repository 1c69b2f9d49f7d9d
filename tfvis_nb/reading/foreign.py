"""Recognise files that people mistake for a trace, so that the error can say what they are."""

from __future__ import annotations

import re

from tfvis_nb.reading import protowire
from tfvis_nb.reading.protowire import Data

READABLE = (
    "read_trace reads RunMetadata and StepStats, binary or text, and tables written by Trace.to_parquet"
)

_MAGIC = (
    (b"PK\x03\x04", "a zip archive (perhaps a saved Keras model); unpack it first"),
    (b"\x89PNG", "a PNG image"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"SQLite format 3", "an SQLite database, perhaps of Nsight Systems"),
    (b"BZh", "a bzip2 file; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file; unpack it first"),
)


def recognise(data: Data) -> str:
    """Return what `data` is when it is plainly something else than a trace, or an empty text.

    Examples
    --------
    >>> from tfvis_nb.reading.foreign import recognise
    >>> recognise(b'{"traceEvents": []}')
    'JSON, probably a Chrome trace'
    """
    head, tail = bytes(data[:4096]), bytes(data[-64:])
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it and give the list of its files"
    words = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb'\{\s*"|\{\s*\}|\[\s*[\]{]', words):
        return "JSON, probably a Chrome trace"
    if re.match(rb"<(?:!doctype|html|svg|\?xml)", words, re.IGNORECASE):
        return "an HTML or XML page"
    if b"brain.Event:" in head[:64]:
        return "a TensorBoard event file"
    if _is_pickle(head, tail):
        return "a Python pickle; load it where it was made and save RunMetadata.SerializeToString()"
    if _is_xspace(data):
        return "an XSpace of the TensorFlow or JAX profiler"
    if words and re.fullmatch(rb"[\t\n\r\x20-\x7e]*", head):
        first = words.split(None, 1)[0][:40].decode("ascii")
        return f"text that begins with {first!r}, which no RunMetadata or StepStats does"
    return ""


def _is_pickle(head: bytes, tail: bytes) -> bool:
    if head[:1] == b"\x80" and head[1:2] in (b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"):
        return tail.rstrip(b"\n").endswith(b".")
    # Protocol 0 is text: a global, and the final stop.
    return head[:1] in (b"c", b"(") and tail.endswith(b".") and b"\n" in head[:200]


def _is_xspace(data: Data) -> bool:
    """Tell an XSpace by its planes: field 1, with an id or a name, and lines or metadata."""
    try:
        for outer in protowire.fields(data):
            if outer.number != 1 or outer.wire_type != protowire.LENGTH:
                return False
            for inner in protowire.fields(data, outer.start, outer.end):
                if inner.number == 2 and inner.wire_type == protowire.LENGTH:
                    name = bytes(data[inner.start : inner.end])
                    return name.startswith((b"/host:", b"/device:", b"Task Environment")) or not name.strip()
                if inner.number != 1 or inner.wire_type != protowire.VARINT:
                    return False
    except protowire.DamageError:
        return False
    return False
