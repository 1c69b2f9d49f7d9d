"""The stages of a tf.data pipeline: their times, and what AUTOTUNE chose for them."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.nesting import self_times
from tfvis_nb.analysis.input.stage_names import awaits, boolean, facts_of, integer, stage_of
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "stage": "The stage, below those that take elements from it.",
    "task": "The task that ran it; empty if that is not known.",
    "dataset": "Kind and number of its dataset; empty where the profile does not say it (before TF 2.8).",
    "depth": "Number of stages above it.",
    "awaits": "Whether it hands out what other threads have prepared: then self_ns is waiting for them.",
    "calls": "Number of elements that were asked of it.",
    "total_ns": "Sum of the durations of its calls, in ns; simultaneous calls all count.",
    "self_ns": "Sum of the durations of its calls without those of other stages within them, in ns.",
    "mean_ns": "total_ns / calls.",
    "per_second": "calls / time from the start of its first call to the end of its last one, in calls a "
    "second; NA for a single call.",
    "autotune": "Whether AUTOTUNE sets its parallelism or its buffer.",
    "parallelism": "Elements that it prepares at once, as of its last call.",
    "buffer_limit": "Elements that its buffer holds at most, as of its last call.",
    "buffered_mean": "Mean number of elements in its buffer when it was called.",
    "empty": "Number of calls that found its buffer empty.",
    "deterministic": "Whether it keeps the order of elements.",
    "cpu_budget": "CPUs that AUTOTUNE may use, of the root.",
    "ram_budget_bytes": "Memory that AUTOTUNE may use for buffers, in bytes, of the root.",
    "algorithm": "How AUTOTUNE searches, of the root.",
}
"""What a profile does not say is missing."""

_COLUMNS = {
    "stage": "str",
    "task": "str",
    "dataset": "str",
    "depth": "int64",
    "awaits": "bool",
    "calls": "int64",
    "total_ns": "int64",
    "self_ns": "int64",
    "mean_ns": "float64",
    "per_second": "Float64",
    "autotune": "boolean",
    "parallelism": "Int64",
    "buffer_limit": "Int64",
    "buffered_mean": "Float64",
    "empty": "Int64",
    "deterministic": "boolean",
    "cpu_budget": "Int64",
    "ram_budget_bytes": "Int64",
    "algorithm": "str",
    "longest": "int64",
}
_MIB = 2**20


@validate_input
def input_pipeline(trace: Trace) -> pd.DataFrame:
    """Return the stages of the tf.data pipelines of a trace.

    Parameters
    ----------
    trace
        Any trace. Profiles of TensorFlow 2 have the calls of iterators, a ``RunMetadata`` has not.

    Returns
    -------
    pandas.DataFrame
        One row per stage, after those that take elements from it: ``stage``, ``task``, ``dataset``,
        ``algorithm`` (str), ``depth``, ``calls``, ``total_ns``, ``self_ns`` (int64), ``awaits`` (bool),
        ``mean_ns`` (float64), ``per_second``, ``buffered_mean`` (Float64), ``parallelism``,
        ``buffer_limit``, ``empty``, ``cpu_budget``, ``ram_budget_bytes`` (Int64), ``autotune``,
        ``deterministic`` (boolean) as in `FIGURES`, and ``longest`` (int64), the event of its longest
        call. `cannot_say` where there are no calls of iterators.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import input_pipeline
    >>> table = events.build({"start_ns": [0, 2], "duration_ns": [10, 7], "lane": ["python"] * 2,
    ...                       "kind": ["host"] * 2, "name": ["Iterator::Root", "Iterator::Root::Map"]})
    >>> input_pipeline(Trace(table))[["stage", "calls", "self_ns"]].values.tolist()
    [['Root', 1, 3], ['Root::Map', 1, 7]]
    """
    events = trace.events
    names = pd.Categorical(events["name"].astype(object))
    stages = np.array([*map(stage_of, map(str, names.categories)), ""], object)
    stage = stages[names.codes]
    rows = np.flatnonzero(stage != "")
    if not len(rows):
        return cannot_say(_COLUMNS, Text("no_input_pipeline"))
    own, _ = self_times(events, stage != "")
    called = events.iloc[rows]
    detail = pd.Categorical(called["detail"].astype(object))
    facts = [facts_of(str(text)) for text in detail.categories]
    calls = pd.DataFrame(
        {
            "task": called["task"].astype(object).fillna("").to_numpy(),
            "stage": stage[rows],
            "dataset": [facts[code].get("name", "") if code >= 0 else "" for code in detail.codes],
            "row": rows,
            "fact": detail.codes,
            "start": called["start_ns"].to_numpy(),
            "duration": called["duration_ns"].to_numpy(),
            "own": own[rows],
        }
    )
    found = [
        {"task": task, "stage": stage, "dataset": dataset} | _figures(group, facts)
        for (task, stage, dataset), group in calls.groupby(["task", "stage", "dataset"], sort=False)
    ]
    found.sort(key=lambda one: (one["task"], one["stage"].split("::"), one["dataset"]))
    return pd.DataFrame(found, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))


def _figures(calls: pd.DataFrame, facts: list[dict[str, str]]) -> dict[str, Any]:
    """Return the figures of a stage, whose calls are in the order of their start."""
    stage = str(calls["stage"].iloc[0])
    recorded = [facts[code] for code in calls["fact"] if code >= 0]
    buffered = [number for one in recorded if (number := integer(one.get("buffered_elements"))) is not None]
    span = int((calls["start"] + calls["duration"]).max()) - int(calls["start"].min())
    budget = integer(_last(recorded, "ram_budget_megabytes"))
    return {
        "depth": stage.count("::"),
        "awaits": awaits(stage),
        "calls": len(calls),
        "total_ns": int(calls["duration"].sum()),
        "self_ns": int(calls["own"].sum()),
        "mean_ns": float(calls["duration"].mean()),
        "per_second": len(calls) * 1e9 / span if len(calls) > 1 and span > 0 else None,
        "autotune": boolean(_last(recorded, "autotune")),
        "parallelism": integer(_last(recorded, "parallelism")),
        "buffer_limit": integer(_last(recorded, "buffer_limit")),
        "buffered_mean": sum(buffered) / len(buffered) if buffered else None,
        "empty": buffered.count(0) if buffered else None,
        "deterministic": boolean(_last(recorded, "deterministic")),
        "cpu_budget": integer(_last(recorded, "cpu_budget")),
        "ram_budget_bytes": None if budget is None else budget * _MIB,
        "algorithm": _last(recorded, "algorithm") or "",
        "longest": int(calls["row"].iloc[calls["duration"].to_numpy().argmax()]),
    }


def _last(recorded: list[dict[str, str]], name: str) -> str | None:
    return next((one[name] for one in reversed(recorded) if name in one), None)
