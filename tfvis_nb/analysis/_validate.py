"""Analyses take a `Trace`, which caches their tables; anything else raises a TypeError."""

import functools
import inspect
from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd

from tfvis_nb.core.options import refuse_unknown
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.trace_tables import table_names
from tfvis_nb.texts import Text

_P = ParamSpec("_P")
_R = TypeVar("_R")

_MOST_ROWS = 10_000
"""Longer tables, with a row for each of many events, are not cached."""


def validate_input(analysis: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make an analysis reject arguments other than a trace and unknown options, and cache its table.

    Findings, tabs and charts request the same tables repeatedly. Each caller gets a copy.

    Examples
    --------
    >>> from tfvis_nb.analysis import breakdown
    >>> breakdown("trace.pb")
    Traceback (most recent call last):
    TypeError: breakdown takes a Trace, such as read_trace returns, not str
    """
    parameters = inspect.signature(analysis, eval_str=True).parameters
    traces = [name for name, one in parameters.items() if one.annotation is Trace]
    function = f"{analysis.__module__}.{analysis.__qualname__}"
    table_name = table_names().get(function)

    @functools.wraps(analysis)
    def validated(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        refuse_unknown(kwargs, parameters)
        given = dict(zip(parameters, args, strict=False)) | kwargs
        for name in traces:
            if name in given and not isinstance(given[name], Trace):
                raise TypeError(
                    Text("no_trace", function=analysis.__name__, given=type(given[name]).__name__)
                )
        options = {
            name: one
            for name, one in given.items()
            if name not in traces and one is not parameters[name].default
        }
        key = (function, *(_hashable(name, one) for name, one in options.items()))
        if len(traces) != 1 or traces[0] not in given or None in key:
            return analysis(*args, **kwargs)
        # Through vars, like `per_trace`.
        tables = vars(given[traces[0]])
        if table_name is not None and not options:
            # An attribute of the trace, of any length, so only its columns are copied.
            if table_name not in tables:
                tables[table_name] = analysis(*args, **kwargs)
            return cast("_R", _shallow_copy(tables[table_name]))
        kept = tables.setdefault("_cache", {})
        if key in kept:
            return cast("_R", kept[key].copy())
        table = analysis(*args, **kwargs)
        if isinstance(table, pd.DataFrame) and len(table) <= _MOST_ROWS:
            kept[key] = table.copy()
        return table

    return validated


def _shallow_copy(table: Any) -> Any:
    """Copy the columns of a DataFrame, keeping a subclass that prints its texts; return other results."""
    if not isinstance(table, pd.DataFrame):
        return table
    copied = type(table)(table, copy=False)
    copied.attrs.update(table.attrs)
    return copied


def _hashable(name: str, value: Any) -> tuple[str, type, Hashable] | None:
    """Return a key that is equal only for equal arguments, unlike 1 and True; None if there is none."""
    if isinstance(value, np.ndarray) and value.size > _MOST_ROWS:
        return None
    if isinstance(value, list | set | frozenset | np.ndarray):
        value = tuple(value)
    try:
        hash(value)
    except TypeError:
        return None
    return name, type(value), value
