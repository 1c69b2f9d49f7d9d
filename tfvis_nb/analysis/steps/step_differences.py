"""The columns of a comparison that show whether differences are more than chance."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.compared_steps import ComparedSteps
from tfvis_nb.analysis.steps.difference import (
    LEVEL,
    TRIM,
    Difference,
    Differences,
    RunSpread,
    are_separated,
    difference,
    differences,
    false_discovery_rates,
    run_spread,
)
from tfvis_nb.core.metadata import RUNS, joined
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

COLUMNS = {
    "typical_a_ns": "float64",
    "typical_b_ns": "float64",
    "typical_difference_ns": "float64",
    "low_ns": "float64",
    "high_ns": "float64",
    "typical_ratio": "float64",
    "low_ratio": "float64",
    "high_ratio": "float64",
    "shown": "boolean",
}
P_VALUE = {"p_value": "float64"}
"""The last column of a table."""
SIDES = ("a", "b")
_MOST_CELLS = 1 << 22


class StepTimes(NamedTuple):
    """Partial times of rows in the repeated steps of one side."""

    row: np.ndarray
    """The row of each part (int64)."""
    step: np.ndarray
    """The step number of each part."""
    ns: np.ndarray
    """Its time."""


def add_differences(
    table: pd.DataFrame, sides: Sequence[ComparedSteps], times: Sequence[StepTimes], unknown: np.ndarray
) -> None:
    """Add `COLUMNS` and `P_VALUE` to a table; `unknown` are rows whose time is unknown in some steps.

    Rows are NaN if they are in so few steps on both sides that a typical step has none of their time. All
    rows are NaN if one side has a single step; ``attrs["no_interval"]`` then has the reason.
    ``attrs["step_time"]`` is the `Difference` of the steps' durations, ``attrs["loop_time"]`` that of the
    times from the start of a step to the start of the next.
    """
    table.attrs["step_time"] = step_time(*sides)
    table.attrs["loop_time"] = loop_time(*sides)
    result = Differences(*np.full((len(Differences._fields), len(table)), np.nan))
    table.attrs["unit"] = sides[0].unit
    if all(side.repeats for side in sides):
        cells = [_in_order(side, part) for side, part in zip(sides, times, strict=True)]
        _fill(result, sides, cells, unknown)
    else:
        table.attrs["no_interval"] = _why_no_interval(sides)
    ratio = ratio_of(pd.Series(result.b), pd.Series(result.a))
    p_value = false_discovery_rates(result.p_value)
    values = (
        result.a,
        result.b,
        result.b - result.a,
        result.low,
        result.high,
        ratio,
        result.ratio_low,
        result.ratio_high,
    )
    for name, value in zip(COLUMNS, values, strict=False):
        table[name] = value
    table["shown"] = pd.arrays.BooleanArray(p_value < LEVEL, np.isnan(p_value))
    table["p_value"] = p_value


def _why_no_interval(sides: Sequence[ComparedSteps]) -> Text:
    if sides[0].unit == "steps":
        return Text("one_step_to_compare")
    return Text("undivided" if any(side.is_undivided for side in sides) else "steps_unlike")


def step_time(a: ComparedSteps, b: ComparedSteps) -> Difference:
    """Return the difference of the steps' durations."""
    result = difference(a.durations(), b.durations(), spread=known_spread((a.trace, b.trace)))
    # A first step that is set apart may be one of the five that do not overlap.
    whole = are_separated(a.all_durations()[None], b.all_durations()[None])
    shown = result.shown or bool(whole[0])
    return result._replace(shown=shown, code_differs=result.code_differs and not same_code(a.trace, b.trace))


def loop_time(a: ComparedSteps, b: ComparedSteps) -> Difference:
    """Return the difference of the times from the start of a step to the start of the next."""
    result = difference(a.loops(), b.loops(), spread=known_spread((a.trace, b.trace), "loop_ns"))
    return result._replace(code_differs=result.code_differs and not same_code(a.trace, b.trace))


def same_code(*traces: Trace) -> bool:
    """Return whether cells recorded these traces with the same code, as the history knows."""
    codes = [set(trace.metadata[RUNS]["code"]) if RUNS in trace.metadata else set() for trace in traces]
    return len(codes[0]) == 1 and all(one == codes[0] for one in codes)


def known_spread(traces: Iterable[Trace], times: str = "step_ns") -> RunSpread | None:
    """Return how much runs of the same code differ in the history of the cells that recorded these traces.

    The `times` are a column of `RUNS`. The runs of the traces themselves, the last ones of their tables, do
    not count: no difference widens the spread by which it is judged. None if the spread is unknown.
    """
    tables = [trace.metadata[RUNS] for trace in traces if RUNS in trace.metadata]
    if not tables:
        return None
    runs = joined({RUNS: table} for table in tables)[RUNS]
    of_traces = {table["time_ns"].max() for table in tables}
    known = runs[~runs["time_ns"].isin(of_traces)].dropna(subset=times)
    return run_spread(own.tolist() for _, own in known.groupby("code")[times])


def _in_order(side: ComparedSteps, times: StepTimes) -> StepTimes:
    """Number the repeated steps in order, and drop the others."""
    steps = np.concatenate(side.recordings)
    place = np.minimum(np.searchsorted(steps, times.step), len(steps) - 1)
    kept = (times.row >= 0) & (steps[place] == times.step)
    return StepTimes(times.row[kept], place[kept], times.ns[kept])


def _fill(
    result: Differences, sides: Sequence[ComparedSteps], cells: Sequence[StepTimes], unknown: np.ndarray
) -> None:
    counts = [[len(steps) for steps in side.recordings] for side in sides]
    often = np.zeros(len(unknown), bool)
    for part, count in zip(cells, counts, strict=True):
        # Most rows of large traces are in few steps. Matrices for the others have only a few cells per event.
        often |= np.bincount(part.row, minlength=len(unknown)) > int(sum(count) * TRIM)
    rows = np.flatnonzero(often & ~unknown)
    parts = -(-len(rows) * max(map(sum, counts)) // _MOST_CELLS)
    for chunk in np.array_split(rows, max(parts, 1)):
        place = np.full(len(unknown), -1)
        place[chunk] = np.arange(len(chunk))
        matrices = []
        for part, count in zip(cells, counts, strict=True):
            at = place[part.row]
            index = at[at >= 0] * sum(count) + part.step[at >= 0]
            sums = np.bincount(index, weights=part.ns[at >= 0], minlength=len(chunk) * sum(count))
            matrices.append(np.split(sums.reshape(len(chunk), sum(count)), np.cumsum(count)[:-1], axis=1))
        values = differences(*matrices)
        never = (values.a == 0) & (values.b == 0)
        for column, of_chunk in zip(result, values, strict=True):
            column[chunk] = np.where(never, np.nan, of_chunk)


def ratio_of(b: pd.Series, a: pd.Series) -> np.ndarray:
    """Return b / a; NaN if a is not above 0."""
    numerator, denominator = (
        column.astype("Float64").to_numpy(np.float64, na_value=np.nan) for column in (b, a)
    )
    ratio: np.ndarray = np.divide(numerator, denominator, out=np.full(len(a), np.nan), where=denominator > 0)
    return ratio
