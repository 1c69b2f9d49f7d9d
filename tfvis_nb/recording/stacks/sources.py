"""Add the stacks of a recording to its traces."""

import contextlib
import linecache
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.dataflow.recorded_links import launches
from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.nested_columns import with_columns
from tfvis_nb.core.stacks import (
    FILES,
    PHASE,
    PHASES,
    STACK,
    Frame,
    StackBuilder,
    StackTable,
    event_stacks,
    joined,
)
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording.stacks.eager_lines import CONSTANT, EagerCall, earliness, line_number
from tfvis_nb.recording.stacks.event_ops import EventOps, FoundOps
from tfvis_nb.recording.stacks.graph_nodes import GraphNodes
from tfvis_nb.recording.stacks.op_stacks import CodeLine, OpStack, op_stacks
from tfvis_nb.recording.stacks.source_files import SourceFiles, is_magic, is_ours
from tfvis_nb.recording.stacks.watch import SourceWatch
from tfvis_nb.texts import Text, id_of

LATEST_NS = 1_000_000
"""A call starts at most this long after it was noted; a row that starts later belongs to an unnoted one."""
_INTERRUPTED_NS = 50_000_000
"""A later limit for the first row after a call, because on a busy machine the thread may be suspended."""


_CONVERSIONS = ("convert_to_tensor", "tf.constant", "EagerExecute")
"""Calls around the op of a line that has no call of its own, each inside the previous one."""


def inherited(trace: Trace, has: np.ndarray) -> np.ndarray:
    """Return for each event the event whose stack it gets: itself, another, or -1.

    A call gets the stack of the op around it, a kernel or copy that of the op that launched it. Calls that
    wait for a function get no stack. `has` marks the events with their own stacks.
    """
    holder = np.where(has, np.arange(len(has)), -1)
    parent = parents(trace.events)
    _from_conversions(trace, holder, parent)
    _from_outer(holder, parent)
    # A function call waits while its ops run on other threads, which have their own lines.
    host = is_kind(trace.events, "host")
    waits = holder[(trace.events["name"] == "FunctionRun").to_numpy(bool)]
    holder[host & np.isin(holder, waits[waits >= 0])] = -1
    source, target = launches(trace)
    new = holder[target] < 0
    holder[target[new]] = holder[source[new]]
    return holder


def _from_conversions(trace: Trace, holder: np.ndarray, parent: np.ndarray) -> None:
    """Give calls that convert a value to a tensor the holder of the nested op that creates it."""
    around = np.append(trace.events["name"].isin(_CONVERSIONS).to_numpy(bool), False)
    for _ in _CONVERSIONS:
        inner = np.flatnonzero((holder >= 0) & around[parent])
        inner = inner[holder[parent[inner]] < 0]
        holder[parent[inner]] = holder[inner]


def _from_outer(holder: np.ndarray, parent: np.ndarray) -> None:
    """Give each event without a holder that of the nearest enclosing event with one."""
    outer = parent.copy()
    while len(todo := np.flatnonzero((holder < 0) & (outer >= 0))):
        holder[todo] = holder[outer[todo]]
        # Each round doubles the distance.
        outer[todo] = np.where(outer[outer[todo]] >= 0, outer[outer[todo]], -1)


class _Recorded(NamedTuple):
    """The stacks of events: `number` is the index in `stacks` for each event in `rows`."""

    rows: np.ndarray
    number: np.ndarray
    stacks: list[OpStack]


def put_session_stacks(trace: Trace, watch: SourceWatch, graphs: Sequence[Any]) -> None:
    """Give the events of session runs their stacks; each step ran the graph with its number."""
    with _noting_failures(trace, watch.failed):
        nodes = GraphNodes(watch.functions.graphs())
        _put(trace, [_recorded(EventOps(nodes).of_sessions(trace, graphs), nodes)])


def put_profile_stacks(trace: Trace, watch: SourceWatch, graphs: Iterable[Any]) -> None:
    """Give the events of a profile their stacks; `graphs` are those of sessions that ran meanwhile."""
    with _noting_failures(trace, watch.failed):
        watch.tracings.put(trace)
        functions = watch.functions.graphs()
        nodes = GraphNodes(functions)
        ran = [*graphs, *watch.functions.session_graphs()]
        distinct = list({id(graph): graph for graph in ran if graph is not None}.values())
        profile = _recorded(EventOps(nodes).of_profile(trace, functions, distinct), nodes)
        _put(trace, [profile, _eager(trace, watch)])


def put_program_stacks(trace: Trace) -> None:
    """Convert the stacks in a profile to those of a recording of this process.

    They start at the user's own code, and its files get their names and texts.
    """
    if trace.stacks is None:
        return
    with _noting_failures(trace):
        files, builder = SourceFiles(), StackBuilder()
        # -1 means none.
        used, number = np.unique(event_stacks(trace), return_inverse=True)
        read = [trace.stacks.frames_of(stack)[::-1] if stack >= 0 else [] for stack in used.tolist()]
        lines = [
            [CodeLine(files.of_profile(one.file), one.line, one.function) for one in stack] for stack in read
        ]
        kept = [_kept(stack, files) for stack in lines]
        texts = _texts(((line.file, line.line) for stack in kept for line in stack), files)
        known = [builder.stack([_frame(line, files) for line in stack]) if stack else -1 for stack in kept]
        for file, (text, edited) in texts.items():
            builder.file(files.shown(file), text, edited=edited)
        trace.stacks = builder.table()
        if names := trace.stacks.edited():
            trace.notes.append(Text("code_edited", files=", ".join(names)))
        stack = np.array(known, np.int32)[number]
        stack = np.append(stack, -1)[inherited(trace, stack >= 0)]
        trace.nested = with_columns(trace.nested, {STACK: pa.array(stack.astype(np.int32), mask=stack < 0)})


def put_sampled_lines(trace: Trace, lines: Iterable[tuple[str, int, str]]) -> None:
    """Add sampled lines, of which no event may have the stack: a file, a line and a function each."""
    with _noting_failures(trace):
        files, builder = SourceFiles(), StackBuilder()
        sampled = [CodeLine(*line) for line in lines]
        for line in sampled:
            builder.stack([_frame(line, files)])
        for file, (text, edited) in _texts(((line.file, line.line) for line in sampled), files).items():
            builder.file(files.shown(file), text, edited=edited)
        trace.stacks, _ = joined([trace.stacks, builder.table() if sampled else None])


@contextlib.contextmanager
def _noting_failures(trace: Trace, failed: str = "") -> Iterator[None]:
    """Turn errors into a note, because a recording without stacks is better than none."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - graphs of any program, in any release of TensorFlow
        failed = repr(error)
    if failed:
        trace.notes.append(Text("stacks_failed", reason=failed))


def _eager(trace: Trace, watch: SourceWatch) -> _Recorded:
    """Return the stack of each row of the runtime: that of the last call noted before its start."""
    events, (began, calls) = trace.events, watch.lines.noted()
    noted_rows = events["name"].str.startswith("TFE_Py_").fillna(value=False) | (events["name"] == CONSTANT)
    rows = np.flatnonzero(noted_rows.to_numpy(bool))
    noted = np.array(began, np.int64)
    order = np.argsort(noted, kind="stable")
    start = events["start_ns"].to_numpy()[rows]
    if "start_time_estimated" in map(id_of, trace.notes):
        start = start + earliness(start, noted[order])
    last = np.searchsorted(noted[order], start, side="right") - 1
    near = np.flatnonzero(last >= 0)
    late = start[near] - noted[order[last[near]]]
    is_first = np.diff(last[near], prepend=-1) > 0
    near = near[(late < LATEST_NS) | (is_first & (late < _INTERRUPTED_NS))]
    ran = [calls[call] for call in order[last[near]].tolist()]
    # Comparing code is slow.
    keys = [(call.phase, *((id(code), at) for code, at in call.lines)) for call in ran]
    distinct = dict(zip(keys, ran, strict=True))
    numbers = {key: number for number, key in enumerate(distinct)}
    number = np.array([numbers[key] for key in keys], np.int64)
    return _Recorded(rows[near], number, [_of_call(call) for call in distinct.values()])


def _of_call(call: EagerCall) -> OpStack:
    frames = (CodeLine(line[0].co_filename, line_number(line), line[0].co_name) for line in call.lines)
    return OpStack(tuple(frames)[::-1], call.phase)


def _recorded(ops: FoundOps, nodes: GraphNodes) -> _Recorded:
    return _Recorded(ops.rows, ops.number, op_stacks(ops.ops, nodes))


def _put(trace: Trace, recorded: Sequence[_Recorded]) -> None:
    """Add stacks of events to those that a trace already has."""
    files, builder = SourceFiles(), StackBuilder()
    # Frames are slow to compare, and ops of one line share them.
    stacks = {id(stack.frames): stack.frames for each in recorded for stack in each.stacks}
    kept = {number: _kept(frames, files) for number, frames in stacks.items()}
    shown = {line for frames in kept.values() for line in frames}
    # The text of a file includes its lines.
    texts = _texts(((line.file, line.line) for line in shown), files)
    lines = {line: _frame(line, files) for line in shown}
    known = {number: builder.stack([lines[line] for line in stack]) for number, stack in kept.items()}
    for file, (text, edited) in texts.items():
        builder.file(files.shown(file), text, edited=edited)
    read = None if trace.stacks is None else _named(trace.stacks, files)
    table, (_, first) = joined([read, builder.table()])
    assert table is not None
    if names := table.edited():
        trace.notes.append(Text("code_edited", files=", ".join(names)))
    stack, phase = event_stacks(trace), _phases(trace)
    if read is not None:
        # For compiled code that is not the user's, the line of the call is more useful.
        stack = np.where(np.append(read.own_frame(), -1)[stack] >= 0, stack, -1)
    for rows, number, of_ops in recorded:
        numbers = np.array([known[id(one.frames)] for one in of_ops] + [-1])[number]
        new = (stack[rows] < 0) & (numbers >= 0)
        stack[rows[new]] = numbers[new] + first
        parts = [PHASES.index(one.phase) if one.frames and one.phase else -1 for one in of_ops]
        phase[rows] = np.where(phase[rows] < 0, np.array([*parts, -1])[number], phase[rows])
    holder = inherited(trace, stack >= 0)
    stack, phase = (np.append(column, -1)[holder] for column in (stack, phase))
    trace.stacks = table
    columns = {
        STACK: pa.array(stack.astype(np.int32), mask=stack < 0),
        PHASE: pa.DictionaryArray.from_arrays(pa.array(phase.astype(np.int32), mask=phase < 0), list(PHASES)),
    }
    trace.nested = with_columns(trace.nested, columns)


def _named(table: StackTable, files: SourceFiles) -> StackTable:
    """Rename files in a table from a profile of this process to those of the recording."""
    names = [files.of_profile(name) for name in table.files["name"].to_pylist()]
    frames = table.frames.select(["file", "line"]).to_pylist()
    texts = _texts(((names[frame["file"]], frame["line"]) for frame in frames), files)
    sources = [texts.get(name, (None, False)) for name in names]
    named = {
        "name": [files.shown(name) for name in names],
        "text": [text for text, _ in sources],
        "own": [files.own(name) for name in names],
        "edited": [edited for _, edited in sources],
    }
    return StackTable(pa.table(named, schema=FILES), table.frames, table.stacks)


def _texts(places: Iterable[tuple[str, int]], files: SourceFiles) -> dict[str, tuple[str | None, bool]]:
    """Return `SourceFiles.text` for each of the user's own files with these lines."""
    lines: dict[str, set[int]] = {}
    for file, line in places:
        lines.setdefault(file, set()).add(line)
    return {file: files.text(file, ran) for file, ran in lines.items() if files.own(file)}


def _phases(trace: Trace) -> np.ndarray:
    """Return the index in `PHASES` of the phase of each event (int64); -1 if unknown."""
    if trace.nested is None or PHASE not in trace.nested.column_names:
        return np.full(len(trace.events), -1)
    indexes = pc.index_in(trace.nested[PHASE].cast(pa.string()), pa.array(PHASES))
    numbers: np.ndarray = pc.fill_null(indexes, -1).to_numpy().astype(np.int64)
    return numbers


def _kept(lines: Sequence[CodeLine], files: SourceFiles) -> Sequence[CodeLine]:
    """Return the frames of a stack for a trace: from the user's outermost frame inwards, without ours."""
    magic = max((at for at, line in enumerate(lines) if is_magic(line.file)), default=-1)
    lines = [line for line in lines[magic + 1 :] if not is_ours(line.file)]
    first = next((at for at, line in enumerate(lines) if files.own(line.file)), 0)
    return lines[first:]


def _frame(line: CodeLine, files: SourceFiles) -> Frame:
    text = linecache.getline(line.file, line.line).strip()
    return Frame(files.shown(line.file), line.line, line.function, text, files.own(line.file))
