"""Dependencies between tasks: the last rank of a collective, the previous transfer on a channel."""

import numpy as np

from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.critical_path.dependency_table import COARSE, Dependencies, Times
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.executions import Executions
from tfvis_nb.core.trace import Trace


def last_arrivals(trace: Trace, times: Times) -> Dependencies:
    """Return the rank that each collective waited for: the last to arrive."""
    arrived = collective_waits(trace)
    event, group = (arrived[name].to_numpy(np.int64) for name in ("event", "collective"))
    # Rows of a collective are ordered by arrival.
    final = np.searchsorted(group, group, "right") - 1
    waited = np.flatnonzero(arrived["wait_ns"].to_numpy(np.int64, na_value=0) > 0)
    last = event[final[waited]]
    return times.dependencies(last, times.start[last], event[waited], times.start[last], "collective")


def copies_of_received(trace: Trace, times: Times, launched: np.ndarray) -> Dependencies:
    """Return which copies to a device carry tensors received from another task.

    The receiving op copies a tensor to its device before the tensor counts as received. No op launches such a
    copy, so it belongs to the tensor in transfer that arrived next.
    """
    tensor, since = _received(trace)
    own = times.device & is_kind(times.events, "memcpy")
    own[launched] = False
    copy = np.flatnonzero(own & (len(tensor) > 0))
    where = (times.step + 1) * (int(times.device_number.max(initial=0)) + 2) + times.device_number
    # With time reversed, the first to end is the last to start.
    back = Executions(where[tensor], -times.end[tensor], -times.end[tensor], np.arange(len(tensor)))
    arrived = back.latest(where[copy], COARSE - times.end[copy])
    copy, arrived = copy[arrived >= 0], arrived[arrived >= 0]
    known = times.start[tensor[arrived]] <= times.ready[copy]
    copy, arrived = copy[known], arrived[known]
    requested_at = np.clip(since[arrived], times.ready[copy], times.start[copy])
    return times.dependencies(tensor[arrived], requested_at, copy, times.start[copy], "transfer")


def _received(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return received tensors (int64 event ids) and when each started to move (epoch ns; 0 if unknown)."""
    moved = transfers(trace)
    moved = moved[(moved["kind"] == "transfer").to_numpy()]
    return moved["event"].to_numpy(np.int64), moved["turn_ns"].to_numpy(np.int64, na_value=0)


def channels(trace: Trace, times: Times) -> Dependencies:
    """Return the tensor that each received one waited for: the previous one between the same two tasks."""
    moved = transfers(trace)
    moved = moved[(moved["kind"] == "transfer").to_numpy() & moved["transfer_ns"].notna().to_numpy()]
    row = moved["event"].to_numpy(np.int64)
    ends = []
    for column in ("source", "destination"):
        tasks: dict[str, int] = {}
        number = [tasks.setdefault(task_of(str(name)), len(tasks)) for name in moved[column].cat.categories]
        ends.append(np.array(number, np.int64)[moved[column].cat.codes])
    order = np.lexsort((times.start[row], times.end[row], times.step[row], *ends))
    same = np.all([np.diff(one[order]) == 0 for one in (times.step[row], *ends)], axis=0)
    before, after = row[order[:-1]], row[order[1:]]
    waited = same & (times.end[before] > times.start[after])
    before, after = before[waited], after[waited]
    return times.dependencies(before, times.end[before], after, times.end[before], "channel")
