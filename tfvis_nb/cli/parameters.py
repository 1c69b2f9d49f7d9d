"""Parameter types that several verbs share."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from tfvis_nb.core.amounts import BYTES, amount
from tfvis_nb.texts import Text

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _File(click.Path):
    """A file name, which shells complete; ``~`` is expanded. The file need not exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        return Path(value).expanduser()


FILE = _File()


def size(text: str) -> int:
    """Parse a number of bytes, with or without a unit.

    >>> size("20GiB"), size("1.5 MB"), size("7")
    (21474836480, 1500000, 7)
    """
    number = amount(text, BYTES)
    if number is None:
        raise click.BadParameter(Text("no_size", text=text))
    return int(number)


def together(*options: Decorator) -> Decorator:
    """Combine options that several verbs share into one decorator."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)
