"""Compare each step with the median one of its kind: its extra time, its devices' extra work, the cause."""

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.device_work import device_work
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.steps.breakdown import PARTS, breakdown
from tfvis_nb.analysis.unavailable import NONE, cannot_say
from tfvis_nb.core.categories import is_kind, map_categories
from tfvis_nb.core.format import format_ratio
from tfvis_nb.core.labels import printable
from tfvis_nb.core.median_step import is_first_slow, lower_median, median_of
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.step_spans import CALL, STEP_NS
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided, only_step
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "duration_ns": STEP_NS,
    "median_step": "Number of the step of median duration among those of its kind: for an even number of "
    "steps the shorter of the two in the middle, for several equally long steps the first. A first step "
    f"of {SLOW_STEP_RATIO} times the median of the others or more does not count. Steps are of a "
    "kind if their labels differ only in numbers, such as train and test, and if two kinds have three steps. "
    "Steps that several threads of a process run at the same time are of a kind for each thread.",
    "excess_ns": "duration_ns minus the duration of the median step, in ns.",
    "ratio": "duration_ns / the duration of the median step.",
    "work_ns": "How long the busiest device ran kernels in the step, in ns: length of the union of its "
    "kernels, without collectives.",
    "work_ratio": "work_ns / its median over the steps; the lower one if their number is even.",
    "slow": f"Whether ratio is {SLOW_STEP_RATIO} or more.",
    "more_work": f"Whether work_ratio is {SLOW_STEP_RATIO} or more.",
    "activity": "The activity, over all tasks, that differs most from the median step in the direction of"
    " excess_ns; see the breakdown.",
    "activity_ns": "Its time minus that in the median step, in ns.",
    "op": "The op type, among events of one kind, that differs most from the median step in the direction"
    " of excess_ns. Events that only wrap others or wait for them do not count.",
    "op_ns": "Its self time minus that in the median step, in ns, summed over events, including "
    "simultaneous ones.",
    "op_event": "The longest event of that op in the step, or in the median step if this step lacks it.",
}

FEWEST = 3
"""The minimum number of steps that show a typical one."""
_LONGEST_KIND = 40
_WRAPPING = ("none", "runtime")
"""Activities of events that wrap others or wait for them."""
_COLUMNS = {
    "step": "int64",
    "label": "str",
    "duration_ns": "int64",
    "median_step": "int64",
    "excess_ns": "int64",
    "ratio": "float64",
    "work_ns": "Int64",
    "work_ratio": "float64",
    "slow": "bool",
    "more_work": "boolean",
    "activity": "str",
    "activity_task": "str",
    "activity_ns": "Int64",
    "op": "str",
    "op_kind": "str",
    "op_ns": "Int64",
    "op_event": "Int64",
}


@validate_input
@per_trace
def step_kinds(trace: Trace) -> pd.Series:
    """Return the kind of each step, such as ``train``, indexed by step; empty texts for a single kind.

    It is the label without numbers. A kind has at least `FEWEST` steps; files of a few steps are no kinds.
    """
    kinds = named_kinds(trace)
    return kinds if (kinds.value_counts() >= FEWEST).sum() > 1 else kinds.mask(kinds != "", "")


@validate_input
@per_trace
def named_kinds(trace: Trace) -> pd.Series:
    """Return the label of each step without numbers, indexed by step.

    If threads of a process run steps of one label at the same time, their lanes are part of it.
    """
    steps = trace.steps[trace.steps["step"] != event_table.NO_STEP]
    labels = steps["label"].astype(object).fillna("").astype(str)
    kinds = labels.str.replace(r"[\s#_]*\d+", "", regex=True).to_numpy(object)
    named = pd.Series(kinds, index=pd.Index(steps["step"].to_numpy(np.int64), name="step"), dtype=object)
    calls = calls_of_steps(trace)
    if calls.empty:
        return named
    for kind in named.unique():
        own = calls[(named == kind).to_numpy()]
        if _overlap(own):
            named.loc[own.index] = [f"{kind} ({lane})".lstrip() for lane in own["lane"]]
    return named


@validate_input
@per_trace
def calls_of_steps(trace: Trace) -> pd.DataFrame:
    """Return lane, start and end of the call of each step, indexed by step, if several threads call at once.

    JAX returns from a call before it has run, so its calls last to the ends of their steps. The table is
    empty if no calls of different threads overlap. Tasks call their parts of a step at once, so it is also
    empty for several tasks.
    """
    events = trace.events
    is_call = is_kind(events, "host") & (events["step"] != event_table.NO_STEP).to_numpy()
    if len(events["task"].unique()) > 1:
        is_call[:] = False
    rows = np.flatnonzero(is_call)
    first = events["step"].iloc[rows].drop_duplicates().sort_values()
    step = first.to_numpy(np.int64)
    # Arrow copies whole columns of texts to take a few rows.
    table = events[["op", "lane", "start_ns", "duration_ns"]].loc[first.index]
    start = table["start_ns"].to_numpy(np.int64)
    steps = trace.steps[trace.steps["step"] != event_table.NO_STEP].set_index("step")["end_ns"]
    of_jax = table["op"].astype(str).str.startswith(CALL).to_numpy(bool)
    end = np.where(of_jax, steps[step].to_numpy(np.int64), start + table["duration_ns"].to_numpy(np.int64))
    lanes = table["lane"].astype(str).to_numpy(object)
    calls = pd.DataFrame({"lane": lanes, "start_ns": start, "end_ns": end}, index=step)
    return calls if len(calls) == len(steps) and _overlap(calls) else calls[:0]


def _overlap(calls: pd.DataFrame) -> bool:
    """Return whether calls of different threads overlap."""
    calls = calls.sort_values("start_ns", kind="stable")
    start, end = (calls[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    thread = pd.factorize(calls["lane"])[0]
    latest = np.maximum.accumulate(end)
    of_latest = np.maximum.accumulate(np.where(end == latest, np.arange(len(end)), 0))
    return bool(((start[1:] < latest[:-1]) & (thread[1:] != thread[of_latest[:-1]])).any())


def kind_label(kind: str) -> str:
    """Return the name of a kind of steps and a space, or an empty text.

    >>> f"typical {kind_label('train')}steps", f"typical {kind_label('')}steps"
    ('typical train steps', 'typical steps')
    """
    name = printable(kind, _LONGEST_KIND)
    return f"{name} " if name else ""


@validate_input
def main_steps(trace: Trace) -> pd.DataFrame:
    """Return the rows of ``trace.steps`` of the kind that takes the most time."""
    steps = trace.steps[trace.steps["step"] != event_table.NO_STEP]
    kinds = step_kinds(trace).to_numpy(object)
    if not len(steps):
        return steps
    most = steps["duration_ns"].groupby(kinds, sort=False).sum().idxmax()
    main: pd.DataFrame = steps[kinds == most]
    return main


class OtherSteps(Trace):
    """A trace whose first step counts as time outside steps; events and steps keep their numbers."""

    whole: Trace
    """The trace with its first step."""
    first: int
    """The number of the first step."""

    def without_first(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table of the whole trace that belong to other steps."""
        return table[table["step"] != self.first].reset_index(drop=True)


@validate_input
@per_trace
def median_steps(trace: Trace) -> pd.DataFrame:
    """Return the row of ``trace.steps`` with the median step of each kind, in the order of their first steps.

    See `median_of`; only the first step of the trace can be too slow to count.
    """
    steps = trace.steps[trace.steps["step"] != event_table.NO_STEP]
    took = steps["duration_ns"].to_numpy(np.int64)
    kinds, names = pd.factorize(step_kinds(trace).to_numpy(object))
    medians = []
    for kind in range(len(names)):
        rows = np.flatnonzero(kinds == kind)
        is_start = kind == 0 and not isinstance(trace, OtherSteps)
        medians.append(rows[(median_of if is_start else lower_median)(took[rows])])
    return steps.iloc[medians].set_index(pd.Index(names, name="kind", dtype=object))


@validate_input
def median_step(trace: Trace) -> int | None:
    """Return the number of the median step of the kind that takes most time; None without steps."""
    steps = main_steps(trace)
    if steps.empty:
        return None
    return int(median_steps(trace).loc[step_kinds(trace).loc[steps["step"].iloc[0]], "step"])


@validate_input
def median_step_ns(trace: Trace) -> int | None:
    """Return the duration of the median step; None if nothing divides the trace into steps."""
    step = None if is_undivided(trace) else median_step(trace)
    return None if step is None else int(trace.steps.set_index("step")["duration_ns"].loc[step])


class FirstStep(NamedTuple):
    """A first step that takes much longer than the others; times in ns."""

    step: int
    first_ns: int
    median_ns: int
    """The median of the other steps; for an even number, the lower of the two in the middle."""
    others: int
    share: float
    """Its excess over that median, divided by the time of all steps."""


def times_median(first: Mapping[str, Any]) -> str:
    """Format the duration of a first step as a multiple of the median of the others."""
    return format_ratio(first["first_ns"] / max(first["median_ns"], 1))


@validate_input
@per_trace
def why_no_first_step(trace: Trace) -> Text:
    """Return why the first step cannot be compared with the others; empty (false) if it can.

    Two steps do not show which one is typical. If no other step runs kernels, they do not repeat the first.
    """
    steps = trace.steps[trace.steps["step"] != event_table.NO_STEP]
    if len(steps) < FEWEST:
        return _few(trace, len(steps))
    kernels = (trace.events["kind"] == "kernel").to_numpy()
    of_kernels = distinct_numbers(trace.events["step"].to_numpy()[kernels])
    with_kernels = set(of_kernels.tolist()) - {event_table.NO_STEP}
    return Text("kernels_in_first_step") if with_kernels == {int(steps["step"].iloc[0])} else NONE


def _few(trace: Trace, steps: int) -> Text:
    if steps > 1:
        return Text("few_steps", steps=steps, least=FEWEST)
    return only_step(trace) if steps else Text("no_steps")


@validate_input
@per_trace
def slow_first_step(trace: Trace) -> FirstStep | None:
    """Return the first step if it takes `SLOW_STEP_RATIO` times the median of the others; else None.

    Also None if they cannot be compared; see `why_no_first_step`.
    """
    if isinstance(trace, OtherSteps) or why_no_first_step(trace):
        return None
    steps = trace.steps[trace.steps["step"] != event_table.NO_STEP]
    kinds = step_kinds(trace).to_numpy(object)
    duration = steps["duration_ns"].to_numpy(np.int64)
    own = duration[kinds == kinds[0]]
    if not is_first_slow(own):
        return None
    first, median = int(own[0]), int(own[median_of(own)])
    share = (first - median) / max(int(duration.sum()), 1)
    return FirstStep(int(steps["step"].iloc[0]), first, median, len(own) - 1, share)


@validate_input
def slow_steps(trace: Trace) -> pd.DataFrame:
    """Return how each step differs from the median step, and the main part of the difference.

    Parameters
    ----------
    trace
        A trace of several steps.

    Returns
    -------
    pandas.DataFrame
        One row per step, in their order: ``step`` (int64), ``label`` (str), and as in `FIGURES`
        ``duration_ns``, ``median_step``, ``excess_ns`` (int64), ``ratio`` (float64), ``work_ns`` (Int64) and
        ``work_ratio`` (float64; NA and NaN without kernels), ``slow`` (bool), ``more_work`` (boolean),
        ``activity`` with its ``activity_task`` (str), ``activity_ns`` (Int64), ``op`` with its ``op_kind``
        (str), ``op_ns`` and ``op_event`` (Int64); the last ones are empty and NA if nothing differs.
        `cannot_say` with fewer than two steps.

    Notes
    -----
    ``compare_activities(trace, trace, (median_step, step))`` and `tfvis_nb.analysis.compare` show all
    differences.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import slow_steps
    >>> columns = {"start_ns": [0, 10, 20, 30], "duration_ns": [5, 5, 9, 50], "kind": ["op"] * 4,
    ...            "op": ["Add", "Add", "MatMul", "Add"], "step": [0, 1, 1, 2]}
    >>> slow_steps(Trace(events.build(columns)))[["step", "excess_ns", "slow", "op", "op_ns"]].values.tolist()
    [[0, -14, False, 'MatMul', -9], [1, 0, False, '', <NA>], [2, 31, True, 'Add', 45]]
    """
    table = trace.steps[trace.steps["step"] != event_table.NO_STEP].reset_index(drop=True)
    if table.empty:
        return cannot_say(_COLUMNS, Text("no_steps"))
    if len(table) < 2:
        return cannot_say(_COLUMNS, only_step(trace))
    table = table[["step", "label", "duration_ns"]].astype({"step": "int64"})
    kinds, _ = pd.factorize(step_kinds(trace).to_numpy(object))
    took = table["duration_ns"].to_numpy(np.int64)
    table["median_step"] = median_steps(trace)["step"].to_numpy(np.int64)[kinds]
    base = np.searchsorted(table["step"].to_numpy(), table["median_step"].to_numpy())
    table["excess_ns"] = took - took[base]
    table["ratio"] = _ratio(took, took[base])
    table["slow"] = table["ratio"] >= SLOW_STEP_RATIO
    _add_work(table, trace, kinds)
    _add_activity(table, trace, base)
    _add_op(table, trace, base)
    return table[list(_COLUMNS)]


def _ratio(value: np.ndarray, base: np.ndarray) -> np.ndarray:
    ratio: np.ndarray = np.divide(value, base, out=np.full(len(value), np.nan), where=base > 0)
    return ratio


def _step_rows(table: pd.DataFrame, trace: Trace) -> np.ndarray:
    """Return the row of each event's step; events outside steps get the index after the last row."""
    numbers = table["step"].to_numpy(np.int64)
    step = trace.events["step"].to_numpy(np.int64)
    return np.where(step == event_table.NO_STEP, len(table), np.searchsorted(numbers, step))


def _add_work(table: pd.DataFrame, trace: Trace, kinds: np.ndarray) -> None:
    measured = device_work(trace.events, _step_rows(table, trace), len(table) + 1)
    work = np.zeros(len(table), np.int64) if measured is None else measured[:-1]
    middle = np.array([int(median_low(work[kinds == kind])) for kind in range(kinds.max() + 1)])[kinds]
    unknown = np.full(len(table), measured is None)
    ratio = _ratio(work, middle)
    table["work_ns"] = pd.arrays.IntegerArray(work, unknown)
    table["work_ratio"] = np.where(unknown, np.nan, ratio)
    table["more_work"] = pd.arrays.BooleanArray(ratio >= SLOW_STEP_RATIO, np.isnan(ratio) | unknown)


def _add_activity(table: pd.DataFrame, trace: Trace, base: np.ndarray) -> None:
    """Add the activity that differs most, over all tasks."""
    parts = breakdown(trace)
    parts = parts[(parts["device"] == "").to_numpy()]
    task, tasks = pd.factorize(parts["task"].astype(str), sort=True)
    row = np.searchsorted(table["step"].to_numpy(np.int64), parts["step"].to_numpy(np.int64))
    names = [part.removesuffix("_ns") for part in PARTS]
    value = np.zeros((len(table), len(tasks), len(names)), np.int64)
    known = np.ones(value.shape, bool)
    for column, part in enumerate(PARTS):
        value[row, task, column] = parts[part].to_numpy(np.int64, na_value=0)
        known[row, task, column] = parts[part].notna()
    # Values missing on either side are left out.
    more = np.where(known & known[base], value - value[base], 0).reshape(len(table), -1)
    most, difference = _most(more, table)
    differs = difference != 0
    table["activity_task"] = _texts([str(tasks[number // len(names)]) for number in most.tolist()], differs)
    table["activity"] = _texts([names[number % len(names)] for number in most.tolist()], differs)
    table["activity_ns"] = pd.arrays.IntegerArray(difference, ~differs)


class _OpTypes(NamedTuple):
    """Working events, and their op types: pairs of op and kind."""

    event: np.ndarray
    number: np.ndarray  # of the op type of each event
    names: list[tuple[str, str]]  # op and kind of each number


def _op_types(trace: Trace, known: np.ndarray) -> _OpTypes:
    """Return the events that neither repeat nor merely wrap others, by op type."""
    events = trace.events
    works = known & (locations(events) != LOCATIONS.index("repeated"))
    works &= ~np.isin(activity(trace), [NUMBER[name] for name in _WRAPPING])
    event = np.flatnonzero(works)
    ops = [*(str(name) for name in events["op"].cat.categories), ""]
    kinds = event_table.KINDS
    kind = map_categories(events["kind"], lambda name: kinds.index(name) if name else 0).astype(np.int64)
    # A missing op has the code -1, which indexes the last of `ops`.
    pair = (events["op"].cat.codes.to_numpy(np.int64) % len(ops)) * len(kinds) + kind
    # If no event works, one op type with 0 in all steps keeps the matrix valid.
    number, distinct = pd.factorize(np.append(pair[event], 0))
    names = [(ops[pair // len(kinds)], kinds[pair % len(kinds)]) for pair in distinct.tolist()]
    return _OpTypes(event, number[:-1], names)


def _add_op(table: pd.DataFrame, trace: Trace, base: np.ndarray) -> None:
    """Add the op type whose self times differ most from the median step, and its longest event.

    Self times are summed in a matrix of steps and op types. The differences are its rows minus that of the
    median step; from each row the largest difference in the direction of the step's excess counts.
    """
    own, known = self_times_of(trace)
    step = _step_rows(table, trace)
    types = _op_types(trace, known & (step < len(table)))
    total = np.zeros((len(table), len(types.names)), np.int64)
    cell = (step[types.event], types.number)
    np.add.at(total, cell, own[types.event])
    longest = np.full(total.shape, -1, np.int64)
    order = np.lexsort((-types.event, own[types.event]))
    longest[cell[0][order], cell[1][order]] = types.event[order]
    most, difference = _most(total - total[base], table)
    differs = difference != 0
    table["op"] = _texts([types.names[number][0] for number in most.tolist()], differs)
    table["op_kind"] = _texts([types.names[number][1] for number in most.tolist()], differs)
    table["op_ns"] = pd.arrays.IntegerArray(difference, ~differs)
    # An op type that the step does not have is shown in the median step.
    event = longest[np.arange(len(table)), most]
    event = np.where(event < 0, longest[base, most], event)
    table["op_event"] = pd.arrays.IntegerArray(np.where(differs, event, 0), ~differs)


def _texts(names: Sequence[str], known: np.ndarray) -> pd.Series:
    values = [name if is_known else "" for name, is_known in zip(names, known.tolist(), strict=True)]
    texts: pd.Series = pd.Series(values, dtype=event_table.TEXT)
    return texts


def _most(more: np.ndarray, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the column of each step that differs most in the direction of its excess, and the difference."""
    direction = np.where(table["excess_ns"].to_numpy() < 0, -1, 1)
    column = (more * direction[:, None]).argmax(axis=1)
    largest = more[np.arange(len(more)), column]
    # If all differ in the other direction, nothing explains the excess.
    return column, np.where(largest * direction > 0, largest, 0)
