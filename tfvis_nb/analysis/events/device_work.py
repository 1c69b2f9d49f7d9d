"""Computing time of the devices in each step."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lanes import busy


def device_work(events: pd.DataFrame, group: np.ndarray, groups: int) -> np.ndarray | None:
    """Return for each group of events, such as a step, the kernel time of its busiest device (ns).

    It is the most time that any device spent with at least one kernel, so it never exceeds the duration of
    the group, for any number of devices and streams. Only kernels count: rows of ops on the device record
    when the host launched them, copies do not compute, and the kernel of a collective waits for its peers.
    None if no group has kernels.
    """
    kernels = np.flatnonzero((events["kind"] == "kernel").to_numpy())
    if not len(kernels):
        return None
    start = events["start_ns"].to_numpy()[kernels]
    end = start + events["duration_ns"].to_numpy()[kernels]
    device = events["device"].cat.codes.to_numpy().astype("i8")[kernels]
    order = np.argsort(start, kind="stable")
    # Few devices run in a group if it is a step of one task.
    cell, cells = pd.factorize(device * groups + group[kernels])
    each = busy(cell[order], start[order], end[order], len(cells))
    most = np.zeros(groups, each.dtype)
    np.maximum.at(most, cells % groups, each)
    return most
