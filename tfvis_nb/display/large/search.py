"""Searches a trace as the search field of the front end does, in ``js/model/search/``."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.critical_path.critical_path import path_events
from tfvis_nb.core.labels import lane_search_text
from tfvis_nb.core.palette import CATEGORY_LABELS
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.query import Bound, parse_query
from tfvis_nb.display.wire.categories import CATEGORIES


@dataclass(frozen=True)
class Found:
    """What a search found."""

    events: np.ndarray  # Event ids in order
    # How many of the events before each position of the layout were found, one longer than the positions
    hits: np.ndarray


def find(layout: Layout, text: str, step: int | None) -> Found:
    """Find the events, of one step or of all, that match all words of `text`.

    See `parse_query` for what can be asked.
    """
    terms = parse_query(text)
    mask = np.full(len(layout.event), bool(terms), "?")
    events = layout.trace.events
    if step is not None:
        mask &= events["step"].to_numpy() == step
    for term in terms:
        if isinstance(term, Bound):
            mask &= _lasts(events["duration_ns"].to_numpy(), term)
        else:
            mask &= _holds(layout, term.field, term.text)
    hits = np.zeros(len(mask) + 1, "i4")
    np.cumsum(mask[layout.event], out=hits[1:])
    return Found(np.flatnonzero(mask), hits)


def _lasts(duration: np.ndarray, bound: Bound) -> np.ndarray:
    holds: np.ndarray = duration > bound.ns if bound.longer else duration < bound.ns
    return holds | (duration == bound.ns) if bound.inclusive else holds


def _holds(layout: Layout, field: str, text: str) -> np.ndarray:
    """Mark the events of which a field holds `text`, by event id."""
    found = np.zeros(len(layout.event), "?")
    if field in ("any", "name"):
        lower = pc.utf8_lower(layout.names)
        found |= _contains(lower, text)[layout.name]
    if field in ("any", "op"):
        found |= _among(layout.ops, text)[layout.op]
    if field in ("any", "lane"):
        found |= _among(_lane_texts(layout), text)[layout.lanes.of_event]
    if field == "kind":
        found |= _among(layout.lanes.table["kind"], text)[layout.lanes.of_event]
        found |= _among((f"{name} {CATEGORY_LABELS[name]}" for name in CATEGORIES), text)[layout.category]
    if field == "is" and text in "critical":
        found |= path_events(layout.trace)
    if field == "any":
        tensors = pa.array(layout.trace.events["tensor"], pa.large_string(), from_pandas=True)
        if isinstance(tensors, pa.ChunkedArray):
            tensors = pa.concat_arrays(tensors.chunks)
        distinct = tensors.dictionary_encode()
        numbers = distinct.indices.fill_null(0).to_numpy(zero_copy_only=False)
        if len(distinct.dictionary) > 1:
            found |= _contains(pc.utf8_lower(distinct.dictionary), text)[numbers]
    return found


def _contains(texts: pa.Array, text: str) -> np.ndarray:
    marks: np.ndarray = pc.match_substring(texts, text).fill_null(False).to_numpy(zero_copy_only=False)
    return marks


def _among(texts: Iterable[str], text: str) -> np.ndarray:
    return np.fromiter((text in each.lower() for each in texts), "?")


def _lane_texts(layout: Layout) -> list[str]:
    table = layout.lanes.table
    return list(map(lane_search_text, table["task"], table["device"], table["lane"]))
