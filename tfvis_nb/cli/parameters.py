"""The kinds of values that the options of several verbs take."""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import click

from tfvis_nb.texts import Text

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _File(click.Path):
    """A file's name, which shells complete; ``~`` is the user's folder. It need not exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        return Path(value).expanduser()


FILE = _File()

_UNITS = {
    "": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate(("", "k", "m", "g", "t"))},
    **{f"{letter}ib": 1024**power for power, letter in enumerate(("k", "m", "g", "t"), 1)},
}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?) ?([a-z]{0,3})")


def size(text: str) -> int:
    """Return a number of bytes that is written with or without a unit.

    >>> size("20GiB"), size("1.5 MB"), size("7")
    (21474836480, 1500000, 7)
    """
    found = _SIZE.fullmatch(text.lower())
    if found is None or found[2] not in _UNITS:
        raise click.BadParameter(Text("no_size", text=text))
    return int(Fraction(found[1]) * _UNITS[found[2]])


def together(*options: Decorator) -> Decorator:
    """Return one decorator for options that several verbs have."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)
