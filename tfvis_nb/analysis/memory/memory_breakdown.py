"""The buffers in an allocator's memory, at its peak or at any other time."""

from typing import Literal, get_args

import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.memory.buffer_origins import ORIGINS, buffer_origins
from tfvis_nb.analysis.memory.from_run_metadata import NEVER
from tfvis_nb.analysis.memory.memory_usage import WHERE, alive_at_peak, curve_numbers, memory_peaks
from tfvis_nb.analysis.memory.tensor_lifetimes import tensor_lifetimes
from tfvis_nb.analysis.unavailable import NONE, cannot_say, why_not
from tfvis_nb.core.options import near
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "bytes": "Sum of the bytes of the buffers alive at the peak of their allocator.",
    "count": "Number of those buffers.",
    "share": "bytes divided by those of all buffers of the allocator alive then; the shares of an "
    "allocator and step add up to 1.",
    **ORIGINS,
}

By = Literal["op", "scope", "name", "layer", "line"]
BY = get_args(By)
"""Groupings of buffers: by the type or scope of the op that allocated them, by tensor, or by the op's layer
or line of code."""

_COLUMNS = {
    "step": "int32",
    "task": "category",
    "allocator": "category",
    "bytes": "int64",
    "count": "int64",
    "share": "float64",
}


@validate_input
def memory_breakdown(trace: Trace, by: By = "op") -> pd.DataFrame:
    """Return the uses of memory at the peak of each allocator in each step.

    Parameters
    ----------
    trace
        Any trace with memory records.
    by
        One of `BY`.

    Returns
    -------
    pandas.DataFrame
        ``step``, ``task``, ``allocator`` as in `tfvis_nb.analysis.memory_peaks`; the column `by` (str; empty
        if unknown), ``bytes`` and ``count`` (int64) of the buffers alive at the peak, ``share`` (float64) of
        their bytes; for each allocator the most bytes first. `cannot_say` if buffers are unknown.

    Raises
    ------
    ValueError
        If `by` is not one of `BY`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import memory_breakdown
    >>> table = events.build({"start_ns": [1000], "duration_ns": [900], "kind": ["op"], "op": ["MatMul"]})
    >>> records = [{"micros": 1, "bytes": 256}, {"micros": 2, "bytes": 64}, {"micros": 5, "bytes": -256}]
    >>> trace = Trace(table, nested=pa.table({"memory": [[{"allocator": "cpu", "records": records}]]}))
    >>> memory_breakdown(trace, "op")[["op", "bytes", "count", "share"]].values.tolist()
    [['MatMul', 320, 2, 1.0]]
    """
    if by not in BY:
        raise ValueError(Text("no_such_grouping", by=by, hint=near(by, BY), choices=", ".join(BY)))
    buffers, peaks = tensor_lifetimes(trace), memory_peaks(trace)
    no_lines = Text("no_stacks") if by == "line" and trace.stacks is None else NONE
    if reason := why_not(peaks) or why_not(buffers) or no_lines:
        return cannot_say({**_COLUMNS, by: "str"}, reason)
    peak = alive_at_peak(buffers, peaks)
    alive = buffers[peak >= 0]
    if by in ORIGINS:
        alive = alive.assign(**buffer_origins(trace, alive))
    alive = alive[[by, "bytes"]].astype({by: event_table.TEXT}).assign(peak=peak[peak >= 0])
    table = alive.groupby(["peak", by], sort=True)["bytes"].agg(["sum", "size"]).reset_index()
    table = table.sort_values(["peak", "sum"], ascending=[True, False], kind="stable", ignore_index=True)
    where = peaks[list(WHERE)].take(table["peak"].to_numpy()).reset_index(drop=True)
    whole = table.groupby("peak")["sum"].transform("sum")
    return where.assign(
        **{by: table[by]}, bytes=table["sum"], count=table["size"], share=table["sum"] / whole
    )


@validate_input
def live_buffers(
    trace: Trace,
    time_ns: int | None = None,
    *,
    allocator: str | None = None,
    step: int | None = None,
    task: str | None = None,
) -> pd.DataFrame:
    """Return the buffers allocated at the peak of each allocator in each step, or at a given time.

    Parameters
    ----------
    trace
        Any trace with memory records.
    time_ns
        Epoch nanoseconds; None for the peaks of `tfvis_nb.analysis.memory_peaks`.
    allocator, step, task
        Curve, as in `tfvis_nb.analysis.memory_usage`; None for all.

    Returns
    -------
    pandas.DataFrame
        Rows of `tfvis_nb.analysis.tensor_lifetimes`, with ``layer`` and ``line`` (str) as in `FIGURES`, and
        ``share`` (float64) of the bytes of their curve; ordered by step, task and allocator, the largest
        first. `cannot_say` as in `tfvis_nb.analysis.tensor_lifetimes`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import live_buffers
    >>> table = events.build({"start_ns": [1000], "duration_ns": [900], "kind": ["op"], "name": ["a"]})
    >>> records = [{"micros": 1, "bytes": 256}, {"micros": 2, "bytes": 64}, {"micros": 5, "bytes": -256}]
    >>> trace = Trace(table, nested=pa.table({"memory": [[{"allocator": "cpu", "records": records}]]}))
    >>> live_buffers(trace)[["name", "bytes", "share"]].values.tolist()
    [['a', 256, 0.8], ['a', 64, 0.2]]
    >>> live_buffers(trace, 1500, allocator="cpu")[["name", "bytes", "share"]].values.tolist()
    [['a', 256, 1.0]]
    """
    buffers = tensor_lifetimes(trace)
    if why_not(buffers):
        unknown = {name: pd.Series(dtype=event_table.TEXT) for name in ORIGINS}
        return buffers.assign(**unknown, share=pd.Series(dtype="float64"))
    if time_ns is None:
        alive = alive_at_peak(buffers, memory_peaks(trace)) >= 0
    else:
        until = buffers["free_ns"].to_numpy("i8", na_value=NEVER)
        alive = (buffers["alloc_ns"].to_numpy() <= time_ns) & (until > time_ns)
    for name, wanted in (("allocator", allocator), ("step", step), ("task", task)):
        if wanted is not None:
            alive &= (buffers[name] == wanted).to_numpy()
    live = buffers[alive].assign(curve=curve_numbers(buffers)[alive])
    live = live.sort_values(
        ["curve", "bytes", "alloc_ns"], ascending=[True, False, True], kind="stable", ignore_index=True
    )
    share = live["bytes"] / live.groupby("curve")["bytes"].transform("sum")
    return live.drop(columns="curve").assign(**buffer_origins(trace, live), share=share)
