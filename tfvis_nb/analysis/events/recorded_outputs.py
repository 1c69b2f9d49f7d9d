"""The outputs of ops that TensorFlow's executor recorded."""

import numpy as np
import pandas as pd

from tfvis_nb.core.nested_lists import categories, exploded, numbers
from tfvis_nb.core.trace import Trace


def recorded_outputs(trace: Trace) -> pd.DataFrame:
    """Return one row per recorded output.

    ``event``, ``slot``, ``bytes`` (or those requested), ``requested`` (or 0), ``allocator``, ``ptr`` (or 0).
    """
    if trace.nested is None or "outputs" not in trace.nested.column_names:
        names = ("event", "slot", "bytes", "requested", "allocator", "ptr")
        return pd.DataFrame({name: [] for name in names})
    events, items = exploded(trace.nested["outputs"].combine_chunks())
    got, requested = numbers(items, "allocated_bytes"), numbers(items, "requested_bytes")
    return pd.DataFrame(
        {
            "event": events,
            "slot": numbers(items, "slot").astype(np.int64),
            "bytes": np.where(got > 0, got, requested),
            "requested": requested,
            "allocator": np.asarray(categories(items, "allocator"), dtype=object),
            "ptr": numbers(items, "ptr").astype(np.uint64),
        }
    )
