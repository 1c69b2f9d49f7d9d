"""Bytes, waits and transfer times between each pair of devices or tasks."""

from collections.abc import Collection
from typing import Literal, get_args

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

End = Literal["device", "task"]
ENDS = get_args(End)
"""Values of `between` for `transfer_matrix`."""

_TICTAC = "TicTac's rule (TicTac, MLSys 2019, oracle.py)"

FIGURES: dict[str, str] = {
    "count": "Number of tensors received from another task, or of copies.",
    "with_size": "How many of them have a recorded size.",
    "bytes": "Sum of the recorded sizes, in bytes.",
    "wait_ns": "Length of the union of the times before they moved, in ns: the time in which at least one "
    "waited. A tensor waits while its channel, from one task to another, is occupied by tensors that ended "
    f"before it: {_TICTAC}. A copy waits from its launch to its start.",
    "mean_wait_ns": "Mean of the times that each of them waited, in ns.",
    "transfer_ns": "Sum of the times during which they moved, in ns: for a tensor its duration without "
    f"wait_ns, {_TICTAC}; for a copy its duration.",
    "busy_ns": "Length of the union of the times during which they moved, in ns: the time in which at "
    "least one moved.",
    "bandwidth": "bytes / busy_ns, in bytes per second: goodput while data moved. Unknown if a size or a "
    "transfer time is unknown.",
    "largest": "The event with the most bytes.",
}

_COLUMNS = {
    "kind": "category",
    "source": "category",
    "destination": "category",
    "count": "int64",
    "with_size": "int64",
    "bytes": "Int64",
    "wait_ns": "Int64",
    "mean_wait_ns": "float64",
    "transfer_ns": "Int64",
    "busy_ns": "Int64",
    "bandwidth": "float64",
    "largest": "Int64",
}


@validate_input
def transfer_matrix(
    trace: Trace, between: End = "device", steps: Collection[int] | None = None
) -> pd.DataFrame:
    """Add up transfers and copies by source and destination.

    Parameters
    ----------
    trace
        Any trace.
    between
        One of `ENDS`: ``device``, or ``task``, which has one row for all copies of a task.
    steps
        Numbers of the steps to add up; None for all events, including those outside steps.

    Returns
    -------
    pandas.DataFrame
        One row per ``kind`` (category: ``transfer`` over the network, ``memcpy``), ``source`` and
        ``destination`` (category; empty if not recorded), the busiest first. ``count`` and ``with_size``
        (int64), ``bytes`` (Int64, NA if no size is recorded), ``wait_ns``, ``transfer_ns`` and ``busy_ns``
        (Int64, NA if unknown for the whole row), ``mean_wait_ns`` and ``bandwidth`` (float64) and
        ``largest`` (Int64, event id), as in `FIGURES`. `cannot_say` if nothing was received or copied.

    Raises
    ------
    ValueError
        If `between` is not one of `ENDS`, or a number in `steps` is not a step.

    Notes
    -----
    The tensors of a channel move one after the other, so between two tasks ``busy_ns`` equals ``transfer_ns``
    within a step. Copies may overlap if they are on several streams.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import transfer_matrix
    >>> gpu, cpu = "/device:GPU:0", "/device:CPU:0"
    >>> table = events.build({"start_ns": [0, 50, 400], "duration_ns": [100, 100, 50], "kind": ["memcpy"] * 3,
    ...                       "bytes": [600, 900, 5], "source": [cpu, cpu, gpu],
    ...                       "destination": [gpu, gpu, cpu]})
    >>> result = transfer_matrix(Trace(table))
    >>> result[["source", "count", "bytes", "transfer_ns", "busy_ns", "bandwidth"]].values.tolist()
    [['/device:CPU:0', 2, 1500, 200, 150, 10000000000.0], ['/device:GPU:0', 1, 5, 50, 50, 100000000.0]]
    """
    if between not in ENDS:
        raise ValueError(Text("ends_not_one_of", choices=", ".join(ENDS), between=between))
    moved = transfers(trace)
    if steps is not None:
        moved = moved[np.isin(moved["event"], of_steps(trace, steps))]
    if moved.empty:
        return cannot_say(_COLUMNS, Text("no_transfers"))
    cells, cell = _cells(moved, between)
    count = len(cells)
    wait, waited = _known(moved["wait_ns"])
    moving, has_moved = _known(moved["transfer_ns"])
    size, sized = _known(moved["bytes"])
    # Within a step, a channel's tensors move one after the other; a copy moves all its time.
    begin = moved["turn_ns"].to_numpy(np.int64, na_value=0)
    busy = lengths(union(cell, begin, begin + moving), count, 2)[:, 1]
    cells["count"] = np.bincount(cell, minlength=count)
    cells["with_size"] = np.bincount(cell[sized], minlength=count)
    cells["bytes"] = _sum(cell, size, sized, count)
    none_waited = np.bincount(cell[waited], minlength=count) == 0
    # A tensor waits after its start, a copy before it.
    waited_till = moved["start_ns"].to_numpy(np.int64) + np.where(moved["kind"] == "transfer", wait, 0)
    waits = union(cell[waited], (waited_till - wait)[waited], waited_till[waited])
    any_waits = lengths(waits, count, 2)[:, 1]
    cells["wait_ns"] = pd.arrays.IntegerArray(any_waits, none_waited)
    mean = _sum(cell, wait, waited, count).to_numpy(np.float64, na_value=np.nan)
    cells["mean_wait_ns"] = mean / np.maximum(np.bincount(cell[waited], minlength=count), 1)
    cells["transfer_ns"] = _sum(cell, moving, has_moved, count)
    nothing = cells["transfer_ns"].isna().to_numpy(bool)
    cells["busy_ns"] = pd.arrays.IntegerArray(np.where(nothing, 0, busy), nothing)
    whole = (cells["count"] == cells["with_size"]).to_numpy() & (
        np.bincount(cell[has_moved], minlength=count) == cells["count"].to_numpy()
    )
    total = cells["bytes"].to_numpy(np.float64, na_value=0.0)
    rate = np.full(count, np.nan)
    np.divide(total * 1e9, busy, out=rate, where=whole & (busy > 0))
    cells["bandwidth"] = rate
    cells["largest"] = _largest(cell, size, sized, moved["event"].to_numpy(np.int64), count)
    order = np.lexsort((-total, -busy))
    return cells.loc[order, list(_COLUMNS)].reset_index(drop=True)


def _cells(moved: pd.DataFrame, between: End) -> tuple[pd.DataFrame, np.ndarray]:
    """Return kind, source and destination of each non-empty cell, and the cell of each row."""
    names: dict[str, int] = {"": 0}
    ends = []
    for column in ("source", "destination"):
        categories = [str(category) for category in moved[column].cat.categories]
        called = [task_of(category) for category in categories] if between == "task" else categories
        numbers = np.array([*(names.setdefault(name, len(names)) for name in called), 0], np.int64)
        # Missing values have the code -1, which indexes the last element.
        ends.append(numbers[moved[column].cat.codes.to_numpy()])
    width = len(names)
    key = (moved["kind"].cat.codes.to_numpy(np.int64) * width + ends[0]) * width + ends[1]
    cell, distinct = pd.factorize(key)
    kinds = [str(category) for category in moved["kind"].cat.categories]
    columns = {
        "kind": (kinds, distinct // width // width),
        "source": (list(names), distinct // width % width),
        "destination": (list(names), distinct % width),
    }
    table = {
        name: pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype=event_table.TEXT))
        for name, (categories, codes) in columns.items()
    }
    return pd.DataFrame(table), cell


def _known(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a nullable column, 0 if missing, and a mask of the known ones."""
    return column.to_numpy(np.int64, na_value=0), column.notna().to_numpy(bool)


def _sum(cell: np.ndarray, value: np.ndarray, known: np.ndarray, cells: int) -> pd.arrays.IntegerArray:
    total = np.zeros(cells, np.int64)
    np.add.at(total, cell[known], value[known])
    return pd.arrays.IntegerArray(total, np.bincount(cell[known], minlength=cells) == 0)


def _largest(
    cell: np.ndarray, size: np.ndarray, sized: np.ndarray, event: np.ndarray, cells: int
) -> pd.arrays.IntegerArray:
    """Return the first event with the most bytes of each cell."""
    rows = np.flatnonzero(sized)
    rows = rows[np.lexsort((-rows, size[rows]))]
    largest = np.full(cells, -1, np.int64)
    largest[cell[rows]] = event[rows]
    return pd.arrays.IntegerArray(np.where(largest < 0, 0, largest), largest < 0)
