"""Recognise files that people mistake for a trace, so that the error can say what they are."""

from __future__ import annotations

import re

from tfvis_nb.reading import protowire

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


def recognise(data: bytes) -> str:
    """Return what `data` is when it is plainly something else than a trace, or an empty text.

    Examples
    --------
    >>> from tfvis_nb.reading.foreign import recognise
    >>> recognise(b'{"traceEvents": []}')
    'JSON, probably a Chrome trace'
    """
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return what
    if data[257:262] == b"ustar":
        return "a tar archive; unpack it and give the list of its files"
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb'\{\s*"|\{\s*\}|\[\s*[\]{]', head):
        return "JSON, probably a Chrome trace"
    if re.match(rb"<(?:!doctype|html|svg|\?xml)", head, re.IGNORECASE):
        return "an HTML or XML page"
    if b"brain.Event:" in data[:64]:
        return "a TensorBoard event file"
    if _is_pickle(data):
        return "a Python pickle; load it where it was made and save RunMetadata.SerializeToString()"
    if _is_xspace(data):
        return "an XSpace of the TensorFlow or JAX profiler"
    return ""


def _is_pickle(data: bytes) -> bool:
    if data[:1] == b"\x80" and data[1:2] in b"\x01\x02\x03\x04\x05":
        return data.rstrip(b"\n")[-1:] == b"."
    # Protocol 0 is text: a global, and the final stop.
    return data[:1] in (b"c", b"(") and data.endswith(b".") and b"\n" in data[:200]


def _is_xspace(data: bytes) -> bool:
    """Tell an XSpace by its planes: field 1, with an id or a name, and lines or metadata."""
    try:
        for outer in protowire.fields(data):
            if outer.number != 1 or outer.wire_type != protowire.LENGTH:
                return False
            for inner in protowire.fields(data, outer.start, outer.end):
                if inner.number == 2 and inner.wire_type == protowire.LENGTH:
                    name = data[inner.start : inner.end]
                    return name.startswith((b"/host:", b"/device:", b"Task Environment")) or not name.strip()
                if inner.number != 1 or inner.wire_type != protowire.VARINT:
                    return False
    except protowire.Damage:
        return False
    return False
