"""Negotiations in a Horovod timeline: when each rank was ready, and negotiations that do not name ranks."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import containing
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.text_rows import text_rows

_RANK = re.compile(r"rank (\d+)\b")


def negotiations(events: pd.DataFrame) -> pd.DataFrame:
    """Return the negotiations of a Horovod timeline, as event ids ``event``, ``collective`` and ``rows``.

    ``collective`` is the communication that follows, -1 if there is none. ``rows`` lists the rows of the
    ranks that became ready, in that order; Horovod writes them only when it first sees a tensor.
    """
    of_horovod = np.flatnonzero(containing(events["device"], HOROVOD))
    columns = ["lane", "name", "step", "start_ns", "duration_ns", "scheduled_ns"]
    table = events[columns].iloc[of_horovod]
    lane = table["lane"].astype(object).to_numpy()
    tensor, _ = number_rows(table["step"], table["name"])
    start = table["start_ns"].to_numpy(np.int64)
    end = start + table["duration_ns"].to_numpy(np.int64)
    scheduled = table["scheduled_ns"].to_numpy(np.int64, na_value=-1)
    current: dict[int, int] = {}
    rows: dict[int, list[int]] = {}
    collective: dict[int, int] = {}
    for row in np.lexsort((lane != "negotiate", start)).tolist():
        last = current.get(int(tensor[row]), -1)
        if lane[row] == "negotiate":
            current[int(tensor[row])] = row
            rows[row] = []
        elif last >= 0 and lane[row] == "rank ready" and start[row] <= end[last]:
            rows[last].append(int(of_horovod[row]))
        elif last >= 0 and lane[row] == "collective" and scheduled[row] == start[last]:
            collective.setdefault(last, int(of_horovod[row]))
    return pd.DataFrame(
        {
            "event": pd.Series([int(of_horovod[row]) for row in rows], dtype="int64"),
            "collective": pd.Series([collective.get(row, -1) for row in rows], dtype="int64"),
            "rows": pd.Series(list(rows.values()), dtype=object),
        }
    )


def announcements(events: pd.DataFrame) -> pd.DataFrame:
    """Return the ranks that became ready, of the negotiations that have a row for each rank of the timeline.

    A rank without a row may have been the last one, so the other negotiations do not name it. One row per
    rank: ``event``, ``step``, ``name``, ``op``, ``task``, ``start_ns``, ``duration_ns`` (until the end of the
    communication) and ``group`` (the negotiation).
    """
    table = negotiations(events)
    end = (events["start_ns"] + events["duration_ns"]).to_numpy(np.int64)
    until = np.where(table["collective"] >= 0, table["collective"], table["event"])
    table = table.assign(until=until).explode("rows").dropna(subset="rows")
    rows = table["rows"].to_numpy(np.int64)
    ready = events[["step", "start_ns"]].iloc[rows]
    rank = text_rows(events["detail"], rows).astype(object).str.extract(_RANK, expand=False).to_numpy()
    until = table["until"].to_numpy(np.int64)
    announced = pd.DataFrame(
        {
            "event": rows,
            "step": ready["step"].to_numpy(),
            "name": text_rows(events["name"], rows).to_numpy(),
            "op": events["op"].iloc[until].astype(object).to_numpy(),
            "task": [f"rank {number}" for number in rank],
            "start_ns": ready["start_ns"].to_numpy(np.int64),
            "duration_ns": end[until] - ready["start_ns"].to_numpy(np.int64),
            "group": [f"negotiation {event}" for event in table["event"]],
        }
    )
    announced = announced[~pd.isna(rank)].drop_duplicates(["group", "task"])
    complete = announced.groupby("group")["task"].transform("size") == announced["task"].nunique()
    return announced[complete.to_numpy(bool)].reset_index(drop=True)
