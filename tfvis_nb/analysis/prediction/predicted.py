"""A trace of predicted times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.critical_path.critical_path import critical_path
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.prediction.replay import Altered, Replayed, replay, unchanged
from tfvis_nb.analysis.prediction.typical import (
    FEWEST_STEPS,
    Typical,
    at_its_fastest,
    possible,
    typical,
    typical_loop,
)
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.steps.outside_steps import is_one_recording
from tfvis_nb.analysis.steps.slow_steps import main_steps, median_step, named_kinds
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.prediction import Change, prediction_metadata, with_recorded_times
from tfvis_nb.core.step_spans import OF_SPANS, step_spans, step_table, within_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "recorded_ns": "Duration of the step as recorded, in ns, of its events that repeat no others.",
    "replayed_ns": "The same of a replay without a change, in ns.",
    "predicted_ns": "The same of the predicted times, in ns.",
    "saved_ns": "recorded_ns - predicted_ns, in ns.",
    "saved_share": "saved_ns / recorded_ns.",
    "recorded_loop_ns": "A round of the loop as recorded: from the start of the step to that of the next one"
    " of its kind, in ns. NA for the last one, and if steps were recorded one by one.",
    "predicted_loop_ns": "The same of the predicted times, in ns.",
}

_TRAINING = "train"
_MOVED = ("scheduled_ns", "compute_start_ns", "compute_end_ns")
_WITH_TIMES = ("memory", "in_use_bytes", "available_bytes", "fragmentation", "address")
"""Nested columns of allocations, which have their own times."""


class Predicted(Trace):
    """A trace whose events have predicted times; events that repeat others are left out.

    Attributes
    ----------
    recorded
        The trace as recorded.
    rows
        The event of ``recorded`` for each event (int64).
    times
        One row per step: ``step`` (int64), and as in `FIGURES` ``recorded_ns``, ``replayed_ns``,
        ``predicted_ns``, ``saved_ns`` (int64), ``saved_share`` (float64), ``recorded_loop_ns`` and
        ``predicted_loop_ns`` (Int64).
    drift
        The error of a replay without a change, as a share of step time.
    lengthening
        The largest lengthening of a step from its first event on, as a share of it; of the loop if time
        between steps changes. If no work gets longer, it means that the trace lacks dependencies: work moves,
        but other work that waits for it does not.
    doubt
        Why the prediction is not trusted; None if it is. Findings leave out such a gain.
    """

    recorded: Trace
    rows: np.ndarray
    times: pd.DataFrame
    drift: float
    lengthening: float
    doubt: Text | None
    altered: Altered

    @cached_property
    def typical(self) -> Typical:
        """The median step: ``recorded_ns``, ``predicted_ns``, ``low_ns`` and ``high_ns`` (float64).

        It is the step of median recorded time, as in the What if tab. The range from low to high comes from
        the steps of the trace. High is the 90 % quantile of the steps, with the waits for cores that other
        work leaves free. Low is the 10 % quantile of the predicted ones or, if it is smaller, their median if
        each row is as short as in fast steps. If work is removed, the rest of the host's work then also takes
        up to 4 times less, because it ran after that work. Both are NaN for fewer than five steps.

        Examples
        --------
        >>> from tfvis_nb import Trace, events
        >>> columns = {"start_ns": [*range(0, 500, 100)], "duration_ns": [50, 60, 40, 55, 70],
        ...            "step": [*range(5)], "kind": ["op"] * 5, "op": ["MatMul"] * 5, "name": ["a"] * 5}
        >>> Trace(events.build(columns)).what_if(ops={"MatMul": 0.5}).typical
        Typical(recorded_ns=55.0, predicted_ns=27.0, low_ns=22.0, high_ns=32.4)
        """
        return typical(*self._possible_times, median_step(self.recorded))

    @cached_property
    def typical_loop(self) -> Typical | None:
        """The mean round of the loop: a step and the time until the next one, as in `typical`.

        The range comes from the means of five parts of the loop, one after the other. Low is the smallest,
        also if all work is as fast as in `typical`. None if rounds are not recorded.

        Examples
        --------
        >>> from tfvis_nb import Trace, events
        >>> from tfvis_nb.core.metadata import PROFILES, table_of
        >>> columns = {"start_ns": [*range(0, 600, 100)], "duration_ns": [50, 60, 40, 55, 70, 50],
        ...            "step": [*range(6)], "kind": ["op"] * 6, "op": ["MatMul"] * 6, "name": ["a"] * 6}
        >>> trace = Trace(events.build(columns), metadata={PROFILES: table_of(PROFILES, [{}])})
        >>> trace.what_if(between_steps=0).typical_loop
        Typical(recorded_ns=100.0, predicted_ns=55.0, low_ns=10.0, high_ns=70.0)
        """
        steps = loop_steps(self.recorded)
        return typical_loop(*(times[times["step"].isin(steps)] for times in self._possible_times))

    @cached_property
    def _possible_times(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """``times``, and the same of the fastest and the slowest steps, if there are enough for a range."""
        given = self.recorded, self.altered
        if len(self.times) < FEWEST_STEPS:
            return (possible(*given, self.times),) * 3
        fastest, slowest = fastest_times(*given, self.times), slowest_times(*given, self.times)
        return possible(*given, self.times), possible(*given, fastest), possible(*given, slowest)

    @cached_property
    def steps(self) -> pd.DataFrame:
        """The steps; the events that end after them are those that did as recorded, and removed ones."""
        duration = self.events["duration_ns"].to_numpy(np.int64)
        late = _late_events(self.recorded)[self.rows] | _removed(self.recorded, self.rows, duration)
        return step_table(self.events, self.step_labels, late).assign(joules=np.nan)

    @cached_property
    def path(self) -> pd.DataFrame:
        """The critical paths of all steps by category, as recorded and as predicted.

        ``category`` (str), ``recorded_ns`` and ``predicted_ns`` (int64), the longest predicted one first.
        ``critical_path`` has the segments.
        """
        lengths = {
            f"{name}_ns": critical_path(trace).groupby("category", observed=True)["duration_ns"].sum()
            for name, trace in (("recorded", self.recorded), ("predicted", self))
        }
        table = pd.DataFrame(lengths).fillna(0).astype("int64").rename_axis("category").reset_index()
        table = table.astype({"category": "str"})
        return table.sort_values("predicted_ns", ascending=False, kind="stable").reset_index(drop=True)


def predicted_trace(
    trace: Trace, altered: Altered, changed: Replayed, changes: Sequence[Change]
) -> Predicted:
    """Make a trace of replayed times; `changes` are the changes made."""
    times = backtracker(trace).times
    kept = np.flatnonzero(times.counts)
    origin = int(times.start[0])
    start, end = (np.rint(column[kept]).astype(np.int64) + origin for column in changed)
    order = np.lexsort((kept, start))
    rows, start = kept[order], start[order]
    duration = np.maximum(end[order] - start, 0)
    events = trace.events.take(rows).reset_index(drop=True)
    recorded_start, recorded_duration = (
        events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns")
    )
    events["start_ns"], events["duration_ns"] = start, duration
    # The wait before an event keeps its length; times within it keep their share.
    stretch = np.divide(duration, recorded_duration, out=np.zeros(len(rows)), where=recorded_duration > 0)
    for name in _MOVED:
        offset = events[name].astype("Int64") - recorded_start
        within = offset.clip(lower=0).astype("Float64") * stretch
        events[name] = (offset.clip(upper=0) + within.round().astype("Int64") + start).astype(
            trace.events[name].dtype
        )
    nested = trace.nested
    if nested is not None:
        nested = nested.drop_columns([name for name in _WITH_TIMES if name in nested.column_names]).take(
            pa.array(rows)
        )
    table, drift, longer = step_times(trace, changed, of_loop=altered.of_loop)
    predicted = Predicted(
        events,
        nested=with_recorded_times(nested, start - recorded_start, recorded_duration),
        graphs=trace.graphs,
        notes=[Text("times_predicted", drift=format_percent(drift)), *trace.notes],
        title=trace.title,
        step_labels=trace.step_labels,
        clock_bounds=trace.clock_bounds,
        stacks=trace.stacks,
        metadata=prediction_metadata(trace, changes, table),
        programs=trace.programs,
    )
    predicted.recorded, predicted.rows, predicted.altered = trace, rows, altered
    predicted.edges = _moved(edges_of(trace), rows, len(trace.events))
    predicted.times, predicted.drift, predicted.lengthening = table, drift, longer
    return predicted


def _moved(edges: pd.DataFrame, rows: np.ndarray, count: int) -> pd.DataFrame:
    index = np.full(count, -1, np.int64)
    index[rows] = np.arange(len(rows))
    moved = edges.assign(source=index[edges["source"]], target=index[edges["target"]])
    return moved[(moved["source"] >= 0) & (moved["target"] >= 0)].reset_index(drop=True)


def _late_events(trace: Trace) -> np.ndarray:
    """Return a mask of the events that end after their step, because the runtime records them late."""
    end = (trace.events["start_ns"] + trace.events["duration_ns"]).to_numpy(np.int64)
    late: np.ndarray = end > within_steps(trace)[1]
    return late


def _removed(trace: Trace, rows: np.ndarray, duration: np.ndarray) -> np.ndarray:
    """Return a mask of the rows of a trace that took time and have none left: a step does not wait for it."""
    removed: np.ndarray = (duration == 0) & (trace.events["duration_ns"].to_numpy(np.int64)[rows] > 0)
    return removed


def step_times(
    trace: Trace, changed: Replayed, *, of_loop: bool = False
) -> tuple[pd.DataFrame, float, float]:
    """Return ``times``, ``drift`` and ``lengthening`` of a `Predicted` trace.

    If time between steps changes, the steps may wait instead, so lengthening is that of the loop.
    """
    spans = {**_spans_before(trace), "predicted": _spans(trace, changed)}
    table = pd.DataFrame({f"{name}_ns": one.duration for name, one in spans.items()})
    table = table.rename_axis("step").reset_index()
    table["saved_ns"] = table["recorded_ns"] - table["predicted_ns"]
    table["saved_share"] = table["saved_ns"] / table["recorded_ns"].where(table["recorded_ns"] > 0)
    for name in ("recorded", "predicted"):
        table[f"{name}_loop_ns"] = _loops(trace, spans["recorded"].start, spans[name].start)
    off = (spans["replayed"].duration - spans["recorded"].duration).abs().sum()
    before, after = (spans[name].whole for name in ("recorded", "predicted"))
    if of_loop and table["recorded_loop_ns"].any():
        before, after = (pd.Series([table[f"{name}_loop_ns"].sum()]) for name in ("recorded", "predicted"))
    longer = (after - before) / before.where(before > 0)
    return table, float(off / max(spans["recorded"].duration.sum(), 1)), float(longer.clip(lower=0).max())


class _Spans(NamedTuple):
    """Start and duration of each step, and its duration from its first event on."""

    start: pd.Series
    duration: pd.Series
    whole: pd.Series


@per_trace
def _spans_before(trace: Trace) -> dict[str, _Spans]:
    """Return the spans of steps without a change, as recorded and as replayed."""
    times = backtracker(trace).times
    origin = int(times.start[0])
    recorded = Replayed(times.start - origin, times.end - origin)
    return {"recorded": _spans(trace, recorded), "replayed": _spans(trace, unchanged(trace))}


def _spans(trace: Trace, replayed: Replayed) -> _Spans:
    times = backtracker(trace).times
    kept = np.flatnonzero(times.counts & (times.step != NO_STEP))
    start, end = (np.rint(column[kept]).astype(np.int64) for column in replayed)
    events = trace.events[list(OF_SPANS)].take(kept).assign(start_ns=start, duration_ns=end - start)
    late = _late_events(trace)[kept] | _removed(trace, kept, end - start)
    table, whole = (step_spans(events, late, from_first_events=is_whole) for is_whole in (False, True))
    return _Spans(table["start_ns"], *(each["end_ns"] - each["start_ns"] for each in (table, whole)))


def fastest_times(trace: Trace, altered: Altered, times: pd.DataFrame) -> pd.DataFrame:
    """Return ``times`` of a prediction if the other work is also as short as `at_its_fastest`."""
    return step_times(trace, replay(trace, at_its_fastest(trace, altered, times)))[0]


def slowest_times(trace: Trace, altered: Altered, times: pd.DataFrame) -> pd.DataFrame:
    """Return ``times`` of a prediction without `Altered.core_factor`."""
    if (altered.core_factor == 1).all():
        return times
    factor = altered.factor / altered.core_factor
    return step_times(trace, replay(trace, altered._replace(factor=factor)))[0]


@validate_input
@per_trace
def loop_steps(trace: Trace) -> np.ndarray:
    """Return the steps of the loop: of the kind with the most time, or those of training around others."""
    kinds = named_kinds(trace)
    steps = kinds.index[kinds == _TRAINING] if (kinds == _TRAINING).any() else main_steps(trace)["step"]
    apart = getattr(other_steps(trace), "first", NO_STEP)
    found = steps.to_numpy(np.int64)
    rest: np.ndarray = found[found != apart]
    return rest


def _loops(trace: Trace, recorded: pd.Series, start: pd.Series) -> pd.Series:
    """Return for each step how much later the next one of its kind starts; `recorded` starts decide which."""
    in_order = recorded.sort_values(kind="stable").index
    kinds = named_kinds(trace).reindex(in_order).to_numpy(object)
    ordered = start.reindex(in_order)
    after = ordered.groupby(kinds).shift(-1) if is_one_recording(trace) else np.nan
    loops: pd.Series = (after - ordered).reindex(recorded.index).astype("Int64").reset_index(drop=True)
    return loops
