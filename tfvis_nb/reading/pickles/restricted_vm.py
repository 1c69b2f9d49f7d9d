"""Run the instructions of pickles without calling anything from the pickle.

A pickle is a program, and loading one can start any other program. Python's unpickler can be limited to some
names, but it still calls and hashes objects, and allocates as much as the pickle requests. This machine knows
the instructions that pickles of messages and plain data need. A global is only a name and is never imported.
An object is its global, its arguments and its state. Memory use is bounded.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tfvis_nb.texts import Text

_KEYS = (str, bytes, int, type(None))
_LATIN = ("latin1", "latin-1", "iso-8859-1")


@dataclass(frozen=True)
class Global:
    """A name that a pickle looks up: module and qualified name. It is only compared, never imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass
class Object:
    """The result of calling a global in a pickle: the global, the arguments, the later state."""

    made_by: Global
    arguments: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


class _Mark:
    pass


MARK = _Mark()
"""Marks the start of the next list, tuple or dict on the stack."""

_ENCODE = Global("_codecs", "encode")
_BYTES = Global("__builtin__", "bytes")
"""The globals that protocols 0 to 2 use for bytes, and for empty bytes."""


class RefusedError(Exception):
    """Raised for a pickle that requests something no trace needs."""


class Machine:
    """The state of a pickle that is being run, and its instructions' effects."""

    def __init__(self, data: bytes, allowed: Mapping[Global, str]) -> None:
        self.data = data
        self.at = 0
        self.allowed = allowed
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.encoded = 0

    def pop(self) -> Any:
        """Pop the top value."""
        value = self.stack.pop()
        if value is MARK:
            raise ValueError("a mark where a value belongs")
        return value

    def take(self, count: int) -> bytes:
        """Read the next bytes of the pickle."""
        if count < 0:
            raise ValueError(f"{count} bytes")
        if count > len(self.data) - self.at:
            raise EOFError
        part = self.data[self.at : self.at + count]
        self.at += count
        return part

    def number(self, form: str) -> int:
        """Read a number of a `struct` form."""
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def line(self) -> bytes:
        """Read up to the end of the line."""
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise EOFError
        part = self.data[self.at : end]
        self.at = end + 1
        return part

    def marked(self) -> list[Any]:
        """Pop the values above the last mark, and the mark."""
        mark = len(self.stack) - 1
        while self.stack[mark] is not MARK:
            mark -= 1
            if mark < 0:
                raise ValueError("no mark")
        values = self.stack[mark + 1 :]
        del self.stack[mark:]
        return values

    def remember(self, number: int) -> None:
        """Memoize the top value under a number."""
        if self.stack[-1] is MARK:
            raise ValueError("a mark where a value belongs")
        self.memo[number] = self.stack[-1]

    def look_up(self, module: Any, name: Any) -> None:
        """Push a global, if it is allowed."""
        name_of_module = Global(_word(module), _word(name))
        if name_of_module not in (_ENCODE, _BYTES) and name_of_module not in self.allowed:
            raise RefusedError(Text("pickle_refused", name=str(name_of_module)[:120]))
        self.stack.append(name_of_module)

    def call(self, made_by: Any, arguments: Any) -> None:
        """Push the object that a call would create, without calling."""
        if not isinstance(made_by, Global) or not isinstance(arguments, tuple):
            raise TypeError("a call of something else than a global")
        if made_by == _BYTES and not arguments:
            self.stack.append(b"")
        else:
            self.stack.append(self.encode(*arguments) if made_by == _ENCODE else Object(made_by, arguments))

    def encode(self, text: str, encoding: str = "latin1") -> bytes:
        """Emulate ``_codecs.encode`` for bytes in protocols 0 to 2, within the size of the data."""
        if encoding not in _LATIN:
            raise TypeError("_codecs.encode of something else than bytes")
        self.encoded += len(text)
        if self.encoded > len(self.data):
            raise ValueError("more bytes than the pickle has")
        return str.encode(text, "latin-1")

    def build(self) -> None:
        """Store the top value as the state of the object below."""
        state = self.pop()
        target = self.stack[-1]
        if not isinstance(target, Object):
            raise TypeError("a state for something else than an object")
        target.state = state

    def set_items(self, pairs: list[Any]) -> None:
        """Put alternating keys and values into the top dict."""
        target = self.stack[-1]
        items = target.items if isinstance(target, Object) else target
        if not isinstance(items, dict) or len(pairs) % 2:
            raise TypeError("items for something else than a dict")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            # Hashing nested tuples can take forever; no trace has such keys.
            if type(key) not in _KEYS:
                raise TypeError(f"a {type(key).__name__} as key")
            items[key] = value

    def append(self, values: list[Any]) -> None:
        """Append values to the top list."""
        target = self.stack[-1]
        if not isinstance(target, list):
            raise TypeError("elements for something else than a list")
        target.extend(values)


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise TypeError("a global whose name is not text")
    return value
