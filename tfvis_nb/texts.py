"""Notes and messages of errors: each is an id and figures, rendered by ``tfvis_nb/texts.json``.

The catalogue has a template for each id, in the syntax of `str.format`. A field that is not a figure is the
id of another text, which is inserted there. ``{rows:row|rows}`` is a count with its noun.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Self


class Text(str):
    """A text for people that programs can identify by its id.

    Parameters
    ----------
    key
        An id in the catalogue.
    **figures
        Values for the fields of its template.

    Attributes
    ----------
    id
        The message, such as ``"rows_set_aside"``; it stays the same when the wording changes.
    figures
        Name to number, text, list of these or None.

    Raises
    ------
    KeyError
        If the catalogue lacks the id, or `figures` a field of its template.

    Examples
    --------
    >>> from tfvis_nb.texts import Text
    >>> text = Text("no_step", step=7)
    >>> text, text.id, text.figures
    ('there is no step 7; the table `steps` lists them', 'no_step', {'step': 7})
    """

    __slots__ = ("figures", "id")

    id: str
    figures: dict[str, Any]

    def __new__(cls, key: str, /, **figures: Any) -> Self:
        """Render the template of an id."""
        return cls.stored(_FORMATTER.vformat(catalogue()[key], (), figures), key, figures)

    @classmethod
    def stored(cls, words: str, key: str, figures: dict[str, Any]) -> Self:
        """Return a text with the words rendered earlier."""
        text = str.__new__(cls, _encodable(words))
        text.id = key
        text.figures = {name: _plain(value) for name, value in figures.items()}
        return text

    def named(self, label: object) -> Self:
        """Return the text prefixed with the name of the file that it is about, the figure `label`."""
        return self.stored(f"{label}: {self}", self.id, self.figures | {"label": label})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the words unchanged, even if the catalogue changes later."""
        return Text.stored, (str(self), self.id, self.figures)


def text_of(error: BaseException) -> Text:
    """Return the message of an error; its id is empty if the error has no `Text`.

    Examples
    --------
    >>> from tfvis_nb.texts import Text, text_of
    >>> text_of(ValueError(Text("no_step", step=7))).id
    'no_step'
    """
    known = (part for part in error.args if isinstance(part, Text))
    return next(known, None) or Text.stored(str(error), "", {})


def id_of(text: str) -> str:
    """Return the id of a text; empty for texts from users or files.

    Examples
    --------
    >>> from tfvis_nb.texts import Text, id_of
    >>> id_of(Text("no_step", step=7)), id_of("mine")
    ('no_step', '')
    """
    return text.id if isinstance(text, Text) else ""


@cache
def catalogue() -> dict[str, str]:
    """Return the template of each id."""
    packages = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
    return {key: template for texts in packages.values() for key, template in texts.items()}


_BRIEF = 120


class _Formatter(Formatter):
    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        """Return a figure, or another text of the catalogue."""
        return kwargs[key] if key in kwargs else self.vformat(catalogue()[str(key)], args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a count with its singular or plural words, or with ``~`` only the words.

        ``brief`` cuts a value of the user's, which may be long, to `_BRIEF` characters.
        """
        if format_spec == "brief":
            shown = str(value)
            return shown if len(shown) <= _BRIEF else f"{shown[: _BRIEF - 1]}\u2026"
        one, several, many = format_spec.partition("|")
        if not several:
            return format(value, format_spec)
        words = one if value == 1 else many
        return words[1:] if words.startswith("~") else f"{value:,} {words}"


_FORMATTER = _Formatter()


def _encodable(text: str) -> str:
    """Return a text that can be printed and stored: names of files and JSON may have halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any) -> Any:
    """Return a figure as a JSON value, because errors and arrays would be kept alive and cannot be stored."""
    if isinstance(value, str) and not isinstance(value, Text):
        return _encodable(value)
    if isinstance(value, (str, int, float)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


def notes_to_json(notes: Sequence[str]) -> dict[str, Any]:
    """Return notes for a file: words that any program can read, and ids and figures for this package."""
    ids = [[note.id, note.figures] if isinstance(note, Text) else None for note in notes]
    return {"notes": list(notes), "note_ids": ids}


def notes_from_json(document: Mapping[str, Any]) -> list[str]:
    """Return the notes that `notes_to_json` wrote, with the words in the file.

    Raises
    ------
    TypeError
        If they are not a list of texts.
    """
    notes, ids = document.get("notes"), document.get("note_ids")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise TypeError("notes are not a list of texts")
    if not isinstance(ids, list) or len(ids) != len(notes):
        return notes
    return [_restored(note, kept) for note, kept in zip(notes, ids, strict=True)]


def _restored(note: str, kept: Any) -> str:
    """Restore the id of a note if the file has an id and figures that this version knows."""
    match kept:
        case [str(key), dict(figures)]:
            try:
                Text(key, **figures)
            except (KeyError, TypeError, ValueError):
                return note  # written by another version or another program
            return Text.stored(note, key, figures)
    return note
