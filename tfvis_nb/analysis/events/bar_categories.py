"""The category of each event: its kind and its activity. The activity decides the colour of the bar."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import ACTIVITIES, NUMBER, activity
from tfvis_nb.core.categories import containing, is_kind, map_categories
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.palette import CATEGORIES, LABELS
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import KERNELS as KERNEL_KINDS
from tfvis_nb.kinds import KINDS

_PAIRS = [name.split() for name in CATEGORIES]

KIND_OF = np.array([KINDS.index(kind) for kind, _ in _PAIRS], np.uint8)
"""The index in `KINDS` of each category's kind."""

ACTIVITY_OF = np.array([NUMBER[activity] for _, activity in _PAIRS], np.uint8)
"""The index in `ACTIVITIES` of each category's activity."""

KERNELS = [number for number, (kind, _) in enumerate(_PAIRS) if kind in KERNEL_KINDS]
"""Categories of kernels and collectives: the label of an event may contain a kernel's name."""

_BETWEEN_RANKS = re.compile(r"(?:^|_)(?:ALLREDUCE|ALLGATHER|BCAST|BROADCAST|ALLTOALL|REDUCESCATTER|ADASUM)$")
"""Communication in Horovod's timeline: ``ALLREDUCE``, ``NCCL_ALLREDUCE``, ``GLOO_BCAST``."""


def drawn_activity(trace: Trace) -> np.ndarray:
    """Return each event's drawn activity as an index in `ACTIVITIES`.

    The result equals `activity` except for the phases of Horovod's collectives. They are drawn as
    communication but added to no sum, because they repeat the ranks' collectives.
    """
    events, numbers = trace.events, activity(trace).copy()
    repeats = is_kind(events, "host") & containing(events["device"], HOROVOD)
    numbers[repeats & containing(events["op"], _BETWEEN_RANKS)] = NUMBER["communication"]
    return numbers


def categories(trace: Trace) -> np.ndarray:
    """Return the index of each event in `CATEGORIES`; uint8."""
    return categorise(trace.events["kind"], drawn_activity(trace))


def categorise(kind: pd.Series, activities: np.ndarray) -> np.ndarray:
    """Return the index in `CATEGORIES` of events with these kinds and activities; uint8."""
    rank = {name: number for number, name in enumerate(KINDS)}
    numbers = np.full((len(rank), len(ACTIVITIES)), _PAIRS.index(["host", "none"]), np.uint8)
    for number, (name, one) in enumerate(_PAIRS):
        numbers[rank[name], NUMBER[one]] = number
    drawn: np.ndarray = numbers[
        map_categories(kind, lambda name: rank.get(name, rank["host"])).astype(np.intp), activities
    ]
    return drawn


def named(text: str) -> np.ndarray:
    """Find categories by kind or activity, given in lower case; a partial name counts if no name matches."""
    words = [(kind, one, LABELS[one].lower()) for kind, one in _PAIRS]
    exact = [text in each for each in words]
    return np.array(exact if any(exact) else [any(text in word for word in each) for each in words])
