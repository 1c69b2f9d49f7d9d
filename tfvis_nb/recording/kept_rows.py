"""Select rows of a trace with all of their data."""

import numpy as np
import pandas as pd

from tfvis_nb.core.trace import Trace


def kept_rows(trace: Trace, rows: np.ndarray) -> Trace:
    """Return a trace with some rows of another, in ascending order."""
    table: pd.DataFrame = trace.events.take(rows).reset_index(drop=True)
    return Trace(
        table,
        nested=None if trace.nested is None else trace.nested.take(rows),
        graphs=trace.graphs,
        run_metadata=trace.run_metadata,
        notes=trace.notes,
        profiles=trace.profiles,
        title=trace.title,
        step_labels=trace.step_labels,
        clock_bounds=trace.clock_bounds,
        stacks=trace.stacks,
        metadata=trace.metadata,
        recorded_counters=trace.recorded_counters,
        programs=trace.programs,
    )
