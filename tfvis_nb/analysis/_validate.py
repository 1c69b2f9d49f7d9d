"""What the analyses may be asked of: a trace, or an event table, and nothing that only looks like one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pandas as pd

_P = ParamSpec("_P")
_R = TypeVar("_R")


def checked(analysis: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make an analysis refuse what is no trace, such as the path of one, or no event table.

    Examples
    --------
    >>> from tfvis_nb.analysis.steps.breakdown import breakdown
    >>> breakdown("trace.pb")
    Traceback (most recent call last):
    TypeError: breakdown takes a Trace, such as read_trace returns, not a str
    """
    parameters = inspect.signature(analysis).parameters
    traces = [name for name, one in parameters.items() if one.annotation == "Trace"]

    @functools.wraps(analysis)
    def asked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        from tfvis_nb.core.trace import Trace

        for name, given in (dict(zip(parameters, args, strict=False)) | kwargs).items():
            if name in traces and not isinstance(given, Trace):
                wanted = "a Trace, such as read_trace returns"
            elif name == "events" and not isinstance(given, pd.DataFrame):
                wanted = "an event table, such as trace.events"
            else:
                continue
            raise TypeError(f"{analysis.__name__} takes {wanted}, not a {type(given).__name__}")
        return analysis(*args, **kwargs)

    return asked
