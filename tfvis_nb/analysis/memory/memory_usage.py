"""Memory of each allocator over time, and its peaks.

TensorFlow's ``timeline.py`` adds up the outputs of ops from the start of their op, so it counts a buffer once
for each op that hands it on, and variables at every read. Here recorded allocations and frees are added up.
Allocators without records, such as those of the host, have the sum of their estimated lifetimes.
"""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.memory.from_profile import memory_events
from tfvis_nb.analysis.memory.from_run_metadata import NEVER, bytes_in_use
from tfvis_nb.analysis.memory.tensor_lifetimes import concat_tables, no_allocations, tensor_lifetimes
from tfvis_nb.analysis.unavailable import cannot_say, why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "bytes": "Bytes allocated from an allocator. In a RunMetadata: the sum of its allocation records "
    "since the start of the step, without variables; changes within one microsecond are added up. In a "
    "profile: bytes_allocated of its allocation events, including variables. Where `estimated`: the sum of "
    "the buffers of `tensor_lifetimes` that live then.",
    "estimated": "Whether no allocations of the allocator were recorded, so that its curve consists of "
    "estimated lifetimes. Buffers whose end is unknown last until their step ends.",
    "free_bytes": "Bytes that the allocator could still hand out then: bytes_available of its allocation "
    "events. Missing where not recorded, as in a RunMetadata.",
    "fragmentation": "1 - largest free block / all free bytes of the memory that the allocator holds, from 0 "
    "to 1, from its allocation events. Missing where not recorded, as in a RunMetadata.",
    "peak_bytes": "The largest `bytes` of an allocator in a step; in a profile, over the whole profile.",
    "at_ns": "Epoch nanoseconds at which the peak is first reached.",
    "at_step": "The step that was running when the peak is first reached, the latest to start if there were "
    "several; missing if there was none.",
    "alive": "Number of buffers allocated at or before the peak and not freed until after it.",
    "alive_bytes": "Sum of the bytes of the buffers alive at the peak: in a RunMetadata equal to the "
    "peak, in a profile smaller by the buffers allocated before it started.",
    "requested_share": "requested_bytes / bytes of the buffers alive at the peak for which both are recorded,"
    " from 0 to 1; missing without any.",
    "in_use_bytes": "The most bytes in use according to the allocator itself, including variables: in a "
    "RunMetadata allocator_bytes_in_use at the end of the step's ops, in a profile peak_bytes.",
}

WHERE = ("step", "task", "allocator")
"""The columns that identify the curve of a row."""

_WHERE = {"step": "int32", "task": "category", "allocator": "category"}
_HEAP = {"free_bytes": "Int64", "fragmentation": "Float64"}
_CURVE = {**_WHERE, "time_ns": "int64", "bytes": "int64", **_HEAP, "estimated": "bool"}
_PEAKS = {
    **_WHERE,
    "peak_bytes": "int64",
    "at_ns": "int64",
    "at_step": "Int64",
    "alive": "Int64",
    "alive_bytes": "Int64",
    "requested_share": "Float64",
    **_HEAP,
    "in_use_bytes": "Int64",
    "estimated": "bool",
}


@validate_input
def memory_usage(trace: Trace) -> pd.DataFrame:
    """Return the allocated bytes of each allocator at each change.

    Parameters
    ----------
    trace
        Any trace with allocation records or sizes of outputs (``RunMetadata``), or allocation events (a
        profile).

    Returns
    -------
    pandas.DataFrame
        ``step`` (int32; `NO_STEP` for a profile, whose curve does not restart at a step), ``task`` and
        ``allocator`` (category), ``time_ns`` (int64 epoch nanoseconds) and, starting at that time, ``bytes``
        (int64), ``free_bytes`` (Int64) and ``fragmentation`` (Float64), ordered by step, task, allocator and
        time; ``estimated`` (bool; the same for a whole curve). `cannot_say` if none was recorded.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import memory_usage
    >>> table = events.build({"start_ns": [1000], "duration_ns": [900], "kind": ["op"]})
    >>> records = [{"micros": 1, "bytes": 256}, {"micros": 2, "bytes": 64}, {"micros": 5, "bytes": -256}]
    >>> trace = Trace(table, nested=pa.table({"memory": [[{"allocator": "cpu", "records": records}]]}))
    >>> memory_usage(trace)[["time_ns", "bytes"]].values.tolist()
    [[1000, 256], [2000, 320], [5000, 64]]
    """
    buffers = tensor_lifetimes(trace)
    tables = []
    if (buffers["step"] != NO_STEP).any():
        tables.append(_added_up(buffers[buffers["step"] != NO_STEP]))
    reported = memory_events(trace)
    if reported is not None and reported["in_use"].notna().any():
        tables.append(_reported(reported))
    if not tables:
        return cannot_say(_CURVE, no_allocations(trace) if reported is None else Text("no_amounts"))
    return tables[0] if len(tables) == 1 else concat_tables(tables[::-1])


def _added_up(buffers: pd.DataFrame) -> pd.DataFrame:
    """Add up allocated and freed bytes."""
    freed = np.flatnonzero(buffers["free_ns"].notna().to_numpy())
    row = np.concatenate([np.arange(len(buffers)), freed])
    size = buffers["bytes"].to_numpy()
    change = np.concatenate([size, -size[freed]])
    time = np.concatenate([buffers["alloc_ns"], buffers["free_ns"].to_numpy(np.int64, na_value=0)[freed]])
    group = curve_numbers(buffers)[row]
    order = np.lexsort((time, group))
    row, group, time = row[order], group[order], time[order]
    level = np.cumsum(change[order])
    begins = np.concatenate([[True], np.diff(group) != 0])
    before = np.concatenate([[0], level[:-1]])[begins]
    level -= before[np.cumsum(begins) - 1]
    last = np.concatenate([begins[1:] | (np.diff(time) != 0), [True]])
    curve = buffers[list(WHERE)].take(row[last]).reset_index(drop=True)
    unknown = {name: pd.Series(pd.NA, index=curve.index, dtype=dtype) for name, dtype in _HEAP.items()}
    estimated = buffers["estimated"].to_numpy()[row[last]]
    return curve.assign(time_ns=time[last], bytes=level[last], **unknown, estimated=estimated)


def _reported(table: pd.DataFrame) -> pd.DataFrame:
    """Take the values that the allocators of a profile reported, the last one at each time."""
    table = table[table["in_use"].notna()].assign(step=np.int32(NO_STEP))
    names = {"ns": "time_ns", "in_use": "bytes", "available": "free_bytes", "fragmentation": "fragmentation"}
    table = table[[*WHERE, *names]].rename(columns=names)
    group, time = curve_numbers(table), table["time_ns"].to_numpy()
    order = np.lexsort((time, group))
    last = np.concatenate([(np.diff(group[order]) != 0) | (np.diff(time[order]) != 0), [True]])
    reported = table.take(order[last]).astype({"bytes": "int64", **_HEAP}).reset_index(drop=True)
    return reported.assign(estimated=False)


@validate_input
def memory_peaks(trace: Trace) -> pd.DataFrame:
    """Return the peak of each allocator in each step.

    Parameters
    ----------
    trace
        Any trace with memory records.

    Returns
    -------
    pandas.DataFrame
        ``step``, ``task``, ``allocator`` as in `memory_usage`; ``peak_bytes`` and ``at_ns`` (int64), the
        first of several equal peaks; ``at_step`` (Int64), because ``step`` is `NO_STEP` for profiles, whose
        peaks cover the whole profile; ``alive`` and ``alive_bytes`` (Int64), number and bytes of the buffers
        alive at that time, NA if unknown; their ``requested_share`` (Float64); ``free_bytes`` (Int64) and
        ``fragmentation`` (Float64) at the peak; ``in_use_bytes`` (Int64), NA if the allocator does not count;
        ``estimated`` (bool), as in `memory_usage`. `cannot_say` if there is no curve.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import memory_peaks
    >>> table = events.build({"start_ns": [1000], "duration_ns": [900], "kind": ["op"]})
    >>> records = [{"micros": 1, "bytes": 256}, {"micros": 2, "bytes": 64}, {"micros": 5, "bytes": -256}]
    >>> trace = Trace(table, nested=pa.table({"memory": [[{"allocator": "cpu", "records": records}]]}))
    >>> memory_peaks(trace)[["peak_bytes", "at_ns", "alive"]].values.tolist()
    [[320, 2000, 2]]
    """
    curve, buffers = memory_usage(trace), tensor_lifetimes(trace)
    if why_not(curve):
        return cannot_say(_PEAKS, why_not(curve))
    highest = curve["bytes"].groupby(curve_numbers(curve)).idxmax().to_numpy()
    peaks = curve.take(highest).rename(columns={"time_ns": "at_ns", "bytes": "peak_bytes"})
    peaks = peaks[[*WHERE, "peak_bytes", "at_ns", *_HEAP, "estimated"]].reset_index(drop=True)
    peaks["at_step"] = _during(trace, peaks)
    peak = alive_at_peak(buffers, peaks)
    unknown = np.full(len(peaks), bool(why_not(buffers)))
    alive = np.bincount(peak[peak >= 0], minlength=len(peaks))
    alive_bytes = np.zeros(len(peaks), np.int64)
    np.add.at(alive_bytes, peak[peak >= 0], buffers["bytes"].to_numpy()[peak >= 0])
    peaks["alive"] = pd.arrays.IntegerArray(alive, unknown)
    peaks["alive_bytes"] = pd.arrays.IntegerArray(alive_bytes, unknown.copy())
    known = (peak >= 0) & buffers["requested_bytes"].notna().to_numpy(bool)
    sums = buffers[known].groupby(peak[known])[["requested_bytes", "bytes"]].sum()
    peaks["requested_share"] = (sums["requested_bytes"] / sums["bytes"]).astype("Float64")
    return peaks.assign(in_use_bytes=_most_in_use(trace, peaks))[list(_PEAKS)]


def _during(trace: Trace, peaks: pd.DataFrame) -> pd.arrays.IntegerArray:
    """Return the step of each peak: its own, or the last one to start among those running at the peak."""
    steps = trace.steps[trace.steps["step"] != NO_STEP].sort_values("start_ns", kind="stable")
    number, start, end = (steps[name].to_numpy(np.int64) for name in ("step", "start_ns", "end_ns"))
    step = peaks["step"].to_numpy(np.int64, copy=True)
    for index in np.flatnonzero(step == NO_STEP):
        peak_ns = int(peaks["at_ns"].iloc[index])
        steps_there = number[(start <= peak_ns) & (peak_ns <= end)]
        step[index] = steps_there[-1] if len(steps_there) else NO_STEP
    return pd.arrays.IntegerArray(np.maximum(step, 0), step == NO_STEP)


def alive_at_peak(buffers: pd.DataFrame, peaks: pd.DataFrame) -> np.ndarray:
    """Return for each buffer of `tensor_lifetimes` the row of `peaks` during which it is alive, else -1.

    `peaks` has at most one row per curve.
    """
    if buffers.empty or peaks.empty:
        return np.full(len(buffers), -1)
    group, of_peak = curve_numbers(buffers), curve_numbers(peaks)
    order = np.argsort(of_peak)
    position = np.minimum(np.searchsorted(of_peak[order], group), len(order) - 1)
    peak = order[position]
    peak_ns = peaks["at_ns"].to_numpy()[peak]
    until = buffers["free_ns"].to_numpy(np.int64, na_value=NEVER)
    alive = (of_peak[peak] == group) & (buffers["alloc_ns"].to_numpy() <= peak_ns) & (until > peak_ns)
    index: np.ndarray = np.where(alive, peak, -1)
    return index


def _most_in_use(trace: Trace, peaks: pd.DataFrame) -> pd.arrays.IntegerArray:
    most = peaks["peak_bytes"].to_numpy(copy=True)
    unknown = (peaks["step"] != NO_STEP).to_numpy(copy=True)
    reported = bytes_in_use(trace)
    row = reported["event"].to_numpy()
    events = trace.events[["step", "task"]].take(row).set_axis(reported.index)
    largest = reported.assign(**events).groupby(list(WHERE), observed=True)["bytes"].max().to_dict()
    for index, where in enumerate(zip(*(peaks[name] for name in WHERE), strict=True)):
        if unknown[index] and where in largest:
            most[index], unknown[index] = largest[where], False
    return pd.arrays.IntegerArray(most, unknown)


def curve_numbers(table: pd.DataFrame) -> np.ndarray:
    """Number the curve of each row of a table, by step, task and allocator; int64.

    Tables of the same trace use the same numbers.
    """
    number = table["step"].to_numpy(np.int64) + 1
    for name in WHERE[1:]:
        number = number * (len(table[name].cat.categories) + 1) + table[name].cat.codes.to_numpy() + 1
    return number
