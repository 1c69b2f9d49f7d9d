"""Communication time of steps, split into hidden (behind computing) and exposed."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.activity import negotiates
from tfvis_nb.analysis.events.lanes import busy
from tfvis_nb.analysis.events.nesting import WAITING
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.step_spans import within_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import NETWORK

FIGURES: dict[str, str] = {
    "step_ns": "Latest end minus earliest start of the task's events within the step, in ns.",
    "communication_ns": "|C|: length of the union of tensors received and collectives, in ns, and of the"
    " negotiations of a Horovod timeline without traces of its ranks.",
    "computation_ns": "|K|: length of the union of ops, kernels and memsets, in ns, without those that "
    "wait for a tensor, for input or for their body.",
    "hidden_ns": "|C and K|: communication that overlaps with computation, in ns. Divided by |C|, it is "
    "the communication computation overlap of Holistic Trace Analysis (communication_analysis.py).",
    "exposed_ns": "|C| - |C and K|, in ns: the most that faster communication could save.",
    "idle_ns": "step_ns - |C or K|, in ns. Called other in the distributed view of Kineto's TensorBoard "
    "plugin.",
    "elapsed_ns": "Latest end minus earliest start of the communication, in ns. Called "
    "communication_elapsed_time in tfvis and tftracer.",
}


def communicates(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of events that communicate.

    These are tensors received from other tasks, collectives, and negotiations of a Horovod timeline alone.
    """
    mask: np.ndarray = is_kind(events, *NETWORK) | negotiates(events)
    return mask


def computes(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of events that compute: ops and kernels, except those that only wait.

    Those are ``_Recv``, whole functions and loops, and ops that fetch the next input. Copies between host and
    device are neither computing nor communication.
    """
    op = events["op"].cat
    waiting = np.array([WAITING.match(str(name)) is not None for name in op.categories] + [False])
    working: np.ndarray = is_kind(events, "op", "kernel", "memset")
    mask: np.ndarray = working & ~waiting[op.codes.to_numpy()]
    return mask


@validate_input
def communication_overlap(trace: Trace) -> pd.DataFrame:
    """Return how long each task communicated, computed, and did both in each step.

    With C the union of the intervals ``[start, end]`` of communication, K that of computation and ``|X|`` the
    length of X:

    * ``step_ns`` = latest end - earliest start of all events;
    * ``communication_ns = |C|``, ``computation_ns = |K|``;
    * ``hidden_ns = |C and K| = |C| + |K| - |C or K|``: communication during computing;
    * ``exposed_ns = |C| - |C and K|``: the most that faster communication could save;
    * ``idle_ns = step_ns - |C or K|``: neither, such as waiting for input, copying, starting;
    * ``elapsed_ns`` = latest end - earliest start of communication.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per step and task: ``step``, ``task`` and the above, all int64 nanoseconds.

    Notes
    -----
    These are lengths of unions, as in `tfvis` and `tftracer`; a sum of durations would count the same time
    once per tensor in transfer. The split into exposed and hidden is that of Holistic Trace Analysis,
    "communication computation overlap" (there as a share of ``|C|``).

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import communication_overlap
    >>> columns = {"start_ns": [0, 20, 90], "duration_ns": [50, 60, 10],
    ...            "kind": ["op", "transfer", "op"], "op": ["MatMul", "RecvTensor", "AddV2"]}
    >>> communication_overlap(Trace(events.build(columns))).drop(columns=["step", "task"]).iloc[0].to_dict()
    {'step_ns': 100, 'communication_ns': 60, 'computation_ns': 60,
     'hidden_ns': 30, 'exposed_ns': 30, 'idle_ns': 10, 'elapsed_ns': 60}
    """
    events = trace.events
    talks, works = communicates(events), computes(events)
    groups = events.groupby(["step", "task"], observed=True, sort=True)
    group = groups.ngroup().to_numpy()
    start, end = within_steps(trace)
    table = groups.size().reset_index()[["step", "task"]]
    count = len(table)

    def union(rows: np.ndarray) -> np.ndarray:
        return busy(group[rows], start[rows], end[rows], count)

    everything = np.ones(len(events), bool)
    table["step_ns"] = _span(group, start, end, everything, count)
    table["communication_ns"] = union(talks)
    table["computation_ns"] = union(works)
    either = union(talks | works)
    table["hidden_ns"] = table["communication_ns"] + table["computation_ns"] - either
    table["exposed_ns"] = table["communication_ns"] - table["hidden_ns"]
    table["idle_ns"] = table["step_ns"] - either
    table["elapsed_ns"] = _span(group, start, end, talks, count)
    return table


def _span(group: np.ndarray, start: np.ndarray, end: np.ndarray, rows: np.ndarray, groups: int) -> np.ndarray:
    """Return from the earliest start to the latest end of a group's rows, 0 without rows."""
    first = np.full(groups, np.iinfo(np.int64).max)
    last = np.full(groups, np.iinfo(np.int64).min)
    np.minimum.at(first, group[rows], start[rows])
    np.maximum.at(last, group[rows], end[rows])
    some = np.bincount(group[rows], minlength=groups) > 0
    return np.where(some, last, 0) - np.where(some, first, 0)
