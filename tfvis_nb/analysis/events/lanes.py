"""The lanes of a trace."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.core.labels import natural
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace

_LANE_ORDER = ("ops", "collective", "recv", "stream:", "memcpy", "memset", "sync")
_KEYS = ["task", "device", "lane"]


@validate_input
def lanes(trace: Trace) -> pd.DataFrame:
    """Return one row per lane, ordered by task, CPUs before GPUs, ops before streams.

    ``kind`` is the most frequent one of its rows, ``busy_ns`` the time covered by at least one row.
    """
    events = trace.events
    number, first = number_rows(*(events[key] for key in _KEYS))
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    table = events[_KEYS].take(first).reset_index(drop=True)
    table["events"] = np.bincount(number, minlength=len(first))
    table["start_ns"] = start[first]
    last = start[first]
    np.maximum.at(last, number, end)
    table["end_ns"] = last
    table["busy_ns"] = busy(number, start, end, len(first))
    table["kind"] = _most_frequent(events["kind"], number, len(first))
    keys = [_sort_key(*where) for where in zip(*(table[key].astype(str) for key in _KEYS), strict=True)]
    order = sorted(range(len(table)), key=keys.__getitem__)
    columns = [*_KEYS, "kind", "events", "busy_ns", "start_ns", "end_ns"]
    return table.loc[order, columns].reset_index(drop=True)


def _most_frequent(kind: pd.Series, lane: np.ndarray, lanes: int) -> pd.Categorical:
    """Return the most frequent kind of each lane; of several the first in alphabetical order."""
    kinds = kind.cat.categories
    order = np.argsort(np.array(kinds, object))
    rank = np.argsort(order)
    width = max(len(kinds), 1)
    counts = np.bincount(lane * width + rank[kind.cat.codes.to_numpy()], minlength=lanes * width)
    most = counts.reshape(lanes, width).argmax(axis=1)
    return pd.Categorical.from_codes(order[most], categories=kinds)


def busy(lane: np.ndarray, start: np.ndarray, end: np.ndarray, lanes: int) -> np.ndarray:
    """Return for each lane the length of the union of its intervals, which are ordered by start."""
    order = np.argsort(lane, kind="stable")
    lane, start, end = lane[order], start[order], end[order]
    reached = pd.Series(end).groupby(lane).cummax().to_numpy()
    before = np.concatenate([start[:1], reached[:-1]])
    first = np.concatenate([[True], lane[1:] != lane[:-1]])[: len(lane)]
    covered = np.where(first, end - start, np.maximum(end - np.maximum(start, before), 0))
    total = np.zeros(lanes, covered.dtype)
    np.add.at(total, lane, covered)
    return total


def recorded_devices(trace: Trace) -> pd.Series:
    """Return the device of each event as text, by its name in the source."""
    if trace.nested is None or "raw_device" not in trace.nested.column_names:
        return trace.events["device"].astype(str)
    names: pd.Series = trace.nested["raw_device"].to_pandas().astype(object)
    # A Chrome trace records it for rows on streams only.
    names = names.where(names.notna(), trace.events["device"].astype(object))
    return names.astype(str)


def _sort_key(task: str, device: str, lane: str) -> tuple[object, ...]:
    kind = next(
        (rank for rank, prefix in enumerate(_LANE_ORDER) if lane.startswith(prefix)), len(_LANE_ORDER)
    )
    return natural(task), natural(device), kind, natural(lane)
