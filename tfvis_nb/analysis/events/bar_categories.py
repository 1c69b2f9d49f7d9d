"""The category of each event, from its kind and op type, which decides the hue of its bar."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import DEVICE_TO_HOST, HOST_TO_DEVICE, INPUT_WAIT, PIPELINE, only_waits
from tfvis_nb.core.categories import containing, is_kind, map_categories
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.palette import CATEGORY_LABELS

CATEGORIES = tuple(CATEGORY_LABELS)
"""All categories, in the palette's order."""

_OF_KIND = {
    "op": "op",
    "kernel": "kernel",
    "memcpy": "d2d",
    "memset": "memset",
    "transfer": "transfer",
    "collective": "collective",
    "sync": "sync",
    "host": "host",
}

_BETWEEN_RANKS = re.compile(r"(?:^|_)(?:ALLREDUCE|ALLGATHER|BCAST|BROADCAST|ALLTOALL|REDUCESCATTER|ADASUM)$")
"""Communication in Horovod's timeline: ``ALLREDUCE``, ``NCCL_ALLREDUCE``, ``GLOO_BCAST``."""


def categorise(events: pd.DataFrame) -> np.ndarray:
    """Return the index of each event in `CATEGORIES`, from its kind, op, lane and device."""
    number = {category: np.uint8(position) for position, category in enumerate(CATEGORIES)}
    category = map_categories(events["kind"], lambda kind: number[_OF_KIND.get(kind, "host")]).astype("u1")
    is_copy = is_kind(events, "memcpy")
    for pattern, name in ((HOST_TO_DEVICE, "h2d"), (DEVICE_TO_HOST, "d2h")):
        # Some sources name the direction in the op type, some only in the lane.
        named = containing(events["op"], pattern) | containing(events["lane"], pattern)
        category[is_copy & named] = number[name]
    category[only_waits(events)] = number["sync"]
    on_host = is_kind(events, "op") | is_kind(events, "host")
    is_input = containing(events["op"], INPUT_WAIT) | containing(events["op"], PIPELINE)
    category[on_host & is_input] = number["input"]
    # Host rows that repeat the ranks' collectives: not in any sum, but drawn as communication.
    repeats = is_kind(events, "host") & containing(events["device"], HOROVOD)
    category[repeats & containing(events["op"], _BETWEEN_RANKS)] = number["collective"]
    return category
