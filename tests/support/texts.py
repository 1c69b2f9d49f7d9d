"""Errors by what is wrong, not by their words."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from tfvis_nb.texts import Text, text_of

E = TypeVar("E", bound=BaseException)


@contextmanager
def raises_id(kind: type[E], key: str, **figures: Any) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error with this id in the catalogue of texts, and at least these figures."""
    with pytest.raises(kind) as caught:
        yield caught
    text = text_of(caught.value)
    assert text.id == key, repr(text)
    assert {name: text.figures.get(name) for name in figures} == figures


def figures_of(notes: Iterable[str], key: str) -> list[dict[str, Any]]:
    """Return the figures of the notes with this id."""
    return [note.figures for note in notes if isinstance(note, Text) and note.id == key]
