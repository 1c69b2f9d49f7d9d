"""Search a trace like the search field of the front end in ``js/model/search/``."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.critical_path.critical_path import path_events
from tfvis_nb.analysis.events.bar_categories import KERNELS, named
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.labels import lane_search_text
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.query import Bound, Lines, Ranks, Steps, Term, Text, parse_query
from tfvis_nb.events import NO_STEP

MOST_LISTED = 50
"""How many of the longest events found are listed."""


@dataclass(frozen=True)
class SearchMatches:
    """The matches of a search."""

    events: np.ndarray  # Event ids in order
    ranks: np.ndarray  # How well each fits, from 0
    # The number of found events before each position of the layout, one longer than the positions
    hits: np.ndarray


def find(layout: Layout, text: str, step: int | None) -> SearchMatches:
    """Find the events, shown with one step or all, that match all words of `text`.

    See `parse_query` for the syntax.
    """
    clauses = parse_query(text)
    mask = np.full(len(layout.event), bool(clauses), "?")
    if step is not None:
        mask &= _shown_with(layout, step)
    for terms, negated in clauses:
        has_term = np.zeros(len(mask), "?")
        for term in terms:
            has_term |= _holds(layout, term)
        mask &= ~has_term if negated else has_term
    hits = np.zeros(len(mask) + 1, "i4")
    np.cumsum(mask[layout.event], out=hits[1:])
    events = np.flatnonzero(mask)
    names = np.unique(layout.name[events], return_inverse=True)
    texts = layout.names.take(pa.array(names[0])).to_pylist()
    ranks = Ranks.of(clauses).rank(layout.ops, layout.op[events], texts, names[1])
    return SearchMatches(events, ranks, hits)


def _shown_with(layout: Layout, step: int) -> np.ndarray:
    """Mark the events of a step, and those outside steps that run during it."""
    events = layout.trace.events
    steps = layout.trace.steps
    span = steps.loc[steps["step"] == step, ["start_ns", "end_ns"]].to_numpy()[0]
    during = is_inside(events["start_ns"].to_numpy(), events["duration_ns"].to_numpy(), *span)
    of = events["step"].to_numpy()
    shown: np.ndarray = (of == step) | ((of == NO_STEP) & during)
    return shown


def longest_found(layout: Layout, matches: SearchMatches) -> dict[str, Any]:
    """Return the ``total`` duration of the matches, and their union ``busy`` (ns).

    ``longest`` lists the best matches, the longest first. ``span`` is the first start and the last end (ns
    from the origin), None without matches.
    """
    start, duration = (
        layout.trace.events[name].to_numpy()[matches.events] for name in ("start_ns", "duration_ns")
    )
    end = np.maximum.accumulate(start + duration)
    # By start, so that a union only needs the latest end so far.
    fresh = np.minimum(duration[1:], end[1:] - end[:-1])
    busy = int(duration[:1].sum()) + int(fresh.sum())
    places = np.lexsort((matches.events, -duration, matches.ranks))[:MOST_LISTED]
    longest = [
        {
            "event": int(event),
            "name": layout.names[int(layout.name[event])].as_py(),
            "op": layout.ops[int(layout.op[event])],
            "lane": int(layout.lanes.of_event[event]),
            "duration": int(length),
        }
        for event, length in zip(matches.events[places], duration[places], strict=True)
    ]
    origin = layout.origin
    span = {"start": int(start[0]) - origin, "end": int(end[-1]) - origin} if len(end) else None
    return {"total": int(duration.sum()), "busy": busy, "longest": longest, "span": span}


def _holds(layout: Layout, term: Term) -> np.ndarray:
    """Mark the events, by id, that match a term."""
    events = layout.trace.events
    if isinstance(term, Text):
        return _has_text(layout, term.field, term.text)
    if isinstance(term, Steps):
        steps = events["step"].to_numpy()
        return (steps >= term.first) & (steps <= term.last)
    if isinstance(term, Lines):
        frame, line = layout.own_frame, layout.lines
        mask: np.ndarray = (line[frame] >= max(term.first, 1)) & (line[frame] <= term.last)
        return mask
    if isinstance(term, Bound):
        if term.of == "bytes":
            return within(events["bytes"].to_numpy("f8", na_value=np.nan), term)
        return within(events["duration_ns"].to_numpy(), term)
    return np.zeros(len(layout.event), "?")


def within(figures: np.ndarray, bound: Bound) -> np.ndarray:
    """Mark the figures within a bound; missing ones (NaN) are outside any bound."""
    holds: np.ndarray = figures > bound.value if bound.longer else figures < bound.value
    return holds | (figures == bound.value) if bound.inclusive else holds


def _has_text(layout: Layout, field: str, text: str) -> np.ndarray:
    """Mark the events, by id, with `text` in a field."""
    mask = np.zeros(len(layout.event), "?")
    if field in ("any", "name"):
        lower = pc.utf8_lower(layout.names)
        mask |= _contains(lower, text)[layout.name]
    if field in ("any", "op"):
        mask |= _among(layout.ops, text)[layout.op]
    if field in ("any", "lane"):
        mask |= _among(_lane_texts(layout), text)[layout.lanes.of_event]
    if field == "kind":
        mask |= named(text)[layout.category]
    if field == "file":
        mask |= _among(layout.files, text)[layout.own_frame]
    if field == "is" and text in "critical":
        mask |= path_events(layout.trace)
    if field == "any":
        events = layout.trace.events
        mask |= _in_column(events["tensor"], text)
        # Kernels are named after their ops; their own names are in their labels.
        kernel = np.flatnonzero(np.isin(layout.category, KERNELS))
        mask[kernel] |= _in_column(events["detail"].iloc[kernel], text, kernel_names)
    return mask


def kernel_names(labels: pa.Array) -> pa.Array:
    """Return the text before launch parameters, or nothing if a label is an op with its inputs."""
    names = pc.list_element(pc.split_pattern(labels, " regs:", max_splits=1), 0)
    return pc.if_else(pc.match_substring(labels, " = "), "", names)


def _in_column(
    column: pd.Series, text: str, name: Callable[[pa.Array], pa.Array] = lambda texts: texts
) -> np.ndarray:
    """Mark the rows whose `name` result contains `text`; each distinct value is tested once."""
    texts = pa.array(column, pa.large_string(), from_pandas=True)
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks)
    if len(texts) == texts.null_count:
        return np.zeros(len(texts), "?")
    distinct = texts.dictionary_encode()
    names = name(distinct.dictionary)
    numbers = distinct.indices.fill_null(0).to_numpy(zero_copy_only=False)
    mask: np.ndarray = _contains(pc.utf8_lower(names), text)[numbers] & ~column.isna().to_numpy()
    return mask


def _contains(texts: pa.Array, text: str) -> np.ndarray:
    marks: np.ndarray = pc.match_substring(texts, text).fill_null(False).to_numpy(zero_copy_only=False)
    return marks


def _among(texts: Iterable[str], text: str) -> np.ndarray:
    return np.fromiter((text in each.lower() for each in texts), "?")


def _lane_texts(layout: Layout) -> list[str]:
    table = layout.lanes.table
    return list(map(lane_search_text, table["task"], table["device"], table["lane"]))
