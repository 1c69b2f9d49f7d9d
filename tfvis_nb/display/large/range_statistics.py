"""Totals of the events in a time range, equal to those of a front end that holds all events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.analysis.events.bar_categories import CATEGORIES
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.display.large.layout import Layout

MOST_ROWS = 200


@dataclass(frozen=True)
class Spans:
    """Events ordered by start: times in ns from an origin, and the labels by which they are summed."""

    start: np.ndarray
    duration: np.ndarray
    event: np.ndarray  # Their ids
    label: np.ndarray  # Number of each one's label
    category: np.ndarray


def range_statistics(
    layout: Layout, start: float, end: float, lanes: list[int] | None, step: int | None, by: str
) -> dict[str, Any]:
    """Sum up the events that overlap a range (ns from the origin), or lie in it if they have no length.

    See `totals_in`; `by` selects ops or names as labels.
    """
    events = layout.trace.events
    starts = events["start_ns"].to_numpy() - layout.origin
    durations = events["duration_ns"].to_numpy()
    inside = is_inside(starts, durations, start, end)
    if lanes is not None:
        wanted = np.zeros(len(layout.lane_rows), "?")
        wanted[lanes] = True
        inside &= wanted[layout.lanes.of_event]
    if step is not None:
        inside &= events["step"].to_numpy() == step
    chosen = np.flatnonzero(inside)
    label = (layout.op if by == "op" else layout.name)[chosen].astype("i8")
    spans = Spans(starts[chosen], durations[chosen], chosen, label, layout.category[chosen])
    return totals_in(spans, layout.ops if by == "op" else layout.names, start, end)


def totals_in(spans: Spans, labels: Sequence[str] | pa.Array, start: float, end: float) -> dict[str, Any]:
    """Sum up events in a range.

    Returns ``count``, ``total``, ``busy`` (the union), ``distinct``, and ``rows``: the `MOST_ROWS` with the
    largest ``busy``, each with its label, category, count, busy (the union in the range), total, mean, min,
    max and longest, an event id. A host op and its kernels are never added up.
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


def _rows(
    spans: Spans, labels: Sequence[str] | pa.Array, inside: tuple[np.ndarray, np.ndarray]
) -> dict[str, Any]:
    key = spans.label * len(CATEGORIES) + spans.category
    count = np.bincount(key, minlength=len(labels) * len(CATEGORIES))
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
    chosen = spans.event[order]
    duration = spans.duration[order]
    total = np.add.reduceat(duration, first)
    most = np.maximum.reduceat(duration, first)
    least = np.minimum.reduceat(duration, first)
    as_long = np.flatnonzero(duration == np.repeat(most, count))
    longest = chosen[as_long[np.searchsorted(as_long, first)]]
    largest = np.lexsort((-total, -covered))[:MOST_ROWS]
    rows = [
        {
            "label": str(labels[occurring[row] // len(CATEGORIES)]),
            "category": int(occurring[row] % len(CATEGORIES)),
            "count": int(count[row]),
            "busy": float(covered[row]),
            "total": int(total[row]),
            "mean": float(total[row] / count[row]),
            "min": int(least[row]),
            "max": int(most[row]),
            "longest": int(longest[row]),
        }
        for row in largest.tolist()
    ]
    return {"distinct": len(occurring), "rows": rows}
