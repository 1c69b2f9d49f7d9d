"""Match runs of JAX programs with the calls of their functions.

JAX returns from a call before the program has run. On a CPU, threads of a pool run it, and if they continue
with the next run, the profile records that as work handed on by the previous run. Runs have numbers but calls
do not. However, the calls of a function and the runs of its programs are in the same order.
"""

import numpy as np

from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.xspace.links import Links
from tfvis_nb.reading.xspace.rows import Sparse

_NEVER = np.iinfo(np.int64).max


def executed_steps(links: Links, calls: Sparse, start: np.ndarray, step: np.ndarray) -> Sparse:
    """Return the rows of runs with the step of their call, if known.

    `calls` are the outermost calls, with the numbers of their functions.
    """
    execution, ran = links.mark("execution"), links.mark("executed")
    if not len(ran.rows) or not len(calls.rows):
        return Sparse(np.zeros(0, np.int64), np.zeros(0, np.int64))
    runs, number = np.unique(execution.numbers, return_inverse=True)
    first = np.full(len(runs), _NEVER)
    np.minimum.at(first, number, start[execution.rows])
    function = np.full(len(runs), -1, np.int64)
    function[number[np.searchsorted(execution.rows, ran.rows)]] = ran.numbers
    ordered = np.argsort(start[calls.rows], kind="stable")
    steps = np.full(len(runs), NO_STEP, np.int64)
    for one in distinct_numbers(function[function >= 0]).tolist():
        own = np.flatnonzero(function == one)
        own = own[np.argsort(first[own], kind="stable")]
        called = calls.rows[ordered[calls.numbers[ordered] == one]]
        count = min(len(own), len(called))
        # Runs of calls before the profile are first, calls without runs last.
        own, called = own[len(own) - count :], called[:count]
        after = first[own] >= start[called]
        steps[own[after]] = step[called[after]]
    known = steps[number] != NO_STEP
    return Sparse(execution.rows[known], steps[number[known]])
