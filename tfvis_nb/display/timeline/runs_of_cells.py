"""The timelines that each notebook cell shows, so that its next run can show them as they were left."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from tfvis_nb.core.running_cell import cell_id, run_id


@dataclass
class _Runs:
    """The timelines of a cell's last run and of the one before, in the order in which they were shown."""

    run: str | None
    before: list[weakref.ref[Any]]
    now: list[weakref.ref[Any]] = field(default_factory=list)


_cells: dict[str, _Runs] = {}


def shown_before(timeline: Any) -> Any | None:
    """Note that the running cell shows a timeline, and return what it showed in this place when it last ran.

    None in a new cell, outside notebooks, and for a timeline that is gone.
    """
    from IPython import get_ipython

    shell = get_ipython()
    cell = cell_id(shell)
    if cell is None:
        return None
    run = run_id(shell)
    runs = _cells.get(cell)
    if runs is None or runs.run != run:
        # A run that fails before it shows a timeline does not get here.
        runs = _cells[cell] = _Runs(run, [] if runs is None else runs.now)
    place = len(runs.now)
    runs.now.append(weakref.ref(timeline))
    return runs.before[place]() if place < len(runs.before) else None
