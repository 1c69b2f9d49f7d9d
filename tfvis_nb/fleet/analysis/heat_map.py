"""One metric of all steps on all tasks."""

import pandas as pd

from tfvis_nb.core.options import near, only_known_options
from tfvis_nb.fleet.analysis.grid import DURATION, KEYS, grid
from tfvis_nb.texts import Text

_NO_METRICS = {*KEYS, "start_ns", "step_ns"}
"""Numbers that are not comparable: points in time, and the time of all tasks of a source."""


def metrics(steps: pd.DataFrame) -> list[str]:
    """Return the metric columns of a table of steps, in order.

    >>> import pandas as pd
    >>> metrics(pd.DataFrame({"step": [0], "task": ["a"], "start_ns": [9], "duration_ns": [5]}))
    ['duration_ns']
    """
    numbers = [name for name in steps if pd.api.types.is_numeric_dtype(steps[name])]
    return [str(name) for name in numbers if name not in _NO_METRICS]


@only_known_options
def fleet_heat_map(steps: pd.DataFrame, metric: str = DURATION) -> pd.DataFrame:
    """Return one metric of each step on each task.

    Parameters
    ----------
    steps
        ``steps`` of a dataset of traces, or some of its rows.
    metric
        A column of numbers, such as ``"peak_bytes"``.

    Returns
    -------
    pandas.DataFrame
        One row per task, in natural order, and one column per step: a pair of ``run`` and ``step``, ordered
        by run and step. Values are float64 in the metric's unit, NaN if a task has no such step or the value
        is unknown.

    Raises
    ------
    TypeError
        If `steps` is not a table of steps.
    ValueError
        If there is no such metric.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.fleet import fleet_heat_map
    >>> steps = pd.DataFrame({"task": ["w1", "w0", "w0"], "step": [0, 0, 1], "duration_ns": [7, 5, 6]})
    >>> fleet_heat_map(steps).values.tolist()
    [[5.0, 6.0], [7.0, nan]]
    """
    cells = grid(steps, "fleet_heat_map")
    check_metric(steps, metric)
    columns = pd.MultiIndex.from_arrays([cells.runs, cells.steps], names=["run", "step"])
    return pd.DataFrame(cells.values(metric), pd.Index(cells.tasks, name="task"), columns)


def check_metric(steps: pd.DataFrame, metric: str) -> None:
    """Raise ValueError unless a table of steps has a metric."""
    known = metrics(steps)
    if metric not in known:
        hint = near(str(metric), known) or "."
        raise ValueError(Text("no_fleet_metric", metric=metric, hint=hint, known=", ".join(known)))
