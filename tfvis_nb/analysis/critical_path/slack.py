"""How much later each event could have ended without making its step longer."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.critical_path.dependency_table import Dependencies
from tfvis_nb.analysis.dataflow.edges import edges
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "slack_ns": "How much later the event could have ended without making its step longer, in ns: its "
    "latest possible end minus its end, by the critical path method (Kelley and Walker, 1959), over what "
    "each event waited for. The time between the last thing that an event waited for and its start stays "
    "the same. 0 on the critical path.",
}

_COLUMNS = {"event": "int64", "step": "int64", "slack_ns": "int64"}
_NEVER = 1 << 62


@validate_input
def slack(trace: Trace) -> pd.DataFrame:
    """Return how much later each event could have ended without making its step longer.

    An event can end later by as much as its dependents could start later or wait for others anyway. If the
    event itself waited, such as for the last rank of a collective, everything before that wait could also
    have been later by that wait.

    Parameters
    ----------
    trace
        A trace that shows the inputs of ops, in executor labels or graphs.

    Returns
    -------
    pandas.DataFrame
        ``event`` (int64 id), ``step`` and ``slack_ns`` (int64), one row per event of a step that does not
        repeat others, ordered by event. `cannot_say` if the trace does not show inputs of ops, as in
        profiles read from files, because dependents are then unknown.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import slack
    >>> table = events.build({
    ...     "start_ns": [0, 0, 50], "duration_ns": [50, 20, 30], "kind": ["op"] * 3, "lane": ["ops"] * 3,
    ...     "name": ["a", "b", "c"], "detail": ["a = Const()", "b = Const()", "c = Add(a, b)"],
    ... })
    >>> slack(Trace(table))["slack_ns"].tolist()
    [0, 30, 0]
    """
    if not (edges(trace)["kind"] == "data").any():
        return cannot_say(_COLUMNS, Text("no_op_inputs"))
    times, table = backtracker(trace).times, backtracker(trace).dependencies
    rows = np.flatnonzero(times.counts & (times.step != NO_STEP))
    limit = times.end.copy()
    # The last end that counts: rows that repeat others may end later.
    limit[rows] = pd.Series(times.end[rows]).groupby(times.step[rows]).transform("max")
    of_source, of_target = times.step[table.source], times.step[table.target]
    inside = table.take(np.flatnonzero((of_source == of_target) & (of_source >= 0)))
    slack_ns = latest_ends(inside, times.start, times.end, limit) - times.end
    return pd.DataFrame({"event": rows, "step": times.step[rows], "slack_ns": slack_ns[rows]})


def latest_ends(table: Dependencies, start: np.ndarray, end: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return the latest end of each event (ns) with which none ends after its `limit`.

    A sweep back in time meets two times of each dependency, first the later one:

        source  ====|released_at
                     | (what lies between stays as long as it was)
        target            satisfied_at|=======

    `spare` is how much later the time of an event that the sweep has reached could be.

    * Satisfied: the dependency may be satisfied later by the spare time of its target, plus the time it
      waited for the last dependency that was satisfied at the same time.
    * Released: the source may not be later than the dependency may.
    * A target that waited after its start, such as for the last rank at a collective, does not wait longer if
      its earlier work comes later by up to the length of that wait. So it starts anew there, without a limit;
      earlier work must end by the end of the wait.
    """
    leeway = (_last_of_moment(table) - table.released_at).tolist()
    count = len(leeway)
    dependency = np.concatenate([np.arange(count)] * 2)
    is_satisfied = np.repeat([True, False], count)
    when = np.concatenate([table.satisfied_at, table.released_at])
    # Within one nanosecond the later dependency comes first, in the order of the chains.
    back_in_time = np.lexsort((is_satisfied, dependency, when))[::-1]
    moments = (dependency, is_satisfied, when, np.concatenate([table.target, table.source]))
    target_start = start[table.target].tolist()
    spare = (limit - end).tolist()
    at_end: dict[int, int] = {}
    waits: dict[int, tuple[int, int]] = {}  # the end of an event's wait, and the spare time then
    for one, satisfied, time, event in zip(
        *(column[back_in_time].tolist() for column in moments), strict=True
    ):
        wait = waits.get(event)
        if wait is not None and wait[0] > time:
            until, spare_then = waits.pop(event)
            spare[event] = min(spare[event], spare_then + until - time)
            wait = None
        if not satisfied:
            spare[event] = min(spare[event], leeway[one])
            continue
        now = spare[event] if wait is None else wait[1]
        leeway[one] += now
        if time > target_start[one] and wait is None:
            at_end.setdefault(event, now)
            waits[event] = (time, now)
            spare[event] = _NEVER
    spare_ns = np.array(spare, np.int64)
    spare_ns[list(at_end)] = list(at_end.values())
    return end + spare_ns


def _last_of_moment(table: Dependencies) -> np.ndarray:
    """Return, for each dependency, the last release among those of its target satisfied at the same time."""
    order = np.lexsort((table.satisfied_at, table.target))
    if not len(order):
        return table.released_at
    target, satisfied_at = table.target[order], table.satisfied_at[order]
    new = np.append(True, (target[1:] != target[:-1]) | (satisfied_at[1:] != satisfied_at[:-1]))
    last = np.maximum.reduceat(table.released_at[order], np.flatnonzero(new))
    lasts = np.empty(len(order), np.int64)
    lasts[order] = last[np.cumsum(new) - 1]
    return lasts
