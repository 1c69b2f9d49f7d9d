"""Predict a late task that arrives at its barriers together with the last of the others."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.stragglers import stragglers
from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.prediction.replay import no_change, replay
from tfvis_nb.core.labels import shown_task
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text


def early_factors(trace: Trace, task: str) -> np.ndarray:
    """Return the factor of each event with which the task arrives together with the last of the others.

    Not all time before a task arrives is its own work, so the effect of a first guess determines the rest.
    """
    late = stragglers(trace)
    late = late[(late["task"].astype(str) == task).to_numpy()]
    if late.empty or task not in trace.events["task"].cat.categories:
        raise ValueError(Text("not_at_barriers", task=shown_task(task)))
    worst = late.loc[late.groupby("step")["sole_wait_ns"].idxmax()].set_index("step")
    first = trace.steps.set_index("step")["start_ns"].reindex(worst.index)
    times, lag_target = backtracker(trace).times, backtracker(trace).dependencies.target
    step = pd.Series(times.step)
    own = (trace.events["task"].astype(str) == task).to_numpy()
    own = own & (step.map(worst["arrived_ns"]) > times.start).to_numpy()
    event, arrived = (worst[name].to_numpy(np.int64) for name in ("event", "arrived_ns"))
    factors = 1 - (worst["sole_wait_ns"] / (arrived - first).clip(lower=1)).clip(0, 1)

    def early() -> np.ndarray:
        return np.where(own, step.map(factors).fillna(1.0), 1.0)

    factor = early()
    guess = replay(trace, no_change(trace)._replace(factor=factor, lag_factor=factor[lag_target]))
    side = np.where(arrived == times.start[event], guess.start[event], guess.end[event])
    gained = arrived - int(times.start[0]) - side
    # What earlier steps gain moves this one as a whole.
    begins = pd.DataFrame(
        {"recorded": times.start - int(times.start[0]), "guess": guess.start, "step": times.step}
    )
    begins = begins[times.counts].groupby("step").min().reindex(worst.index)
    gained = (gained - (begins["recorded"] - begins["guess"]).to_numpy()).clip(1)
    factors = (1 - (1 - factors) * worst["sole_wait_ns"] / gained).clip(0, 1)
    return early()
