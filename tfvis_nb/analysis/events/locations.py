"""Where events spent their time: on a device, on the host, in the network, or as repeated rows."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import accelerators, repeats
from tfvis_nb.core.categories import beginning, containing, is_kind
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.kinds import DEVICE, NETWORK

LOCATIONS = ("device", "host", "network", "repeated")
"""All locations; see `locations`."""

_EXECUTOR = re.compile(r"collective$")


def locations(events: pd.DataFrame) -> np.ndarray:
    """Return the index of each event in `LOCATIONS`; within one location nothing is recorded twice.

    * ``device``: kernels, copies and memsets, and collectives that are kernels.
    * ``host``: ops, including those that only launch kernels, and calls of threads.
    * ``network``: tensors received from other tasks, and ops that are collectives; both with their waits.
    * ``repeated``: already on other lanes: rows of host threads that repeat an executor's ops,
      synchronisation within an op, a device's rows of whole steps and modules, and Horovod's phases of
      collectives.
    """
    side = np.full(len(events), LOCATIONS.index("host"))
    on_accelerator, is_host = accelerators(events), is_kind(events, "host")
    collective = is_kind(events, "collective")
    of_executor = collective & beginning(events["lane"], _EXECUTOR)
    device = is_kind(events, *DEVICE)
    side[is_kind(events, *NETWORK)] = LOCATIONS.index("network")
    side[device | (collective & on_accelerator & ~of_executor)] = LOCATIONS.index("device")
    again = is_host & (on_accelerator | containing(events["device"], HOROVOD))
    side[again | repeats(events) | is_kind(events, "sync")] = LOCATIONS.index("repeated")
    return side
