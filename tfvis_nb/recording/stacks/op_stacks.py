"""The frames and the phase of the ops of graphs."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from tfvis_nb.recording.stacks.graph_nodes import GraphNodes

_GENERATED = "__autograph_generated_file"
_OPTIMIZER = re.compile(
    r"[\\/]keras\d*(?:[\\/].*)?[\\/]optimizers?(?:_v\d)?[\\/](?!schedules)"
    r"|tensorflow[\\/]python[\\/]training[\\/](?:[a-z_]*optimizer[a-z_]*|ada\w+|ftrl|momentum|gradient_descent|rmsprop)\.py$"
)
_COMPUTES_GRADIENTS = ("compute_gradients", "minimize", "scale_loss", "get_gradients")
"""Functions of optimizers that run the model, directly or indirectly."""


class CodeLine(NamedTuple):
    """One frame: the file of the code, the line starting at 1, the function."""

    file: str
    line: int
    function: str


class OpStack(NamedTuple):
    """The frames of an op, outermost first, and its phase, None if unknown."""

    frames: tuple[CodeLine, ...]
    phase: str | None


def op_stacks(ops: Sequence[Any], nodes: GraphNodes) -> list[OpStack]:
    """Return the stack of each op, empty if unknown; gradients have the stack of their forward op."""
    origins = [None if op is None else nodes.forward(op) for op in ops]
    sources = [op if origin is None else origin for op, origin in zip(ops, origins, strict=True)]
    frames = _frames({id(op): op for op in sources if op is not None})
    # Ops share stacks, which are slow to compare.
    stacks = {id(stack): stack for stack in frames.values()}
    optimizer = {number: _of_optimizer(stack) for number, stack in stacks.items()}
    of_ops = []
    for origin, source in zip(origins, sources, strict=True):
        stack = frames.get(id(source), ())
        phase = "optimizer" if stack and optimizer[id(stack)] else "forward"
        of_ops.append(OpStack(stack, phase if origin is None else "backward"))
    return of_ops


def _of_optimizer(frames: Iterable[CodeLine]) -> bool:
    return any(phase_of_frame(frame.file, frame.function) == "optimizer" for frame in frames)


def _frames(ops: dict[int, Any]) -> dict[int, tuple[CodeLine, ...]]:
    """Return the frames of ops. TensorFlow interns them; one by one this would take fifteen times as long."""
    if not ops:
        return {}
    from tensorflow.core.framework import graph_debug_info_pb2
    from tensorflow.python.util import _tf_stack

    builder = _tf_stack.GraphDebugInfoBuilder()
    for number, op in ops.items():
        builder.AccumulateStackTrace("", str(number), op.traceback)
    made = graph_debug_info_pb2.GraphDebugInfo.FromString(builder.Build())
    lines = {
        number: CodeLine(made.files[frame.file_index], frame.line, frame.func)
        for number, frame in made.frames_by_id.items()
    }
    if any(_GENERATED in file for file in made.files):
        written = _written_lines()
        lines = {number: written.get(line[:2], line) for number, line in lines.items()}
    traces = {
        number: tuple(lines[frame] for frame in trace.frame_id if frame in lines)
        for number, trace in made.traces_by_id.items()
    }
    return {
        int(name.split("@")[0]): traces[trace]
        for name, trace in made.name_to_trace_id.items()
        if trace in traces
    }


def _written_lines() -> dict[tuple[str, int], CodeLine]:
    """Return the user's line of each line of code that AutoGraph generated.

    TensorFlow does so itself, but not for ops created by threads of a distribution strategy.
    """
    lines = {}
    # Private names, which other releases may lack.
    with contextlib.suppress(AttributeError, ImportError, TypeError):
        from tensorflow.python.autograph.impl.api import _TRANSPILER

        for factories in list(_TRANSPILER._cache._cache.values()):  # noqa: SLF001
            for factory in list(factories.values()):
                for generated, origin in factory.source_map.items():
                    line = CodeLine(origin.loc.filename, origin.loc.lineno, origin.function_name)
                    lines[generated.filename, generated.lineno] = line
    return lines


@cache
def phase_of_frame(file: str, function: str) -> str | None:
    """Return the phase of ops made in a frame, if the frame is an optimizer's or a tape's."""
    if _OPTIMIZER.search(file) and function not in _COMPUTES_GRADIENTS:
        return "optimizer"
    if file.endswith(("eager/backprop.py", "eager\\backprop.py")) and function == "gradient":
        return "backward"
    return None
