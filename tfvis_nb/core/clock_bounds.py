"""Known bounds on the clocks of several tasks: a mapping from task to the interval of its offset.

The first task is the reference; its interval is (0, 0). All values are in nanoseconds, infinite where nothing
bounds a clock, which JSON writes as null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isinf
from typing import TYPE_CHECKING, Any, TypedDict

from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

Bounds = Mapping[str, tuple[float, float]]

UNKNOWN = (-inf, inf)
"""The interval of a clock without bounds, or with contradictory ones."""


def validate_bounds(bounds: Bounds) -> dict[str, tuple[float, float]]:
    """Return a copy of `bounds`; ValueError if an interval is reversed or not numeric."""
    copied = {task: (float(low), float(high)) for task, (low, high) in bounds.items()}
    for task, (low, high) in copied.items():
        if not low <= high:
            raise ValueError(Text("clock_bounds_reversed", task=task, low=low, high=high))
    return copied


def uncertainty(bounds: Bounds) -> float:
    """Return how far a task's clock may be off from that of the first task, in ns; 0 if unknown.

    >>> uncertainty({"a": (0, 0), "b": (-5, 2)}), uncertainty({})
    (5.0, 0.0)
    """
    return max((max(-float(low), float(high)) for low, high in bounds.values()), default=0.0)


class ClockBounds(TypedDict):
    """The offset of a task's clock from that of the first task, in ns; None without a bound."""

    task: str
    low: float | None
    high: float | None


def to_json(bounds: Bounds) -> list[ClockBounds]:
    """Write bounds as JSON values."""
    return [
        {"task": task, "low": None if isinf(low) else low, "high": None if isinf(high) else high}
        for task, (low, high) in bounds.items()
    ]


def from_json(values: Any) -> dict[str, tuple[float, float]]:
    """Read the result of `to_json`, and ignore invalid entries: somebody may have edited the file."""
    bounds = {}
    for one in values if isinstance(values, list) else []:
        if not isinstance(one, dict) or not isinstance(one.get("task"), str):
            continue
        low, high = (
            _bound_ns(one.get(end), none) for end, none in zip(("low", "high"), UNKNOWN, strict=True)
        )
        if low is not None and high is not None and low <= high:
            bounds[one["task"]] = (low, high)
    return bounds


def _bound_ns(value: Any, none: float) -> float | None:
    if value is None:
        return none
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # No clock in nanoseconds has such a value, and longer integers overflow floats.
    return float(value) if is_number and abs(value) < 2**63 else None


def combined(traces: Sequence[Trace]) -> dict[str, tuple[float, float]]:
    """Return bounds that hold in all of several traces.

    A task in several traces gets the widest of its intervals. It gets none if one trace does not bound it or
    has another reference task.

    >>> from tfvis_nb import Trace, events
    >>> columns = {"task": ["a", "b"], "start_ns": [0, 1], "duration_ns": [1, 1], "kind": ["op", "op"]}
    >>> table = events.build(columns)
    >>> one = Trace(table, clock_bounds={"a": (0, 0), "b": (-5, 2)})
    >>> combined([one, Trace(table, clock_bounds={"a": (0, 0), "b": (-1, 3)})])
    {'a': (0.0, 0.0), 'b': (-5.0, 3.0)}
    >>> combined([one, Trace(table)])
    {'a': (0.0, 0.0), 'b': (-inf, inf)}
    """
    known = [trace.clock_bounds for trace in traces if trace.clock_bounds]
    if not known:
        return {}
    first = next(iter(known[0]))
    widest = {first: (0.0, 0.0)}
    for trace in traces:
        bounds = trace.clock_bounds
        comparable = next(iter(bounds), None) == first
        there = set(trace.events["task"].unique())
        for task in dict.fromkeys(task for one in known for task in one if task != first):
            if task not in there:
                continue
            low, high = bounds.get(task, UNKNOWN) if comparable else UNKNOWN
            before = widest.get(task, (low, high))
            widest[task] = (min(before[0], low), max(before[1], high))
    return widest
