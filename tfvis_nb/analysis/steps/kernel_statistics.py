"""How often each GPU kernel ran, how long it took, and with what launch configuration."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "name": "Name of the kernel as the tracer recorded it; the event's name if there is none.",
    "op": "Type of the op that launched it; empty if that is not known.",
    "count": "Number of times it ran for ops of this type.",
    "total_ns": "Sum of the durations, in ns; simultaneous kernels all count.",
    "mean_ns": "total_ns / count.",
    "share": "total_ns / sum of total_ns of all kernels, from 0 to 1.",
    "registers": "Registers per thread of its longest run, if recorded.",
    "grid": "Blocks in the grid of its longest run, in x, y and z, if recorded.",
    "block": "Threads in a block of its longest run, in x, y and z, if recorded.",
}

_COLUMNS = {
    "name": "str",
    "op": "str",
    "count": "int64",
    "total_ns": "int64",
    "mean_ns": "float64",
    "share": "float64",
    "registers": "Int64",
    "grid": "str",
    "block": "str",
    "longest": "int64",
}
_FACTS = re.compile(r" (?:regs:|External id=|queued=|registers per thread=)")
_REGISTERS = re.compile(r" (?:regs:|registers per thread=)([0-9]{1,9})\b")
_SIZE = r"(?::|=\[)([0-9]{1,12}), ?([0-9]{1,12}), ?([0-9]{1,12})\b"
_GRID, _BLOCK = (re.compile(rf" {name}{_SIZE}") for name in ("grid", "block"))


@validate_input
def kernel_statistics(trace: Trace) -> pd.DataFrame:
    """Add up the kernels of a trace by their names and the types of the ops that launched them.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per kernel and op type, the longest total first: ``name``, ``op`` (str), ``count``,
        ``total_ns`` (int64), ``mean_ns``, ``share`` (float64), ``registers`` (Int64), ``grid`` and
        ``block`` (str, empty where not recorded) as in `FIGURES`, and ``longest`` (int64), the event with
        the longest duration. Collectives that are kernels count, copies and memsets do not. `cannot_say`
        where there are no kernels.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import kernel_statistics
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 3], "kind": ["kernel"] * 2,
    ...                       "op": ["MatMul"] * 2, "detail": ["gemm regs:92 grid:32,2,1 block:128,1,1"] * 2})
    >>> found = kernel_statistics(Trace(table))
    >>> found[["name", "op", "count", "total_ns", "registers", "grid"]].values.tolist()
    [['gemm', 'MatMul', 2, 8, 92, '32,2,1']]
    """
    events = trace.events
    on_device = locations(events) == LOCATIONS.index("device")
    rows = np.flatnonzero(on_device & ~is_kind(events, "memcpy") & ~is_kind(events, "memset"))
    if not len(rows):
        return cannot_say(_COLUMNS, Text("no_kernels"))
    ops = np.array([*map(str, events["op"].cat.categories), ""], object)[
        events["op"].cat.codes.to_numpy()[rows]
    ]
    duration = events["duration_ns"].to_numpy(np.int64)[rows]
    detail = _arrow(events["detail"].iloc[rows]).dictionary_encode()
    code = detail.indices.to_numpy()
    texts = [text or "" for text in detail.dictionary.to_pylist()]
    recorded = np.array([_FACTS.split(text, maxsplit=1)[0] for text in texts], object)[code]
    names = _arrow(events["name"].iloc[rows]).to_numpy(zero_copy_only=False)
    ran = pd.DataFrame(
        {"name": np.where(recorded == "", names, recorded), "op": ops, "duration_ns": duration}
    )
    groups = ran.groupby(["name", "op"], sort=False)["duration_ns"]
    table = groups.agg(count="size", total_ns="sum", at="idxmax").reset_index()
    table["mean_ns"] = table["total_ns"] / table["count"]
    table["share"] = table["total_ns"] / max(int(duration.sum()), 1)
    longest = [texts[index] for index in code[table["at"]]]
    table["registers"] = pd.array(
        [int(found[1]) if (found := _REGISTERS.search(text)) else None for text in longest], dtype="Int64"
    )
    for column, pattern in (("grid", _GRID), ("block", _BLOCK)):
        sizes = [",".join(found.groups()) if (found := pattern.search(text)) else "" for text in longest]
        table[column] = pd.array(sizes, dtype=event_table.TEXT)
    table["longest"] = rows[table["at"]]
    table = table.sort_values("total_ns", ascending=False, kind="stable").reset_index(drop=True)
    return table[list(_COLUMNS)].astype(dict.fromkeys(("name", "op"), event_table.TEXT))


def _arrow(texts: pd.Series) -> pa.Array:
    return pc.fill_null(pa.chunked_array(pa.array(texts)).combine_chunks().cast(pa.large_string()), "")
