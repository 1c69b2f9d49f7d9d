"""Check requests to a session before its file is touched."""

import math
import numbers
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfvis_nb.texts import Text


def whole(value: Any, name: str, what: str) -> int:
    """Return a whole number of at least 1."""
    message = Text("not_from_one", name=name, value=value, what=what)
    number = _index(value)
    if number is None:
        raise TypeError(message)
    if number < 1:
        raise ValueError(message)
    return number


def file_path(value: Any) -> Path:
    """Return the absolute path of a file, relative to the current folder at this time."""
    message = Text("path_no_path", value=value)
    if value == "":
        raise ValueError(message)
    try:
        path = Path(value).expanduser().absolute()
    except TypeError:
        raise TypeError(message) from None
    # Not Path.is_dir, which may raise PermissionError: opening the path reports that later.
    if os.path.isdir(path):  # noqa: PTH112
        raise IsADirectoryError(Text("session_is_folder", path=str(path)))
    return path


def factor(value: Any, name: str) -> float:
    """Return a positive, finite number."""
    message = Text("not_a_factor", name=name, value=value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(message)
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(message)
    return number


def signature(value: Any) -> int | str | None:
    """Return the name of a signature: its number, its label or its kind; None for all."""
    if value is None or isinstance(value, str):
        return value
    number = _index(value)
    if number is None:
        raise TypeError(Text("signature_of_other_type", value=value))
    return number


def trace(value: Any) -> int:
    """Return the number of a trace."""
    number = _index(value)
    if number is None:
        raise TypeError(Text("trace_number_of_other_type", value=value))
    return number


def traces(value: Any) -> list[int]:
    """Return the numbers of one or several traces."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    return [trace(one) for one in value] if several else [trace(value)]


def _index(value: Any) -> int | None:
    """Return a whole number, including NumPy's; None for other values."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
