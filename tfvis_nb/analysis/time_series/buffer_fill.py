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
    found = stage_calls(trace)
    found = found[found["buffered"].notna()]
    if found.empty:
        return counters.EMPTY
    datasets = found.groupby(["task", "device", "stage"], dropna=False)["dataset"].transform("nunique")
    several = found["stage"] + " " + found["dataset"]
    return counters.build(
        {
            "task": found["task"],
            "device": found["device"],
            "counter": [COUNTER] * len(found),
            "series": found["stage"].where(datasets <= 1, several),
            "unit": ["elements"] * len(found),
            "time_ns": found["start_ns"],
            "value": found["buffered"],
        }
    )
