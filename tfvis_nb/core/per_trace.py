"""Cache results in a trace, so that each is computed only once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from tfvis_nb.core.trace import Trace

_Result = TypeVar("_Result")


def per_trace(function: Callable[[Trace], _Result]) -> Callable[[Trace], _Result]:
    """Make a function of a trace compute its result once and cache it in the trace."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def kept(trace: Trace) -> _Result:
        # Through vars because a recording in progress has no attributes; by name because traces are pickled.
        results = vars(trace).setdefault("_cache", {})
        if name not in results:
            results[name] = function(trace)
        result: _Result = results[name]
        return result

    return kept
