"""Notes on the code that runs during a recording."""

import functools
import inspect
import time
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tfvis_nb.core.nested_columns import with_columns
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.tracings import LONGEST_TEXT, TRACING, TYPE
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.stacks.eager_lines import EagerLines
from tfvis_nb.recording.stacks.functions import SeenFunctions
from tfvis_nb.recording.stacks.signatures import nearest_changes
from tfvis_nb.recording.stacks.source_files import SourceFiles


class SourceWatch:
    """Notes functions, tracings and eager calls between `install` and `remove`. It never breaks the code."""

    def __init__(self, functions: SeenFunctions) -> None:
        self.functions = functions
        self.lines = EagerLines()
        self.tracings = TracingWatch()
        self.failed = ""

    def install(self) -> None:
        """Start noting."""
        try:
            self.functions.watch()
            self.lines.watch()
            self.tracings.watch()
        except Exception as error:  # noqa: BLE001 - another release of TensorFlow may lack what is replaced
            self.failed = repr(error)

    def remove(self) -> None:
        """Restore TensorFlow."""
        self.functions.end()
        self.lines.end()
        self.tracings.end()


_MOST = 10_000
"""Maximum number of noted tracings."""
_MOST_FRAMES = 100
"""How many frames of a call are searched for the user's own code: Keras calls a function 30 frames deeper."""


class _Tracing(NamedTuple):
    """The start and end of a tracing (epoch ns), the traced code, and facts about it."""

    began_ns: int
    ended_ns: int
    code: Any
    callers: list[tuple[str, int]]
    fields: dict[str, Any]


class TracingWatch:
    """Notes tracings between `watch` and `end`. It never breaks the code."""

    def __init__(self) -> None:
        self._noted: list[_Tracing] = []
        self._replacements = Replacements()

    def watch(self) -> None:
        """Start noting."""
        from tensorflow.python.eager.polymorphic_function import tracing_compilation

        self._replacements.put(tracing_compilation, "_create_concrete_function", self._creating)

    def end(self) -> None:
        """Restore TensorFlow's function."""
        self._replacements.undo()

    def put(self, trace: Trace) -> None:
        """Add the notes on tracings to the events of a profile in which functions are traced."""
        rows = np.flatnonzero(
            (trace.events["op"] == "tf.function-graph_building").fillna(value=False).to_numpy(bool)
        )
        start = trace.events["start_ns"].to_numpy(np.int64)[rows]
        end = start + trace.events["duration_ns"].to_numpy(np.int64)[rows]
        files = SourceFiles()
        column: list[dict[str, Any] | None] = [None] * len(trace.events)
        for one in sorted(self._noted, key=lambda noted: noted.began_ns):
            # A noted call lies within its event, the last one started before; events nested in it end
            # earlier.
            at = int(np.searchsorted(start, one.began_ns, side="right")) - 1
            while at >= 0 and (end[at] < one.ended_ns or column[rows[at]] is not None):
                at -= 1
            if at >= 0:
                lines = {"source": _source(one.code, files), "caller": _caller(one.callers, files)}
                column[rows[at]] = one.fields | lines
        if any(column):
            trace.nested = with_columns(trace.nested, {TRACING: pa.array(column, TYPE)})

    def _creating(self, original: Any) -> Any:
        def create(*args: Any, **kwargs: Any) -> Any:
            began_ns, callers = time.time_ns(), _lines(inspect.currentframe())
            made = original(*args, **kwargs)
            try:
                if len(self._noted) < _MOST:
                    self._note(began_ns, callers, made, kwargs.get("tracing_options") or args[-1])
            except Exception:  # noqa: BLE001, S110 - arguments of any program, in any release of TensorFlow
                pass
            return made

        return create

    def _note(self, began_ns: int, callers: list[tuple[str, int]], made: Any, options: Any) -> None:
        ended_ns = time.time_ns()
        earlier = [] if options.function_cache is None else list(options.function_cache.values())
        fields = {
            "function": str(options.name)[:LONGEST_TEXT],
            "nodes": len(made.graph.get_operations()),
            "changes": nearest_changes(made.function_type, [one.function_type for one in earlier]),
        }
        self._noted.append(_Tracing(began_ns, ended_ns, _code(options.python_function), callers, fields))


def _code(function: Any) -> Any:
    """Return the code of the program's own function, without wrappers of TensorFlow and others."""
    for _ in range(100):
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "__func__"):
            function = function.__func__
        else:
            break
    return getattr(function, "__code__", None)


def _lines(frame: FrameType | None) -> list[tuple[str, int]]:
    """Return the file and line of a frame and its callers, the innermost first."""
    lines: list[tuple[str, int]] = []
    while frame is not None and len(lines) < _MOST_FRAMES:
        lines.append((frame.f_code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return lines


def _caller(lines: list[tuple[str, int]], files: SourceFiles) -> str | None:
    """Return the innermost line of the user's own code."""
    own = (f"{files.shown(file)}:{line}"[-LONGEST_TEXT:] for file, line in lines if files.own(file))
    return next(own, None)


def _source(code: Any, files: SourceFiles) -> str | None:
    """Return where a function of the user is defined."""
    if code is None or not files.own(code.co_filename):
        return None
    return f"{files.shown(code.co_filename)}:{code.co_firstlineno}"[-LONGEST_TEXT:]
