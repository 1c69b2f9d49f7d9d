"""Runs of cells as the history keeps them."""

from statistics import median_low
from typing import Any

from tfvis_nb.run_history.summary import Summary


def run_of(cell: str = "a", /, **changes: Any) -> Summary:
    """Return a run of three steps of a cell in one notebook."""
    values: dict[str, Any] = {
        "notebook": "n.ipynb",
        "cell": cell,
        "code": "c0de",
        "options": "",
        "title": "3 steps: train",
        "time_ns": 1_700_000_000_000_000_000,
        "steps": 3,
        "step_ns": [10_000, 10_100, 10_050],
        "first_ns": None,
        "kernels": 7,
        "ops": 30,
        "busy_share": 0.5,
        "peak_bytes": 4096,
        "tfvis_nb": "0.1.0",
        "tensorflow": "2.21.0",
        "loop_ns": None,
    }
    values |= changes
    return Summary(**{"median_ns": median_low(values["step_ns"])} | values)
