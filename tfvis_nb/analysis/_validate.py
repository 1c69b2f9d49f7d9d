"""Analyses take a `Trace`; everything else is rejected with a TypeError."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_P = ParamSpec("_P")
_R = TypeVar("_R")


def validate_input(analysis: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make an analysis reject any other argument than a trace, such as a path.

    Examples
    --------
    >>> from tfvis_nb.analysis import breakdown
    >>> breakdown("trace.pb")
    Traceback (most recent call last):
    TypeError: breakdown takes a Trace, such as read_trace returns, not a str
    """
    parameters = inspect.signature(analysis, eval_str=True).parameters
    traces = [name for name, one in parameters.items() if one.annotation is Trace]

    @functools.wraps(analysis)
    def validated(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name, given in (dict(zip(parameters, args, strict=False)) | kwargs).items():
            if name in traces and not isinstance(given, Trace):
                raise TypeError(Text("no_trace", function=analysis.__name__, given=type(given).__name__))
        return analysis(*args, **kwargs)

    return validated
