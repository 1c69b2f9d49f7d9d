"""How long the devices computed in each step."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lanes import busy


def device_work(events: pd.DataFrame, group: np.ndarray, groups: int) -> np.ndarray | None:
    """Return for each group of events, such as a step, how long its busiest device ran kernels.

    That is, of all devices, the most time covered by at least one kernel; so it is never more than
    the group took, however many devices and streams there are. Only kernels count: ops have rows of
    the same device that say when the host launched them, copies do not compute, and a collective
    waits for its peers in its kernel.

    Parameters
    ----------
    events
        Rows of an event table, in any order.
    group
        The group of each row: numbers below `groups`.
    groups
        How many groups there are.

    Returns
    -------
    numpy.ndarray or None
        Nanoseconds, int64, 0 for a group without kernels; None where no group has any, because
        then nothing is known of the devices.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb import events
    >>> from tfvis_nb.analysis.events.device_work import device_work
    >>> columns = {"start_ns": [0, 5, 7, 9], "duration_ns": [10, 10, 4, 1],
    ...            "kind": ["kernel"] * 3 + ["op"], "device": ["GPU:0", "GPU:0", "GPU:1", "GPU:1"]}
    >>> device_work(events.build(columns), np.array([0, 0, 0, 1]), 2).tolist()
    [15, 0]
    """
    kernels = np.flatnonzero((events["kind"] == "kernel").to_numpy())
    if not len(kernels):
        return None
    start = events["start_ns"].to_numpy()[kernels]
    end = start + events["duration_ns"].to_numpy()[kernels]
    device = events["device"].cat.codes.to_numpy().astype("i8")[kernels]
    devices = int(device.max()) + 1
    order = np.argsort(start, kind="stable")
    place = device * groups + group[kernels]
    each = busy(place[order], start[order], end[order], devices * groups)
    most: np.ndarray = each.reshape(devices, groups).max(axis=0)
    return most
