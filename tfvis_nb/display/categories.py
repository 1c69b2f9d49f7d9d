"""What a bar's hue says: each event's category, from its kind and op type."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

CATEGORIES = (
    "op",
    "kernel",
    "h2d",
    "d2h",
    "d2d",
    "memset",
    "transfer",
    "collective",
    "input",
    "sync",
    "host",
)
"""Every category; the front end's palette is keyed by these words."""

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

# Ops, and tf.data's own activities on host threads, that wait for input or make it.
_INPUT = re.compile(
    r"IteratorGetNext|OneShotIterator|QueueDequeue|Iterator::|Infeed|ReaderRead|Unstage"
    r"|(?:Prefetch|Parallel\w+|MapAndBatch|Interleave)(?:Produce|Consume)|InstantiatedCapturedFunction"
)
_HOST_TO_DEVICE = re.compile(r"H(to|2)D", re.IGNORECASE)
_DEVICE_TO_HOST = re.compile(r"D(to|2)H", re.IGNORECASE)


def categorise(events: pd.DataFrame) -> np.ndarray:
    """Give each event its place in `CATEGORIES`.

    Parameters
    ----------
    events
        An event table; its ``kind``, ``op`` and ``lane`` columns are used.

    Returns
    -------
    numpy.ndarray
        uint8, one entry per event.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> from tfvis_nb.display.categories import CATEGORIES, categorise
    >>> table = events.build({"start_ns": [0, 1], "duration_ns": [1, 1], "kind": ["op", "memcpy"],
    ...                       "op": ["IteratorGetNext", "MemcpyH2D"]})
    >>> [CATEGORIES[number] for number in categorise(table)]
    ['input', 'h2d']
    """
    number = {category: np.uint8(position) for position, category in enumerate(CATEGORIES)}
    kinds = events["kind"].cat
    of_kind = np.array([number[_OF_KIND.get(kind, "host")] for kind in kinds.categories], "u1")
    codes = kinds.codes.to_numpy()
    category = of_kind[codes] if len(of_kind) else np.zeros(len(events), "u1")

    is_copy = _matches(codes, kinds.categories, "memcpy")
    for pattern, name in ((_HOST_TO_DEVICE, "h2d"), (_DEVICE_TO_HOST, "d2h")):
        # Some sources name the direction in the op type, some only in the lane.
        named = _contains(events["op"], pattern) | _contains(events["lane"], pattern)
        category[is_copy & named] = number[name]
    on_host = _matches(codes, kinds.categories, "op") | _matches(codes, kinds.categories, "host")
    category[on_host & _contains(events["op"], _INPUT)] = number["input"]
    return category


def _matches(codes: np.ndarray, kinds: pd.Index, kind: str) -> np.ndarray:
    return codes == kinds.get_loc(kind) if kind in kinds else np.zeros(len(codes), bool)


def _contains(column: pd.Series, pattern: re.Pattern[str]) -> np.ndarray:
    """Search each distinct value once and spread the answers over the rows."""
    answers = np.array([bool(pattern.search(str(value))) for value in column.cat.categories], bool)
    return np.append(answers, False)[column.cat.codes.to_numpy()]
