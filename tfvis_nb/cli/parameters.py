"""The kinds of values that the options of several verbs take."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from tfvis_nb.core.amounts import BYTES, amount
from tfvis_nb.texts import Text

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _File(click.Path):
    """A file's name, which shells complete; ``~`` is the user's folder. It need not exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        return Path(value).expanduser()


FILE = _File()


def size(text: str) -> int:
    """Return a number of bytes that is written with or without a unit.

    >>> size("20GiB"), size("1.5 MB"), size("7")
    (21474836480, 1500000, 7)
    """
    found = amount(text, BYTES)
    if found is None:
        raise click.BadParameter(Text("no_size", text=text))
    return int(found)


def together(*options: Decorator) -> Decorator:
    """Return one decorator for options that several verbs have."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)
