"""How many elements lay in the buffers of tf.data, as a counter."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.input.stage_names import facts_of, integer, stage_of
from tfvis_nb.core import counters
from tfvis_nb.core.trace import Trace

COUNTER = "tf.data buffer"


def buffer_fill(trace: Trace) -> pd.DataFrame:
    """Return the elements in the buffer of each stage whenever it was called, as a table of counters.

    Stages of several datasets that are called alike have the dataset behind their name.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 5], "kind": ["host"] * 2,
    ...                       "name": ["Iterator::Root::Prefetch"] * 2,
    ...                       "detail": ["buffered_elements=2", "buffered_elements=0"]})
    >>> buffer_fill(Trace(table))[["series", "time_ns", "value"]].values.tolist()
    [['Root::Prefetch', 0, 2.0], ['Root::Prefetch', 9, 0.0]]
    """
    events = trace.events
    names = pd.Categorical(events["name"].astype(object))
    stages = np.array([*map(stage_of, map(str, names.categories)), ""], object)[names.codes]
    rows = np.flatnonzero(stages != "")
    if not len(rows):
        return counters.EMPTY
    called = events.iloc[rows]
    detail = pd.Categorical(called["detail"].astype(object))
    facts = [*(facts_of(str(text)) for text in detail.categories), {}]
    fill = [integer(one.get("buffered_elements")) for one in facts]
    found = pd.DataFrame(
        {
            "task": called["task"].astype(object).to_numpy(),
            "device": called["device"].astype(object).to_numpy(),
            "stage": stages[rows],
            "dataset": np.array([one.get("name", "") for one in facts], object)[detail.codes],
            "time_ns": called["start_ns"].to_numpy(),
            "value": np.array([np.nan if one is None else one for one in fill])[detail.codes],
        }
    )
    found = found[found["value"].notna()]
    datasets = found.groupby(["task", "device", "stage"])["dataset"].transform("nunique")
    several = found["stage"] + " " + found["dataset"]
    return counters.build(
        {
            "task": found["task"],
            "device": found["device"],
            "counter": [COUNTER] * len(found),
            "series": found["stage"].where(datasets <= 1, several),
            "unit": ["elements"] * len(found),
            "time_ns": found["time_ns"],
            "value": found["value"],
        }
    )
