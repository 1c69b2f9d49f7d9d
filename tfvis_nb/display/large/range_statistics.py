"""Totals of the events in a time range, equal to those of a front end that holds every event."""

from typing import Any

import numpy as np

from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.wire.categories import CATEGORIES

MOST_ROWS = 200


def range_statistics(
    layout: Layout, start: float, end: float, lanes: list[int] | None, step: int | None, by: str
) -> dict[str, Any]:
    """Sum up the events that overlap a range (ns from the origin), or lie in it when they have no length.

    Returns ``count``, ``total``, ``busy`` (the union), ``distinct``, and ``rows``: the `MOST_ROWS` with the
    largest ``busy``, each with label (``"op"`` or ``"name"``), category, count, busy (the union in the
    range), total, mean, min, max and longest, an event id. An op on the host and its kernels are never
    added up.
    """
    events = layout.trace.events
    starts = events["start_ns"].to_numpy() - layout.origin
    durations = events["duration_ns"].to_numpy()
    ends = starts + durations
    inside = np.where(durations > 0, (ends > start) & (starts < end), (starts >= start) & (starts <= end))
    if lanes is not None:
        wanted = np.zeros(len(layout.lane_rows), "?")
        wanted[lanes] = True
        inside &= wanted[layout.lanes.of_event]
    if step is not None:
        inside &= events["step"].to_numpy() == step
    chosen = np.flatnonzero(inside)
    duration = durations[chosen]
    left = np.maximum(starts[chosen], start)
    right = np.minimum(ends[chosen], end)
    # Events come by start, so a union needs only the latest end so far.
    reached = np.maximum.accumulate(right)
    before = np.concatenate([[-np.inf], reached[:-1]]) if len(right) else right
    label = (layout.op if by == "op" else layout.name)[chosen].astype("i8")
    key = label * len(CATEGORIES) + layout.category[chosen]
    return {
        "count": len(chosen),
        "total": int(duration.sum()),
        "busy": float(np.maximum(right - np.maximum(left, before), 0).sum()),
        **_rows(layout, key, chosen, (left, right), by),
    }


def _rows(
    layout: Layout, key: np.ndarray, chosen: np.ndarray, inside: tuple[np.ndarray, np.ndarray], by: str
) -> dict[str, Any]:
    labels = layout.ops if by == "op" else layout.names
    count = np.bincount(key, minlength=len(labels) * len(CATEGORIES))
    occurring = np.flatnonzero(count)
    group = np.searchsorted(occurring, np.arange(len(count)))[key]
    # Sorting numbers of two bytes takes one pass over them.
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
    chosen = chosen[order]
    duration = layout.trace.events["duration_ns"].to_numpy()[chosen]
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
