"""Reasons why events belong to no line of code."""

import re

import numpy as np

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.trace import Trace

WAITING, RUNTIME = "waiting", "runtime"
REASONS = (WAITING, "compiling", "input pipeline", RUNTIME, "library", "no stack")
"""Reasons why time of events belongs to no line; see `REASON_MEANING`."""

REASON_MEANING = (
    "waiting: calls that wait for a function, a session run, threads of tf.data, a device or Python's "
    "interpreter lock, and collectives that wait for other ranks; "
    "compiling: tracing and compiling; "
    "input pipeline: calls of tf.data; runtime: Python, and other calls that are part of no op; "
    "library: all code on the stack is of installed packages; no stack: none was recorded"
)

WAITING_CALLS = re.compile(r"FunctionRun|SessionRun|KernelAndDeviceFunc::Run|(?:cu|hip)\w*Synchronize")
"""Host rows whose self time is that of ops on other threads, or of a device."""

_STAGES = re.compile(r"InstantiatedCapturedFunction|Iterator::(?:.*::)?(?:Prefetch|MapAndBatch|Parallel\w*)$")
"""Calls of tf.data whose self time is that of other threads."""

_OF_ACTIVITY = {"compile": "compiling", "preprocessing": "input pipeline", "input": "input pipeline"}


def waiting_stages(trace: Trace) -> np.ndarray:
    """Return a mask of calls of tf.data that wait: the lines that run on other threads have their time."""
    mask: np.ndarray = is_kind(trace.events, "host") & beginning(trace.events["op"], _STAGES)
    return mask


def reasons(trace: Trace, rows: np.ndarray, stack: np.ndarray) -> np.ndarray:
    """Return one of `REASONS` for each of some events (object), assuming that none has a line."""
    events = trace.events
    host = is_kind(events, "host")[rows]
    done = activity(trace)[rows]
    texts = np.where(host, RUNTIME, "no stack").astype(object)
    for name, reason in _OF_ACTIVITY.items():
        texts[host & (done == NUMBER[name])] = reason
    texts[(host & beginning(events["op"], WAITING_CALLS)[rows]) | is_kind(events, "sync")[rows]] = WAITING
    texts[stack >= 0] = "library"
    texts[waiting_stages(trace)[rows]] = WAITING
    return texts
