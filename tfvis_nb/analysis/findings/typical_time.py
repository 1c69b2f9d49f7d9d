"""Time that all steps take, without the extra time of slow steps, which has a finding of its own."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.slow_steps import reported_steps
from tfvis_nb.core.trace import Trace

_MOST = 0.5


def typical_time(trace: Trace, table: pd.DataFrame, part: str) -> tuple[pd.DataFrame, list[int]]:
    """Return a table of tasks and steps without the extra time of slow steps, and the steps that have some.

    A reported slow step then takes as much of the part as the median step. If most of the part is not such
    extra time, the table stays as it is, and no steps are returned.
    """
    medians = reported_steps(trace)
    if medians.empty:
        return table, []
    task, step = table["task"].astype(str), table["step"].astype("int64")
    took = pd.Series(table[part].to_numpy(np.int64, na_value=0), index=[task, step])
    compared = medians.reindex(step).fillna(-1).astype("int64").to_numpy()
    median = took.reindex(pd.MultiIndex.from_arrays([task, compared]), fill_value=0)
    extra = np.where(step.isin(medians.index), took.to_numpy() - median.to_numpy(), 0).clip(0)
    if not extra.sum() or extra.sum() < _MOST * took.sum():
        return table, []
    return table.assign(**{part: took.to_numpy() - extra}), step[extra > 0].unique().tolist()
