"""How long kernels of a stream wait for a kernel of another one, while it alone runs on their GPU."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace

_NEVER = np.iinfo(np.int64).max


@per_trace
def streams(trace: Trace) -> np.ndarray:
    """Return for each event how many streams of its GPU run kernels (int64); 0 if it is not on a device.

    Collectives have streams of their own, which wait for data by design: they do not count.
    """
    gpu, lane, kernel = _places(trace)
    lanes = int(lane.max(initial=0)) + 1
    pairs = pd.unique(gpu[kernel] * lanes + lane[kernel])
    counts = np.bincount(pairs // lanes, minlength=int(gpu.max(initial=0)) + 1)
    found: np.ndarray = np.where(gpu >= 0, counts[gpu], 0)
    return found


@per_trace
def stream_waits(trace: Trace) -> np.ndarray:
    """Return for each event how long kernels of other streams wait for its end, in ns (int64).

    It is the time in which the event, a kernel, is the only one on its GPU, and a kernel of another stream
    that starts next, not later than the next one of the event's own stream, waits: it is launched and all
    before it in its stream has ended. 0 for all other events, and if launches are not recorded.
    """
    gpu, lane, kernel = _places(trace)
    waits = np.zeros(len(gpu), np.int64)
    start = trace.events["start_ns"].to_numpy(np.int64)
    end = start + trace.events["duration_ns"].to_numpy(np.int64)
    launched = trace.events["scheduled_ns"].to_numpy(np.int64, na_value=_NEVER)
    several = streams(trace) > 1
    for number in np.unique(gpu[kernel & several]).tolist():
        on_gpu = np.flatnonzero(gpu == number)
        ran = on_gpu[kernel[on_gpu]]
        ran = ran[np.argsort(start[ran], kind="stable")]
        of_lane = [ran[lane[ran] == one] for one in np.unique(lane[ran])]
        since = np.full(len(gpu), _NEVER)
        for own in of_lane:
            following = np.append(start[own], _NEVER)[np.searchsorted(start[own], end[own])]
            for other in of_lane:
                if other is own:
                    continue
                before = np.append(-_NEVER, np.maximum.accumulate(end[other])[:-1])
                ready = np.append(np.maximum(launched[other], before), _NEVER)
                index = np.searchsorted(start[other], end[own])
                starts = np.append(start[other], _NEVER)[index]
                waiting = (starts <= following) & (starts < _NEVER)
                since[own[waiting]] = np.minimum(since[own], ready[index])[waiting]
        event, first, last = _alone(on_gpu, start[on_gpu], end[on_gpu])
        np.add.at(waits, event, np.maximum(last - np.maximum(first, since[event]), 0))
    return waits


def _places(trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each event its GPU (-1 for none) and its lane, as numbers, and whether it is a kernel."""
    events = trace.events
    on_device = locations(events) == LOCATIONS.index("device")
    group = events.groupby(["task", "device"], observed=True, sort=False, dropna=False).ngroup().to_numpy()
    gpu = np.where(on_device, group, -1)
    return gpu, events["lane"].cat.codes.to_numpy(np.int64), on_device & is_kind(events, "kernel")


def _alone(
    event: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the stretches of time in which one event runs alone: the event, from when and to when."""
    times = np.concatenate([start, end])
    order = np.argsort(times, kind="stable")
    times = times[order]
    change = np.repeat([1, -1], len(event))[order]
    running = np.cumsum(change)[:-1]
    # While one event runs, the sum of the numbers of all that run is its own.
    number = np.cumsum(np.tile(event, 2)[order] * change)[:-1]
    found = (running == 1) & (times[1:] > times[:-1])
    return number[found], times[:-1][found], times[1:][found]
