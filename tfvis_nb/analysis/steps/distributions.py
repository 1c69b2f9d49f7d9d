"""Histograms of the durations of ops, for tables."""

from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.steps.op_statistics import groups
from tfvis_nb.analysis.steps.sorted_durations import SortedDurations
from tfvis_nb.core.trace import Trace

BINS = 12
"""The maximum number of bins that fits into a table cell."""


class Histogram(NamedTuple):
    """Durations of a group in bins of equal width on a logarithmic axis."""

    edges: list[int]
    """In ns, ascending. A bin includes its lower edge; the last one includes both."""
    events: list[np.ndarray]
    """The events of each bin, the longest first."""


def histograms(trace: Trace, by: str, members: np.ndarray) -> list[Histogram]:
    """Return the histograms of groups of `op_statistics`, each identified by one of its events.

    The edges are ``min * (max / min) ** (k / BINS)``, rounded to ns, without duplicates. Events without
    length count as 1 ns.
    """
    duration = trace.events["duration_ns"].to_numpy()
    group, keys, _ = groups(trace, by, np.arange(len(duration)))
    durations = SortedDurations(group, len(keys), duration)
    result = []
    for chosen in group[members].tolist():
        start = durations.starts[chosen]
        part = slice(start, start + durations.counts[chosen])
        lengths, events = durations.sorted[part], durations.order[part]
        low, high = int(lengths[0]), int(lengths[-1])
        spaced = np.geomspace(max(low, 1), max(high, 1), BINS + 1)[1:-1]
        inner = np.unique(np.rint(spaced).astype(np.int64))
        inner = inner[(inner > low) & (inner < high)]
        parts = np.split(events, np.searchsorted(lengths, inner))
        result.append(Histogram([low, *inner.tolist(), high], [part[::-1] for part in parts]))
    return result
