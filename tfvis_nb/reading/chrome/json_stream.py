"""Parse JSON trace events piece by piece, so that a large file is never completely in memory as objects."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.texts import Text

CHUNK = 1 << 22
"""Bytes parsed at a time."""

_TRIES = 16
_FIRST = 1 << 12
_MOST_DOCUMENTS = 200
_ENDED = "Extra data"
_ESCAPE = "surrogateescape"  # bytes that are not UTF-8 keep their positions
_PARTIAL = 1 << 16
_START = re.compile(rb'[ \t\r\n]*(?:\{\s*(?:"(?:[^"\\\x00-\x1f]|\\.)*"\s*:|\}|$)|\[\s*(?:[\[{\]]|$))')
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_SPACE = re.compile(rb"[ \t\r\n]*")
_NEXT = re.compile(rb"\}\s*,\s*(?=\{)")
_PARTIAL_EVENT = re.compile(rb"\s*,\s*(?:\{.*)?\Z", re.DOTALL)
_BOM = b"\xef\xbb\xbf"
_EXACT = 1 << 43
"""Larger microseconds lose fractions as floats; epoch times are larger."""


def is_json(data: Data) -> bool:
    """Return whether `data` starts like a JSON object or an array of objects."""
    return _START.match(bytes(data[:4096]).removeprefix(_BOM)) is not None


class Document:
    """One JSON document of trace events: iterate over it for its events, a list at a time.

    `keys` are the contents of an object other than ``traceEvents``, complete once these are read.
    """

    def __init__(self, data: bytes, start: int, label: str) -> None:
        self._data = data
        self._label = label
        self._decoder = json.JSONDecoder()
        self.keys: dict[str, Any] = {}
        self.notes: list[str] = []
        self._bare = data[start : start + 1] == b"["
        self._at = self._began = start + 1 if self._bare else self._find_events(start)
        self.end = self._at

    def _find_events(self, start: int) -> int:
        """Read an object up to its events, and return the position of these."""
        for match in islice(_EVENTS.finditer(self._data, start), _TRIES):
            try:
                before = self._data[start : match.start()].decode("utf-8", _ESCAPE)
                self.keys = dict(json.loads(before + '"traceEvents":[]}'))
            except (ValueError, RecursionError):
                continue  # the key occurs inside a text or another object
            return match.end()
        try:
            other = self._decoder.decode(self._data[start:].decode("utf-8", _ESCAPE))
        except (ValueError, RecursionError) as error:
            raise TraceFormatError(
                Text("json_damaged_early", label=self._label, reason=_said(error))
            ) from None
        names = ", ".join(repr(str(name)[:40]) for name in list(other)[:5])
        raise TraceFormatError(
            Text("json_without_events", label=self._label, keys=names or "none"), foreign=True
        )

    def __iter__(self) -> Iterator[list[Any]]:
        first = True
        while (events := self._next()) is not None:
            if first and _has_exact_times(events) and isinstance(self._decoder.parse_float("0.5"), float):
                self._decoder = json.JSONDecoder(parse_float=Decimal)
                self._at = self._began
                self.notes.clear()
                events = self._next()
            first = False
            if events:
                yield events

    def _next(self) -> list[Any] | None:
        """Parse the next events; None after the last one."""
        if self._at < 0:
            return None
        self._began = self._at
        if self._at + CHUNK < len(self._data):
            limit = self._at + CHUNK
            for _ in range(_TRIES):
                limit = self._data.rfind(b"}", self._at, limit)
                if limit < 0:
                    break
                cut = _NEXT.match(self._data, limit)
                if cut is None:
                    continue
                try:
                    events = self._parsed(self._data[self._at : limit + 1])
                except json.JSONDecodeError as error:
                    if error.msg == _ENDED:
                        break  # another document starts before: later cuts do not belong to this document
                except (ValueError, RecursionError):
                    continue
                else:
                    # Text that parses as a list of elements ends after an element.
                    self._at = cut.end()
                    return events
        return self._rest()

    def _parsed(self, part: bytes) -> list[Any]:
        return list(self._decoder.decode("[" + part.decode("utf-8", _ESCAPE) + "]"))

    def _rest(self) -> list[Any]:
        """Parse the events up to the end of their array, and the rest of the document."""
        start = self._at
        self._at = -1
        # In a file of many documents, search no further beyond each than its own length.
        size = _FIRST
        while start + size < len(self._data):
            with suppress(ValueError, RecursionError):
                return self._closed(start, self._data[start : start + size])
            size *= 8
        try:
            return self._closed(start, self._data[start:])
        except (ValueError, RecursionError) as error:
            if self._bare and (cut := self._unfinished(start)) is not None:
                return cut
            raise TraceFormatError(self._damage(start, error)) from None

    def _closed(self, start: int, part: bytes) -> list[Any]:
        """Parse `part`, which starts at `start`, up to the end of the document."""
        text = "[" + part.decode("utf-8", _ESCAPE)
        events, used = self._decoder.raw_decode(text)
        if self._bare:
            self.end = start - 1 + _bytes(text, used)
            return list(events)
        behind = '{"traceEvents":[]' + text[used:]
        keys, more = json.JSONDecoder().raw_decode(behind)
        self.keys |= keys
        self.end = start - 1 + _bytes(text, used) + _bytes(behind, more) - len('{"traceEvents":[]')
        return list(events)

    def _unfinished(self, start: int) -> list[Any] | None:
        """Parse an array that its writer did not close, which Horovod does and the format allows."""
        self.end = len(self._data)
        whole = self._data[start:].rstrip(b" \t\r\n,")
        with suppress(ValueError, RecursionError):
            return self._parsed(whole)
        end = len(self._data)
        for _ in range(_TRIES):
            end = self._data.rfind(b"}", max(start, len(self._data) - _PARTIAL), end)
            if end < 0:
                return None
            if not _PARTIAL_EVENT.match(self._data, end + 1):
                continue
            with suppress(ValueError, RecursionError):
                events = self._parsed(self._data[start : end + 1])
                lost = len(self._data) - end - 1
                self.notes.append(Text("json_cut_off", bytes=lost))
                return events
        return None

    def _damage(self, start: int, error: Exception) -> str:
        if isinstance(error, json.JSONDecodeError) and error.doc.startswith("["):
            position = start - 1 + _bytes(error.doc, error.pos)
            if position >= len(self._data) or error.msg.startswith("Unterminated string"):
                return ends_early(self._label, "JSON", len(self._data))
            return Text("json_damaged", label=self._label, byte=position, reason=error.msg)
        return Text("json_damaged_behind", label=self._label, byte=start, reason=_said(error))


def documents(data: Data, label: str) -> Iterator[Document]:
    """Yield the JSON documents of `data`, nearly always one; read each before requesting the next."""
    content = bytes(data)
    count = 0
    at = len(_BOM) if content.startswith(_BOM) else 0
    while True:
        space = _SPACE.match(content, at)
        at = space.end() if space else at
        if at >= len(content):
            return
        if content[at : at + 1] not in (b"{", b"["):
            raise TraceFormatError(Text("json_followed_by_text", label=label, byte=at))
        count += 1
        if count > _MOST_DOCUMENTS:
            raise TraceFormatError(Text("too_many_documents", label=label, most=_MOST_DOCUMENTS))
        document = Document(content, at, label)
        yield document
        at = document.end


def _has_exact_times(events: list[Any]) -> bool:
    return any(
        isinstance(time := event.get("ts"), float) and abs(time) >= _EXACT
        for event in events
        if isinstance(event, dict)
    )


def _bytes(text: str, characters: int) -> int:
    return len(text[:characters].encode("utf-8", _ESCAPE))


def _said(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
