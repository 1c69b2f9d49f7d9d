"""The purpose of a failed allocation, from TensorFlow's error."""

import contextlib
import linecache
import math
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psutil

from tfvis_nb.core.metadata import LIVE_AT_FAILURE, OUT_OF_MEMORY, Metadata, table_of
from tfvis_nb.events import MOST_IN_ALL
from tfvis_nb.recording.stacks.graph_nodes import GraphNodes
from tfvis_nb.recording.stacks.op_stacks import CodeLine, op_stacks
from tfvis_nb.recording.stacks.source_files import SourceFiles

_DEEPEST = 32
"""Errors that caused one another."""
_LONGEST = 1 << 20
"""Letters of a message that are looked through."""
_MOST_BUFFERS = 100

_TENSOR = re.compile(r"OOM when allocating tensor with shape ?\[([\d, ]{0,400})\]")
_TYPE = re.compile(r" and type ([\w.]+)")
_WHERE = re.compile(r" on (/\S+) by allocator (\S+)")
_UNITS = {"bytes": 1, "B": 1, **{f"{unit}iB": 2 ** (10 * at) for at, unit in enumerate("KMGTPE", 1)}}
_AMOUNT = re.compile(
    r"(?:[Oo]ut of memory (?:while )?trying to allocate|[Ff]ailed to allocate(?: request for)?)"
    rf" (\d[\d.]*) ?({'|'.join(_UNITS)})\b"
)
_NO_AMOUNT = re.compile(r"failed to allocate memory")
_NODE = re.compile(r"\{\{node ([^{}\s]+)\}\}|\[\[node ([^\s\]]+)")
_OP = re.compile(r"\[Op:(\w+)\]")
_USAGE = re.compile(r"Current usage from device: (\S+), allocator: (\S+)\n((?: +[^\n]+\n?)*)")
_BUFFER = re.compile(r"^ +(\d[\d.]*) ?([KMGTPE]?i?B) from (\S+)$", re.MULTILINE)

_BYTES = {
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float", "int32", "uint32", "qint32"), 4),
    **dict.fromkeys(("half", "bfloat16", "int16", "uint16", "qint16", "quint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool", "qint8", "quint8"), 1),
    "complex128": 16,
}
_NAMES = {"float": "float32", "double": "float64", "half": "float16"}


def out_of_memory(
    error: BaseException | None, functions: Callable[[], dict[str, Any]] | None, graphs: Iterable[Any]
) -> Metadata:
    """Return the facts about a failed allocation; nothing for other errors.

    `functions` returns the graphs of functions by name, `graphs` are those of sessions. Without `functions`
    nothing of the code is kept.
    """
    exhausted = _exhausted(error)
    if exhausted is None:
        return {}
    message = str(exhausted)
    asked = parsed(message)
    if asked is None:
        return {}
    asked["time_ns"] = time.time_ns()
    if "CPU" in (asked["device"] or ""):
        with contextlib.suppress(OSError):
            asked["available_bytes"] = psutil.virtual_memory().available
    live = live_buffers(message)
    if functions is not None:
        # Graphs can come from any program, in any release of TensorFlow.
        with contextlib.suppress(Exception):
            _put_code(exhausted, [asked, *live], functions(), graphs)
    failed = {OUT_OF_MEMORY: table_of(OUT_OF_MEMORY, [asked])}
    return failed | ({LIVE_AT_FAILURE: table_of(LIVE_AT_FAILURE, live)} if live else {})


def parsed(message: str) -> dict[str, Any] | None:
    """Return what a message reports about an allocation, by the columns of `OUT_OF_MEMORY`; else None.

    >>> found = parsed("OOM when allocating tensor with shape[8,4] and type float on /CPU:0 by allocator cpu")
    >>> found["requested_bytes"], found["dtype"], found["allocator"]
    (128, 'float32', 'cpu')
    """
    message = message[:_LONGEST]
    tensor, amount = _TENSOR.search(message), _AMOUNT.search(message)
    if tensor is None and amount is None and _NO_AMOUNT.search(message) is None:
        return None
    found: dict[str, Any] = dict.fromkeys(("node", "op", "shape", "dtype", "device", "allocator"))
    size = None
    if tensor is not None:
        found["shape"] = f"[{', '.join(re.findall(r'[0-9]+', tensor[1]))}]"
        kind = _TYPE.match(message, tensor.end())
        where = _WHERE.match(message, (kind or tensor).end())
        if kind is not None:
            found["dtype"] = _NAMES.get(kind[1], kind[1])
            each = _BYTES.get(kind[1])
            size = None if each is None else each * math.prod(map(int, re.findall(r"[0-9]+", tensor[1])))
        if where is not None:
            found |= {"device": where[1], "allocator": where[2]}
    elif amount is not None:
        size = _bytes(*amount.groups())
    found["requested_bytes"] = None if size is None or size > MOST_IN_ALL else size
    node, op = _NODE.search(message), _OP.search(message)
    if node is not None:
        found["node"] = node[1] or node[2]
    elif op is not None:
        found["op"] = op[1]
    return found


def live_buffers(message: str) -> list[dict[str, Any]]:
    """Return the buffers that a message lists as allocated: rows of `LIVE_AT_FAILURE`, the largest first."""
    found = [
        {"node": node, "device": device, "allocator": allocator, "bytes": _bytes(number, unit)}
        for device, allocator, lines in _USAGE.findall(message[:_LONGEST])
        for number, unit, node in _BUFFER.findall(lines)
    ]
    known = [one for one in found if one["bytes"] is not None]
    return sorted(known, key=lambda one: -one["bytes"])[:_MOST_BUFFERS]


def _bytes(number: str, unit: str) -> int | None:
    try:
        size = round(float(number) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        return None
    return size if size <= MOST_IN_ALL else None


def _exhausted(error: BaseException | None) -> BaseException | None:
    """Return TensorFlow's error behind an error, or None."""
    from tensorflow.python.framework import errors

    exhausted = (one for one in _causes(error) if isinstance(one, errors.ResourceExhaustedError))
    return next(exhausted, None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _put_code(
    error: Any, rows: list[dict[str, Any]], functions: dict[str, Any], graphs: Iterable[Any]
) -> None:
    """Give rows the types of their ops, and the user's lines of these; the first row is the failed one."""
    files = SourceFiles()
    nodes = GraphNodes(functions)
    called = _OP.search(str(error))
    first = [functions[called[1]]] if called is not None and called[1] in functions else []
    every = [getattr(error.op, "graph", None), *first, *graphs, *reversed(functions.values())]
    known = [graph for graph in every if graph is not None]
    ops = [_op(row["node"], known, nodes) for row in rows]
    lines = [list(stack.frames) for stack in op_stacks(ops, nodes)]
    # An eager op failed where the error was raised, or is about to be.
    raised = [*traceback.walk_tb(error.__traceback__)] or [*traceback.walk_stack(None)][::-1]
    lines[0] = lines[0] or [
        CodeLine(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in raised
    ]
    for row, op, frames in zip(rows, ops, lines, strict=True):
        own = next((line for line in reversed(frames) if files.own(line.file)), None)
        if op is not None:
            row["op"] = op.type
        if own is not None:
            row |= {"file": files.shown(own.file), "line": own.line, "function": own.function}
            row["text"] = linecache.getline(own.file, own.line).strip()


def _op(node: str | None, graphs: Iterable[Any], nodes: GraphNodes) -> Any:
    found = (nodes.node(graph, node) for graph in graphs if node)
    return next((op for op in found if op is not None), None)
