"""How much later each event could have ended without making its step longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import checked
from tfvis_nb.analysis.critical_path.backtrack import walks_of
from tfvis_nb.analysis.critical_path.dependency_table import Releases
from tfvis_nb.analysis.unavailable import cannot_say

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

FIGURES: dict[str, str] = {
    "slack_ns": "How much later the event could have ended without its step becoming longer, in ns: its "
    "latest end minus its end, by the critical path method (Kelley and Walker, 1959), over what each event "
    "waited for; what lies between the last thing that an event waited for and its start stays as long as "
    "it was. 0 on the critical path.",
}

_COLUMNS = {"event": "int64", "step": "int64", "slack_ns": "int64"}
_NEVER = 1 << 62


@checked
def slack(trace: Trace) -> pd.DataFrame:
    """Return how much later each event could have ended without making its step longer.

    An event could end later by as much as what waited for it could begin later, and had to wait for
    others anyhow. Where it waited itself up to a moment, such as for the last rank at a collective,
    what it did before could have come later by that wait.

    Parameters
    ----------
    trace
        A trace whose executor's labels say what each op used.

    Returns
    -------
    pandas.DataFrame
        ``event`` (int64 id), ``step`` and ``slack_ns`` (int64), one row per event of a step that is not a
        repetition of others, ordered by event. `cannot_say` where the trace does not say what ops used,
        as profiles do not: one cannot tell what would have had to wait.

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
    if not (trace.edges["kind"] == "data").any():
        return cannot_say(_COLUMNS, "the trace does not say what each op used")
    times, table = walks_of(trace).times, walks_of(trace).releases
    rows = np.flatnonzero(times.counts & (times.step >= 0))
    limit = times.end.copy()
    # The last that counts: a row that repeats others may end later.
    limit[rows] = pd.Series(times.end[rows]).groupby(times.step[rows]).transform("max")
    of_source, of_target = times.step[table.source], times.step[table.target]
    inside = table.take(np.flatnonzero((of_source == of_target) & (of_source >= 0)))
    found = latest_ends(inside, times.start, times.end, limit) - times.end
    return pd.DataFrame({"event": rows, "step": times.step[rows], "slack_ns": found[rows]})


def latest_ends(table: Releases, start: np.ndarray, end: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return when each event has to end at the latest (ns) so that none ends after its `limit`."""
    spare = _last_of_moment(table) - table.left
    count = len(spare)
    # Back in time every release is met twice: where it is reached, and then where it was left.
    number = np.concatenate([np.arange(count)] * 2)
    when = np.concatenate([table.reached, table.left])
    moments = np.lexsort((np.repeat([1, 0], count), number, when))[::-1].tolist()
    slack = (limit - end).tolist()
    final: dict[int, int] = {}
    # Up to when an event waited, and by how much that moment could be later.
    waits: dict[int, tuple[int, int]] = {}
    source, target = table.source.tolist(), table.target.tolist()
    begin, times, extra = start[table.target].tolist(), when.tolist(), spare.tolist()
    for moment in moments:
        reached = moment < count
        one = moment if reached else moment - count
        event = target[one] if reached else source[one]
        time = times[moment]
        wait = waits.get(event)
        if wait is not None and wait[0] > time:
            slack[event] = min(slack[event], wait[1] + wait[0] - time)
            del waits[event]
            wait = None
        if not reached:
            slack[event] = min(slack[event], extra[one])
            continue
        now = slack[event] if wait is None else wait[1]
        extra[one] += now
        if time > begin[one] and wait is None:
            final.setdefault(event, now)
            waits[event] = (time, now)
            slack[event] = _NEVER
    found = np.array(slack, np.int64)
    found[list(final)] = list(final.values())
    return end + found


def _last_of_moment(table: Releases) -> np.ndarray:
    """Return for each release when the last one was left that its target waited for at the same moment."""
    order = np.lexsort((table.reached, table.target))
    target, reached = table.target[order], table.reached[order]
    new = np.append(True, (target[1:] != target[:-1]) | (reached[1:] != reached[:-1]))[: len(order)]
    if not len(order):
        return table.left
    last = np.maximum.reduceat(table.left[order], np.flatnonzero(new))
    found = np.empty(len(order), np.int64)
    found[order] = last[np.cumsum(new) - 1]
    return found
