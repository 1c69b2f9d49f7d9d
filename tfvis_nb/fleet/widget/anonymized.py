"""The steps, ops and timelines of a fleet without names and dates, for a page to share."""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from tfvis_nb.anonymizing.anonymized import anonymized
from tfvis_nb.anonymizing.names import Names
from tfvis_nb.core.trace import Trace
from tfvis_nb.fleet.analysis.drift import fleet_drift
from tfvis_nb.fleet.analysis.grid import DURATION, ordered
from tfvis_nb.fleet.widget.cells import Cells

Shown = tuple[int, Trace, str]
"""The number of a cell, its trace, and the title of its timeline."""


class SharedFleet(NamedTuple):
    """A fleet with replaced names, for a page; the cell numbers are those of `cells`."""

    cells: Cells
    ops: pd.DataFrame
    timelines: list[Shown]
    since: int


def shared_fleet(cells: Cells, ops: pd.DataFrame, timelines: Iterable[Shown], since: int) -> SharedFleet:
    """Replace the names of a fleet as `tfvis_nb.Trace.anonymized` does, equal names by equal ones.

    `since` is the index of a step, which may change as names are replaced. The drift's first period starts in
    1970.
    """
    names = Names()
    # Traces first: they know which names are kernels', in which more words are public.
    traces = [(cell, anonymized([trace], names)[0]) for cell, trace, _ in timelines]
    steps = cells.grid.table
    others = {
        column: {name: names.replaced(name, role) for name in ordered(steps, column)[0]}
        for column, role in (("run", "run"), ("task", "job"))
    }
    table = steps.assign(**{column: steps[column].map(other) for column, other in others.items()})
    table["start_ns"] -= _first_ns(steps)
    shared = Cells(table.drop(columns="time", errors="ignore"))
    ops = ops.assign(
        run=ops["run"].map(others["run"]), op=[names.replaced(op, "op") for op in ops["op"].astype(str)]
    )
    shown = []
    for cell, trace in traces:
        task, column = divmod(cell, len(cells.grid.steps))
        run, step = cells.step(column)
        place = others["run"][run], step, others["task"][cells.grid.tasks[task]]
        shown.append((shared.number(*place), trace, shared.title(*place)))
    run, step = cells.step(since)
    return SharedFleet(shared, ops, shown, shared.place((others["run"][run], step)))


def _first_ns(steps: pd.DataFrame) -> int:
    """Return the start (epoch ns) of the first period of a fleet's drift, or of its first step."""
    periods = fleet_drift(steps, DURATION).attrs.get("periods")
    return pd.Timestamp(periods[0]).value if periods else int(steps["start_ns"].min())
