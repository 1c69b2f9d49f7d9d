"""A trace in memory as a store of events: parts of the run, events, searches, totals."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.critical_path.critical_path import path_events
from tfvis_nb.analysis.events.bar_categories import KERNELS
from tfvis_nb.analysis.events.nesting import nesting_lanes
from tfvis_nb.analysis.programs.operand_links import operand_links
from tfvis_nb.analysis.subset import edges_in_steps, ends_within, subset
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.labels import lane_search_text
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.level_of_detail import (
    Entries,
    coarsest_needed,
    concat_entries,
    everything,
    merge,
    overlapping,
)
from tfvis_nb.display.store.answers import Answer
from tfvis_nb.display.store.search import Codes, Found
from tfvis_nb.display.store.totals import Spans, lane_labels, wraps_and_calls
from tfvis_nb.display.wire.bars import Bars, PartOfTrace, bar_bytes
from tfvis_nb.display.wire.details import details
from tfvis_nb.display.wire.header import TimelineHeader, sent_lanes, trace_header
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

OUTLINE_BUCKETS = 2**15
"""The minimum number of time buckets of an outline, unless that makes too many entries."""
MOST_ENTRIES = 120_000
"""Limit for an outline or a part."""
MOST_EXACT = 60_000
"""Parts with at most this many events are sent without merging."""
MOST_LISTED = 200
"""Maximum events with facts in one answer."""


class TraceBatch:
    """All events of a trace; see `tfvis_nb.display.store.search.Batch`."""

    first = 0

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._events = layout.trace.events
        self.count = len(layout.event)
        lanes = layout.lanes.table
        self.lane_texts = list(map(lane_search_text, lanes["task"], lanes["device"], lanes["lane"]))

    def numbers(self, column: str) -> np.ndarray:
        """Return a column of numbers."""
        layout = self._layout
        if column == "lane":
            return layout.lanes.of_event
        if column == "category":
            return layout.category
        if column == "critical":
            return path_events(layout.trace)
        numbers: np.ndarray
        if column == "line":
            numbers = layout.lines[layout.own_frame]
        elif column == "bytes":
            numbers = self._events[column].to_numpy("f8", na_value=np.nan)
        else:
            numbers = self._events[column].to_numpy()
        return numbers

    def texts(self, column: str) -> Codes:
        """Return a column of texts."""
        layout = self._layout
        if column == "name":
            return Codes(layout.name, layout.names)
        if column == "op":
            return Codes(layout.op, pa.array(layout.ops, pa.string()))
        if column == "file":
            return Codes(layout.own_frame, pa.array(layout.files[:-1], pa.string()))
        return _coded(self._events[column])

    def kernels(self, test: Callable[[pa.Array], pa.Array]) -> np.ndarray:
        """Mark the kernels whose label passes a test; the labels of others are longer."""
        mask = np.zeros(self.count, "?")
        kernels = np.flatnonzero(np.isin(self._layout.category, KERNELS))
        mask[kernels] = _coded(self._events["detail"].iloc[kernels]).marks(test)
        return mask


def _coded(column: pd.Series) -> Codes:
    texts = pa.array(column, pa.large_string(), from_pandas=True)
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], texts.type)
    coded = texts.dictionary_encode()
    return Codes(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), coded.dictionary)


class TraceStore:
    """A trace that is laid out; see `tfvis_nb.display.store.answers.EventStore`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.recorded = layout.trace
        self.origin, self.span = layout.origin, int(layout.end.max(initial=0))
        self.ops, self.steps = layout.ops, layout.steps
        # All of them are in memory anyway.
        self.events = self.most_ids = len(layout.event)
        self.most_spans = 2 * self.events
        self._edges: tuple[int, pd.DataFrame, pd.DataFrame] | None = None
        self._hits: tuple[Found, np.ndarray] | None = None

    @cached_property
    def _outline(self) -> tuple[Entries, int]:
        layout = self._layout
        every = everything(layout)
        finest = max((self.span // OUTLINE_BUCKETS).bit_length() - 1, 0)
        shift = coarsest_needed(layout, every, finest, MOST_ENTRIES)
        return merge(layout, every, shift), shift

    def outline(self) -> tuple[Entries, int]:
        """Merge neighbours of the whole run."""
        return self._outline

    def window(self, start: int, end: int, shift: int, _lanes: list[int] | None, /) -> tuple[Entries, int]:
        """Merge neighbours in a part of the run, in all lanes."""
        layout = self._layout
        wide, near = overlapping(layout, self._outline[0], start, end)
        shift = 0 if near.events <= MOST_EXACT else coarsest_needed(layout, near, shift, MOST_ENTRIES)
        parts = [merge(layout, near, shift)]
        # Events next to the part that the outline merged with events of the part.
        for low, high in ((wide.low, near.low), (near.high, wide.high)):
            beside = type(wide)(low, high)
            if beside.events:
                parts.append(merge(layout, beside, coarsest_needed(layout, beside, shift, MOST_ENTRIES // 8)))
        return concat_entries(parts), shift

    def drawn(self, entries: Entries) -> tuple[Bars, PartOfTrace]:
        """Return what is drawn of the longest event of each entry."""
        layout = self._layout
        longest = entries.longest
        event = layout.event[longest]
        begin = layout.start[longest]
        bars = Bars(
            slot=entries.slot,
            start=layout.start[entries.position],
            end=layout.end[entries.position + entries.count - 1],
            op=layout.op[event],
            category=layout.category[event],
            step=layout.step[event],
            name=layout.names.take(pa.array(layout.name[event])),
            optional={name: values[event] for name, values in layout.optional.items()},
        )
        return bars, PartOfTrace(
            slot_lane=layout.slot_lane,
            slot_row=layout.slot_row,
            event=event,
            name_number=layout.name[event],
            begin=begin,
            duration=layout.end[longest] - begin,
            count=entries.count,
            busy=entries.busy,
        )

    def header(self, title: str) -> TimelineHeader:
        """Describe the timeline."""
        layout = self._layout
        lanes = sent_lanes(layout.lanes.table)
        for lane, rows in zip(lanes, layout.lane_rows.tolist(), strict=True):
            lane["rows"] = rows
        return trace_header(
            layout.trace, title=title, span=self.span, lanes=lanes, steps=self.steps, ops=self.ops
        )

    def batches(self) -> list[TraceBatch]:
        """Return all events at once."""
        return [TraceBatch(self._layout)]

    def listed(self, event: int) -> dict[str, Any]:
        """Return the name, op and lane of an event."""
        layout = self._layout
        name = layout.names[int(layout.name[event])].as_py()
        return {
            "name": name,
            "op": self.ops[int(layout.op[event])],
            "lane": int(layout.lanes.of_event[event]),
        }

    def lit(self, found: Found, entries: Entries) -> np.ndarray:
        """Mark the entries with a found event, even if it is not the longest."""
        last = self._hits
        if last is None or last[0] is not found:
            # A single assignment, so that a concurrent reader gets matching results.
            last = self._hits = (found, np.append(0, np.cumsum(found.marks(self._layout.event), dtype="i4")))
        hits = last[1]
        lit: np.ndarray = hits[entries.position + entries.count] > hits[entries.position]
        return lit.astype("u1")

    def steps_of(self, step: int | None) -> list[int] | None:
        """Return a step, and events outside steps, which are shown while they run during it."""
        return None if step is None else [step, NO_STEP]

    def spans(
        self, ends: tuple[float, float], lanes: list[int] | None, steps: Sequence[int] | None, by: str
    ) -> tuple[Spans, Sequence[str] | pa.Array]:
        """Return the events that overlap a range, or lie in it if they have no length.

        The labels of `by` are ops, names, lanes, layers, or lines of the user's code.
        """
        layout = self._layout
        events = layout.trace.events
        starts = events["start_ns"].to_numpy() - layout.origin
        durations = events["duration_ns"].to_numpy()
        inside = is_inside(starts, durations, *ends)
        if lanes is not None:
            wanted = np.zeros(len(layout.lane_rows), "?")
            wanted[lanes] = True
            inside &= wanted[layout.lanes.of_event]
        if steps is not None:
            inside &= np.isin(events["step"].to_numpy(), steps)
        chosen = np.flatnonzero(inside)
        lane = layout.lanes.of_event[chosen]
        label: np.ndarray
        labels: Sequence[str] | pa.Array
        if by == "lane":
            label, labels = lane, lane_labels(layout.lanes.table)
        elif by in ("line", "layer"):
            numbers, labels = layout.line if by == "line" else layout.layer
            label = numbers[chosen]
        elif by == "op":
            label, labels = layout.op[chosen], layout.ops
        else:
            label, labels = layout.name[chosen], layout.names
        spans = Spans(
            start=starts[chosen],
            duration=durations[chosen],
            event=chosen,
            label=label.astype("i8"),
            category=layout.category[chosen],
            lane=lane,
            nests=nesting_lanes(layout.lanes.table)[lane],
            **wraps_and_calls(layout.ops, layout.op[chosen]),
        )
        return spans, labels

    def facts(self, events: Sequence[int], hops: int, holders: Sequence[int]) -> Answer:
        """Answer with all facts about events, and for a single one about those up to `hops` edges away."""
        layout = self._layout
        trace = layout.trace
        requested, held = (np.array(ids[:MOST_LISTED], "i8") for ids in (events, holders))
        every = np.concatenate([requested, held])
        if len(requested) == 0 or every.min() < 0 or every.max() >= len(trace.events):
            raise ValueError(Text("no_such_events", events=every.tolist(), most=len(trace.events)))
        ids, edges, operands = requested, _NO_EDGES, _NO_EDGES
        if len(requested) == 1:
            edges, operands = self._edges_of_step(int(requested[0]))
        links = pd.concat([edges[_ENDS], operands[_ENDS]])
        if len(requested) == 1:
            ids = _around(links, int(requested[0]), max(hops, 1))
            ids = np.concatenate([ids, held, _last_readers(trace.events, edges, held)])
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
            numbers["holders"] = held.tolist()
            numbers["degrees"] = pd.DataFrame(counts).to_dict("records")
            kind = trace.events["kind"].cat.codes.to_numpy()
            # An op and its kernel may share a name; they run at the same time.
            same = (layout.name == layout.name[requested[0]]) & (kind == kind[requested[0]])
            numbers["same"] = {
                "count": int(same.sum()),
                "total": int(trace.events["duration_ns"].to_numpy()[same].sum()),
            }
        known = ends_within(ids, operands)
        return numbers, [bar_bytes(part), details(part, waits=False, overview=False, operands=known)]

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
