"""Runs of cells as the history keeps them."""

from statistics import median_low
from typing import Any

from tfvis_nb.run_history.summary import KindTimes, Summary


def times(
    step_ns: list[int], loop_ns: list[int] | None = None, *, kernels: int | None = 7, ops: int = 30
) -> KindTimes:
    """Return the times of steps of one kind, and their kernels and ops."""
    middle = median_low(step_ns)
    return KindTimes(len(step_ns), sum(step_ns), middle, None, step_ns, loop_ns or [], kernels, ops)


def run_of(
    cell: str = "a", /, step_ns: list[int] | None = None, loop_ns: list[int] | None = None, **changes: Any
) -> Summary:
    """Return a run of steps of a cell in one notebook; by default of three."""
    took = [10_000, 10_100, 10_050] if step_ns is None else step_ns
    values: dict[str, Any] = {
        "notebook": "n.ipynb",
        "cell": cell,
        "code": "c0de",
        "options": "",
        "title": "3 steps: train",
        "time_ns": 1_700_000_000_000_000_000,
        "whole_ns": sum(took),
        "kinds": {"": times(took, loop_ns)},
        "loop": None,
        "kernels": None,
        "ops": None,
        "busy_share": 0.5,
        "peak_bytes": 4096,
        "step_joules": None,
        "step_bytes": None,
        "tfvis_nb": "0.1.0",
        "tensorflow": "2.21.0",
    }
    return Summary(**values | changes)
