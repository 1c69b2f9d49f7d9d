"""How long the devices computed in each step."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lanes import busy


def device_work(events: pd.DataFrame, group: np.ndarray, groups: int) -> np.ndarray | None:
    """Return for each group of events, such as a step, how long its busiest device ran kernels (ns).

    That is, of all devices, the most time covered by at least one kernel; so it is never more than
    the group took, however many devices and streams there are. Only kernels count: ops have rows of the same
    device that record when the host launched them, copies do not compute, and a collective
    waits for its peers in its kernel. None where no group has kernels: nothing is known of the devices.
    """
    kernels = np.flatnonzero((events["kind"] == "kernel").to_numpy())
    if not len(kernels):
        return None
    start = events["start_ns"].to_numpy()[kernels]
    end = start + events["duration_ns"].to_numpy()[kernels]
    device = events["device"].cat.codes.to_numpy().astype("i8")[kernels]
    devices = int(device.max()) + 1
    order = np.argsort(start, kind="stable")
    cell = device * groups + group[kernels]
    each = busy(cell[order], start[order], end[order], devices * groups)
    most: np.ndarray = each.reshape(devices, groups).max(axis=0)
    return most
