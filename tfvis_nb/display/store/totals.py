"""Totals of the events in a time range, equal to those of a front end that holds all events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.events.bar_categories import KIND_OF
from tfvis_nb.analysis.events.lanes import busy
from tfvis_nb.analysis.events.nesting import CALLS, PART_OF_OP, enclosing, give_to_ops
from tfvis_nb.core.labels import lane_label
from tfvis_nb.kinds import KINDS

MOST_ROWS = 200
BINS = 24
"""Bars of the histogram of a row's durations, from its shortest to its longest."""


@dataclass(frozen=True)
class Spans:
    """Events ordered by start: times in ns from an origin, and the labels by which they are summed."""

    start: np.ndarray
    duration: np.ndarray
    event: np.ndarray  # Their ids
    label: np.ndarray  # Number of each one's label
    category: np.ndarray
    lane: np.ndarray
    nests: np.ndarray  # Whether events of its lane nest in each other
    wraps: np.ndarray  # Whether it is of an op type like a call that runs an op, whose time is the op's
    calls: np.ndarray  # Whether it is of an op type that lasts until the return of its body


def wraps_and_calls(ops: Sequence[str], op: np.ndarray) -> dict[str, np.ndarray]:
    """Return two masks of `Spans` for events with these numbers in `ops`."""
    texts = pd.Series(ops, dtype="str")
    of_type = {"wraps": texts.str.match(PART_OF_OP), "calls": texts.str.match(CALLS)}
    return {name: mask.to_numpy("?")[op] for name, mask in of_type.items()}


def lane_labels(lanes: pd.DataFrame) -> list[str]:
    """Name the lanes of a table."""
    return [lane_label(*map(str, each)) for each in lanes[["task", "device", "lane"]].to_numpy()]


def totals_in(spans: Spans, labels: Sequence[str] | pa.Array, start: float, end: float) -> dict[str, Any]:
    """Sum up events in a range.

    Returns ``count``, ``total``, ``busy`` (the union), ``distinct``, and ``rows``: the `MOST_ROWS` with the
    largest ``busy``, each with its label, count, busy (the union in the range), total, self (in the range;
    None if unknown), mean, min, p50, p99, max, ``bins`` (the number of events in each bar of a
    histogram of durations), and the id and category of the longest event. Events of different kinds, such as
    a host op and its kernels, are never added up.
    """
    left = np.maximum(spans.start, start)
    right = np.minimum(spans.start + spans.duration, end)
    # Events are ordered by start, so a union only needs the latest end so far.
    reached = np.maximum.accumulate(right)
    before = np.concatenate([[-np.inf], reached[:-1]]) if len(right) else right
    return {
        "count": len(spans.event),
        "total": int(spans.duration.sum()),
        "busy": float(np.maximum(right - np.maximum(left, before), 0).sum()),
        **_rows(spans, labels, (left, right)),
    }


def _self_times(spans: Spans, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the self time of each event in the range, as `nesting.self_times`; NaN if unknown."""
    own: np.ndarray = np.maximum(right - left, 0).astype("f8")
    kind = KIND_OF[spans.category]
    is_op = kind == KINDS.index("op")
    own[is_op & ~spans.nests & spans.calls] = np.nan
    rows = np.flatnonzero(spans.nests)
    if not len(rows):
        return own
    start, lane = spans.start[rows], spans.lane[rows]
    end = start + spans.duration[rows]
    order = np.lexsort((-end, start, lane))
    parent = np.append(rows[order], -1)[enclosing(lane[order], end[order])]
    inner = rows[order][parent >= 0]
    outer = parent[parent >= 0]
    by_start = np.argsort(inner, kind="stable")
    inner, outer = inner[by_start], outer[by_start]
    own -= busy(outer, left[inner], np.maximum(right, left)[inner], len(own))
    parents = np.full(len(own), -1)
    parents[inner] = outer
    give_to_ops(parents, own, (kind == KINDS.index("host")) & spans.wraps, is_op)
    return own


def _rows(
    spans: Spans, labels: Sequence[str] | pa.Array, inside: tuple[np.ndarray, np.ndarray]
) -> dict[str, Any]:
    # Few kinds occur: a count for each label and kind would take several times the memory.
    kinds = np.unique(KIND_OF[np.flatnonzero(np.bincount(spans.category))])
    key = spans.label * len(kinds) + np.searchsorted(kinds, KIND_OF)[spans.category]
    count = np.bincount(key, minlength=len(labels) * len(kinds))
    occurring = np.flatnonzero(count)
    group = np.searchsorted(occurring, np.arange(len(count)))[key]
    # Sorting two-byte numbers takes one pass.
    order = np.argsort(group.astype("u2") if len(occurring) <= 2**16 else group, kind="stable")
    count = count[occurring]
    behind = np.cumsum(count)
    first = behind - count
    start, reached = (times[order] for times in inside)
    for group_start, group_end in zip(first.tolist(), behind.tolist(), strict=True):
        part = reached[group_start:group_end]
        np.maximum.accumulate(part, out=part)
    idle = np.append(0, np.maximum(start[1:] - reached[:-1], 0))[: len(start)]
    idle[first] = 0
    covered = reached[behind - 1] - start[first] - np.add.reduceat(idle, first)
    duration = spans.duration[order]
    total = np.add.reduceat(duration, first)
    most = np.maximum.reduceat(duration, first)
    least = np.minimum.reduceat(duration, first)
    as_long = np.flatnonzero(duration == np.repeat(most, count))
    longest_at = as_long[np.searchsorted(as_long, first)]
    longest, category = spans.event[order][longest_at], spans.category[order][longest_at]
    self_times = _self_times(spans, *inside)[order]
    own = np.add.reduceat(np.nan_to_num(self_times), first)
    is_known = np.logical_or.reduceat(~np.isnan(self_times), first)
    by_length = duration[np.lexsort((duration, np.repeat(np.arange(len(count)), count)))]
    # Nearest ranks, as in `op_statistics`.
    p50, p99 = (by_length[first - (-count * percent // 100) - 1] for percent in (50, 99))
    width = np.maximum(most - least, 1).repeat(count)
    place = np.minimum((duration - least.repeat(count)) * BINS // width, BINS - 1)
    bins = np.bincount(np.arange(len(count)).repeat(count) * BINS + place, minlength=len(count) * BINS)
    bins = bins.reshape(-1, BINS)
    largest = np.lexsort((-total, -covered))[:MOST_ROWS]
    rows = [
        {
            "label": str(labels[occurring[row] // len(kinds)]),
            "category": int(category[row]),
            "count": int(count[row]),
            "busy": float(covered[row]),
            "total": int(total[row]),
            "self": float(own[row]) if is_known[row] else None,
            "mean": float(total[row] / count[row]),
            "min": int(least[row]),
            "p50": int(p50[row]),
            "p99": int(p99[row]),
            "max": int(most[row]),
            "bins": bins[row].tolist(),
            "longest": int(longest[row]),
        }
        for row in largest.tolist()
    ]
    return {"distinct": len(occurring), "rows": rows}
