"""What is written about the program's own errors, whose code may fail itself."""

import contextlib

from tfvis_nb.core.labels import printable

_LONGEST = 300
"""Maximum number of characters of an error in a note."""

_ATTRIBUTES = vars(BaseException)
_TYPE = vars(type)


def message_of(error: BaseException | None) -> str:
    """Return the message of an error; empty if its ``__str__`` fails.

    >>> message_of(KeyError("a"))
    "'a'"
    """
    try:
        return str.__str__(str(error))  # a plain one
    except BaseException:  # noqa: BLE001 - it must not replace the error
        return ""


def cause_of(error: BaseException, *, context: bool = False) -> BaseException | None:
    """Return the cause of an error, or with `context` the error it was raised after if it has no cause."""
    # The class may define properties of these names, and errors may be false.
    cause: BaseException | None = _ATTRIBUTES["__cause__"].__get__(error)
    return _ATTRIBUTES["__context__"].__get__(error) if cause is None and context else cause


def type_name(error: BaseException) -> str:
    """Return the name of an error's type."""
    return type_names(error)[0]


def type_names(error: BaseException | None) -> list[str]:
    """Return the names of an error's type and of the types that it is derived from."""
    # The class of the type may define properties of these names.
    return [str.__str__(_TYPE["__name__"].__get__(kind)) for kind in _TYPE["__mro__"].__get__(type(error))]


def in_a_line(error: BaseException) -> str:
    r"""Return the type of an error and the first line of its message.

    >>> in_a_line(ValueError("first\nsecond")), in_a_line(ValueError())
    ('ValueError: first', 'ValueError')
    """
    module = _TYPE["__module__"].__get__(type(error))
    if type(module) is str and module.startswith("tfvis_nb."):
        cause = cause_of(error)  # the failure of a cell has the error of the code as its cause
        error = error if cause is None else cause
    first, *_ = message_of(error).splitlines() or [""]
    return printable(f"{type_name(error)}: {first}".removesuffix(": "), _LONGEST)


def add_note(error: BaseException, note: object) -> None:
    """Add a line to the traceback of an error, if it takes any."""
    with contextlib.suppress(Exception):
        BaseException.add_note(error, str(note))
