"""The thread of a program that calls TensorFlow, and calls of Python by TensorFlow and JAX."""

import re

import numpy as np

from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.core.categories import beginning
from tfvis_nb.core.python_rows import NEXT_BATCH
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace

PYTHON_CALL = re.compile(rf"(?:Eager)?PyFunc(?:Stateless)?$|(?:pure|io|debug)_callback|{NEXT_BATCH}$")
"""Ops that call Python, and iterators written in it."""
_CALLING = re.compile(r"TFE_Py_")
"""Calls of TensorFlow from Python, which are on the thread that is sampled."""
_PIPELINE = re.compile(r"tf_data")


def calling_thread(trace: Trace, here: np.ndarray) -> np.ndarray:
    """Return the events of the thread that calls TensorFlow most, apart from threads of tf.data."""
    calling = here & beginning(trace.events["op"], _CALLING) & ~beginning(trace.events["lane"], _PIPELINE)
    if not calling.any():
        return np.zeros(0, np.int64)
    lanes, _ = number_rows(*(trace.events[column] for column in ("task", "device", "lane")))
    return np.flatnonzero(here & (lanes == np.bincount(lanes[calling]).argmax()))


def innermost(trace: Trace, thread: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the innermost event of a thread around each time, or -1."""
    if not len(thread):
        return np.full(len(time), -1)
    start = trace.events["start_ns"].to_numpy(np.int64)
    end = np.append(start + trace.events["duration_ns"].to_numpy(np.int64), np.iinfo(np.int64).max)
    among = np.zeros(len(start), bool)
    among[thread] = True
    parent = np.append(parents(trace.events, among), -1)
    # Among nested rows with the same start, the last one is the innermost.
    at = np.append(thread, -1)[np.searchsorted(start[thread], time, "right") - 1]
    while (over := end[at] <= time).any():
        at = np.where(over, parent[at], at)
    innermost: np.ndarray = at
    return innermost
