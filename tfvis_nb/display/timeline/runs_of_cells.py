"""The timelines that each notebook cell shows, so that its next run can show them as they were left.

Also the traces of earlier runs whose annotations do not fit the next run.
"""

from __future__ import annotations

import itertools
import weakref
from dataclasses import dataclass, field
from typing import Any

from tfvis_nb.core.labels import printable
from tfvis_nb.core.running_cell import cell_id, run_id
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_MOST_NAMES = 3
_MOST_LETTERS = 40


@dataclass
class _Runs:
    """The timelines of a cell's last run and of the one before, in the order in which they were shown."""

    run: str | None
    before: list[weakref.ref[Any]]
    now: list[weakref.ref[Any]] = field(default_factory=list)


_cells: dict[str, _Runs] = {}

MOST_EARLIER = 3
"""Traces in `earlier_traces`; each may take a lot of memory."""

earlier_traces: dict[int, Trace] = {}
"""By number: the latest traces whose annotations do not fit the trace that their cell showed next."""

_numbers = itertools.count(1)


def take_over_annotations(trace: Trace, before: Trace) -> None:
    """Add the annotations made by hand in the last run of a cell; print which do not fit."""
    names = trace._take_over_annotations(before)  # noqa: SLF001
    if not names:
        return
    number = next(_numbers)
    earlier_traces[number] = before
    for old in list(earlier_traces)[:-MOST_EARLIER]:
        del earlier_traces[old]
    shown = [printable(name, _MOST_LETTERS) for name in names[:_MOST_NAMES]]
    more = ["..."] if len(names) > _MOST_NAMES else []
    text = Text(
        "annotations_not_taken_over", annotations=len(names), names=", ".join(shown + more), number=number
    )
    print(text)  # noqa: T201 - in the cell, since no timeline has them


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
