"""What a cell depends on besides its own text: code and settings of other cells and of the user's modules.

Two runs of a cell are of the same code only if these are equal. Names are followed from the cell's code into
the functions, classes and modules that the user wrote; those of installed packages count by name. Values
count if they are settings: numbers, texts and containers of these. Arrays and tensors
count by shape and type.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from tfvis_nb.recording.stacks.source_files import SourceFiles

_LOADED, _STORED = ("LOAD_NAME", "LOAD_GLOBAL"), ("STORE_NAME", "STORE_GLOBAL")
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_OF_CALLS = ("PUSH_NULL", "PRECALL")
"""Methods of a module are called in another way if the same cell imports it."""
_DEEPEST = 12
_MOST_ELEMENTS = 100
"""Of longer containers, the first elements and the number of all count."""
_MOST_VALUES = 20_000
_LONGEST = 10_000
"""Of longer texts, the first characters count."""
_DESCRIBED = ("dtype", "DType", "TensorShape", "TensorSpec")
"""Types of libraries whose repr is their value."""
_HOLDERS = ("types", "argparse")
"""Modules of the standard library with classes that only hold attributes."""
_IN_LIST = re.compile(r"(.*?(?<!\.held)(?<!\.__bases__)(?<!\.__func__))\[\d+\]")
"""A place in a list of the user, and the list."""
_DATASETS = "tensorflow.python.data."
"""The objects of tf.data hold their settings, such as the batch size, and the functions of the user."""


class Value(NamedTuple):
    """A value that a cell depends on."""

    text: str
    counts: bool
    """Whether a run may change it without changing the code: a number, a text, the size of a container."""


def dependencies(code: str, namespace: dict[str, Any]) -> dict[str, Value]:
    """Return the values that a cell's code depends on, by their place, such as ``__main__.settings['fast']``.

    `code` is Python. Empty if it is not. Names that the cell itself sets are left out.

    >>> list(dependencies("print(size, x.shape)", {"__name__": "__main__", "size": 3}))
    ['__main__.size']
    """
    try:
        compiled = compile(code, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):
        return {}
    walk = _Walk()
    walk.names(compiled, namespace, 0)
    return walk.values


def digest(before: Mapping[str, Value], after: Mapping[str, Value]) -> str:
    """Return a digest of what a cell depended on, from its `dependencies` before and after it ran.

    A run may build models and fill caches, so the values after it count. But a counter or a list that the
    run itself changes is no setting: without it, each run would be of other code. A list that each run fills
    anew has the same length before and after later runs, so a change of an element counts as well.
    """
    changed = [
        place
        for place, value in after.items()
        if value.counts and (old := before.get(place)) and old.counts and old != value
    ]
    around = {place[:at] for place in changed for at, sign in enumerate(place) if sign in "[."}
    lists = {match[1] for place in changed if (match := _IN_LIST.match(place))}
    inside = tuple(f"{place}{mark}" for place in {*changed, *lists} for mark in "[.")
    kept = (
        f"{place}={value.text}"
        for place, value in sorted(after.items())
        if place not in changed and not (value.counts and place in around) and not place.startswith(inside)
    )
    return hashlib.sha256("\n".join(kept).encode("utf-8", "backslashreplace")).hexdigest()[:16]


class _Walk:
    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self._seen: dict[tuple[int, str], Any] = {}  # Values stay alive, so that ids are not used again
        self._own = SourceFiles().own

    def names(self, code: CodeType, namespace: dict[str, Any], depth: int) -> None:
        """Follow the global names that code reads."""
        used = {(step.opname, step.argval) for one in _nested(code) for step in dis.get_instructions(one)}
        own = {name for done, name in used if done in _STORED}
        for name in sorted({name for done, name in used if done in _LOADED} - own):
            if name in namespace:
                self._value(
                    f"{namespace.get('__name__')}.{name}", namespace[name], _mentioned(code), depth + 1
                )

    def _value(self, place: str, value: Any, mentioned: set[str], depth: int) -> None:
        if place in self.values or len(self.values) >= _MOST_VALUES:
            return
        self.values[place] = Value(_name_of(type(value)), counts=False)
        if depth <= _DEEPEST:
            with suppress(Exception):  # objects of users may raise anything
                self._look_into(place, value, mentioned, depth)

    def _look_into(self, place: str, value: Any, mentioned: set[str], depth: int) -> None:
        note = self.values.__setitem__
        if value is None or isinstance(value, bool | Enum) or type(value).__name__ in _DESCRIBED:
            note(place, Value(repr(value), counts=False))
        elif isinstance(value, int | float | complex | str | bytes):
            text = value[:_LONGEST] if isinstance(value, str | bytes) else value
            note(place, Value(repr(text), counts=True))
        elif isinstance(value, list | tuple | dict | set | frozenset):
            note(place, Value(f"{_name_of(type(value))} {len(value)}", counts=True))
            self._all(place, _elements(value), mentioned, depth, value)
        elif isinstance(value, ModuleType):
            note(place, Value(value.__name__, counts=False))
            if self._is_own(value.__name__):
                members = {name: member for name, member in vars(value).items() if name in mentioned}
                self._all(f"{value.__name__}.", members.items(), mentioned, depth, value)
        elif isinstance(value, FunctionType):
            self._function(place, value, depth)
        elif isinstance(value, MethodType):
            self._value(f"{place}.__func__", value.__func__, mentioned, depth + 1)
            self._value(f"{place}.__self__", value.__self__, mentioned, depth + 1)
        elif isinstance(value, partial):
            self._value(f"{place}.__func__", (value.func, value.args, value.keywords), mentioned, depth + 1)
        elif isinstance(value, type):
            self._class(place, value, depth)
        elif (inner := _inner_function(value)) is not None:
            self._value(f"{place}.__wrapped__", inner, mentioned, depth + 1)
        else:
            self._object(place, value, mentioned, depth)

    def _all(
        self, place: str, members: Iterable[tuple[str, Any]], mentioned: set[str], depth: int, holder: Any
    ) -> None:
        for name, member in members:
            if (id(holder), name) not in self._seen:
                self._seen[id(holder), name] = holder
                self._value(f"{place}{name}", member, mentioned, depth + 1)

    def _function(self, place: str, value: FunctionType, depth: int) -> None:
        code = value.__code__
        self.values[place] = Value(f"{value.__module__}.{value.__qualname__}", counts=False)
        # A dataclass has functions of its own, compiled from text.
        if not self._own(code.co_filename) or (id(value), "") in self._seen:
            return
        self._seen[id(value), ""] = value
        self.values[place] = Value(_text(code), counts=False)
        self._value(f"{place}.held", _held(value), _mentioned(code), depth + 1)
        self.names(code, value.__globals__, depth)

    def _class(self, place: str, value: type, depth: int) -> None:
        self.values[place] = Value(_name_of(value), counts=False)
        if not self._is_own(value.__module__) or (id(value), "") in self._seen:
            return
        self._seen[id(value), ""] = value
        bases = [base for base in value.__mro__[1:] if self._is_own(base.__module__)]
        self._value(f"{place}.__bases__", bases, set(), depth + 1)
        for name, member in sorted(vars(value).items()):
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(inner, FunctionType) or not name.startswith("__"):
                self._value(f"{place}.{name}", inner, set(), depth + 1)

    def _object(self, place: str, value: Any, mentioned: set[str], depth: int) -> None:
        kind = type(value)
        module = kind.__module__
        if self._is_own(module):
            self._value(f"{place}.__class__", kind, mentioned, depth + 1)
            # Of a subclass of a library's class, only attributes that the user's code names are settings.
            own = [base for base in kind.__mro__ if self._is_own(base.__module__)]
            functions = [one for base in own for one in vars(base).values() if isinstance(one, FunctionType)]
            named = mentioned.union(*(_mentioned(one.__code__) for one in functions))
            members = [(f".{name}", one) for name, one in sorted(vars(value).items()) if name in named]
            self._all(place, members, mentioned, depth, value)
        elif module in _HOLDERS or module.startswith(_DATASETS):
            members = [(f".{name}", one) for name, one in sorted(vars(value).items())]
            self._all(place, members, mentioned, depth, value)
        elif hasattr(value, "shape"):
            text = f"{_name_of(kind)} {value.shape} {getattr(value, 'dtype', '')}"
            # Batch sizes of tf.data are such tensors.
            if kind.__name__ == "EagerTensor" and not value.shape.rank and value.dtype.is_integer:
                text += f" {int(value)}"
            self.values[place] = Value(text, counts=False)
        elif isinstance(variables := getattr(value, "variables", None), list | tuple):
            shapes = [f"{one.shape} {one.dtype}" for one in variables]
            self.values[place] = Value(f"{_name_of(kind)} {shapes}", counts=False)

    def _is_own(self, module: str) -> bool:
        """Return whether the user wrote a module."""
        file = getattr(sys.modules.get(module), "__file__", None)
        return module == "__main__" or (file is not None and self._own(file))


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Yield code and the code of the functions, classes and comprehensions in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _nested(const)


def _mentioned(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in code."""
    return {name for one in _nested(code) for name in one.co_names}


def _text(value: Any) -> str:
    """Write code without the numbers of its lines, or a constant; equal in all processes."""
    if isinstance(value, CodeType):
        steps = ((step.opname, step.opcode, step.argval) for step in dis.get_instructions(value))
        return " ".join(
            f"{'LOAD_ATTR' if name == 'LOAD_METHOD' else name} {'' if number in _JUMPS else _text(argument)}"
            for name, number, argument in steps
            if name not in _OF_CALLS
        )
    if isinstance(value, tuple | frozenset):
        texts = map(_text, value)
        return f"({', '.join(sorted(texts) if isinstance(value, frozenset) else texts)})"
    return repr(value)


def _elements(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"[{key!r}]", one) for key, one in list(value.items())[:_MOST_ELEMENTS]]
    # Sets have another order in each process.
    ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
    return [(f"[{at}]", one) for at, one in enumerate(ordered[:_MOST_ELEMENTS])]


def _held(function: FunctionType) -> list[Any]:
    """Return the values that a function holds: defaults of its arguments, and variables around it."""
    held = [*(function.__defaults__ or ()), function.__kwdefaults__ or {}]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not set yet
            held.append(cell.cell_contents)
    return held


def _inner_function(value: Any) -> Any:
    """Return the user's function in one of TensorFlow or JAX; None if it is none."""
    members = getattr(value, "__dict__", {})
    return members.get("__wrapped__", members.get("_python_function"))


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
