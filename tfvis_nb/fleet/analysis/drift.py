"""Detect steps that get slower over days, by task and activity."""

from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.difference import LEVEL, differences, false_discovery_rates
from tfvis_nb.analysis.steps.step_differences import ratio_of
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.options import only_known_options
from tfvis_nb.fleet.analysis.grid import DURATION, Grid, grid
from tfvis_nb.fleet.analysis.heat_map import check_metric, metrics
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "period": "Start of the day, hour, minute or second, in UTC: the longest of these of which the steps "
    "cover two or more. A step belongs to the period in which its first task started it.",
    "task": "The task; its last period is compared with its first.",
    "metric": "The figure of the steps; its last period is compared with its first.",
    "steps": "Number of steps in the period, or in the later of the two.",
    "typical": "Typical value of a step, in the unit of the figure: its median over the tasks, and of these "
    "the mean without the highest and lowest fifth of the steps. With three or more runs of several steps in "
    "both periods, the same mean of the runs' means.",
    "ratio": "typical / typical of the first period.",
    "low_ratio": "Lower end of the 95 % interval of ratio.",
    "high_ratio": "Upper end of that interval.",
    "shown": "Whether the difference from the first period is more than chance: p_value is below 0.05.",
    "p_value": "How likely a difference of this size is by chance, corrected for the number of rows after "
    "Benjamini and Hochberg; see compare.",
}

UNITS = ("D", "h", "m", "s")
"""Periods, as numpy units."""
By = Literal["period", "task", "metric"]
BY = get_args(By)
_COLUMNS = {
    "steps": "int64",
    "typical": "float64",
    "ratio": "float64",
    "low_ratio": "float64",
    "high_ratio": "float64",
    "shown": "boolean",
    "p_value": "float64",
}


class _Periods(NamedTuple):
    starts: np.ndarray  # datetime64 of each period
    number: np.ndarray  # of the period of each step


@only_known_options
def fleet_drift(steps: pd.DataFrame, metric: str = DURATION, by: By = "period") -> pd.DataFrame:
    """Return whether steps have become longer, by more than chance.

    Parameters
    ----------
    steps
        ``steps`` of a dataset of traces, or some of its rows.
    metric
        The column to compare, as in `fleet_heat_map`; not used by ``"metric"``.
    by
        ``"period"``: each day against the first, or each hour, minute or second if all are in one day, hour
        or minute. ``"task"``: the last against the first for each task. ``"metric"``: likewise for each
        figure.

    Returns
    -------
    pandas.DataFrame
        ``period`` (datetime64[s], UTC), ``task`` or ``metric`` (str), and as in `FIGURES` ``steps`` (int64),
        ``typical``, ``ratio``, ``low_ratio``, ``high_ratio`` (float64), ``shown`` (boolean) and ``p_value``
        (float64). Periods are in order; the first has no ratio. Tasks and metrics with the largest changes
        come first. ``attrs["periods"]`` has the start of each period. `cannot_say` if all steps are of one
        period.

    Raises
    ------
    TypeError
        If `steps` is not a table of steps.
    ValueError
        If there is no such metric or grouping.

    Notes
    -----
    The interval holds for steps like the recorded ones. It shows that two days differ; only several days in
    a row show that it is a drift.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.fleet import fleet_drift
    >>> day = 86_400 * 10**9
    >>> steps = pd.DataFrame({"step": range(8), "start_ns": [0, 1, 2, 3, day, day + 1, day + 2, day + 3],
    ...                       "duration_ns": [100, 101, 99, 100, 110, 111, 109, 110]})
    >>> result = fleet_drift(steps)
    >>> result["ratio"].round(2).tolist(), result["shown"].tolist()
    ([nan, 1.1], [<NA>, True])
    """
    cells = grid(steps, "fleet_drift")
    check_metric(steps, metric)
    if by not in BY:
        raise ValueError(Text("no_drift_by", by=by, known=", ".join(BY)))
    periods = _periods(cells)
    columns = {by: "datetime64[s]" if by == "period" else "str"} | _COLUMNS
    if periods is None:
        return cannot_say(columns, Text("one_period"))
    first, last = (np.flatnonzero(periods.number == number) for number in (0, periods.number.max()))
    if by == "period":
        table = _of_periods(cells, metric, periods)
    elif by == "task":
        table = _of_tasks(cells, cells.values(metric), first, last)
    else:
        rows = {name: _typical(cells, name) for name in metrics(steps)}
        values = np.stack(list(rows.values()))
        table = _compared(cells, values, first, last, list(rows)).rename(columns={"name": "metric"})
    table["p_value"] = false_discovery_rates(table["p_value"].to_numpy())
    p_value = table["p_value"].to_numpy()
    table["shown"] = pd.arrays.BooleanArray(p_value < LEVEL, np.isnan(p_value))
    if by != "period":
        order = np.argsort(-np.abs(np.nan_to_num(table["ratio"].to_numpy(), nan=1) - 1), kind="stable")
        table = table.loc[order].reset_index(drop=True)
    table = table[list(columns)].astype(dtypes(columns))
    table.attrs["periods"] = [str(start) for start in periods.starts]
    return table


def _periods(cells: Grid) -> _Periods | None:
    """Return the periods of the steps; None if there is only one."""
    if "start_ns" not in cells.table or not len(cells.steps):
        return None
    start = np.nanmin(cells.values("start_ns"), axis=0)
    for unit in UNITS:
        # Through float64, which is exact to a fraction of a microsecond here.
        floor = start.astype("datetime64[ns]").astype(f"datetime64[{unit}]")
        starts, number = np.unique(floor, return_inverse=True)
        if len(starts) > 1:
            return _Periods(starts.astype("datetime64[s]"), number.reshape(-1))
    return None


def _typical(cells: Grid, metric: str) -> np.ndarray:
    """Return the median of a figure over the tasks for each step; NaN without values."""
    values = cells.values(metric)
    known = ~np.isnan(values).all(axis=0)
    typical = np.full(values.shape[1], np.nan)
    typical[known] = np.nanmedian(values[:, known], axis=0)
    return typical


def _of_periods(cells: Grid, metric: str, periods: _Periods) -> pd.DataFrame:
    values = _typical(cells, metric)[None]
    places = [np.flatnonzero(periods.number == number) for number in range(len(periods.starts))]
    parts = [_compared(cells, values, places[0], place, [""]) for place in places]
    table = pd.concat(parts, ignore_index=True)
    table.loc[0, ["ratio", "low_ratio", "high_ratio", "p_value"]] = np.nan
    return table.assign(period=periods.starts)


def _of_tasks(cells: Grid, values: np.ndarray, first: np.ndarray, last: np.ndarray) -> pd.DataFrame:
    return _compared(cells, values, first, last, cells.tasks).rename(columns={"name": "task"})


def _compared(
    cells: Grid, values: np.ndarray, first: np.ndarray, last: np.ndarray, names: list[str]
) -> pd.DataFrame:
    """Compare each row of values in the last steps with the first ones, leaving out steps without a value."""
    known = ~np.isnan(values)
    parts = []
    for row in range(len(values)):
        sides = [
            [values[row : row + 1, run] for run in cells.recordings(places[known[row, places]])]
            for places in (first, last)
        ]
        count = sum(run.shape[1] for run in sides[1])
        parts.append((count, differences(*sides)))
    table = pd.DataFrame({"name": names, "steps": [count for count, _ in parts]})
    for column, name in (
        ("typical", "b"),
        ("a", "a"),
        ("low_ratio", "ratio_low"),
        ("high_ratio", "ratio_high"),
        ("p_value", "p_value"),
    ):
        table[column] = [float(getattr(found_one, name)[0]) for _, found_one in parts]
    table["ratio"] = ratio_of(table["typical"], table["a"])
    return table
