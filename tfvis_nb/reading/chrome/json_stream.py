"""Parse JSON trace events piece by piece, so that a large file is never completely in memory as objects."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.chrome.damaged_json import DamageError, Gap, find_events, read_behind, read_events
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.reading.sources.encodings import EncodedText, start_of_text
from tfvis_nb.texts import Text

CHUNK = 1 << 22
"""Bytes parsed at a time."""

_WINDOW = 1 << 16
_TRIES = 16
_FIRST = 1 << 12
_MOST_DOCUMENTS = 200
_ENDED = "Extra data"
_ESCAPE = "surrogateescape"  # bytes that are not UTF-8 keep their positions
_START = re.compile(rb'[ \t\r\n]*(?:\{\s*(?:["}]|$)|\[\s*(?:[\[{\]]|$))')
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_SPACE = re.compile(rb"(?:[ \t\r\n]|\xef\xbb\xbf)*")  # appended files may keep their byte order marks
_SEPARATORS = re.compile(rb"[ \t\r\n\],]*")
_LIST_OF_OBJECTS = re.compile(rb"[ \t\r\n]*\[\s*(\[\s*)?\{")
_NEXT = re.compile(rb"\}\s*,\s*(?=\{)")
_EXACT = 1 << 43
"""Larger microseconds lose fractions as floats; epoch times are larger."""


def is_json(data: Data) -> bool:
    """Return whether `data` starts like a JSON object or an array of objects, in any Unicode encoding."""
    return _START.match(start_of_text(data)) is not None


@dataclass
class _Problems:
    """What was repaired in a document, left out of it, or is missing at its end."""

    repairs: Counter[str] = field(default_factory=Counter)
    places: int = 0
    until: int = -1
    skipped: int = 0
    first: int = 0
    reason: str = ""
    lost: int = 0
    not_closed: bool = False

    def notes(self) -> list[str]:
        notes: list[str] = [Text(key, values=count) for key, count in self.repairs.items() if count]
        if self.places:
            notes.append(
                Text(
                    "json_damage_skipped",
                    bytes=self.skipped,
                    places=self.places,
                    byte=self.first,
                    reason=self.reason,
                )
            )
        if self.lost:
            notes.append(Text("json_cut_off", bytes=self.lost))
        elif self.not_closed:
            notes.append(Text("json_not_closed"))
        return notes


class Document:
    """One JSON document of trace events: iterate over it for its events, a list at a time.

    `keys` are the contents of an object other than ``traceEvents``. They and `notes` are complete after the
    events. `place` is where the document starts in the file, and the number of bytes to the file's end.
    """

    def __init__(self, source: EncodedText, start: int, label: str) -> None:
        self._source = source
        self._data = source.data
        self._label = label
        self._decoder = json.JSONDecoder(parse_constant=_refuse)
        self._problems = _Problems()
        self._has_events = False
        self._bare = self._data[start : start + 1] == b"["
        self._at = self._began = self.end = start
        self.keys: dict[str, Any] = {}
        self.place = source.position(start), source.size(start, len(self._data))

    @property
    def notes(self) -> list[str]:
        """What was repaired or left out."""
        return self._problems.notes()

    def _find_events(self, start: int) -> int:
        """Read an object up to its events, and return the position of these."""
        if self._data[start : start + 1] != b"{":
            byte = self._source.position(start)
            raise TraceFormatError(Text("json_followed_by_text", label=self._label, byte=byte))
        for match in islice(_EVENTS.finditer(self._data, start), _TRIES):
            try:
                before = self._data[start : match.start()].decode("utf-8", _ESCAPE)
                self.keys = dict(self._decoder.decode(before + '"traceEvents":[]}'))
            except (ValueError, RecursionError):
                continue  # the key occurs inside a text or another object
            return match.end()
        text = self._data[start:].decode("utf-8", _ESCAPE)
        try:
            self.keys, at, gap = find_events(text, self._decoder, self._problems.repairs)
        except DamageError as error:
            raise self._error(start, text, error) from None
        if at < 0:
            names = ", ".join(repr(str(name)[:40]) for name in list(self.keys)[:5])
            raise TraceFormatError(
                Text("json_without_events", label=self._label, keys=names or "none"), foreign=True
            )
        self._add_gaps(start, text, [gap] if gap else [])
        return start + _bytes(text, at)

    def __iter__(self) -> Iterator[list[Any]]:
        self._at = self._at + 1 if self._bare else self._find_events(self._at)
        before = deepcopy(self._problems)
        first = True
        while (events := self._next()) is not None:
            if first and _has_exact_times(events) and isinstance(self._decoder.parse_float("0.5"), float):
                self._decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)
                self._at = self._began
                self._problems = before
                events = self._next()
            first = False
            if events:
                self._has_events = True
                yield events

    def _next(self) -> list[Any] | None:
        """Parse the next events; None after the last one."""
        if self._at < 0:
            return None
        self._began = self._at
        if self._at + CHUNK >= len(self._data):
            return self._rest()
        limit = self._at + CHUNK
        for _ in range(_TRIES):
            limit = self._data.rfind(b"}", self._at, limit)
            if limit < 0:
                break
            cut = _NEXT.match(self._data, limit)
            if cut is None:
                continue
            part = self._data[self._at : limit + 1].decode("utf-8", _ESCAPE)
            try:
                events = list(self._decoder.decode(f"[{part}]"))
            except json.JSONDecodeError as error:
                if error.msg == _ENDED:
                    # Another document starts before: later cuts do not belong to this document.
                    return self._rest()
                if error.pos < len(part):
                    break
            except (ValueError, RecursionError):
                break
            else:
                # Text that parses as a list of elements ends after an element.
                self._at = cut.end()
                return events
        return self._leniently()

    def _rest(self) -> list[Any]:
        """Parse the events up to the end of their array, and the rest of the document."""
        # In a file of many documents, search no further beyond each than its own length.
        size = _FIRST
        while True:
            with suppress(ValueError, RecursionError):
                return self._closed(self._at, self._data[self._at : self._at + size])
            if self._at + size >= len(self._data):
                return self._leniently()
            size *= 8

    def _closed(self, start: int, part: bytes) -> list[Any]:
        """Parse `part`, which starts at `start`, up to the end of the document."""
        text = "[" + part.decode("utf-8", _ESCAPE)
        events, used = self._decoder.raw_decode(text)
        end = start - 1 + _bytes(text, used)
        if not self._bare:
            behind = '{"traceEvents":[]' + text[used:]
            keys, more = self._decoder.raw_decode(behind)
            self.keys |= keys
            end += _bytes(behind, more) - len('{"traceEvents":[]')
        self._at, self.end = -1, end
        return list(events)

    def _leniently(self) -> list[Any]:
        """Parse the next events, not all of which are valid JSON."""
        events: list[Any] = []
        begin, size = self._at, _WINDOW
        while 0 <= self._at < begin + CHUNK:
            start = self._at
            # Errors of the decoder count the lines before them, so the text is short if possible.
            whole = start + size >= len(self._data)
            text = self._data[start : start + size].decode("utf-8", _ESCAPE)
            read = read_events(text, self._decoder, bare=self._bare, whole=whole)
            if not (whole or read.at or read.closed):
                size *= 4
                continue
            size = _WINDOW
            events += read.events
            self._problems.repairs += read.repairs
            self._add_gaps(start, text, read.gaps)
            self._at = start + _bytes(text, read.at)
            if read.ended:
                self.end = len(self._data)
                self._problems.lost = self._source.size(self._at, self.end)
                self._problems.not_closed = not self._bare
            elif read.closed:
                self.end = self._at
                if not self._bare and text[read.at - 1] == "]":
                    self._read_behind(self._at)
            if read.ended or read.closed:
                self._at = -1
        if self._at < 0 and not (self._has_events or events):
            self._check_some()
        return events

    def _read_behind(self, start: int) -> None:
        """Read the members of the document behind its events."""
        text = self._data[start:].decode("utf-8", _ESCAPE)
        try:
            keys, at, gap = read_behind(text, self._decoder, self._problems.repairs)
        except DamageError:
            self.end = len(self._data)
            self._problems.not_closed = True
            return
        self.keys |= keys
        self.end = start + _bytes(text, at)
        self._add_gaps(start, text, [gap] if gap else [])

    def _add_gaps(self, start: int, text: str, gaps: Sequence[Gap]) -> None:
        """Count damaged places of `text`, which starts at `start`."""
        for gap in gaps:
            begin, end, byte = (start + _bytes(text, at) for at in (gap.start, gap.end, gap.at))
            if not self._problems.places:
                self._problems.first, self._problems.reason = self._source.position(byte), gap.reason
            self._problems.places += begin != self._problems.until
            self._problems.until = end
            self._problems.skipped += self._source.size(begin, end)

    def _check_some(self) -> None:
        """Raise an error if the document has no events because it is damaged or cut off."""
        if self._problems.places:
            raise TraceFormatError(
                Text(
                    "json_damaged",
                    label=self._label,
                    byte=self._problems.first,
                    reason=self._problems.reason,
                )
            )
        if self._problems.lost or self._problems.not_closed:
            raise TraceFormatError(ends_early(self._label, "JSON", self._source.position(len(self._data))))

    def _error(self, start: int, text: str, error: DamageError) -> TraceFormatError:
        if error.ended:
            return TraceFormatError(ends_early(self._label, "JSON", self._source.position(len(self._data))))
        byte = self._source.position(start + _bytes(text, error.at))
        return TraceFormatError(Text("json_damaged", label=self._label, byte=byte, reason=error.reason))


def documents(data: Data, label: str) -> Iterator[Document]:
    """Yield the JSON documents of `data`, nearly always one; read each before requesting the next."""
    source = EncodedText(bytes(data))
    content = source.data
    count = 0
    at = 0
    between = _SPACE
    if _is_list_of_documents(content, at):
        at = content.index(b"[", at) + 1
        between = _SEPARATORS
    while True:
        space = between.match(content, at)
        at = space.end() if space else at
        if at >= len(content):
            return
        count += 1
        if count > _MOST_DOCUMENTS:
            raise TraceFormatError(Text("too_many_documents", label=label, most=_MOST_DOCUMENTS))
        document = Document(source, at, label)
        yield document
        at = document.end


def _is_list_of_documents(content: bytes, at: int) -> bool:
    """Return whether the elements of an array are documents, not events."""
    start = _LIST_OF_OBJECTS.match(content, at)
    if start is None:
        return False
    if start[1]:
        return True
    events = _EVENTS.search(content, start.end(), start.end() + CHUNK)
    with suppress(ValueError, RecursionError):
        return events is not None and bool(json.loads(content[start.end() - 1 : events.start()] + b'"":0}'))
    return False


def _refuse(constant: str) -> Any:
    """Leave NaN and Infinity to the lenient reader, which counts them."""
    raise ValueError(constant)


def _has_exact_times(events: list[Any]) -> bool:
    return any(
        isinstance(time := event.get("ts"), float) and abs(time) >= _EXACT
        for event in events
        if isinstance(event, dict)
    )


def _bytes(text: str, characters: int) -> int:
    return len(text[:characters].encode("utf-8", _ESCAPE))
