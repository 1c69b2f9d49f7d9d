"""The events of some lines of a plane, with all columns of the event table as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tfvis_nb.events import KINDS


@dataclass
class Coded:
    """A text column: the index of each row's text in `texts` (int32)."""

    codes: np.ndarray
    texts: Sequence[str]

    @classmethod
    def of(cls, text: str, rows: int) -> Coded:
        """Make a column with a single text."""
        return cls(np.zeros(rows, np.int32), [text])

    def where(self, mask: np.ndarray, other: Coded) -> Coded:
        """Return this column with the rows of `mask` taken from `other`, which has the same length."""
        codes = np.where(mask, other.codes + len(self.texts), self.codes).astype(np.int32)
        return Coded(codes, [*self.texts, *other.texts])

    def take(self, rows: np.ndarray) -> Coded:
        """Return some rows."""
        return Coded(self.codes[rows], self.texts)


def kinds(name: str, rows: int) -> np.ndarray:
    """Return `rows` times the number of a kind (uint8)."""
    return np.full(rows, KINDS.index(name), np.uint8)


@dataclass
class Sparse:
    """A property of few rows: the rows (int64, ascending), and a number for each (int64)."""

    rows: np.ndarray
    numbers: np.ndarray


@dataclass
class Rows:
    """Events of one plane.

    - `line`: The index of each event's line in the plane.
    - `start`, `duration`: In ns; the start counts from the start of the profile or from the epoch, as in the
      source.
    - `kind`: The number of the kind in `tfvis_nb.events.KINDS`.
    - `name`, `op`, `detail`, `lane`, `tensor`, `source`, `destination`: Texts. A source or destination is a
      device of the task, such as ``CPU:0``.
    - `size_bytes`: Bytes, -1 if unknown.
    - `marks`: The links between events: see `MARKS`.

    `lane` is None if each line is its own lane.
    """

    line: np.ndarray
    start: np.ndarray
    duration: np.ndarray
    kind: np.ndarray
    name: Coded
    op: Coded
    detail: Coded
    size_bytes: np.ndarray
    lane: Coded | None = None
    marks: Mapping[str, Sparse] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Leave the texts of transfers empty, because few events are transfers."""
        self.tensor = self.source = self.destination = Coded.of("", len(self))

    def __len__(self) -> int:
        return len(self.start)


MARKS = {
    "launch": "the number that a launch on the host shares with the work it launched",
    "launched": "the same number, on the launched work",
    "produced": "the number of the work that other threads take up from this event",
    "consumed": "the number of the work that this event took up",
    "step_num": "the number a program gave a step that this event is",
    "function": "1 for a call of a tf.function",
    "jitted": "the number of the function of JAX that an event calls",
    "lowering": "1 for the lowering of a function that JAX traced, which it then compiles",
    "ended": "1 where a thread reports that an instruction of a program has ended",
    "execution": "the number of the run of a program that an event is of",
    "executed": "the number of the function of JAX whose program that is",
    "session": "1 for a run of a session",
    "eager": "the number of the op type that an event runs eagerly",
    "ran": "the number of the op type of an op that may have been run eagerly",
    "is_func": "1 where what is run eagerly is a function, else 0",
    "run": "1 for a run of a graph, 2 for what calls one",
    "group_id": "the step that the profiler found, in files of TF 2.2 to 2.4",
    "region": "1 where a thread takes up work, 0 where it lays it down",
    "noise": "1 for what the thread pools record of themselves",
    "in_use": "bytes allocated by an allocator after this event",
    "available": "bytes that it can still allocate then",
    "fragmentation": "the part of its free bytes that is not in their largest block",
    "address": "where the memory is that was allocated or freed",
    "instruction": "the number of the instruction of a compiled program that it ran",
    "iterator": "the number of the iterator of tf.data that it calls",
    "parent_iterator": "the number of the iterator that takes its elements",
    "instance": "the number that a collective has on all its devices",
}
"""The marks of events and their meaning."""
