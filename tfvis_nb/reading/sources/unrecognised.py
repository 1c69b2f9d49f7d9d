"""Recognise files that people mistake for a trace, so that the error can name the format."""

import codecs
import re
from contextlib import suppress

from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.texts import Text

_SQLITE = b"SQLite format 3"
_APPLICATION_AT = 68
_SESSION = b"tfvs"
"""The ``application_id`` in the database of a session."""

_MAGIC = (
    (b"PK\x03\x04", "is_zip"),
    (b"\x89PNG", "is_png"),
    (b"\x89HDF", "is_hdf5"),
    (b"\x93NUMPY", "is_numpy"),
    (_SQLITE, "is_sqlite"),
    (b"BZh", "is_bzip2"),
    (b"\x28\xb5\x2f\xfd", "is_zstandard"),
)


def describe(data: Data) -> str:
    """Return the kind of `data` if it is plainly not a trace, or an empty text."""
    head = bytes(data[:4096])
    if head.startswith(_SQLITE) and head[_APPLICATION_AT:].startswith(_SESSION):
        return Text("is_session")
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return Text(what)
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb"<(?:!doctype|html|svg|\?xml)", text, re.IGNORECASE):
        return Text("is_web_page")
    # Bytes of 0x80 and above are text if they are UTF-8; the last character of the head may be cut off.
    if text and re.fullmatch(rb"[\t\n\r\x20-\x7e\x80-\xff]*", head):
        with suppress(UnicodeDecodeError):
            start = codecs.getincrementaldecoder("utf-8")().decode(text)
            return Text("is_text", start=start.split(None, 1)[0][:40])
    return ""
