"""What each figure of the analyses is: formula, unit and source, as tooltips and docs/metrics.md say it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

MODULES: tuple[str, ...] = (
    "breakdown",
    "utilisation",
    "communication",
    "efficiency",
    "arrivals",
    "op_statistics",
    "scope_tree",
    "launch_bound",
    "launch_gaps",
    "placement",
    "critical_path",
    "slack",
    "gaps",
    "memory",
    "memory_use",
    "tensor_lifetimes",
    "transfers",
    "transfer_matrix",
    "bandwidth",
    "slowest_edges",
    "stragglers",
    "slow_steps",
    "compare",
    "findings",
    "looked_for",
)
"""The analyses, by the name of their module; each has ``FIGURES``, figure to definition."""


def definitions(module: str) -> Mapping[str, str]:
    """Return the definition of each figure of one analysis, by its name.

    Parameters
    ----------
    module
        One of `MODULES`.

    Raises
    ------
    KeyError
        If there is no such analysis.

    Examples
    --------
    >>> from tfvis_nb.analysis.metrics import MODULES, definitions
    >>> all(text.endswith(".") for module in MODULES for text in definitions(module).values())
    True
    """
    if module not in MODULES:
        raise KeyError(f"there is no analysis {module!r}; there are {', '.join(MODULES)}")
    figures: Mapping[str, str] = importlib.import_module(f"tfvis_nb.analysis.{module}").FIGURES
    return figures
