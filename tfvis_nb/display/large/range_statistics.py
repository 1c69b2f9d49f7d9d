"""Totals of the events in a time range, equal to those of a front end that holds every event."""

from typing import Any

import numpy as np

from tfvis_nb.analysis.events.lanes import busy
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
    duration = layout.trace.events["duration_ns"].to_numpy()[chosen]
    labels = layout.ops if by == "op" else layout.names
    size = len(labels) * len(CATEGORIES)
    count = np.bincount(key, minlength=size)
    covered = busy(key, *inside, size)
    total = np.zeros(size, "i8")
    np.add.at(total, key, duration)
    least = np.full(size, np.iinfo("i8").max)
    np.minimum.at(least, key, duration)
    most = np.full(size, -1)
    np.maximum.at(most, key, duration)
    longest = np.zeros(size, "i8")
    as_long = np.flatnonzero(duration == most[key])[::-1]
    # If there are several, the first one stays because it is written last.
    longest[key[as_long]] = chosen[as_long]
    occurring = np.flatnonzero(count)
    largest = occurring[np.lexsort((-total[occurring], -covered[occurring]))][:MOST_ROWS]
    rows = [
        {
            "label": str(labels[group // len(CATEGORIES)]),
            "category": group % len(CATEGORIES),
            "count": int(count[group]),
            "busy": float(covered[group]),
            "total": int(total[group]),
            "mean": float(total[group] / count[group]),
            "min": int(least[group]),
            "max": int(most[group]),
            "longest": int(longest[group]),
        }
        for group in largest.tolist()
    ]
    return {"distinct": len(occurring), "rows": rows}
