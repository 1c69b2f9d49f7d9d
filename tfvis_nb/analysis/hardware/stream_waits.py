"""How long kernels wait for a kernel of another stream that runs alone on their GPU."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.search_sorted import bisect_ranges
from tfvis_nb.core.trace import Trace

_NEVER = np.iinfo(np.int64).max


@per_trace
def streams(trace: Trace) -> np.ndarray:
    """Return the number of streams with kernels on each event's GPU (int64); 0 if it is not on a device.

    Streams of collectives do not count, because they wait for data by design.
    """
    gpu, lane, kernel = _places(trace)
    lanes = int(lane.max(initial=0)) + 1
    pairs = pd.unique(gpu[kernel] * lanes + lane[kernel])
    counts = np.bincount(pairs // lanes, minlength=int(gpu.max(initial=0)) + 1)
    numbers: np.ndarray = np.where(gpu >= 0, counts[gpu], 0)
    return numbers


@per_trace
def stream_waits(trace: Trace) -> np.ndarray:
    """Return how long a kernel of another stream waits for the end of each event, in ns (int64).

    This is the time in which the event is the only kernel on its GPU while the next kernel to start there,
    which is on another stream, waits: it is launched, and all earlier work of its stream has ended. 0 for all
    other events, and if launches are not recorded.
    """
    gpu, lane, kernel = _places(trace)
    start = trace.events["start_ns"].to_numpy(np.int64)
    end = start + trace.events["duration_ns"].to_numpy(np.int64)
    launched = trace.events["scheduled_ns"].to_numpy(np.int64, na_value=_NEVER)
    ran = np.flatnonzero(kernel & (streams(trace) > 1))
    ran = ran[np.lexsort((start[ran], gpu[ran]))]
    after = _next_of_another(gpu[ran], lane[ran], start[ran], end[ran])
    since = np.full(len(gpu), _NEVER)
    since[ran[after >= 0]] = _ready(gpu[ran], lane[ran], end[ran], launched[ran])[after[after >= 0]]
    event = np.flatnonzero(np.isin(gpu, gpu[ran]))
    alone, first, last = _alone(gpu[event], event, start[event], end[event])
    waits = np.zeros(len(gpu), np.int64)
    np.add.at(waits, alone, np.maximum(last - np.maximum(first, since[alone]), 0))
    return waits


def _next_of_another(gpu: np.ndarray, lane: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the kernel that starts first after the end of each, if it is on another stream, else -1.

    Kernels are ordered by GPU and start, here and in the result.
    """
    own = np.arange(len(gpu))
    first, stop = (np.searchsorted(gpu, gpu, side) for side in ("left", "right"))
    before = bisect_ranges(first, stop, lambda row, index: start[index] < end[row])
    index = np.where(before >= 0, before + 1, first)
    # The first of another stream is the one after the run of equal streams, even if several kernels start at
    # the same time.
    heads = np.append(np.flatnonzero(np.diff(lane, prepend=-1) | np.diff(gpu, prepend=-1)), len(gpu))
    other = heads[np.searchsorted(heads[:-1], index, "right")]
    is_there = index < stop
    index = np.where(is_there, index, own)
    following = np.where(lane[index] != lane, index, other)
    is_there &= following < stop
    following = np.where(is_there, following, own)
    return np.where(is_there & (start[following] == start[index]), following, -1)


def _ready(gpu: np.ndarray, lane: np.ndarray, end: np.ndarray, launched: np.ndarray) -> np.ndarray:
    """Return when each kernel could have started: launched, and earlier work of its stream finished."""
    stream = [gpu, lane]
    latest = pd.Series(end).groupby(stream).cummax()
    before = latest.groupby(stream).shift(fill_value=-_NEVER).to_numpy(np.int64)
    ready: np.ndarray = np.maximum(launched, before)
    return ready


def _places(trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each event's GPU (-1 for none) and lane, as numbers, and whether it is a kernel."""
    events = trace.events
    on_device = locations(events) == LOCATIONS.index("device")
    gpu = np.where(on_device, number_rows(events["task"], events["device"])[0], -1)
    return gpu, events["lane"].cat.codes.to_numpy(np.int64), on_device & is_kind(events, "kernel")


def _alone(
    gpu: np.ndarray, event: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the times in which one event runs alone on its GPU: event, start and end."""
    times = np.concatenate([start, end])
    order = np.lexsort((times, np.tile(gpu, 2)))
    times = times[order]
    change = np.repeat([1, -1], len(event))[order]
    # After the last end on a GPU nothing runs, so the next GPU also starts with nothing.
    running = np.cumsum(change)[:-1]
    # While a single event runs, the sum of the running events' numbers is its number.
    number = np.cumsum(np.tile(event, 2)[order] * change)[:-1]
    is_alone = (running == 1) & (times[1:] > times[:-1])
    return number[is_alone], times[:-1][is_alone], times[1:][is_alone]
