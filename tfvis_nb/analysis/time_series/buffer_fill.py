"""A counter of the elements in the buffers of tf.data."""

import pandas as pd

from tfvis_nb.analysis.input.stage_calls import stage_calls
from tfvis_nb.core import counters
from tfvis_nb.core.trace import Trace

COUNTER = "tf.data buffer"


def buffer_fill(trace: Trace) -> pd.DataFrame:
    """Return the number of elements in the buffer of each stage at each call, as a table of counters.

    Stages with the same name in several datasets get the dataset appended.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 5], "kind": ["host"] * 2,
    ...                       "name": ["Iterator::Root::Prefetch"] * 2,
    ...                       "detail": ["buffered_elements=2", "buffered_elements=0"]})
    >>> buffer_fill(Trace(table))[["series", "time_ns", "value"]].values.tolist()
    [['Root::Prefetch', 0, 2.0], ['Root::Prefetch', 9, 0.0]]
    """
    calls = stage_calls(trace)
    calls = calls[calls["buffered"].notna()]
    if calls.empty:
        return counters.EMPTY
    datasets = calls.groupby(["task", "device", "stage"], dropna=False)["dataset"].transform("nunique")
    several = calls["stage"] + " " + calls["dataset"]
    return counters.build(
        {
            "task": calls["task"],
            "device": calls["device"],
            "counter": [COUNTER] * len(calls),
            "series": calls["stage"].where(datasets <= 1, several),
            "unit": ["elements"] * len(calls),
            "time_ns": calls["start_ns"],
            "value": calls["buffered"],
        }
    )
