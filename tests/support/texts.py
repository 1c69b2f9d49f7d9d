"""Errors and notes by their ids and figures, not by their words."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from string import Formatter
from typing import Any, TypeVar

import pytest

from tfvis_nb.texts import Text, catalogue, text_of

E = TypeVar("E", bound=BaseException)


@contextmanager
def raises_id(kind: type[E], key: str, /, **figures: Any) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error with this id in the catalogue of texts, and at least these figures."""
    with pytest.raises(kind) as caught:
        yield caught
    text = text_of(caught.value)
    assert text.id == key, repr(text)
    assert {name: text.figures.get(name) for name in figures} == figures


def figures_of(notes: Iterable[str], key: str) -> list[dict[str, Any]]:
    """Return the figures of the notes with this id."""
    return [note.figures for note in notes if isinstance(note, Text) and note.id == key]


def fields(key: str) -> dict[str, str]:
    """Return the figures that a template takes, with their formats, including those of texts in it."""
    found: dict[str, str] = {}
    for _, name, form, _ in Formatter().parse(catalogue()[key]):
        if name in catalogue():
            found |= fields(name)
        elif name is not None:
            found[name] = found.get(name) or (form or "").removeprefix("brief")
    return found


class _Anything(str):
    """A figure that matches whatever is there."""

    __slots__ = ()

    def __format__(self, _: str) -> str:
        return "\0"

    __str__ = __repr__ = lambda _: "\0"


def pattern_of(key: str, /, **figures: Any) -> str:
    """Return a pattern for the text with this id and these figures; any other figure matches everything.

    For displayed texts without their id: the output of a process, a log, a page.
    """
    assert {*figures} <= {*fields(key)}, key
    words = Text(key, **({name: _Anything() for name in fields(key)} | figures))
    return ".*".join(map(re.escape, words.split("\0")))


def says(words: str, key: str, /, **figures: Any) -> bool:
    """Whether words contain the text with this id and at least these figures."""
    return re.search(pattern_of(key, **figures), words) is not None
