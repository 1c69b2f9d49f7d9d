"""The kinds of values that the options of several verbs take."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _File(click.Path):
    """A file's name, which shells complete; ``~`` is the user's folder. Whether it is there is not asked."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        return Path(value).expanduser()


FILE = _File()


def together(*options: Decorator) -> Decorator:
    """Return one decorator for options that several verbs have.

    Examples
    --------
    >>> import click
    >>> from tfvis_nb.cli.parameters import together
    >>> both = together(click.option("--title"), click.option("--top"))
    >>> [option.name for option in click.command()(both(lambda title, top: 0)).params]
    ['title', 'top']
    """
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)
