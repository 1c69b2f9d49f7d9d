"""Text in any Unicode encoding, with or without a byte order mark, as UTF-8."""

import codecs
import json

from tfvis_nb.reading.protobuf.wire import Data


class EncodedText:
    """The bytes of a file as UTF-8 without a byte order mark, with their positions in the file.

    Bytes that are not UTF-8 stay as they are.
    """

    def __init__(self, content: bytes) -> None:
        encoding: str = json.detect_encoding(content[:4])
        is_utf8 = encoding.startswith("utf-8") or (encoding.startswith("utf-16-") and not _is_utf16(content))
        self._encoding: str | None = None
        self._before = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
        if is_utf8:
            self.data = content[self._before :]
            return
        if encoding in ("utf-16", "utf-32"):  # a mark at the start gives the order of bytes
            encoding += "-le" if content.startswith(codecs.BOM_UTF16_LE) else "-be"
            self._before = len("\ufeff".encode(encoding))
        self._encoding = encoding
        self.data = content[self._before :].decode(encoding, "replace").encode("utf-8", "replace")

    def position(self, at: int) -> int:
        """Return the position in the file of a byte of `data`."""
        return self._before + self.size(0, at)

    def size(self, begin: int, end: int) -> int:
        """Return the length in the file of a part of `data`."""
        if self._encoding is None:
            return end - begin
        return len(self.data[begin:end].decode("utf-8", "replace").encode(self._encoding, "replace"))


def start_of_text(data: Data) -> bytes:
    """Return the start of a file as UTF-8."""
    return EncodedText(bytes(data[:4096])).data


def _is_utf16(content: bytes) -> bool:
    """Return whether every other byte at the start is 0: a single one may be damage."""
    return not (any(content[:16:2]) and any(content[1:16:2]))
