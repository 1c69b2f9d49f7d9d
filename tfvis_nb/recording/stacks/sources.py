"""The stacks of a recording, put into its traces."""

import contextlib
import linecache
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.core.stacks import FILES, PHASE, STACK, Frame, StackBuilder, StackTable, event_stacks, joined
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording.stacks.eager_lines import EagerCall, line_number
from tfvis_nb.recording.stacks.event_ops import EventOps
from tfvis_nb.recording.stacks.graph_nodes import GraphNodes
from tfvis_nb.recording.stacks.inherit import inherited
from tfvis_nb.recording.stacks.op_stacks import CodeLine, op_stacks
from tfvis_nb.recording.stacks.source_files import SourceFiles, is_magic, is_ours
from tfvis_nb.recording.stacks.watch import SourceWatch
from tfvis_nb.texts import Text

LATEST_NS = 1_000_000
"""A call begins at most this long after it was noted; a row that begins later is of one that was not."""

_Recorded = dict[int, tuple[tuple[CodeLine, ...], str | None]]
"""The frames and the phase of events, by event id."""


def put_session_stacks(trace: Trace, watch: SourceWatch, graphs: Sequence[Any]) -> None:
    """Give the events of session runs their stacks; each step has run the graph of its number."""
    with _noting_failures(trace, watch):
        nodes = GraphNodes(watch.functions.graphs())
        _put(trace, _recorded(EventOps(nodes).of_sessions(trace, graphs), nodes))


def put_profile_stacks(trace: Trace, watch: SourceWatch, graphs: Iterable[Any]) -> None:
    """Give the events of a profile their stacks; `graphs` are those of sessions that ran meanwhile."""
    with _noting_failures(trace, watch):
        watch.tracings.put(trace)
        functions = watch.functions.graphs()
        nodes = GraphNodes(functions)
        distinct = list({id(graph): graph for graph in graphs if graph is not None}.values())
        found = _recorded(EventOps(nodes).of_profile(trace, functions, distinct), nodes)
        for row, call in _eager(trace, watch).items():
            frames = [
                CodeLine(line[0].co_filename, line_number(line), line[0].co_name) for line in call.lines
            ]
            found.setdefault(row, (tuple(reversed(frames)), call.phase))
        _put(trace, found)


@contextlib.contextmanager
def _noting_failures(trace: Trace, watch: SourceWatch) -> Iterator[None]:
    """Make a note of what goes wrong: a recording without stacks is worth more than none."""
    failed = watch.failed
    try:
        yield
    except Exception as error:  # noqa: BLE001 - graphs of any program, in any release of TensorFlow
        failed = repr(error)
    if failed:
        trace.notes.append(Text("stacks_failed", reason=failed))


def _eager(trace: Trace, watch: SourceWatch) -> dict[int, EagerCall]:
    """Return the call of each row of the runtime's, by event id: the last that was noted before it began."""
    events, (began, calls) = trace.events, watch.lines.noted()
    rows = np.flatnonzero(events["name"].str.startswith("TFE_Py_").fillna(value=False).to_numpy(bool))
    if not len(rows) or not began:
        return {}
    noted = np.array(began)
    order = np.argsort(noted, kind="stable")
    start = events["start_ns"].to_numpy()[rows]
    last = np.searchsorted(noted[order], start, side="right") - 1
    near = (last >= 0) & (start - noted[order[last]] < LATEST_NS)
    found = zip(rows[near].tolist(), order[last[near]].tolist(), strict=True)
    return {row: calls[call] for row, call in found if calls[call].lines}


def _recorded(ops: dict[int, Any], nodes: GraphNodes) -> _Recorded:
    stacks = op_stacks(ops.values(), nodes)
    return {row: stacks[id(op)] for row, op in ops.items() if id(op) in stacks}


def _put(trace: Trace, found: _Recorded) -> None:
    """Give a trace the stacks of its events, beside those that it was read with."""
    files, builder = SourceFiles(), StackBuilder()
    # Many events share few stacks, whose frames take longer to compare than their ids.
    distinct = {id(frames): frames for frames, _ in found.values()}
    kept = {number: _kept(frames, files) for number, frames in distinct.items()}
    known = {number: builder.stack(_frames(lines, files)) for number, lines in kept.items()}
    _keep_texts(builder, files, kept.values())
    read = None if trace.stacks is None else _named(trace.stacks, files)
    stacks, (_, first) = joined([read, builder.table()])
    stack = event_stacks(trace)
    if read is not None:
        # Of compiled code that is none of the user's own, the line of the call says more.
        stack = np.where(np.append(read.own_frame(), -1)[stack] >= 0, stack, -1)
    phase = _column(trace, PHASE)
    rows = np.array(list(found), np.int64)
    number = np.array([known[id(frames)] for frames, _ in found.values()], np.int64)
    new = (stack[rows] < 0) & (number >= 0)
    stack[rows[new]] = number[new] + first
    parts = np.array([part for _, part in found.values()], object)
    phase[rows] = np.where(phase[rows].astype(bool), phase[rows], parts)
    holder = inherited(trace, stack >= 0)
    stack = np.append(stack, -1)[holder]
    phase = np.append(phase, np.array([None], object))[holder]
    trace.stacks = stacks
    columns = {
        STACK: pa.array(stack.astype(np.int32), pa.int32(), mask=stack < 0),
        PHASE: pa.array(phase, pa.string()),
    }
    trace.nested = _with_columns(trace.nested, columns)


def _named(table: StackTable, files: SourceFiles) -> StackTable:
    """Name the files of a table that a profile of this process was read with as those of the recording."""
    names = table.files["name"].to_pylist()
    named = {
        "name": [files.shown(name) for name in names],
        "text": [files.text(name) if files.own(name) else None for name in names],
        "own": [files.own(name) for name in names],
    }
    return StackTable(pa.table(named, schema=FILES), table.frames, table.stacks)


def _column(trace: Trace, name: str) -> np.ndarray:
    if trace.nested is None or name not in trace.nested.column_names:
        return np.full(len(trace.events), None, object)
    values: np.ndarray = trace.nested[name].cast(pa.string()).to_numpy(zero_copy_only=False)
    return values


def _with_columns(nested: pa.Table | None, columns: dict[str, pa.Array]) -> pa.Table:
    kept = (
        {} if nested is None else {name: nested[name] for name in nested.column_names if name not in columns}
    )
    return pa.table(kept | columns)


def _kept(lines: Sequence[CodeLine], files: SourceFiles) -> Sequence[CodeLine]:
    """Return the frames of a stack that a trace has: from the user's outermost one on, without ours."""
    magic = max((at for at, line in enumerate(lines) if is_magic(line.file)), default=-1)
    lines = [line for line in lines[magic + 1 :] if not is_ours(line.file)]
    first = next((at for at, line in enumerate(lines) if files.own(line.file)), 0)
    return lines[first:]


def _frames(lines: Iterable[CodeLine], files: SourceFiles) -> list[Frame]:
    return [
        Frame(
            files.shown(line.file),
            line.line,
            line.function,
            linecache.getline(line.file, line.line).strip(),
            files.own(line.file),
        )
        for line in lines
    ]


def _keep_texts(builder: StackBuilder, files: SourceFiles, stacks: Iterable[Iterable[CodeLine]]) -> None:
    for file in {line.file for lines in stacks for line in lines if files.own(line.file)}:
        text = files.text(file)
        if text is not None:
            builder.text(files.shown(file), text)
