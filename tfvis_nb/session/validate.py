"""Checking what a session is asked for, before its file is touched."""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def whole(value: Any, name: str, what: str) -> int:
    """Return a whole number, from 1 on."""
    said = f"{name} is {value!r}; it is {what}, a whole one from 1 on"
    number = _index(value)
    if number is None:
        raise TypeError(said)
    if number < 1:
        raise ValueError(said)
    return number


def file_path(value: Any) -> Path:
    """Return the whole path of a file, from the folder that is the current one now."""
    said = f"path is {value!r}; it is the path of a file, such as 'run.tfvis'"
    if value == "":
        raise ValueError(said)
    try:
        path = Path(value).expanduser().absolute()
    except TypeError:
        raise TypeError(said) from None
    # Not Path.is_dir: what nobody may look at is for who opens it to complain of.
    if os.path.isdir(path):  # noqa: PTH112
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the path of a session's file in it")
    return path


def factor(value: Any, name: str) -> float:
    """Return a positive, finite number."""
    said = f"{name} is {value!r}; it is a factor, such as 2"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(said)
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(said)
    return number


def signature(value: Any) -> int | str | None:
    """Return how a signature is called: by its number, its label or its kind; None for all."""
    if value is None or isinstance(value, str):
        return value
    number = _index(value)
    if number is None:
        raise TypeError(
            f"signature is {value!r}; it is a number, a label or a kind in `signatures`, or None for all"
        )
    return number


def trace(value: Any) -> int:
    """Return the number of a trace."""
    number = _index(value)
    if number is None:
        raise TypeError(f"{value!r} is no number of a trace; `traces` lists them")
    return number


def traces(value: Any) -> list[int]:
    """Return the numbers of one or several traces."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    return [trace(one) for one in value] if several else [trace(value)]


def _index(value: Any) -> int | None:
    """Return a whole number, NumPy's too; None for what is none."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
