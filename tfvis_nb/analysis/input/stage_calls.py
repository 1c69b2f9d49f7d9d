"""Calls of stages of tf.data pipelines: their times, and the fill of their buffers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.input.stage_names import awaits, facts_of, integer, stage_of
from tfvis_nb.core.nested_columns import ITERATOR
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace

STAGE = ["task", "stage", "dataset"]
"""The columns that calls of one stage have in common."""


@per_trace
def stage_calls(trace: Trace) -> pd.DataFrame:
    """Return a row for each call of a stage, in the order of the events.

    ``event``, ``start_ns``, ``duration_ns`` (int64), ``task``, ``device``, ``lane``, ``stage``, ``dataset``
    (object; empty if unknown), ``facts`` (int64, an index into ``attrs["facts"]``, -1 without a text),
    ``buffered`` (float64; elements in its buffer at the start of the call, NaN without a buffer or if
    unknown), ``iterator`` and ``parent_iterator`` (object; the numbers of the called iterator and of its
    consumer, empty if unknown).
    """
    events = trace.events
    # Most traces have no such calls, and some have a million other events.
    is_call = pc.starts_with(pa.array(events["name"]), "Iterator::")
    rows = pc.indices_nonzero(is_call).to_numpy().astype(np.int64)
    # Taking no rows of a text column would still merge all its chunks.
    called = events.iloc[rows] if len(rows) else events.iloc[:0]
    names = pd.Categorical(called["name"].astype(object))
    stage = np.array([*map(stage_of, map(str, names.categories)), ""], object)[names.codes]
    is_stage = stage != ""
    rows, stage, called = rows[is_stage], stage[is_stage], called[is_stage]
    detail = pd.Categorical(called["detail"].astype(object))
    facts = [facts_of(str(text)) for text in detail.categories]
    buffered = [integer(one.get("buffered_elements")) for one in facts]
    table = pd.DataFrame(
        {
            "event": rows,
            "start_ns": called["start_ns"].to_numpy(np.int64),
            "duration_ns": called["duration_ns"].to_numpy(np.int64),
            "task": called["task"].astype(object).fillna("").to_numpy(),
            "device": called["device"].astype(object).to_numpy(),
            "lane": called["lane"].astype(object).to_numpy(),
            "stage": stage,
            "dataset": np.array([*(one.get("name", "") for one in facts), ""], object)[detail.codes],
            "facts": detail.codes.astype(np.int64),
            "buffered": np.array([np.nan if n is None else n for n in [*buffered, None]])[detail.codes],
        }
    )
    for name, fact in zip(ITERATOR, ("id", "parent_id"), strict=True):
        recorded = np.array([*(one.get(fact, "") for one in facts), ""], object)[detail.codes]
        table[name] = _numbers(trace, name, rows, recorded)
    known = table["buffered"].notna()
    if known.any():
        # TensorFlow (IteratorBase::BuildTraceMeName) leaves out the elements of an empty buffer.
        waiting = np.array([awaits(name) for name in table["stage"]], bool)
        has_buffer = known.groupby([table[name] for name in STAGE]).transform("any") | waiting
        table["buffered"] = table["buffered"].where(known | ~has_buffer, 0.0)
    table.attrs["facts"] = facts
    return table


def _numbers(trace: Trace, name: str, rows: np.ndarray, recorded: np.ndarray) -> np.ndarray:
    """Return a nested column of numbers as texts; if it is missing, take them from the texts of events."""
    if trace.nested is None or name not in trace.nested.column_names:
        return recorded
    numbers: np.ndarray = trace.nested[name].take(pa.array(rows)).cast(pa.string()).fill_null("").to_numpy()
    return numbers
