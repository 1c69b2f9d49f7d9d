"""Made-up transfers and copies between tasks, for the analyses of them."""

from typing import Any

import pandas as pd
from hypothesis import strategies as st

from tfvis_nb import Trace, events

DEVICES = (
    None,
    "/job:ps/replica:0/task:0/device:CPU:0",
    "/job:worker/replica:0/task:0/device:CPU:0",
    "/job:worker/replica:0/task:0/device:GPU:0",
    "/job:worker/replica:0/task:1/device:GPU:0",
)
KINDS = {"RecvTensor": "transfer", "MemcpyH2D": "memcpy", "MemcpyD2H": "memcpy", "MatMul": "op"}

Row = dict[str, Any]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "start_ns": st.integers(0, 40),
            "duration_ns": st.integers(0, 30),
            "step": st.integers(-1, 1),
            "op": st.sampled_from(list(KINDS)),
            "source": st.sampled_from(DEVICES),
            "destination": st.sampled_from(DEVICES),
            "bytes": st.one_of(st.none(), st.integers(0, 10**7)),
            "scheduled_ns": st.one_of(st.none(), st.integers(0, 50)),
        }
    ),
    min_size=1,
    max_size=14,
)


def trace_of(rows: list[Row]) -> Trace:
    """Make a trace of rows of `ROWS`."""
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    for name in ("bytes", "scheduled_ns"):
        columns[name] = pd.array(columns[name], dtype="Int64")
    columns["kind"] = [KINDS[row["op"]] for row in rows]
    return Trace(events.order(events.build(columns))[0])


def moves(trace: Trace) -> list[Row]:
    """Return the rows of ``trace.transfers`` as dictionaries, with None for unknown values."""
    rows: list[dict[Any, Any]] = trace.transfers.to_dict("records")
    return [{str(name): None if pd.isna(value) else value for name, value in row.items()} for row in rows]
