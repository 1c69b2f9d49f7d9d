"""The steps of a trace."""

import pandas as pd

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import TEXT


def step_table(trace: Trace) -> pd.DataFrame:
    """Return the table that `Trace.steps` keeps."""
    grouped = trace.events.assign(end_ns=trace.events["start_ns"] + trace.events["duration_ns"]).groupby(
        "step"
    )
    table = grouped.agg(
        start_ns=("start_ns", "min"), end_ns=("end_ns", "max"), events=("start_ns", "size")
    ).reset_index()
    table.insert(3, "duration_ns", table["end_ns"] - table["start_ns"])
    labels = [trace.step_labels.get(step, "") for step in table["step"].tolist()]
    table["label"] = pd.array(labels, dtype=TEXT)
    return table
