"""Assign the events of one process to a task."""

import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.core.counters import build
from tfvis_nb.core.trace import Trace, replaced

APART = 1_000_000_000
"""A second in ns, the largest gap between files of tasks that ran at the same time by different clocks."""

LOCAL = "/job:localhost/replica:0/task:0"
"""The name of processes without a task; in profiles they have none."""


def under_task(trace: Trace, task: str) -> Trace:
    """Return a trace with its local or unnamed events, devices, facts and counters assigned to a task."""
    table = trace.events.copy(deep=False)
    column = table["task"].cat
    table["task"] = _renamed(table["task"], {name: task for name in column.categories if name in ("", LOCAL)})
    for name in ("device", "source", "destination"):
        names = table[name].cat.categories
        table[name] = _renamed(table[name], {one: _placed(one, task) for one in names})
    metadata = {
        subject: rows.assign(task=task) if "task" in rows else rows
        for subject, rows in trace.metadata.items()
    }
    counters = trace.recorded_counters
    if len(counters):
        own = counters["device"].cat
        device = _renamed(counters["device"], {one: _placed(one, task) for one in own.categories})
        counters = build({**counters, "task": [task] * len(counters), "device": device})
    return replaced(trace, table, metadata=metadata, recorded_counters=counters)


def _placed(device: str, task: str) -> str:
    if device.startswith("/device:"):
        return f"{task}{device}"
    return task + device.removeprefix(LOCAL) if device.startswith(LOCAL) else device


def _renamed(column: pd.Series, names: dict[str, str]) -> pd.Series:
    """Rename categories; two may become the same."""
    renamed = [names.get(name, name) for name in column.cat.categories]
    distinct = list(dict.fromkeys(renamed))
    if len(distinct) == len(renamed):
        return column.cat.rename_categories(pd.Index(renamed, dtype=event_table.TEXT).tolist())
    index = pd.Index(distinct, dtype=event_table.TEXT)
    codes = index.get_indexer(pd.Index(renamed, dtype=event_table.TEXT))[column.cat.codes.to_numpy()]
    codes[column.isna().to_numpy()] = -1
    return pd.Series(pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(index)), index=column.index)
