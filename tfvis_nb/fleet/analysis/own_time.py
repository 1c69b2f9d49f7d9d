"""The own working time of tasks in each step, compared with other tasks of their job."""

import re

import numpy as np

from tfvis_nb.fleet.analysis.grid import DURATION, Grid

WAITING = "communication_ns"
"""Time in collectives and receives, which includes waiting for other tasks; 0 if unknown."""
IDLE = "idle_ns"

_JOB = re.compile(r"/job:([^/]+)(.*)", re.DOTALL)
_ONLY = "/replica:0/task:0"
_CLUSTER = {"worker", "chief", "master", "localhost"}
"""Jobs of TensorFlow's clusters that may have a single task."""
_OTHER_WORK = re.compile(r"(?<![a-z])(ps|evaluator|coordinator)(?![a-z])")


def own_times(grid: Grid) -> np.ndarray:
    """Return the duration of each step on each task without communication (float64 ns, NaN without the step).

    Tasks that wait for each other take the same time. They differ in their own work, which can be compared
    without a common clock. A parameter server waits for requests while it is idle.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.fleet.analysis.grid import grid
    >>> from tfvis_nb.fleet.analysis.own_time import own_times
    >>> steps = pd.DataFrame({"step": [0, 1], "duration_ns": [50, 60], "communication_ns": [20, 5]})
    >>> own_times(grid(steps, "fleet_stragglers")).tolist()
    [[30.0, 55.0]]
    """
    own = grid.values(DURATION)
    if WAITING in grid.table:
        own -= np.nan_to_num(grid.values(WAITING))
    if IDLE in grid.table:
        servers = [_other_work(task) == "ps" for task in grid.tasks]
        own[servers] -= np.nan_to_num(grid.values(IDLE)[servers])
    return own


def jobs(tasks: list[str]) -> np.ndarray:
    """Return the number of each task's job; tasks without a job in their name share one.

    A profile names its tasks after hosts, such as ``/job:gpu7/replica:0/task:0``. Hosts share a job, but not
    with parameter servers, evaluators and coordinators, such as ``train-ps-0``.

    Examples
    --------
    >>> from tfvis_nb.fleet.analysis.own_time import jobs
    >>> jobs(["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]).tolist()
    [0, 1, 1]
    >>> jobs([f"/job:{host}/replica:0/task:0" for host in ("gpu7", "gpu8", "ps0")]).tolist()
    [0, 0, 1]
    """
    parts = [(match[1], match[2]) if (match := _JOB.match(task)) else ("", "") for task in tasks]
    named = _CLUSTER | {job for job, rest in parts if rest != _ONLY}
    names = [job if job in named else _other_work(job) for job, _ in parts]
    return np.unique(names, return_inverse=True)[1].reshape(-1)


def _other_work(name: str) -> str:
    """Return what a task or host does instead of computing, according to its name; empty if nothing."""
    match = _OTHER_WORK.search(name.lower())
    return match[1] if match else ""


def medians_of_others(values: np.ndarray) -> np.ndarray:
    """Return for each value the median of the others in its column; NaN if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.fleet.analysis.own_time import medians_of_others
    >>> medians_of_others(np.array([[1.0], [2.0], [9.0], [4.0]])).ravel().tolist()
    [4.0, 4.0, 2.0, 2.0]
    """
    # NaN is sorted after all numbers.
    order = np.argsort(values, axis=0)
    rank = np.argsort(order, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    others = (~np.isnan(values)).sum(axis=0) - 1
    middle = []
    for half in ((others - 1) // 2, others // 2):
        at = np.where(rank <= half, half + 1, half)
        middle.append(np.take_along_axis(ordered, np.clip(at, 0, len(values) - 1), axis=0))
    return np.where(np.isnan(values) | (others < 1), np.nan, (middle[0] + middle[1]) / 2)
