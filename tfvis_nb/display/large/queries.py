"""Answer queries about a trace too large for the front end: parts of the run, events, searches, totals.

Objects here are immutable, because a notebook may send queries from two threads at once.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.programs.operand_links import operand_links
from tfvis_nb.analysis.subset import edges_in_steps, ends_within, subset
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.display.large.entries import matching_entries, outline_bytes, part_bytes
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.level_of_detail import (
    Entries,
    coarsest_needed,
    concat_entries,
    everything,
    merge,
    overlapping,
)
from tfvis_nb.display.large.range_statistics import range_statistics
from tfvis_nb.display.large.search import SearchMatches, find, longest_found
from tfvis_nb.display.wire.code import code_bytes
from tfvis_nb.display.wire.counters import MOST_VALUES, counter_bytes, counter_figures
from tfvis_nb.display.wire.details import details
from tfvis_nb.display.wire.drawn import drawn
from tfvis_nb.display.wire.memory import memory_bytes
from tfvis_nb.texts import Text

OUTLINE_BUCKETS = 2**15
"""The minimum number of time buckets of an outline, unless that makes too many entries."""
MOST_ENTRIES = 120_000
"""Limit for an outline or a part."""
MOST_EXACT = 60_000
"""Parts with at most this many events are sent without merging."""
MOST_PART_VALUES = 200_000
"""Maximum values of counters in the answer about a part of the run."""
MOST_LISTED = 200
"""Maximum events with facts in one answer."""

Answer = tuple[dict[str, Any], list[bytes]]


class LargeTraceQueries:
    """A trace, merged to an outline and ready for queries."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        every = everything(layout)
        span = int(layout.end.max()) if len(layout.end) else 0
        finest = max((span // OUTLINE_BUCKETS).bit_length() - 1, 0)
        self._shift = coarsest_needed(layout, every, finest, MOST_ENTRIES)
        self.outline: Entries = merge(layout, every, self._shift)
        self._found: tuple[tuple[str, int | None], SearchMatches] | None = None
        self._edges: tuple[int, pd.DataFrame, pd.DataFrame] | None = None

    def outline_bytes(self, title: str, rest: str) -> bytes:
        """Write the outline; see `tfvis_nb.display.large.entries.outline_bytes`."""
        return outline_bytes(self._layout, self.outline, title=title, shift=self._shift, rest=rest)

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer one query with JSON and bytes; ValueError if the trace lacks the requested data."""
        kind = question.get("kind")
        if kind == "window":
            return self._window(question)
        if kind == "events":
            return self._events(question)
        if kind == "search":
            matches_of_text = self._search(str(question["text"]), question.get("step"))
            ids = matches_of_text.events.astype("u4").tobytes()
            matches = matching_entries(self.outline, matches_of_text.hits).tobytes()
            known = {"count": len(matches_of_text.events), **longest_found(self._layout, matches_of_text)}
            return known, [ids, matches]
        if kind == "memory":
            return {}, [memory_bytes(self._layout.trace)]
        if kind == "counters":
            span = int(self._layout.end.max(initial=0))
            return {}, [counter_bytes(self._layout.trace, 0, span, most_values=MOST_VALUES)]
        if kind == "code":
            return {}, [code_bytes(self._layout.trace)]
        if kind == "statistics":
            keys = ("start", "end", "lanes", "step", "by")
            totals = range_statistics(self._layout, *(question[key] for key in keys))
            counters = counter_figures(self._layout.trace, question["start"], question["end"])
            return {**totals, "counters": counters}, []
        raise ValueError(Text("unknown_question", kind=kind))

    def _window(self, question: Mapping[str, Any]) -> Answer:
        layout = self._layout
        start, end = int(question["start"]), int(question["end"])
        wide, near = overlapping(layout, self.outline, start, end)
        shift = max(int(question["bucket"]).bit_length() - 1, 0)
        shift = 0 if near.events <= MOST_EXACT else coarsest_needed(layout, near, shift, MOST_ENTRIES)
        parts = [merge(layout, near, shift)]
        # Events next to the part that the outline merged with events of the part.
        for low, high in ((wide.low, near.low), (near.high, wide.high)):
            beside = type(wide)(low, high)
            if beside.events:
                parts.append(merge(layout, beside, coarsest_needed(layout, beside, shift, MOST_ENTRIES // 8)))
        text = str(question.get("text", ""))
        hits = self._search(text, question.get("step")).hits if text else None
        part = part_bytes(layout, concat_entries(parts), start=start, end=end, shift=shift, hits=hits)
        if not len(layout.trace.counters):
            return {}, [part]
        counters = counter_bytes(layout.trace, start, end, most_values=MOST_PART_VALUES)
        return {}, [part, counters]

    def _search(self, text: str, step: int | None) -> SearchMatches:
        last = self._found
        if last is not None and last[0] == (text, step):
            return last[1]
        matches = find(self._layout, text, step)
        # A single assignment, so that a concurrent reader gets either the old or the new answer, each
        # complete.
        self._found = ((text, step), matches)
        return matches

    def _events(self, question: Mapping[str, Any]) -> Answer:
        """Answer with all facts about events, and for a single one about those up to `hops` edges away."""
        layout = self._layout
        trace = layout.trace
        requested = np.array(question["events"][:MOST_LISTED], "i8")
        holders = np.array(question.get("holders", [])[:MOST_LISTED], "i8")
        every = np.concatenate([requested, holders])
        if len(requested) == 0 or every.min() < 0 or every.max() >= len(trace.events):
            raise ValueError(Text("no_such_events", events=every.tolist(), most=len(trace.events)))
        ids, edges, operands = requested, _NO_EDGES, _NO_EDGES
        if len(requested) == 1:
            edges, operands = self._edges_of_step(int(requested[0]))
        links = pd.concat([edges[_ENDS], operands[_ENDS]])
        if len(requested) == 1:
            ids = _around(links, int(requested[0]), max(int(question.get("hops", 1)), 1))
            ids = np.concatenate([ids, holders, _last_readers(trace.events, edges, holders)])
        ids = distinct_numbers(ids)
        part = subset(trace, ids, edges)
        numbers: dict[str, Any] = {
            "events": ids.tolist(),
            "rows": layout.row[ids].tolist(),
            "lanes": layout.lanes.of_event[ids].tolist(),
            "names": layout.name[ids].tolist(),
            "steps": layout.step[ids].tolist(),
            "ops": layout.op[ids].tolist(),
        }
        if len(requested) == 1:
            ends = {"inputs": links["target"], "consumers": links["source"]}
            counts = {side: np.bincount(end, minlength=len(trace.events))[ids] for side, end in ends.items()}
            numbers["holders"] = holders.tolist()
            numbers["degrees"] = pd.DataFrame(counts).to_dict("records")
            kind = trace.events["kind"].cat.codes.to_numpy()
            # An op and its kernel may share a name; they run at the same time.
            same = (layout.name == layout.name[requested[0]]) & (kind == kind[requested[0]])
            numbers["same"] = {
                "count": int(same.sum()),
                "total": int(trace.events["duration_ns"].to_numpy()[same].sum()),
            }
        known = ends_within(ids, operands)
        return numbers, [drawn(part), details(part, waits=False, overview=False, operands=known)]

    def _edges_of_step(self, event: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the edges of the step of an event, and the operand links in it."""
        trace = self._layout.trace
        step = int(trace.events["step"].iloc[event])
        known = self._edges
        if known is None or known[0] != step:
            operands = operand_links(trace)
            is_here = trace.events["step"].to_numpy()[operands["target"]] == step
            known = self._edges = (step, edges_in_steps(trace, np.array([step])), operands[is_here])
        return known[1:]


def _around(edges: pd.DataFrame, event: int, hops: int) -> np.ndarray:
    """Find an event and those up to `hops` edges before or after it; of many, the nearest by id.

    An op on which everything depends may have a hundred thousand neighbours.
    """
    source, target = (edges[end].to_numpy("i8") for end in ("source", "target"))
    known = before = behind = np.array([event])
    for _ in range(hops):
        before = np.setdiff1d(source[np.isin(target, before)], known)
        behind = np.setdiff1d(target[np.isin(source, behind)], known)
        others = np.union1d(before, behind)
        nearest = others[np.argsort(np.abs(others - event), kind="stable")][: MOST_LISTED // hops]
        before, behind = np.intersect1d(before, nearest), np.intersect1d(behind, nearest)
        known = np.union1d(known, nearest)
    return known


def _last_readers(events: pd.DataFrame, edges: pd.DataFrame, holders: np.ndarray) -> np.ndarray:
    """Find the events that read outputs of `holders`; of many, those that end last."""
    reads = edges["kind"].isin(["data", "transfer"]) & edges["source"].isin(holders)
    readers = distinct_numbers(edges["target"].to_numpy("i8")[reads.to_numpy()])
    times = events[["start_ns", "duration_ns"]].take(readers)
    return readers[np.argsort(times.sum(axis=1).to_numpy(), kind="stable")][-MOST_LISTED:]


_ENDS = ["source", "target"]
_NO_EDGES = pd.DataFrame(
    {
        "source": pd.Series(dtype="i8"),
        "target": pd.Series(dtype="i8"),
        "kind": pd.Categorical([], categories=["data"]),
    }
)
