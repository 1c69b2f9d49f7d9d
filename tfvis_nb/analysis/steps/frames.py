"""The frames of a flame graph: the frame of each event, and its time there."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import parents_of, self_times, self_times_of
from tfvis_nb.analysis.events.unattributed import WAITING, reasons
from tfvis_nb.analysis.source.waiting_time import waiting_ns
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.analysis.steps.scope_tree import distinct_nodes
from tfvis_nb.analysis.steps.tree import Tree
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.labels import NO_NAME, lane_label
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.stacks import StackTable, event_stacks
from tfvis_nb.core.text_rows import text_rows, texts_of
from tfvis_nb.core.trace import Trace

NO_LAYER = "(no layer)"
"""The frame of events outside layers. Events outside lines are under their reason, such as ``(waiting)``."""

_MOST_DEPTH, _MOST_PARTS = 256, 32
"""Deeper frames count as part of their ancestor at this depth; a layer's path has at most this many parts."""


class Frames(NamedTuple):
    """A tree of frames, and the frame and self time (ns) of events (rows of the table).

    By stack, events that wait for Python's interpreter lock or, in collectives, for other ranks come again at
    the end, with the time of the wait.
    """

    tree: Tree
    events: np.ndarray
    frame: np.ndarray
    self_ns: np.ndarray


def events_of(trace: Trace, by: str, side: str, rows: np.ndarray) -> np.ndarray:
    """Return the `rows` that are part of a flame graph."""
    here = locations(trace.events) == LOCATIONS.index(side)
    if by == "scope":
        here &= ~is_kind(trace.events, "host")
    events: np.ndarray = rows[here[rows]]
    return events


def frames(trace: Trace, by: str, side: str, rows: np.ndarray) -> Frames:
    """Return the frames of the `rows` on a side; see `tfvis_nb.analysis.flame_graph`."""
    events = trace.events
    chosen = events_of(trace, by, side, rows)
    if by == "scope":
        of_graph = (locations(events) < LOCATIONS.index("repeated")) & ~is_kind(events, "host")
        own, known = self_times(events, of_graph)
        names, of_event = distinct_nodes(events, chosen)
        tree, row = Tree.of_names(names)
        frame = row[of_event]
    else:
        own, known = self_times_of(trace)
        if by == "thread":
            tree, frame = _by_thread(trace, chosen)
        else:
            tree, frame = (_by_stack if by == "stack" else _by_layer)(trace, chosen)
    self_ns = np.where(known, own, 0)
    if by == "stack":
        waited = waiting_ns(trace)
        twice = np.flatnonzero(waited[chosen] > 0)
        parts = (self_ns - waited)[chosen], waited[chosen[twice]]
        return Frames(tree, np.append(chosen, chosen[twice]), frame, np.concatenate(parts))
    return Frames(tree, chosen, frame, self_ns[chosen])


class TreeBuilder:
    """Builds a tree frame by frame."""

    def __init__(self) -> None:
        self.part, self.parent, self.depth = [""], [0], [0]
        self._known: dict[tuple[int, object], int] = {}

    def frame(self, parent: int, key: object, text: str) -> int:
        """Return the frame of a key inside a parent frame; always the same one for the same key."""
        number = self._known.setdefault((parent, key), len(self.part))
        if number == len(self.part):
            self.part.append(text)
            self.parent.append(parent)
            self.depth.append(self.depth[parent] + 1)
        return number

    def frames(self, parent: np.ndarray, label: np.ndarray, texts: list[str]) -> np.ndarray:
        """Return the frames of many labels (numbers of texts) inside parent frames."""
        distinct, of_each = np.unique(parent * len(texts) + label, return_inverse=True)
        pairs = zip(*(each.tolist() for each in np.divmod(distinct, len(texts))), strict=True)
        return np.array([self.frame(above, texts[at], texts[at]) for above, at in pairs], np.int64)[of_each]

    def tree(self) -> Tree:
        """Return the tree of all frames."""
        return Tree(self.part, np.array(self.parent, np.int64), np.array(self.depth, np.int64))


def _by_stack(trace: Trace, rows: np.ndarray) -> tuple[Tree, np.ndarray]:
    """Return frames of the lines of the user's code, with op types in the innermost ones.

    The frames of waits, which are no time of a line, follow those of all rows.
    """
    builder = TreeBuilder()
    stack = event_stacks(trace)[rows]
    distinct, of_event = np.unique(stack, return_inverse=True)
    walk = _Walk(trace.stacks, builder)
    innermost = np.array([walk.frame_of(one) for one in distinct.tolist()], np.int64)[of_event]
    lost = np.flatnonzero(innermost == 0)
    reason, names = pd.factorize(reasons(trace, rows[lost], stack[lost]))
    of_reason = [builder.frame(0, f"({name})", f"({name})") for name in names]
    innermost[lost] = np.array(of_reason, np.int64)[reason]
    waits = rows[waiting_ns(trace)[rows] > 0]
    if len(waits):
        waiting = builder.frame(0, f"({WAITING})", f"({WAITING})")
        rows, innermost = np.append(rows, waits), np.append(innermost, np.full(len(waits), waiting))
    label, texts = _labels(trace.events, rows)
    frame = builder.frames(innermost, label, texts) if len(rows) else rows
    return builder.tree(), frame


def _by_layer(trace: Trace, rows: np.ndarray) -> tuple[Tree, np.ndarray]:
    """Return frames of nested layers, with op types in the innermost ones."""
    builder = TreeBuilder()
    layer, _ = event_layers(trace)
    distinct, of_event = np.unique(np.asarray(layer.indices)[rows], return_inverse=True)
    innermost = []
    for path in layer.dictionary.take(pa.array(distinct)).to_pylist():
        at = 0
        for part in (path or NO_LAYER).split("/", _MOST_PARTS - 1):
            # Op types and layers may have the same name.
            at = builder.frame(at, (part,), part)
        innermost.append(at)
    label, texts = _labels(trace.events, rows)
    frame = builder.frames(np.array(innermost, np.int64)[of_event], label, texts) if len(rows) else rows
    return builder.tree(), frame


class _Walk:
    """Maps stacks to frames of the user's code."""

    def __init__(self, table: StackTable | None, builder: TreeBuilder) -> None:
        self._found = builder
        self._innermost = {-1: 0}
        self._caller: list[int] = []
        self._line: list[int] = []
        if table is not None:
            self._caller = table.stacks["caller"].to_pylist()
            self._line = table.stacks["frame"].to_pylist()
            self._frames, self._files = table.frames.to_pylist(), table.files.to_pylist()

    def frame_of(self, stack: int) -> int:
        """Return the innermost frame of a stack, 0 if there is none."""
        path, at = [], stack
        while at not in self._innermost:
            path.append(at)
            at = self._caller[at]
        frame = self._innermost[at]
        for each in reversed(path):
            frame = self._innermost[each] = self._within(frame, self._line[each])
        return frame

    def _within(self, frame: int, line: int) -> int:
        shown = self._frames[line]
        file = self._files[shown["file"]]
        if not file["own"] or self._found.depth[frame] >= _MOST_DEPTH - 1:
            return frame
        where = f"{file['name'].replace(chr(92), '/').rpartition('/')[2]}:{shown['line']}"
        text = f"{shown['function']} ({where})" if shown["function"] else where
        return self._found.frame(frame, line, text)


def _by_thread(trace: Trace, rows: np.ndarray) -> tuple[Tree, np.ndarray]:
    """Return frames of lanes and their nested events."""
    events = trace.events
    builder = TreeBuilder()
    columns = ["task", "device", "lane"]
    lane, _ = number_rows(*(events[column] for column in columns))
    shown = np.flatnonzero(np.isin(lane, distinct_numbers(lane[rows])))
    numbers, first = np.unique(lane[shown], return_index=True)
    top = np.zeros(int(lane.max(initial=0)) + 1, np.int64)
    lanes = events[columns].iloc[shown[first]].astype(object).fillna("")
    for at, *where in zip(numbers.tolist(), *(lanes[name] for name in columns), strict=True):
        top[at] = builder.frame(0, at, lane_label(*where) or NO_NAME)
    outer = parents_of(trace)
    label, texts = np.zeros(len(events), np.int64), [""]
    label[shown], texts = _labels(events, shown)
    frame = np.full(len(events), -1, np.int64)
    todo = shown
    for _ in range(_MOST_DEPTH - 1):
        ready = (outer[todo] < 0) | (frame[outer[todo]] >= 0)
        if not ready.any():
            break
        now, todo = todo[ready], todo[~ready]
        within = np.where(outer[now] < 0, top[lane[now]], frame[outer[now]])
        frame[now] = builder.frames(within, label[now], texts)
    # Each round doubles how far up each event refers.
    above = np.where(frame >= 0, np.arange(len(frame)), outer)
    while len(todo):
        above = above[above]
        frame[todo] = frame[above[todo]]
        todo = todo[frame[todo] < 0]
    return builder.tree(), frame[rows]


def _labels(events: pd.DataFrame, rows: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the label of each event as a number, and the texts: its op type, or its name if it has none."""
    types = [str(text) for text in events["op"].cat.categories]
    label = events["op"].cat.codes.to_numpy(np.int64)[rows]
    unnamed = np.flatnonzero(~np.array([*map(bool, types), False])[label])
    names = texts_of(text_rows(events["name"], rows[unnamed])).dictionary_encode()
    label[unnamed] = len(types) + np.asarray(names.indices)
    return label, [*types, *(text or NO_NAME for text in names.dictionary.to_pylist())]
