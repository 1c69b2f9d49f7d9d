"""Notes on the code that runs during a recording."""

import functools
import inspect
import itertools
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tfvis_nb.core.nested_columns import with_columns
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.tracings import LONGEST_TEXT, MOST_CHANGES, TRACING, TYPE
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.stacks.eager_lines import EagerLines
from tfvis_nb.recording.stacks.functions import SeenFunctions
from tfvis_nb.recording.stacks.source_files import SourceFiles

_MOST = 10_000
"""Maximum number of noted tracings."""
_MOST_FRAMES = 100
"""How many frames of a call are searched for the user's own code: Keras calls a function 30 frames deeper."""
_MOST_COMPARED = 64
_MOST_PARTS = 256
"""How many earlier tracings, and parts of an argument, are compared."""


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
                lines = {"source": _source(one.code, files), "caller": own_line(one.callers, files)}
                column[rows[at]] = one.fields | lines
        if any(column):
            trace.nested = with_columns(trace.nested, {TRACING: pa.array(column, TYPE)})

    def _creating(self, original: Any) -> Any:
        def create(*args: Any, **kwargs: Any) -> Any:
            began_ns, callers = time.time_ns(), calling_lines(inspect.currentframe())
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


def calling_lines(frame: FrameType | None) -> list[tuple[str, int]]:
    """Return the file and line of a frame and its callers, the innermost first."""
    lines: list[tuple[str, int]] = []
    while frame is not None and len(lines) < _MOST_FRAMES:
        lines.append((frame.f_code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return lines


def own_line(lines: list[tuple[str, int]], files: SourceFiles) -> str | None:
    """Return the innermost line of the user's own code."""
    own = (f"{files.shown(file)}:{line}"[-LONGEST_TEXT:] for file, line in lines if files.own(file))
    return next(own, None)


def _source(code: Any, files: SourceFiles) -> str | None:
    """Return where a function of the user is defined."""
    if code is None or not files.own(code.co_filename):
        return None
    return f"{files.shown(code.co_filename)}:{code.co_firstlineno}"[-LONGEST_TEXT:]


def nearest_changes(new: Any, earlier: Sequence[Any]) -> list[dict[str, str | None]]:
    """Return the changes from the most similar of several ``FunctionType``, the latest of which is last.

    Each is a `tfvis_nb.core.tracings.CHANGE`. Empty if there is no earlier one.
    """
    candidates = [changes(one, new) for one in reversed(earlier[-_MOST_COMPARED:])]
    if not candidates:
        return []
    nearest = min(candidates, key=len)[:MOST_CHANGES]
    # TensorFlow also distinguishes devices, strategies, and outer graphs.
    return nearest or [change_of("", "context", None, None)]


def changes(old: Any, new: Any) -> list[dict[str, str | None]]:
    """Return the differences between the arguments of two ``FunctionType``."""
    before, after = (
        {name: one.type_constraint for name, one in kind.parameters.items()} for kind in (old, new)
    )
    differences = []
    for name in dict.fromkeys([*before, *after]):
        if name not in before or name not in after:
            texts = (_text(kinds[name]) if name in kinds else None for kinds in (before, after))
            differences.append(change_of(name, "structure", *texts))
        else:
            differences += _differences(name, before[name], after[name])
    return differences


def _differences(name: str, old: Any, new: Any) -> Iterator[dict[str, str | None]]:
    before, after = (dict(itertools.islice(_leaves(kind, name), _MOST_PARTS)) for kind in (old, new))
    if list(before) != list(after):
        yield change_of(name, "structure", _text(old), _text(new))
        return
    for path, kind in before.items():
        other = after[path]
        if kind == other:
            continue
        same = type(kind) is type(other)
        # A shape of unknown rank equals no other, not even itself.
        pairs = [(what, _part(kind, what), _part(other, what)) for what in ("shape", "dtype") if same]
        differing = [pair for pair in pairs if pair[1] != pair[2]]
        for what, first, second in differing or [("value", _text(kind), _text(other))]:
            yield change_of(path, what, first, second)


def _leaves(kind: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of an argument (anything but Python containers), with their paths."""
    from tensorflow.core.function.trace_type import default_types

    if isinstance(kind, default_types.List):
        kind = kind.components_tuple
    if isinstance(kind, default_types.Attrs):
        kind = kind.named_attributes
    if isinstance(kind, default_types.NamedTuple):
        parts = [
            (f".{name}", one)
            for name, one in zip(kind.attribute_names, kind.attributes.components, strict=True)
        ]
    elif isinstance(kind, default_types.Dict):
        parts = [(f"[{key!r}]", one) for key, one in kind.mapping.items()]
    elif isinstance(kind, default_types.Tuple):
        parts = [(f"[{at}]", one) for at, one in enumerate(kind.components)]
    else:
        yield path, kind
        return
    if not parts:
        yield f"{path}[]", None
    for name, part in parts:
        yield from _leaves(part, path + name)


def _text(kind: Any) -> str:
    """Format an argument for the user: a value, or the shape and type of a tensor."""
    from tensorflow.core.function.trace_type import default_types

    if isinstance(kind, default_types.Literal):
        value = kind.value
        return repr(value[:LONGEST_TEXT] if isinstance(value, str | bytes) else value)
    if isinstance(kind, default_types.Weakref):
        thing = kind._ref()  # noqa: SLF001
        return "a deleted object" if thing is None else f"{type(thing).__name__} object"
    shape, dtype = _part(kind, "shape"), _part(kind, "dtype")
    return f"{dtype}{shape}" if shape is not None and dtype is not None else str(kind)


def _part(kind: Any, what: str) -> str | None:
    """Format the shape or the data type of a tensor argument; None for others."""
    value = getattr(kind, what, None)
    return None if value is None else str(getattr(value, "name", value))


def change_of(argument: str, kind: str, before: str | None, after: str | None) -> dict[str, str | None]:
    """Return a `tfvis_nb.core.tracings.CHANGE`, with texts of limited length."""
    texts = {"argument": argument, "kind": kind, "before": before, "after": after}
    return {name: text if text is None else text[:LONGEST_TEXT] for name, text in texts.items()}
