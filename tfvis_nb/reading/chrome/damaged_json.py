"""Read JSON that is not quite JSON: what programs write into trace files, and damaged events.

Only used where Python's decoder fails, because it is much slower.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

EVENTS = "traceEvents"
VALUES, CONTROLS, BACKSLASHES, QUOTES, COMMAS = (
    "json_values_missing",
    "json_raw_controls",
    "json_backslashes",
    "json_quotes",
    "json_commas",
)
"""Notes about repairs."""

_SPACE = re.compile(r"[ \t\r\n]*+")
_WORD = re.compile(r'[^\s"{}\[\],:]++')
_STRING = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_QUOTED = re.compile(r'"(.*?)"(?=\s*+(?:[,:}\]]|\Z))', re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_QUOTE = re.compile(r'(\\\\)*+(\\?)"')
_OPENING = re.compile(r'[,:{\[]\s*"')
_CONTROL = re.compile(r"[\x00-\x1f]")
_NOT_FINITE = re.compile(
    r"[-+]?(?:inf(?:inity)?|nan(?:\(\w*\))?|1\.?#(?:inf|ind|qnan|snan|j)\w*)", re.IGNORECASE
)
_SWALLOWED = re.compile(r"[,:{}\[\]\n]")
_WHOLE = re.compile(r"\}\s*(?:\]\s*\}?|,?\s*\n)\s*\Z")
_OBJECT = re.compile(r'\{\s*+"')
_LIST = re.compile(rf'"{EVENTS}"\s*:\s*\[')
_RESTARTED = re.compile(r"\[\s*\{")
_STRAY = re.compile(r"\]\s*,\s*\{")
_END = re.compile(r'\](?=\s*(?:\}|,\s*"))')
_BARE_END = re.compile(r"\](?=\s*(?:\Z|[\[{,\]]))")
_HEAD = 1 << 16
_MOST_TRIES = 1000
_DEEPEST = 100


class DamageError(ValueError):
    """A place that cannot be read.

    - `at`: Its position in the text.
    - `reason`: What is wrong there.
    - `ended`: Whether the text ends inside a value.
    - `quote`: The start of the text in which it ends, -1 if in none.
    """

    def __init__(self, at: int, reason: str, *, ended: bool = False, quote: int = -1) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason
        self.ended = ended
        self.quote = quote


class Gap(NamedTuple):
    """Text that was skipped: its start and end, where it is damaged, and why."""

    start: int
    end: int
    at: int
    reason: str


class Events:
    """Events read from a text up to the position `at`.

    - `closed`, `ended`: Whether their list was closed there, and whether the text ended.
    - `repairs`: Id of a note to the number of repairs.
    - `gaps`: Damaged places.
    """

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.at = 0
        self.closed = False
        self.ended = False
        self.repairs: Counter[str] = Counter()
        self.gaps: list[Gap] = []


class Lenient:
    """Reads a value or an object, and counts what strict JSON forbids in `repairs`.

    With `quoted`, a text ends at its first quote before a delimiter: for texts with quotes that are not
    escaped, or with a backslash at their end.
    """

    def __init__(self, text: str, decoder: json.JSONDecoder, *, quoted: bool = False) -> None:
        self._text = text
        self._decoder = decoder
        self._quoted = quoted
        self._last = 0, 0
        self._depth = 0
        self.repairs: Counter[str] = Counter()

    def value(self, at: int, *, listed: bool = False) -> tuple[Any, int]:
        """Return the value at a position, and its end; `listed` is whether it is in a list."""
        at = _skip(self._text, at)
        first = self._text[at : at + 1]
        if first == '"':
            return self._string(at)
        if first not in ("{", "["):
            return self._word(at)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DamageError(at, "nested too deeply")
        made: Any = {} if first == "{" else []
        end = self.members(at + 1, made, listed=listed) if first == "{" else self._elements(at + 1, made)
        self._depth -= 1
        return made, end

    def members(
        self, at: int, made: dict[str, Any], until: str | None = None, *, listed: bool = False
    ) -> int:
        """Read members into `made`, up to the end of their object, or to the list of the member `until`.

        An object that is `listed` is no event: an event that was cut off in a list is followed by others.
        Returns the position after the bracket that closes the object, or opens this list.
        """
        at = _skip(self._text, at)
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise self._unexpected(at, "expecting a name in quotes")
            begin = at
            key, at = self._string(at)
            if listed and key == "ph":
                raise DamageError(begin, "unexpected event")
            at = _skip(self._text, at)
            if self._text[at : at + 1] != ":":
                raise self._unexpected(at, "expecting ':'")
            at = _skip(self._text, at + 1)
            if key == until and self._text[at : at + 1] == "[":
                return at + 1
            made[key], at = self.value(at)
            at = self._comma(at, "}")
        return at + 1

    def _elements(self, at: int, made: list[Any]) -> int:
        at = _skip(self._text, at)
        while self._text[at : at + 1] != "]":
            value, at = self.value(at, listed=True)
            made.append(value)
            at = self._comma(at, "]")
        return at + 1

    def _comma(self, at: int, close: str) -> int:
        """Return the position of the next member, or of the closing bracket."""
        at = _skip(self._text, at)
        if self._text[at : at + 1] == ",":
            at = _skip(self._text, at + 1)
            self.repairs[COMMAS] += self._text[at : at + 1] == close
        elif self._text[at : at + 1] != close:
            raise self._unexpected(at, f"expecting ',' or '{close}'")
        return at

    def _string(self, at: int) -> tuple[str, int]:
        match = (_QUOTED if self._quoted else _STRING).match(self._text, at)
        if match is None:
            raise DamageError(at, "missing quote", ended=True, quote=at)
        self._last = at, match.end()
        inner = match[1]
        if self._quoted:
            if _OPENING.search(inner):
                raise DamageError(at, "missing quote")
            escaped = _QUOTE.sub(lambda quote: quote[0] if quote[2] else quote[0][:-1] + '\\"', inner)
            self.repairs[QUOTES] += escaped != inner
            inner = escaped
        read = _ESCAPE.sub(lambda escape: escape[0] if escape[1] else "\\\\", inner)
        self.repairs[BACKSLASHES] += read != inner
        self.repairs[CONTROLS] += _CONTROL.search(inner) is not None
        return json.loads(f'"{read}"', strict=False), match.end()

    def _word(self, at: int) -> tuple[Any, int]:
        match = _WORD.match(self._text, at)
        if match is None:
            raise self._unexpected(at, "expecting a value")
        if _NOT_FINITE.fullmatch(match[0]):
            self.repairs[VALUES] += 1
            return None, match.end()
        try:
            return self._decoder.decode(match[0]), match.end()
        except ValueError:
            raise DamageError(at, "expecting a value", ended=match.end() == len(self._text)) from None

    def _unexpected(self, at: int, reason: str) -> DamageError:
        if at >= len(self._text):
            return DamageError(at, reason, ended=True)
        start, end = self._last
        # A text without its closing quote ends at the opening quote of the next one.
        behind = _skip(self._text, end) == at and self._text[at] != '"'
        if behind and _SWALLOWED.search(self._text, start, end):
            return DamageError(start, "missing quote")
        return DamageError(at, reason)


def read_value(text: str, at: int, decoder: json.JSONDecoder, repairs: Counter[str]) -> tuple[Any, int]:
    """Read a value strictly, else leniently, and count repairs.

    Raises
    ------
    DamageError
        If neither is possible.
    """
    with suppress(ValueError, RecursionError):
        return decoder.raw_decode(text, at)
    first = None
    for quoted in (False, True):
        lenient = Lenient(text, decoder, quoted=quoted)
        try:
            value, end = lenient.value(at)
        except DamageError as error:
            first = first or error
        else:
            repairs += lenient.repairs
            return value, end
    raise first or DamageError(at, "expecting a value")


def find_events(
    text: str, decoder: json.JSONDecoder, repairs: Counter[str]
) -> tuple[dict[str, Any], int, Gap | None]:
    """Read an object up to its events: its members, the position of the first event, and a damaged place.

    The position is -1 if the object has no events.

    Raises
    ------
    DamageError
        If it is damaged and no events follow.
    """
    lenient = Lenient(text, decoder)
    members: dict[str, Any] = {}
    try:
        end = lenient.members(1, members, until=EVENTS)
    except DamageError as error:
        match = _LIST.search(text, error.at)
        if match is None:
            raise
        return members, match.end(), Gap(error.at, match.start(), error.at, error.reason)
    repairs += lenient.repairs
    return members, end if text[end - 1] == "[" else -1, None


def read_behind(
    text: str, decoder: json.JSONDecoder, repairs: Counter[str]
) -> tuple[dict[str, Any], int, Gap | None]:
    """Read an object behind its events: its other members, its end, and a damaged place.

    Raises
    ------
    DamageError
        If the text ends inside.
    """
    lenient = Lenient(text, decoder)
    members: dict[str, Any] = {}
    at = _skip(text, 0)
    try:
        end = lenient.members(at + (text[at : at + 1] == ","), members)
    except DamageError as error:
        if error.ended:
            raise
        following = _LIST.search(text)
        end = _head(text, 0, following.start()) if following else len(text)
        return members, end, Gap(error.at, end, error.at, error.reason)
    repairs += lenient.repairs
    return members, end, None


def read_events(text: str, decoder: json.JSONDecoder, *, bare: bool, whole: bool) -> Events:
    """Read the events of a list, the first of which is expected at the start of `text`; skip damaged ones.

    `bare` means that the list is not in an object, and `whole` that the file ends with the text. Stops
    where more of the file is needed.
    """
    read = Events()
    after_comma = False
    while True:
        at = _skip(text, read.at)
        if at >= len(text):
            if whole:
                read.ended, read.at = True, at
            break
        if _RESTARTED.match(text, at):
            read.closed, read.at = True, at
            break
        if text[at] == ",":
            read.repairs[COMMAS] += 1
            read.at, after_comma = at + 1, True
            continue
        if text[at] == "]" and not _STRAY.match(text, at):
            read.repairs[COMMAS] += after_comma
            read.closed, read.at = True, at + 1
            break
        repairs: Counter[str] = Counter()
        try:
            event, end = _read_event(text, at, decoder, repairs)
        except DamageError as error:
            cut = error.ended and not (error.quote >= 0 and _WHOLE.search(text, error.quote))
            resumed = _resume(text, at, decoder, bare=bare, whole=whole, cut=cut)
            if resumed is None:
                break
            read.at, read.closed, read.ended = resumed
            if read.ended and cut:
                read.at = at
            else:
                read.gaps.append(Gap(at, read.at, error.at, error.reason))
            if read.closed or read.ended:
                break
            after_comma = False
            continue
        if end >= len(text) and not whole:
            break
        read.events.append(event)
        if repairs:
            read.repairs += repairs
        after_comma = text[end : end + 1] == ","
        read.repairs[COMMAS] += text[end : end + 1] == "{"
        read.at = end + after_comma
    return read


def _read_event(text: str, at: int, decoder: json.JSONDecoder, repairs: Counter[str]) -> tuple[Any, int]:
    """Return an event, and the position of the character behind it that is not a space."""
    if text[at] == "]":
        raise DamageError(at, "unexpected ']'")
    event, end = read_value(text, at, decoder, repairs)
    end = _skip(text, end)
    if type(event) is not dict and text[end : end + 1] not in (",", "]", ""):
        raise DamageError(at, "expecting an event")
    return event, end


def _resume(
    text: str, at: int, decoder: json.JSONDecoder, *, bare: bool, whole: bool, cut: bool
) -> tuple[int, bool, bool] | None:
    """Find where to continue after damage: at the next event, the end of the list, or the next document.

    The other values tell whether the list or the text ends there; None if more text is needed.
    """
    following = _LIST.search(text, at)
    whole = whole or following is not None
    limit = following.start() if following else len(text)
    for tries, match in enumerate(_OBJECT.finditer(text, at + 1, limit)):
        begin = match.start()
        if tries >= _MOST_TRIES and not _is_member(text, begin):
            return begin, False, False
        try:
            event, end = read_value(text, begin, decoder, Counter())
        except DamageError as error:
            if error.ended and not whole:
                return None
            continue
        if "ph" in event and not _is_member(text, begin) and (whole or end < len(text)):
            return begin, False, False
    if not whole:
        return None
    if not cut:
        ends = [match.start() for match in (_BARE_END if bare else _END).finditer(text, at, limit)]
        if ends:
            return ends[-1], False, False
    if following is None:
        return len(text), False, True
    return _head(text, at, limit), True, False


def _head(text: str, at: int, limit: int) -> int:
    """Return the start of the document whose list of events starts at `limit`."""
    for begin in range(limit - 1, max(at, limit - _HEAD), -1):
        if text[begin] == "{":
            with suppress(ValueError, RecursionError):
                json.loads(text[begin:limit] + '"":0}')
                return begin
    return limit


def _is_member(text: str, at: int) -> bool:
    """Return whether a value follows a colon."""
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return text[at - 1 : at] == ":"


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
