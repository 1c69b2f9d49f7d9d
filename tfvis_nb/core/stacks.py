"""The Python stacks of a trace: files, frames and stacks, each once, as tables.

The nested column ``stack`` has the number of each event's stack. A stack consists of its innermost frame and
the number of the calling stack, so that stacks share their outer frames.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

STACK, PHASE = "stack", "phase"
"""Nested columns: an event's row in `StackTable.stacks`, and its phase; null if unknown."""

PHASES = ("forward", "backward", "optimizer")

MOST_FRAMES = 4096
"""How many innermost frames of a stack are shown. Python itself stops at 1,000 by default."""

FILES = pa.schema([("name", pa.string()), ("text", pa.string()), ("own", pa.bool_()), ("edited", pa.bool_())])
FRAMES = pa.schema(
    [("file", pa.int32()), ("line", pa.int32()), ("function", pa.string()), ("text", pa.string())]
)
STACKS = pa.schema([("caller", pa.int32()), ("frame", pa.int32())])


class Frame(NamedTuple):
    """One call on a stack.

    - `file`: The name of a file or a cell, such as ``Cell [7]``.
    - `line`: Counts from 1; 0 if unknown.
    - `function`, `text`: The function, and the text of the line; empty if unknown.
    - `own`: Whether this is the user's own code, not an installed package or Python itself.
    """

    file: str
    line: int
    function: str = ""
    text: str = ""
    own: bool = True


class OwnCall(NamedTuple):
    """A function of the user's own code on a stack."""

    stack: int
    file: str
    function: str
    line: str
    """The line in it that runs, as ``file:line``."""
    caller: str
    """The line of the user's own code that calls it; empty for the outermost one."""
    depth: int
    """How many calls of the user's own code are around it."""


class StackTable:
    """All stacks of a trace.

    Parameters
    ----------
    files
        One row per file: ``name``, ``text`` (all of it; null if it was not kept), ``own``, ``edited``
        (whether the file was edited after its code was loaded, so that other code ran; False if the column is
        missing).
    frames
        One row per line on a stack: ``file`` (a row of `files`), ``line``, ``function``, ``text`` (of the
        line).
    stacks
        One row per stack: ``caller``, the row of the calling stack or -1, and ``frame``, its innermost frame.

    Raises
    ------
    ValueError, TypeError
        If a column is missing or has another type, a reference is invalid, or a caller does not come before
        the stacks that it calls, which also rules out cycles.

    Examples
    --------
    >>> from tfvis_nb.core.stacks import Frame, StackBuilder
    >>> builder = StackBuilder()
    >>> stack = builder.stack([Frame("train.py", 9, "main"), Frame("model.py", 4, "loss")])
    >>> [frame.line for frame in builder.table().frames_of(stack)]
    [4, 9]
    """

    def __init__(self, files: pa.Table, frames: pa.Table, stacks: pa.Table) -> None:
        if "edited" not in files.column_names:
            files = files.append_column("edited", pa.repeat(pa.scalar(value=False), files.num_rows))
        # Casting rejects missing columns and invalid values.
        self.files = files.select(FILES.names).cast(FILES).combine_chunks()
        self.frames = frames.select(FRAMES.names).cast(FRAMES).combine_chunks()
        self.stacks = stacks.select(STACKS.names).cast(STACKS).combine_chunks()
        references = (self.frames["file"], self.stacks["frame"], self.stacks["caller"], self.frames["line"])
        described = (self.files[name] for name in ("name", "own", "edited"))
        if any(column.null_count for column in (*references, *described)):
            raise ValueError("a stack refers to nothing")
        file, frame, caller, _ = (column.to_numpy() for column in references)
        if not _within(file, self.files) or not _within(frame, self.frames):
            raise ValueError("a stack refers to a file or a frame that is not there")
        if ((caller < -1) | (caller >= np.arange(len(caller)))).any():
            raise ValueError("a stack is called by one that is not above it")

    def __len__(self) -> int:
        return int(self.stacks.num_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StackTable) and all(
            mine.equals(theirs) for mine, theirs in zip(self._tables(), other._tables(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # as of other tables

    def _tables(self) -> tuple[pa.Table, pa.Table, pa.Table]:
        return self.files, self.frames, self.stacks

    def frames_of(self, stack: int) -> list[Frame]:
        """Return the frames of one stack, the innermost first, `MOST_FRAMES` at most."""
        caller, frame = (self.stacks[name].to_numpy() for name in STACKS.names)
        rows: list[int] = []
        while stack >= 0 and len(rows) < MOST_FRAMES:
            rows.append(frame[stack])
            stack = caller[stack]
        frames = self.frames.take(pa.array(rows, pa.int32())).to_pylist()
        files = self.files.take(pa.array([frame["file"] for frame in frames], pa.int32())).to_pylist()
        return [
            Frame(file["name"], frame["line"], frame["function"] or "", frame["text"] or "", file["own"])
            for frame, file in zip(frames, files, strict=True)
        ]

    def depths(self) -> np.ndarray:
        """Return how many frames each stack has (int64)."""
        # Each round doubles the distance; the last row stands for no caller.
        caller = np.append(self.stacks["caller"].to_numpy(), -1)
        depth = np.append(np.ones(len(self), np.int64), 0)
        while (caller >= 0).any():
            depth, caller = depth + depth[caller], caller[caller]
        return depth[:-1]

    def own_frame(self) -> np.ndarray:
        """Return each stack's innermost frame of the user's own code (int32); -1 if there is none."""
        own = self.files["own"].to_numpy(zero_copy_only=False)[self.frames["file"].to_numpy()]
        frames: np.ndarray = np.append(self.stacks["frame"].to_numpy(), -1)[self._nearest(own)]
        return frames.astype(np.int32)

    def _nearest(self, chosen: np.ndarray) -> np.ndarray:
        """Return each stack itself or its nearest caller whose frame is chosen; their number if none is."""
        frame, caller = (self.stacks[name].to_numpy() for name in ("frame", "caller"))
        # Each stack points to itself or to its caller; the last row stands for no caller.
        none = len(frame)
        nearest = np.append(
            np.where(chosen[frame], np.arange(none), np.where(caller < 0, none, caller)), none
        )
        while True:
            # Each round halves the remaining steps, so deep stacks are cheap.
            farther = nearest[nearest]
            if (farther == nearest).all():
                own_or_caller: np.ndarray = nearest[:-1]
                return own_or_caller
            nearest = farther

    def own_lines(self) -> np.ndarray:
        """Return each stack's innermost line of the user's own code as ``file:line``; "" if there is none."""
        files = self.files["name"].to_pylist()
        frames = zip(self.frames["file"].to_pylist(), self.frames["line"].to_pylist(), strict=True)
        lines: np.ndarray = np.array([*(f"{files[file]}:{line}" for file, line in frames), ""], object)
        own: np.ndarray = lines[self.own_frame()]
        return own

    def loop_lines(self) -> np.ndarray:
        """Return the line of the user's own code that starts the innermost tf.while_loop around each stack.

        tf.map_fn, tf.scan, and loops over tensors in a tf.function are such loops. "" if there is none.
        """
        loops = pc.fill_null(pc.equal(self.frames["function"], "while_loop"), fill_value=False)
        lines: np.ndarray = np.append(self.own_lines(), "")[self._nearest(loops.to_numpy())]
        return lines

    def own_calls(self, stacks: Sequence[int]) -> list[OwnCall]:
        """Return the functions of the user's own code on each of some stacks, the outermost first, each once.

        Examples
        --------
        >>> from tfvis_nb.core.stacks import Frame, StackBuilder
        >>> builder = StackBuilder()
        >>> stack = builder.stack([Frame("train.py", 9, "main"), Frame("model.py", 4, "loss")])
        >>> [(call.function, call.caller) for call in builder.table().own_calls([stack])]
        [('main', ''), ('loss', 'train.py:9')]
        """
        calls: dict[tuple[int, str, str], OwnCall] = {}
        for stack in stacks:
            caller = ""
            for depth, frame in enumerate(one for one in self.frames_of(stack)[::-1] if one.own):
                line = f"{frame.file}:{frame.line}"
                own = OwnCall(stack, frame.file, frame.function, line, caller, depth)
                calls.setdefault((stack, frame.file, frame.function), own)
                caller = line
        return list(calls.values())

    def edited(self) -> list[str]:
        """Return the names of files that were edited after their code was loaded."""
        rows = self.files.filter(self.files["edited"])
        return list(dict.fromkeys(rows["name"].to_pylist()))

    def to_json(self) -> str:
        """Return the tables as JSON, columns by name; `from_json` restores them."""
        return json.dumps([table.to_pydict() for table in self._tables()])

    @classmethod
    def from_json(cls, text: str) -> StackTable:
        """Make a table from a result of `to_json`; KeyError, TypeError or ValueError for anything else."""
        parts = json.loads(text)
        if not isinstance(parts, list) or len(parts) != 3:
            raise ValueError("not the three tables of stacks")
        # The table fills in missing optional columns and rejects other missing ones.
        schemas = [
            pa.schema([field for field in schema if field.name in part])
            for part, schema in zip(parts, _SCHEMAS, strict=True)
        ]
        tables = [pa.table(part, schema=schema) for part, schema in zip(parts, schemas, strict=True)]
        return cls(*tables)


_SCHEMAS = (FILES, FRAMES, STACKS)


def _within(rows: np.ndarray, table: pa.Table) -> bool:
    return not len(rows) or bool(rows.min() >= 0 and rows.max() < table.num_rows)


class StackBuilder:
    """Collects stacks, each once."""

    def __init__(self) -> None:
        self._files: dict[str, bool] = {}
        self._texts: dict[str, str] = {}
        self._edited: set[str] = set()
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[tuple[int, int], int] = {}

    def stack(self, frames: Sequence[Frame]) -> int:
        """Return the number of a stack, given outermost frame first; -1 if it has no frames."""
        at = -1
        for frame in frames:
            self._files.setdefault(frame.file, frame.own)
            number = self._frames.setdefault(frame, len(self._frames))
            at = self._stacks.setdefault((at, number), len(self._stacks))
        return at

    def file(self, file: str, text: str | None, *, edited: bool = False) -> None:
        """Keep the whole text of a file or cell, and whether it was edited after its code was loaded."""
        if text is not None:
            self._texts[file] = text
        if edited:
            self._edited.add(file)

    def table(self) -> StackTable:
        """Return the table collected so far."""
        number = {name: at for at, name in enumerate(self._files)}
        files = {
            "name": list(self._files),
            "text": [self._texts.get(name) for name in self._files],
            "own": list(self._files.values()),
            "edited": [name in self._edited for name in self._files],
        }
        frames = {
            "file": [number[frame.file] for frame in self._frames],
            "line": [frame.line for frame in self._frames],
            "function": [frame.function for frame in self._frames],
            "text": [frame.text for frame in self._frames],
        }
        stacks = {
            "caller": [caller for caller, _ in self._stacks],
            "frame": [frame for _, frame in self._stacks],
        }
        return StackTable(
            *(
                pa.table(part, schema=schema)
                for part, schema in zip((files, frames, stacks), _SCHEMAS, strict=True)
            )
        )


def joined(tables: Sequence[StackTable | None]) -> tuple[StackTable | None, list[int]]:
    """Concatenate stacks of several traces; return them and the offset of each one's numbers."""
    firsts, shifted = [], []
    files = frames = stacks = 0
    for table in tables:
        firsts.append(stacks)
        if table is None:
            continue
        shifted.append(
            (
                table.files,
                _moved(table.frames, "file", files),
                _moved(_moved(table.stacks, "frame", frames), "caller", stacks),
            )
        )
        files += table.files.num_rows
        frames += table.frames.num_rows
        stacks += table.stacks.num_rows
    if not shifted:
        return None, firsts
    whole = StackTable(*(pa.concat_tables(parts) for parts in zip(*shifted, strict=True)))
    return _files_once(whole) if len(shifted) > 1 else whole, firsts


def _files_once(table: StackTable) -> StackTable:
    """Drop files that are already in a table."""
    rows = list(zip(*table.files.to_pydict().values(), strict=True))
    first = {file: row for row, file in reversed(list(enumerate(rows)))}
    kept = np.unique(np.fromiter(first.values(), np.int64, len(first)))
    number = np.searchsorted(kept, [first[file] for file in rows])
    file = pa.array(number[table.frames["file"].to_numpy()], pa.int32())
    frames = table.frames.set_column(0, FRAMES.field("file"), file)
    return StackTable(table.files.take(kept), frames, table.stacks)


def _moved(table: pa.Table, name: str, by: int) -> pa.Table:
    """Add an offset to the numbers of a column, except negative ones, which refer to nothing."""
    column = table[name]
    moved = pc.if_else(pc.less(column, 0), column, pc.add(column, pa.scalar(by, pa.int32())))
    return table.set_column(table.schema.get_field_index(name), name, moved)


def renumbered(nested: pa.Table, table: StackTable | None, first: int) -> pa.Table:
    """Add `first` to the stack numbers of events; numbers not in `table` become null."""
    if STACK not in nested.column_names:
        return nested
    numbers = pc.cast(nested[STACK], pa.int64(), safe=False)
    known = pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, len(table or ())))
    kept = pc.cast(pc.if_else(known, pc.add(pc.if_else(known, numbers, 0), first), None), pa.int32())
    return nested.set_column(nested.column_names.index(STACK), STACK, kept)


def event_stacks(trace: Any) -> np.ndarray:
    """Return the stack of each event of a trace (int64); -1 if missing or invalid."""
    rows = np.full(len(trace.events), -1, np.int64)
    if trace.stacks is None or trace.nested is None or STACK not in trace.nested.column_names:
        return rows
    numbers = pc.fill_null(trace.nested[STACK].cast(pa.int64(), safe=False), -1).to_numpy()
    known: np.ndarray = np.where((numbers >= 0) & (numbers < len(trace.stacks)), numbers, -1)
    return known


def event_lines(trace: Any, events: np.ndarray) -> np.ndarray:
    """Return the line of the user's code of each of these events (object); empty if unknown."""
    lines = np.array([""], object) if trace.stacks is None else np.append(trace.stacks.own_lines(), "")
    found: np.ndarray = lines[event_stacks(trace)[events]]
    return found
