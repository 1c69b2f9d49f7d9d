"""Which line of the user's Python code ran between steps, by samples."""

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.steps.outside_steps import outside_steps
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.metadata import PYTHON_SAMPLES
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

STRETCHES = ("before", "between", "after")
"""The stretches outside steps, as in `tfvis_nb.analysis.outside_steps`."""

FIGURES: dict[str, str] = {
    "before": "Number of samples before the first step.",
    "between": "Number of samples between steps.",
    "after": "Number of samples after the last step.",
    "in_steps": "Number of samples in steps.",
    "share": "The line's samples before, between and after steps / all such samples, from 0 to 1. "
    "The line took at least this share of the time outside steps.",
    "between_share": "between / its sum over all rows, from 0 to 1; NaN if that is 0. "
    "The line took at least this share of the time between steps.",
}

_COLUMNS = {
    "file": "str",
    "line": "Int64",
    "function": "str",
    **dict.fromkeys((*STRETCHES, "in_steps"), "int64"),
    "share": "float64",
    "between_share": "float64",
}


@validate_input
def python_lines(trace: Trace) -> pd.DataFrame:
    """Count the samples of a recording by line of the user's Python code, outside and inside steps.

    Parameters
    ----------
    trace
        A recording of this process; others have no samples.

    Returns
    -------
    pandas.DataFrame
        One row per line: ``file`` and ``function`` (str), ``line`` (Int64), the other columns as in `FIGURES`
        (int64; shares float64). The most samples between steps first, then outside steps. The last row, with
        an NA ``line``, has the samples without a line: none of the user's code ran, or the line is unknown.
        `cannot_say` if there are no samples or no steps.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import python_lines
    >>> from tfvis_nb.core.metadata import table_of
    >>> columns = {"start_ns": [0, 50], "duration_ns": [10, 10], "kind": ["op"] * 2, "step": [0, 1]}
    >>> samples = [{"time_ns": time, "file": "train.py", "line": line, "function": "main"}
    ...            for time, line in ((5, 7), (20, 8), (30, 8), (40, 9))]
    >>> trace = Trace(events.build(columns), metadata={"python_samples": table_of("python_samples", samples)})
    >>> python_lines(trace)[["file", "line", "between", "in_steps"]].values.tolist()
    [['train.py', 8, 2, 0], ['train.py', 9, 1, 0], ['train.py', 7, 0, 1]]
    """
    samples = trace.metadata.get(PYTHON_SAMPLES)
    if samples is None or samples.empty:
        return cannot_say(_COLUMNS, Text("no_python_samples"))
    if outside_steps(trace) is None:
        return cannot_say(_COLUMNS, Text("no_steps"))
    stretch = _stretches(trace, samples)
    counts = pd.DataFrame(
        {
            "file": samples["file"].fillna(""),
            "line": samples["line"].fillna(-1),
            "function": samples["function"].fillna(""),
            **{name: (stretch == name).astype("int64") for name in (*STRETCHES, "in_steps")},
        }
    )
    table = counts.groupby(["file", "line", "function"], sort=False).sum().reset_index()
    outside = table[[*STRETCHES]].sum(axis=1)
    table["share"] = outside / outside.sum() if outside.any() else np.nan
    table["between_share"] = table["between"] / table["between"].sum() if table["between"].any() else np.nan
    table["line"] = table["line"].astype("Int64").mask(table["line"] < 0)
    for name in ("file", "function"):
        table[name] = pd.array(table[name].to_numpy(object), dtype=event_table.TEXT)
    order = np.lexsort((-table["in_steps"], -outside, -table["between"], table["line"].isna()))
    return table.iloc[order][list(_COLUMNS)].reset_index(drop=True)


def _stretches(trace: Trace, table: pd.DataFrame) -> np.ndarray:
    """Return the name of the stretch that each time of a table lies in."""
    steps = trace.steps[trace.steps["step"] != NO_STEP].sort_values("start_ns", kind="stable")
    start, end = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    time = table["time_ns"].to_numpy(np.int64, na_value=0)
    latest = np.append(np.maximum.accumulate(end), np.iinfo(np.int64).min)
    inside = time <= latest[np.searchsorted(start, time, side="right") - 1]
    numbers: np.ndarray = np.select(
        [time < start[0], inside, time > latest[-2]], ["before", "in_steps", "after"], "between"
    )
    return numbers
