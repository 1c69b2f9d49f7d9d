"""The steps of a trace."""

import numpy as np
import pandas as pd

from tfvis_nb.core.step_spans import step_spans
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import TEXT


def step_table(trace: Trace, late: np.ndarray | None = None) -> pd.DataFrame:
    """Return the table that `Trace.steps` keeps; `late` is as in `step_spans`."""
    table = step_spans(trace.events, late).reset_index()
    table.insert(3, "duration_ns", table["end_ns"] - table["start_ns"])
    labels = [trace.step_labels.get(step, "") for step in table["step"].tolist()]
    table["label"] = pd.array(labels, dtype=TEXT)
    return table
