"""Bars of events as paths: exact if wide enough, otherwise as the busy share of time."""

from typing import NamedTuple

import numpy as np
import pandas as pd

LEVELS = 8
"""Heights of bars that stand for several events."""


class Boxes(NamedTuple):
    """Rectangles in CSS pixels, and their categories."""

    x: np.ndarray
    y: np.ndarray
    width: np.ndarray
    height: np.ndarray
    category: np.ndarray

    def path(self, category: int) -> str:
        """Return the rectangles of a category as the data of a single path."""
        chosen = self.category == category
        columns = (column[chosen].round(2).tolist() for column in (self.x, self.y, self.width, self.height))
        return "".join(f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z" for x, y, w, h in zip(*columns, strict=True))


def wide_boxes(
    left: np.ndarray, right: np.ndarray, top: np.ndarray, pitch: np.ndarray, category: np.ndarray
) -> Boxes:
    """Return a rectangle for each event, with gaps between rows that are high enough."""
    return Boxes(left, top, right - left, _bar(pitch), category)


def alone(left: np.ndarray, right: np.ndarray, track: np.ndarray, distance: float) -> np.ndarray:
    """Return a mask of events further than `distance` from their neighbours on the same track."""
    order = np.lexsort([left, track])
    apart = np.ones(len(order) + 1, bool)
    apart[1:-1] = (np.diff(track[order]) != 0) | (left[order][1:] - right[order][:-1] > distance)
    found = np.zeros(len(order), bool)
    found[order] = apart[:-1] & apart[1:]
    return found


def merged_boxes(
    left: np.ndarray,
    right: np.ndarray,
    top: np.ndarray,
    pitch: np.ndarray,
    category: np.ndarray,
    track: np.ndarray,
    *,
    part: float,
) -> Boxes:
    """Return rectangles for narrow events, whose height is their share of each `part` CSS pixels.

    The category is the one with the most time in the part. Every event is visible, because the lowest level
    is not empty.
    """
    column = np.floor((left + right) / 2 / part).astype(np.int64)
    table = pd.DataFrame({"track": track, "column": column, "category": category, "busy": right - left})
    table["top"], table["pitch"] = top, pitch
    keys = ["track", "column"]
    cells = table.groupby(keys).agg(busy=("busy", "sum"), top=("top", "first"), pitch=("pitch", "first"))
    by_category = table.groupby([*keys, "category"])["busy"].sum().reset_index()
    most = by_category.sort_values("busy", kind="stable").drop_duplicates(keys, keep="last")
    level = np.clip(np.rint(cells["busy"].to_numpy() / part * LEVELS), 1, LEVELS).astype(np.int64)
    of_track, at = (cells.index.get_level_values(name).to_numpy() for name in keys)
    main = most.sort_values(keys)["category"].to_numpy()
    same = (np.diff(of_track) == 0) & (np.diff(at) == 1) & (np.diff(level) == 0) & (np.diff(main) == 0)
    first = np.flatnonzero(np.concatenate([[True], ~same])) if len(at) else np.zeros(0, np.int64)
    last = np.append(first[1:], len(at)) - 1 if len(first) else first
    bar = _bar(cells["pitch"].to_numpy())[first]
    height = bar * level[first] / LEVELS
    y = cells["top"].to_numpy()[first] + bar - height
    return Boxes(at[first] * part, y, (at[last] - at[first] + 1) * part, height, main[first])


def _bar(pitch: np.ndarray) -> np.ndarray:
    return np.where(pitch >= 4, pitch - 1, pitch)
