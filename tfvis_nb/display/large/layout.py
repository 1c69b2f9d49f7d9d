"""A trace as constant arrays, laid out by slot, for answering queries of a large timeline.

A *slot* is one row of one lane. The events of a slot do not overlap, so both their starts and their ends are
sorted.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.events.bar_categories import categories
from tfvis_nb.analysis.events.lane_order import LaneOrder
from tfvis_nb.analysis.events.row_packing import pack_rows
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.bars import optional_columns
from tfvis_nb.display.wire.header import Step, op_table, origin_ns, step_table
from tfvis_nb.display.wire.string_table import number_texts


@dataclass(frozen=True)
class Layout:
    """The position of each event of a trace in the timeline."""

    # trace, lanes: The trace, and its lanes in display order
    trace: Trace
    lanes: LaneOrder
    origin: int  # Epoch nanoseconds that times count from
    lane_rows: np.ndarray  # Rows of each lane
    # slot_lane, slot_row: Lane of each slot and its row in it
    slot_lane: np.ndarray
    slot_row: np.ndarray
    # The events of slot s are at positions ``bounds[s]`` to ``bounds[s + 1]`` of the next three arrays
    bounds: np.ndarray
    event: np.ndarray  # Event ids, ordered by slot and start
    # start, end: Nanoseconds from the origin, in the same order
    start: np.ndarray
    end: np.ndarray
    row: np.ndarray  # Row of each event in its lane, by event id

    @cached_property
    def name(self) -> np.ndarray:
        """Number of each event's name in `names`, by event id; uint32."""
        return self._numbered[0]

    @cached_property
    def names(self) -> pa.Array:
        """The distinct names."""
        return self._numbered[1]

    @cached_property
    def _numbered(self) -> tuple[np.ndarray, pa.Array]:
        (numbers,), distinct = number_texts([self.trace.events["name"]])
        return numbers, distinct

    @cached_property
    def ops(self) -> list[str]:
        """The distinct op types."""
        return self._ops[0]

    @cached_property
    def op(self) -> np.ndarray:
        """Index of each event's op type in `ops`, by event id."""
        return self._ops[1]

    @cached_property
    def _ops(self) -> tuple[list[str], np.ndarray]:
        return op_table(self.trace.events)

    @cached_property
    def category(self) -> np.ndarray:
        """Category number of each event, by event id; uint8."""
        return categories(self.trace)

    @cached_property
    def steps(self) -> list[Step]:
        """The steps, as shown by the front end."""
        return self._steps[0]

    @cached_property
    def step(self) -> np.ndarray:
        """Index of each event's step in `steps`, by event id."""
        return self._steps[1]

    @cached_property
    def _steps(self) -> tuple[list[Step], np.ndarray]:
        return step_table(self.trace, self.trace.events)

    @cached_property
    def optional(self) -> dict[str, np.ndarray]:
        """The optional columns of bars, by event id."""
        return optional_columns(self.trace)

    @cached_property
    def own_frame(self) -> np.ndarray:
        """Index in `files` and `lines` of each event's own frame, by event id; the last index means none."""
        stacks = self.trace.stacks
        own = np.zeros(0, np.int32) if stacks is None else stacks.own_frame()
        frames: np.ndarray = np.append(own, -1)[event_stacks(self.trace)]
        return frames

    @cached_property
    def files(self) -> list[str]:
        """The file of each frame, followed by an empty text."""
        stacks = self.trace.stacks
        if stacks is None:
            return [""]
        names = stacks.files["name"].take(stacks.frames["file"])
        return [*names.to_pylist(), ""]

    @cached_property
    def lines(self) -> np.ndarray:
        """The line of each frame, followed by 0."""
        stacks = self.trace.stacks
        return np.append([] if stacks is None else stacks.frames["line"].to_numpy(), 0).astype(np.int64)

    @cached_property
    def line(self) -> tuple[np.ndarray, list[str]]:
        """Index of each event's line of the user's code, by event id, in the list of lines: "model.py:12"."""
        texts = [f"{file}:{line}" if line else "" for file, line in zip(self.files, self.lines, strict=True)]
        number, distinct = pd.factorize(np.array(texts, object))
        return number[self.own_frame], list(distinct)

    @cached_property
    def layer(self) -> tuple[np.ndarray, list[str]]:
        """Index of each event's layer, by event id, in the list of layers; one of them is empty."""
        layer, _ = event_layers(self.trace)
        return np.asarray(layer.indices), layer.dictionary.to_pylist()


def lay_out(trace: Trace, lanes: LaneOrder) -> Layout:
    """Pack a trace's lanes into rows and order its events by them."""
    order = lanes.rows
    origin = origin_ns(trace.events)
    start = trace.events["start_ns"].to_numpy()[order] - origin
    duration = trace.events["duration_ns"].to_numpy()[order]
    counts = np.bincount(lanes.of_event, minlength=len(lanes.table))
    packed = pack_rows(start, duration, counts)
    row = np.empty(len(order), "i4")
    row[order] = packed

    heads = np.cumsum(counts) - counts
    lane_rows = np.maximum.reduceat(packed, heads).astype("i8") + 1 if len(heads) else heads
    lane_slots = np.cumsum(lane_rows) - lane_rows
    slot = np.repeat(lane_slots, counts) + packed
    slots = int(lane_rows.sum())
    # Sorting two-byte numbers takes one pass.
    by_slot = np.argsort(slot.astype("u2") if slots <= 2**16 else slot, kind="stable")
    first = start[by_slot]
    return Layout(
        trace=trace,
        lanes=lanes,
        origin=origin,
        lane_rows=lane_rows,
        slot_lane=np.repeat(np.arange(len(lane_rows)), lane_rows),
        slot_row=np.arange(slots) - np.repeat(lane_slots, lane_rows),
        bounds=np.concatenate([[0], np.cumsum(np.bincount(slot, minlength=slots))]),
        event=order[by_slot],
        start=first,
        end=first + duration[by_slot],
        row=row,
    )
