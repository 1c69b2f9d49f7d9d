"""The lane of each event, and the order of lanes from top to bottom."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.labels import natural
from tfvis_nb.texts import Text

_JOBS = ("ps", "worker", "chief", "master", "evaluator")
# The main thread of the program comes before the pools that work for it.
_LANES = tuple(
    re.compile(pattern)
    for pattern in (
        "ops",
        "Steps",
        "XLA Modules",
        "XLA Ops",
        "Async XLA Ops",
        "(?:python3?|main)(?:/.*)?",
        "stream:.*",
        "memcpy H2D",
        "memcpy D2H",
        "memcpy D2D",
        "memcpy P2P",
        "memcpy.*",
        "memset",
        "negotiate",
        "rank ready",
        "collective",
        "activities",
        "cycles",
        "recv",
        "sync",
    )
)
# CUPTI's records of its own threads are irrelevant to the step.
_LAST = "Host Threads/"

Key = tuple[int, list[tuple[int, int, str]]]


@dataclass(frozen=True)
class LaneOrder:
    """The lanes of a trace in display order; `of_event` has the row in `table` of each event."""

    table: pd.DataFrame
    of_event: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Event ids ordered by lane, within a lane by id: the order of the wire's rows; int64."""
        return np.argsort(self.of_event, kind="stable")


class _Coded(NamedTuple):
    """A text for each lane, as an index into all texts."""

    codes: np.ndarray
    texts: np.ndarray

    def ranks(self, key: Callable[[str], Key]) -> np.ndarray:
        """Return numbers of lanes in the order of a key, which is computed once per text."""
        used, where = np.unique(self.codes, return_inverse=True)
        keys = [key(text) for text in self.texts[used]]
        ranks = np.zeros(len(keys), "i8")
        for before, after in pairwise(sorted(range(len(keys)), key=keys.__getitem__)):
            ranks[after] = ranks[before] + (keys[before] != keys[after])
        return ranks[where]


def order_lanes(events: pd.DataFrame, *, at_most: int | None = None) -> LaneOrder:
    """Find the lanes of an event table and put them in display order; ValueError above `at_most`.

    Parameter servers come first, then workers by number, other jobs, and last tasks without a cluster. Within
    a task accelerators come before CPUs; within a device ops, kernels, copies, collectives, received tensors,
    and the rest.
    """
    columns = [events[name].cat for name in ("task", "device", "lane", "kind")]
    tasks, devices, lanes, kinds = ([str(value) for value in column.categories] for column in columns)
    # One number per (task, device, lane); the code -1 of missing values becomes 0, the empty text.
    task, device, lane, kind = (column.codes.to_numpy().astype("i8") + 1 for column in columns)
    key = (task * (len(devices) + 1) + device) * (len(lanes) + 1) + lane
    distinct, of_event = distinct_places(key)
    if at_most is not None and len(distinct) > at_most:
        raise ValueError(Text("too_many_lanes", lanes=len(distinct), at_most=at_most))
    counts = np.bincount(of_event * (len(kinds) + 1) + kind, minlength=len(distinct) * (len(kinds) + 1))
    by_kind = counts.reshape(len(distinct), len(kinds) + 1)

    rest, lane_code = np.divmod(distinct, len(lanes) + 1)
    coded = [
        _Coded(code, np.array(["", *texts], object))
        for code, texts in zip(
            (*np.divmod(rest, len(devices) + 1), lane_code), (tasks, devices, lanes), strict=True
        )
    ]
    keys = (_task_key, _device_key, _lane_key)
    # The last key is the first to sort by.
    order = np.lexsort([column.ranks(key) for column, key in zip(coded, keys, strict=True)][::-1])
    rank = np.empty(len(order), "i8")
    rank[order] = np.arange(len(order))
    table = pd.DataFrame(
        {
            name: pd.array(column.texts[column.codes[order]], dtype="str")
            for name, column in zip(("task", "device", "lane"), coded, strict=True)
        }
    )
    table["kind"] = pd.array(np.array(["", *kinds], object)[by_kind[order].argmax(axis=1)], dtype="str")
    table["events"] = by_kind[order].sum(axis=1)
    return LaneOrder(table, rank[of_event])


def distinct_places(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct numbers, and the index of each number among them."""
    # Ten million numbers in a small range need no sorting.
    least = int(numbers.min()) if len(numbers) else 0
    if not len(numbers) or int(numbers.max()) - least > len(numbers):
        return np.unique(numbers, return_inverse=True)
    shifted = numbers - least
    occurs = np.bincount(shifted) > 0
    return np.flatnonzero(occurs) + least, (np.cumsum(occurs) - 1)[shifted]


def _task_key(task: str) -> Key:
    job = task.partition("/job:")[2].partition("/")[0]
    if job in _JOBS:
        return _JOBS.index(job), natural(task)
    return len(_JOBS) + (1 if job in ("", "localhost") else 0), natural(task)


def _device_key(device: str) -> Key:
    kind = device.rpartition("/device:")[2].partition(":")[0].upper()
    if not device:
        return 3, []
    if kind == "HOROVOD":
        # Details of its ops.
        return 2, natural(device)
    return (1 if "CPU" in kind or "HOST" in kind else 0), natural(device)


def _lane_key(lane: str) -> Key:
    for rank, pattern in enumerate(_LANES):
        if pattern.fullmatch(lane):
            return rank, natural(lane)
    return len(_LANES) + lane.startswith(_LAST), natural(lane)
