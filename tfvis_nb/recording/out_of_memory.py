"""The facts about a failed allocation, from the error of TensorFlow or JAX.

The variables and eager tensors that the program holds replace the buffers of an allocator that records none,
such as TensorFlow's plain CPU allocator. Values between ops of a function are not included. Of JAX, these are
the arrays that the program holds, and the buffers that the failed program needs.
"""

import contextlib
import gc
import linecache
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psutil

from tfvis_nb.core.metadata import LIVE_AT_FAILURE, OUT_OF_MEMORY, Metadata, table_of
from tfvis_nb.recording.allocation_errors import MOST_BUFFERS, eager_op, is_on_host, live_buffers, parsed
from tfvis_nb.recording.heap_dumps import HeapDumps
from tfvis_nb.recording.imports import is_imported
from tfvis_nb.recording.jax.live_arrays import device_memory, live_in_jax
from tfvis_nb.recording.stacks.graph_nodes import GraphNodes
from tfvis_nb.recording.stacks.op_stacks import CodeLine, op_stacks
from tfvis_nb.recording.stacks.source_files import SourceFiles
from tfvis_nb.recording.user_errors import cause_of, message_of, type_names

_OF_JAX = {"JaxRuntimeError", "XlaRuntimeError"}
"""The error of JAX, and its earlier name."""
_DEEPEST = 32
"""How many errors of a chain of causes are checked."""


def out_of_memory(
    error: BaseException | None,
    functions: Callable[[], dict[str, Any]] | None,
    graphs: Iterable[Any],
    dumps: HeapDumps | None = None,
) -> Metadata:
    """Return the facts about a failed allocation; nothing for other errors.

    `functions` returns the graphs of functions by name, `graphs` are those of sessions. Without `functions`
    no code is kept.
    """
    exhausted = next(filter(is_out_of_memory, _causes(error)), None)
    message = message_of(exhausted)
    asked = parsed(message)
    if exhausted is None or asked is None:
        return {}
    asked["time_ns"] = time.time_ns()
    live = live_buffers(message)
    blocks: list[dict[str, Any]] = []
    named: list[dict[str, Any]] = live
    if _is_of_jax(exhausted):
        named = []
        with contextlib.suppress(Exception):  # any release of JAX
            asked |= {name: value for name, value in device_memory().items() if asked.get(name) is None}
            # The failed program has freed its other buffers.
            if "largest_free_bytes" not in asked and _is_free(asked):
                del asked["available_bytes"]
            live = live_in_jax(live, source=functions is not None)
    elif _is_host(asked, message):
        with contextlib.suppress(OSError):
            asked["available_bytes"] = psutil.virtual_memory().available
        blocks = [] if live or not is_imported("tensorflow") else held_tensors()
    elif dumps is not None:
        heap, blocks = dumps.last(asked["allocator"])
        asked |= heap
    if functions is not None:
        # Graphs can come from any program and any TensorFlow release.
        with contextlib.suppress(Exception):
            _put_code(exhausted, [asked, *named], functions(), graphs)
    failed = {OUT_OF_MEMORY: table_of(OUT_OF_MEMORY, [asked])}
    # The error names tensors, while blocks only have addresses.
    return failed | ({LIVE_AT_FAILURE: table_of(LIVE_AT_FAILURE, live or blocks)} if live or blocks else {})


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error is an out-of-memory error of TensorFlow, JAX or NumPy; its causes do not count."""
    kinds: tuple[type, ...] = (MemoryError,)
    if is_imported("tensorflow"):
        from tensorflow.python.framework import errors

        # TensorFlow has no error type for a constant that does not fit, or for a copy to a full GPU.
        kinds += (errors.ResourceExhaustedError, errors.InvalidArgumentError, errors.InternalError)
    elif not is_imported("jax"):
        return False
    # Accessing __class__ may run code of the error; its type does not.
    is_one = issubclass(type(error), kinds) or _is_of_jax(error)
    return is_one and parsed(message_of(error)) is not None


def _is_of_jax(error: BaseException | None) -> bool:
    return not _OF_JAX.isdisjoint(type_names(error))


def _is_free(asked: dict[str, Any]) -> bool:
    return int(asked["requested_bytes"] or 0) <= int(asked.get("available_bytes", -1))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = cause_of(error, context=True)


def _is_host(asked: dict[str, Any], message: str) -> bool:
    """Whether host memory was requested, all of which the allocator may use."""
    if asked["device"] is not None:
        return "CPU" in asked["device"] and "bfc" not in (asked["allocator"] or "")
    if is_on_host(message):
        return True
    if not is_imported("tensorflow"):
        return False
    import tensorflow as tf

    return not any(one.device_type != "CPU" for one in tf.config.list_physical_devices())


def _put_code(
    error: Any, rows: list[dict[str, Any]], functions: dict[str, Any], graphs: Iterable[Any]
) -> None:
    """Add op types and the user's lines to rows; the first row is the failed one."""
    files = SourceFiles()
    nodes = GraphNodes(functions)
    called = eager_op(message_of(error))
    first = [functions[called]] if called in functions else []
    own_graph = getattr(getattr(error, "op", None), "graph", None)
    every = [own_graph, *first, *graphs, *reversed(functions.values())]
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
    ops = (nodes.node(graph, node) for graph in graphs if node)
    return next((op for op in ops if op is not None), None)


def held_tensors() -> list[dict[str, Any]]:
    """Return the largest on the CPU, as rows of `LIVE_AT_FAILURE`."""
    rows = [row for value in _values() if (row := _row(value)) is not None]
    return sorted(rows, key=lambda row: -row["bytes"])[:MOST_BUFFERS]


def _values() -> Iterator[Any]:
    from tensorflow.python.framework.ops import EagerTensor
    from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

    # Accessing __class__ may run code of the object; its type does not.
    return (
        value for value in gc.get_objects() if issubclass(type(value), (BaseResourceVariable, EagerTensor))
    )


def _row(value: Any) -> dict[str, Any] | None:
    with contextlib.suppress(Exception):  # variables of graphs, or deleted ones
        size = int(value.shape.num_elements()) * int(value.dtype.size)
        if size and "CPU" in value.device and value.dtype.name not in ("resource", "variant"):
            if hasattr(value, "handle"):
                return {"node": value.name.removesuffix(":0"), "op": "VarHandleOp", "bytes": size}
            return {"node": f"{value.dtype.name} {value.shape.as_list()}", "bytes": size}
    return None
