"""The cells of a fleet's heat map for the front end."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps import breakdown
from tfvis_nb.core.labels import printable, shown_task
from tfvis_nb.display.tabs.blocks import ColumnHead, ColumnUnit, TableColumn
from tfvis_nb.display.tabs.wording import activity_label
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.fleet.analysis.grid import DURATION, Grid, grid, place_of
from tfvis_nb.fleet.analysis.heat_map import metrics
from tfvis_nb.fleet.dataset import step_figures
from tfvis_nb.texts import Text

MOST_CELLS = 4_000_000
"""Maximum cells; each figure of a cell takes 8 bytes in the browser."""
LONGEST_NAME = 80

_LABELS = {
    DURATION: "step time",
    "network_wait_ns": "network waits",
    "work_ns": "kernel time",
    "device_busy_ns": "device busy",
    "device_idle_ns": "device idle",
    "peak_bytes": "peak memory",
    "bytes": "bytes moved",
}
_DEFINITIONS = step_figures.FIGURES | {part: breakdown.FIGURES[part] for part in breakdown.PARTS}


class GridHeader(TypedDict):
    """The rows and columns of a heat map."""

    title: str
    tasks: list[str]  # A row each
    runs: list[str]
    metrics: list[ColumnHead]


class Cells:
    """The steps and tasks of a dataset as a grid; the number of a cell is task * steps + step.

    ValueError if there are none, or too many for a browser.
    """

    def __init__(self, steps: pd.DataFrame) -> None:
        self.grid: Grid = grid(steps, "show_fleet")
        count = len(self.grid.tasks) * len(self.grid.steps)
        if not count:
            raise ValueError(Text("fleet_without_steps"))
        if count > MOST_CELLS:
            raise ValueError(Text("fleet_too_large", cells=count, most=MOST_CELLS))

    @cached_property
    def metrics(self) -> list[TableColumn]:
        """The metrics that are not 0 everywhere, step time first."""
        table = self.grid.table
        names = [name for name in metrics(table) if name == DURATION or self._varies(table[name])]
        names.sort(key=lambda name: name != DURATION)
        return [TableColumn(name, label(name), _unit(name), _DEFINITIONS.get(name, "")) for name in names]

    @staticmethod
    def _varies(column: pd.Series) -> bool:
        return bool(column.fillna(0).to_numpy().any())

    @cached_property
    def tasks(self) -> list[str]:
        """The short names of the tasks."""
        return [printable(shown_task(task), LONGEST_NAME) for task in self.grid.tasks]

    @cached_property
    def runs(self) -> list[str]:
        """The names of the runs, in order."""
        return list(dict.fromkeys(self.grid.runs))

    def step(self, column: int) -> tuple[str, int]:
        """Return the run and number of a step by index; ValueError if there is no such index."""
        if not 0 <= column < len(self.grid.steps):
            raise ValueError(Text("no_step", step=column))
        return self.grid.runs[column], int(self.grid.steps[column])

    def place(self, step: Any) -> int:
        """Return the index of a step, given its number, or a pair of run and number; None for the middle."""
        if step is None:
            return len(self.grid.steps) // 2
        is_pair = isinstance(step, (tuple, list)) and len(step) == 2
        if isinstance(step, bool) or not (is_pair or isinstance(step, (int, np.integer))):
            raise TypeError(Text("since_no_step", since=step))
        return place_of(self.grid.runs, self.grid.steps, tuple(step) if is_pair else int(step))

    def title(self, run: str | None, step: int, task: str) -> str:
        """Return the title of the timeline of a cell: step, task and, if there are several, run."""
        names = [f"step {step}", shown_task(task), *([run] if run and len(self.runs) > 1 else [])]
        return " \N{MIDDLE DOT} ".join(printable(name, LONGEST_NAME) for name in names)

    def number(self, run: str, step: int, task: str) -> int:
        """Return the number of a cell."""
        place = self._places[run, step]
        return self.grid.tasks.index(task) * len(self.grid.steps) + place

    def task(self, run: str, step: int, task: str) -> str:
        """Return a step's task to show: the one named, or the one on which it took longest if none is."""
        if task:
            return task
        return self.grid.tasks[int(np.nanargmax(self._durations[:, self._places[run, step]]))]

    @cached_property
    def _durations(self) -> np.ndarray:
        return self.grid.values(DURATION)

    @cached_property
    def _places(self) -> dict[tuple[str, int], int]:
        pairs = zip(self.grid.runs, self.grid.steps.tolist(), strict=True)
        return {pair: place for place, pair in enumerate(pairs)}

    def packed(self, title: str) -> bytes:
        """Return names, steps and figures, without values."""
        runs = {run: number for number, run in enumerate(self.runs)}
        run = np.array([runs[name] for name in self.grid.runs], np.uint32)
        group = np.zeros(len(run), np.uint32)
        for number, steps in enumerate(self.grid.alike(), 1):
            group[steps] = number
        header: GridHeader = {
            "title": title,
            "tasks": self.tasks,
            "runs": [printable(name, LONGEST_NAME) for name in self.runs],
            "metrics": [metric.head() for metric in self.metrics],
        }
        columns = {
            "run": WireColumn(run, "delta-shuffle"),
            "step": WireColumn(self.grid.steps.astype(np.uint32), "delta-shuffle"),
            "group": WireColumn(group, "delta-shuffle"),
        }
        return pack(header, columns)

    def packed_values(self, metric: str) -> bytes:
        """Return the values of one metric, task by task; ValueError if there is no such metric."""
        if metric not in [one.name for one in self.metrics]:
            raise ValueError(Text("no_fleet_metric", metric=metric, hint=".", known=_names(self.metrics)))
        return pack({}, {"values": WireColumn(self.grid.values(metric).ravel())})


def label(metric: str) -> str:
    """Return the label of a metric of the steps.

    >>> label("duration_ns"), label("h2d_ns"), label("kernels")
    ('Step time', 'Copy H2D', 'Kernels')
    """
    return activity_label(_LABELS.get(metric, metric))


def _names(listed: Sequence[TableColumn]) -> str:
    return ", ".join(metric.name for metric in listed)


def _unit(metric: str) -> ColumnUnit:
    return "ns" if metric.endswith("_ns") else "bytes" if metric.endswith("bytes") else "count"
