"""Calls that launch work but return only after the device has done some: until then they wait for it.

A launch returns at once, unless it copies from or to memory that is not pinned, or the queue of its stream is
full. Then the host waits for the earlier work of the stream, and for the copy itself.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.dependency_table import Times
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.intervals import union
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import COPIES

LONG_CALL = 100_000
"""A call that takes longer than this, in ns, while its stream works, does not just launch."""


class BlockingCalls(NamedTuple):
    """Waits of calls: event ids, and times in epoch ns.

    - `call`, `work`: The call, and the work of the device that it waited for.
    - `start`, `end`: When it waited, within the call.
    """

    call: np.ndarray
    work: np.ndarray
    start: np.ndarray
    end: np.ndarray


def launch_pairs(trace: Trace, times: Times) -> tuple[np.ndarray, np.ndarray]:
    """Return launching events, and what they launched.

    Chrome traces record when work was launched, but not the launching call. It started at that time.
    """
    edges = edges_of(trace)
    of_kind = edges["kind"].eq("launch").to_numpy()
    source, target = (edges[name].to_numpy(np.int64)[of_kind] for name in ("source", "target"))
    wanted = times.device & times.known_ready
    wanted[target] = False
    calls = pd.DataFrame({"call": np.flatnonzero(times.thread & (activity(trace) == NUMBER["launch"]))})
    works = pd.DataFrame({"work": np.flatnonzero(wanted)})
    for table, rows, when in ((calls, calls["call"], times.start), (works, works["work"], times.ready)):
        table["task"], table["at"] = times.task[rows], when[rows]
    pairs = works.merge(calls.drop_duplicates(["task", "at"], keep="last"), on=["task", "at"])
    return (
        np.concatenate([source, pairs["call"].to_numpy(np.int64)]),
        np.concatenate([target, pairs["work"].to_numpy(np.int64)]),
    )


def blocking_calls(times: Times, stream: np.ndarray, launch: tuple[np.ndarray, np.ndarray]) -> BlockingCalls:
    """Return when calls waited for earlier work of the stream that they launch to, and for their own copies.

    `stream` numbers the stream of each event, -1 for none.
    """
    call, work = launch
    on_host = is_kind(times.events, "host")[call] & times.thread[call] & times.device[work]
    call, work = call[on_host], work[on_host]
    start, end = times.start[call], times.end[call]
    copies = is_kind(times.events, *COPIES)[work]
    copies &= (times.end[work] <= end) & (times.start[work] >= start)
    earlier = _ends_last_before(times, stream)[work]
    until = np.minimum(times.end[earlier], end)
    waited = (earlier >= 0) & (until > start) & (copies | (end - start > LONG_CALL))
    return BlockingCalls(
        np.concatenate([call[waited], call[copies]]),
        np.concatenate([earlier[waited], work[copies]]),
        np.concatenate([start[waited], times.start[work[copies]]]),
        np.concatenate([until[waited], times.end[work[copies]]]),
    )


def _ends_last_before(times: Times, stream: np.ndarray) -> np.ndarray:
    """Return the event that ends last among those before each one on its stream; -1 for none."""
    rows = np.flatnonzero(stream >= 0)
    rows = rows[np.argsort(stream[rows], kind="stable")]
    latest_before = np.full(len(stream), -1, np.int64)
    if len(rows):
        end = times.end[rows]
        reached = pd.Series(end).groupby(stream[rows]).cummax().to_numpy()
        latest = rows[np.maximum.accumulate(np.where(end == reached, np.arange(len(rows)), 0))]
        same = stream[rows[1:]] == stream[rows[:-1]]
        latest_before[rows[1:][same]] = latest[:-1][same]
    return latest_before


def without_waits(
    times: Times, calls: BlockingCalls, event: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut the waits of calls out of events on the same threads.

    `start` and `end` are the times of `event` that count. Return the index in `event`, the start and the end
    of each part.
    """
    waits = union(times.lane[calls.call], calls.start, calls.end)
    before, count = np.zeros(len(event), np.int64), np.zeros(len(event), np.int64)
    for lane in distinct_numbers(waits.group).tolist():
        rows = np.flatnonzero(times.lane[event] == lane)
        own = np.flatnonzero(waits.group == lane)
        before[rows] = own[0] + np.searchsorted(waits.end[own], start[rows], "right")
        after = own[0] + np.searchsorted(waits.start[own], end[rows], "left")
        count[rows] = np.maximum(after - before[rows], 0)
    row = np.repeat(np.arange(len(event)), count + 1)
    part = np.arange(len(row)) - np.repeat(np.cumsum(count + 1) - count - 1, count + 1)
    first, last = start[row], end[row]
    # Each part but the first starts at the end of a wait, and each but the last ends where one starts.
    cut = part > 0
    first[cut] = waits.end[(before[row] + part)[cut] - 1]
    cut = part < count[row]
    last[cut] = waits.start[(before[row] + part)[cut]]
    kept = (first < last) | (count[row] == 0)
    return row[kept], first[kept], last[kept]
