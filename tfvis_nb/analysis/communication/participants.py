"""The participants in collectives: tasks, or devices of one task that meet each other."""

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.clocks.constraints import process_groups, recorded_collectives
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.labels import natural
from tfvis_nb.core.nested_columns import EXECUTOR
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.text_rows import text_rows
from tfvis_nb.core.trace import Trace

_KEY = ["step", "which", "group"]


@per_trace
def participants(trace: Trace) -> pd.Series:
    """Return the task of each event, or its device if devices of its task meet each other (category).

    The device is that of the executor: ``/job:worker/replica:0/task:0/device:GPU:1``, or ``/device:CPU:1``
    in a profile without tasks. Events of such a task that no executor ran keep the task.
    """
    table, task = collective_rows(trace), trace.events["task"]
    devices = table[table["place"] != ""].groupby([*_KEY, "task"], observed=True)["place"].nunique()
    met = devices[devices > 1].reset_index()["task"].unique()
    if not len(met):
        return task
    places = set(table.loc[table["task"].isin(met), "place"]) - {""}
    place = _places(trace, np.arange(len(task)))
    meets = task.isin(met).to_numpy() & np.isin(place, [*places])
    return task.astype(object).where(~meets, place).astype("category")


@per_trace
def collective_rows(trace: Trace) -> pd.DataFrame:
    """Return the recorded executions of collectives.

    Columns: ``event``, ``step``, ``name``, ``op``, ``task``, ``place`` (device of the executor, empty if
    unknown), ``start_ns``, ``duration_ns``, ``group`` (process group) and ``which``: the same text for all
    executions that may belong together. That is the recorded number of the collective, or else name and op
    type of the node. On several devices of one graph, the nodes of a collective have different names, but
    their order by number is the same on each device.
    """
    events = trace.events
    chosen = recorded_collectives(events)
    rows = np.flatnonzero(chosen).astype(np.int64)
    table: pd.DataFrame = events[["step", "op", "task", "start_ns", "duration_ns"]].iloc[rows]
    table.insert(1, "name", text_rows(events["name"], rows))
    table = table.reset_index(drop=True)
    table.insert(0, "event", rows)
    table["place"] = _places(trace, rows)
    table["group"] = process_groups(text_rows(events["detail"], rows).to_frame()).to_numpy(object)
    table["which"] = table["name"].astype(object) + "\0" + table["op"].astype(object).fillna("")
    alone = table.groupby(_KEY)["place"].transform("nunique") == 1
    alone &= table.groupby(_KEY)["task"].transform("nunique") == 1
    names = table["name"].astype(str).tolist()
    for (_, _, op), part in table[alone].groupby(["step", "task", "op"], observed=True):
        counts = part["place"].value_counts()
        if len(counts) > 1 and counts.min() == counts.max():
            ordered = sorted(part.index, key=lambda row: natural(names[row]))
            table.loc[ordered, "which"] = (
                part.loc[ordered].groupby("place").cumcount().map(f"{op} {{}}".format)
            )
    if trace.nested is not None and "instance" in trace.nested.column_names:
        instance = trace.nested["instance"].take(rows).to_pandas().to_numpy()
        known = ~pd.isna(instance)
        table.loc[known, "which"] = [str(int(number)) for number in instance[known]]
    return table


def _places(trace: Trace, rows: np.ndarray) -> np.ndarray:
    """Return the device of the executor of each of the `rows`, or on which it ran; empty if unknown."""
    events = trace.events[["task", "device", "kind"]].take(rows).reset_index(drop=True)
    device = events["device"].astype(object).fillna("").to_numpy()
    if trace.nested is None or EXECUTOR not in trace.nested.column_names:
        return device
    executor = trace.nested[EXECUTOR].take(pa.array(rows)).to_pandas().astype(object)
    known = executor.notna().to_numpy()
    place = np.where(is_kind(events, "host", "op", "collective"), "", device)
    place[known] = (events["task"].astype(object) + executor).to_numpy()[known]
    return place
