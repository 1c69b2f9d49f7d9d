"""The data about the recorded trace that a trace of predicted times keeps.

Files, parts and pictures of the trace include it: the changes and the times of steps as metadata, the
recorded times of events as nested columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.format import format_duration
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.median_step import median_of
from tfvis_nb.core.metadata import PREDICTED_STEPS, PREDICTION, Metadata, table_of
from tfvis_nb.core.nested_columns import MOVED, RECORDED_DURATION, with_columns
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

ON_TIME, BETWEEN = "on_time", "between_steps"
HIDDEN, ON_GPU = "hidden", "gpu"
HOW = {HIDDEN: "hidden", ON_GPU: "at the speed of a GPU"}
"""Values that `what_if` accepts instead of a factor, and their labels."""
_LONGEST = 60
_FARTHEST_NS = 2**60


class Change(NamedTuple):
    """A change: a subject such as ``ops``, the name, and the factor of its time.

    A task that is `ON_TIME` has no factor, and neither has a change by a key of `HOW`. Time `BETWEEN` steps
    has no name.
    """

    subject: str
    name: str
    factor: float | None
    how: str | None = None


class RecordedTimes(NamedTuple):
    """Differences of a predicted trace's events from the recorded ones, in int64 nanoseconds."""

    later_ns: np.ndarray  # Predicted minus recorded start
    duration_ns: np.ndarray  # As recorded


def prediction_metadata(trace: Trace, changes: Sequence[Change], steps: pd.DataFrame) -> Metadata:
    """Return the metadata of a trace predicted from `trace`.

    `steps` has ``step``, ``recorded_ns``, ``replayed_ns`` (without a change) and ``predicted_ns``.
    """
    before = trace.metadata.get(PREDICTION)
    rows = [change._asdict() for change in changes]
    made = table_of(PREDICTION, rows)
    times = [dict(zip(steps.columns, row, strict=True)) for row in steps.to_numpy(object)]
    return {
        **trace.metadata,
        PREDICTION: made if before is None else pd.concat([before, made], ignore_index=True),
        PREDICTED_STEPS: table_of(PREDICTED_STEPS, times),
    }


def with_recorded_times(nested: pa.Table | None, later_ns: np.ndarray, duration_ns: np.ndarray) -> pa.Table:
    """Return nested columns with the recorded times of events; see `RecordedTimes`."""
    return with_columns(nested, {MOVED: pa.array(later_ns), RECORDED_DURATION: pa.array(duration_ns)})


def is_predicted(trace: Trace) -> bool:
    """Return whether the times of a trace are predicted."""
    return PREDICTION in trace.metadata


def prediction_sentence(trace: Trace) -> str:
    """Return a sentence about the changes and their effect on the recorded median step; "" if recorded."""
    if not is_predicted(trace):
        return ""
    changes = ", ".join(_change_text(change) for change in trace.metadata[PREDICTION].itertuples(index=False))
    steps = trace.metadata.get(PREDICTED_STEPS, table_of(PREDICTED_STEPS, [])).dropna()
    if steps.empty:
        return Text("predicted_changes", changes=changes or "no change")
    step = steps.iloc[median_of(steps["recorded_ns"].to_numpy(np.int64))]
    return Text(
        "predicted_step",
        step="step" if len(steps) == 1 else "recorded median step",
        predicted=format_duration(int(step["predicted_ns"])),
        recorded=format_duration(int(step["recorded_ns"])),
        changes=changes or "no change",
    )


def moved(trace: Trace) -> RecordedTimes | None:
    """Return how the events of a predicted trace differ from the recorded ones; None for a recorded trace."""
    nested = trace.nested
    if not is_predicted(trace) or nested is None or not {MOVED, RECORDED_DURATION} <= {*nested.column_names}:
        return None
    later, duration = (_numbers(nested[name]) for name in (MOVED, RECORDED_DURATION))
    return RecordedTimes(later, np.maximum(duration, 0))


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return whole numbers of any type, missing ones as 0."""
    numbers: np.ndarray = column.fill_null(0).cast(pa.int64(), safe=False).to_numpy()
    return numbers.clip(-_FARTHEST_NS, _FARTHEST_NS)


def _change_text(change: object) -> str:
    subject, name, factor, how = (getattr(change, part) for part in Change._fields)
    text = "" if pd.isna(name) else name
    if subject == BETWEEN:
        text = "time between steps"
    if subject == ON_TIME:
        return f"{printable(task_label(text) or text, _LONGEST)} on time"
    if not pd.isna(how):
        return " ".join([printable(text, _LONGEST), HOW.get(how, "")]).strip()
    times = "" if pd.isna(factor) else f" \N{MULTIPLICATION SIGN} {factor:.3g}"
    return printable(text, _LONGEST) + times
