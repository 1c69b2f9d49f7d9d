"""Dependencies of kernels and copies, and of events that waited for them."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.blocking_calls import BlockingCalls
from tfvis_nb.analysis.critical_path.dependency_table import Dependencies, Times
from tfvis_nb.analysis.events.activity import DEVICE_TO_HOST
from tfvis_nb.core.categories import beginning, containing, is_kind
from tfvis_nb.core.executions import Executions
from tfvis_nb.core.trace import Trace

Pairs = tuple[np.ndarray, np.ndarray]
"""Sources and targets (int64 event ids)."""

STREAM = re.compile(r"(?i)stream\s*[:#](\d+)")
"""Matches the number of a stream in the source's name of a lane."""
_GIVEN_STREAM = r"(?:^| )stream=(\d{1,9})(?= |$)"
_BLOCKING = re.compile(
    r"(?:cu|hip)\w*Synchronize|BlockHost|BlockUntilReady|block_until_ready|SynchronizeAllActivity"
)
_WATCHER = re.compile(r"tf_(?:GPU|Device)_Event_Manager")


def streams(trace: Trace, times: Times) -> np.ndarray:
    """Return a number for the stream of each event of a device, -1 for other events (int64).

    Copies have their own lanes on any stream; the source's name of the lane contains the stream, or the
    detail of the copy does. If neither does, each lane counts as a stream, except one of memsets, which run
    among the kernels of some stream.
    """
    rows = np.flatnonzero(times.device & ~times.thread)
    numbers = np.full(len(times.start), -1, np.int64)
    lane = trace.events["lane"].cat
    key = lane.codes.to_numpy(np.int64)[rows] * 2 + 1
    number = _numbers(lane.categories)[lane.codes.to_numpy()[rows]]
    if trace.nested is not None and "raw_device" in trace.nested.column_names:
        names = pd.Categorical(trace.nested["raw_device"].to_pandas())
        recorded = _numbers(names.categories)[names.codes[rows]]
        number = np.where(recorded >= 0, recorded, number)
    unknown = np.flatnonzero(number < 0)
    if len(unknown):
        given = trace.events["detail"].iloc[rows[unknown]].astype(object).str.extract(_GIVEN_STREAM)[0]
        number[unknown] = pd.to_numeric(given).fillna(-1).to_numpy(np.int64)
    key = np.where(number >= 0, number * 2, key)
    where = (
        (times.task[rows] + 1) * (int(times.device_number.max(initial=0)) + 2) + times.device_number[rows] + 1
    )
    numbers[rows] = np.unique(where * (int(key.max(initial=0)) + 1) + key, return_inverse=True)[1]
    elsewhere = is_kind(trace.events, "memset") & ~containing(trace.events["lane"], STREAM)
    numbers[rows[(key % 2 == 1) & elsewhere[rows]]] = -1
    return numbers


def _numbers(names: pd.Index) -> np.ndarray:
    """Return the number of the stream in each name, -1 for none; the last entry is for no name."""
    matches = [STREAM.search(str(name)) for name in names]
    return np.array([*(int(one[1]) if one and len(one[1]) < 10 else -1 for one in matches), -1], np.int64)


def stream_order(times: Times, stream: np.ndarray) -> Dependencies:
    """Return dependencies between consecutive kernels and copies of a stream."""
    rows = np.flatnonzero(stream >= 0)
    rows = rows[np.argsort(stream[rows], kind="stable")]
    follows = np.flatnonzero(stream[rows[1:]] == stream[rows[:-1]])
    return times.until_start(rows[follows], rows[follows + 1], "stream")


def launches(times: Times, launch: Pairs, blocking: BlockingCalls) -> list[Dependencies]:
    """Return dependencies between launching calls and the device's work.

    A kernel is released when the call that launches it starts. An op that copies to the host and ends after
    the copy has waited for it, and so have calls that block.
    """
    source, target = launch
    released_at = np.clip(times.ready[target], times.start[source], times.end[source])
    op, lane = (containing(times.events[name], DEVICE_TO_HOST) for name in ("op", "lane"))
    waited = (is_kind(times.events, "memcpy") & (op | lane))[target]
    waited &= (times.end[target] > released_at) & (times.end[target] <= times.end[source])
    copy, waiting = target[waited], source[waited]
    return [
        times.dependencies(source, released_at, target, times.start[target], "launch"),
        times.dependencies(copy, times.end[copy], waiting, times.end[copy], "copy"),
        times.dependencies(blocking.work, blocking.end, blocking.call, blocking.end, "copy"),
    ]


def awaited(times: Times) -> list[Dependencies]:
    """Return dependencies of events that waited for a device.

    These are calls that return when the device has finished, and the thread that monitors copies and reports
    their end.
    """
    events = times.events
    ran = np.flatnonzero(times.device)
    if not len(ran):
        return []
    ended = Executions(times.task[ran], times.end[ran], times.start[ran], ran)
    blocks = is_kind(events, "sync") | (is_kind(events, "host") & beginning(events["op"], _BLOCKING))
    waiting = np.flatnonzero(times.counts & blocks)
    last = ended.latest(times.task[waiting], times.end[waiting])
    real = (last >= 0) & (times.end[last] > times.start[waiting])
    last, waiting = last[real], waiting[real]
    watcher = np.flatnonzero(times.thread & (times.parent < 0) & beginning(events["lane"], _WATCHER))
    seen = ended.latest(times.task[watcher], times.start[watcher])
    return [
        times.dependencies(last, times.end[last], waiting, times.end[last], "copy"),
        times.at_start(seen[seen >= 0], watcher[seen >= 0], "copy"),
    ]


def device_data(times: Times, stream: np.ndarray, launch: Pairs, fed: Pairs) -> Dependencies:
    """Return data dependencies between kernels and copies on different streams, devices or tasks.

    The last kernel of an op makes its output, and the first kernel of the consumer uses it. Within one
    stream, the stream's order already implies this. A tensor that another task receives is ready when the
    kernels that make it, and its copy to the host, have ended.
    """
    by, work = (ids[times.device[launch[1]]] for ids in launch)
    last = np.arange(len(times.start))
    first = last.copy()
    by_end, by_start = (
        np.argsort(times.end[work], kind="stable"),
        np.argsort(-times.start[work], kind="stable"),
    )
    last[by[by_end]] = work[by_end]
    first[by[by_start]] = work[by_start]
    maker, user = last[fed[0]], first[fed[1]]
    apart = times.device[maker] & times.device[user] & (stream[maker] != stream[user])
    arrives = times.received[fed[1]]
    sent = times.device[maker] & arrives
    copied = np.flatnonzero(times.device[fed[1]])
    copies = pd.DataFrame({"of": fed[0][copied], "copy": fed[1][copied]})
    tensors = pd.DataFrame({"of": fed[0][arrives], "tensor": fed[1][arrives]})
    pairs = tensors.merge(copies, on="of")
    return times.at_start(
        np.concatenate([maker[apart], maker[sent], pairs["copy"].to_numpy(np.int64)]),
        np.concatenate([user[apart], fed[1][sent], pairs["tensor"].to_numpy(np.int64)]),
        "data",
    )
