"""Why JAX traced functions again, from the explanations that JAX logs.

JAX explains a tracing with the option ``jax_explain_cache_misses``, in words that change with its versions:
before the tracing since 0.9, after it in earlier ones.
"""

from __future__ import annotations

import inspect
import logging
import re
import sys
import time
from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tfvis_nb.core.categories import is_kind, map_categories
from tfvis_nb.core.nested_columns import with_columns
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.tracings import LONGEST_TEXT, MOST_CHANGES, TRACING, TYPE
from tfvis_nb.reading.xspace.jitted import LOWERING, jitted_function
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.stacks.source_files import SourceFiles
from tfvis_nb.recording.stacks.watch import calling_lines, change_of, own_line

Change = dict[str, str | None]

_OPTION, _LOG_COMPILES = "jax_explain_cache_misses", "jax_log_compiles"
_MODULES = (
    *("jax._src.pjit", "jax._src.interpreters.partial_eval"),
    *("jax._src.compiler", "jax._src.compilation_cache"),
)
"""Modules that log more while the option is on; the last two about the persistent cache."""
_MISS = "TRACING CACHE MISS"
_MOST = 10_000
"""Maximum number of noted explanations."""
_LONGEST = 1 << 14
"""How many characters of an explanation are searched."""

_FUNCTION = re.compile(
    r"^ +(?:never seen function:\n +(?P<new>\S.*?) id=\d+|for (?P<known>\S.*?))"
    r"(?: defined at (?P<file>.+?)(?::(?P<line>\d+))?)?$",
    re.MULTILINE,
)
_KEY = re.compile(r"\n *\* (?=key with )")
_ITEM = re.compile(r"\n *\* ")
_HINT = re.compile(r"\n *where weak_type|\n *compare to|https://")
_CHANGE = re.compile(
    r"(?:at (?:input path )?)?(?P<argument>.+?)(?:,| differs:) "
    r"(?:now (?P<after>.*?) and before (?P<before>.*?)|seen (?P<seen>.*?),? but now given (?P<given>.*?))"
    r"(?P<structure>, +so .*)?",
    re.DOTALL,
)
_STATIC = re.compile(r"static (?:kw)?args:\s+now (.*?) and before (.*)", re.DOTALL)
_COUNTS = re.compile(
    r"never seen passing (?P<now>\d+ positional args and \d+ keyword args)"
    r"|now (?P<after>\d+ args and kwargs with keys .*)\n *before (?P<before>.*)"
)
_UNEXPLAINED = re.compile("explanation unavailable|Debug info doesn't match")
_CONTEXT = re.compile("tracing context", re.IGNORECASE)
_ARRAY = re.compile(r"(\w+)\[([^\]@]*)[^\]]*\]")
_VALUE = re.compile(r".* with pytree metadata Static\((?:val=)?(.*)\)", re.DOTALL)
_CLASS = re.compile(r"<class '([^']+)'>")
_PATH = re.compile(r"\[([01])\](.*)", re.DOTALL)


class Explanation(NamedTuple):
    """The function that JAX traced, where it is defined, and what changed; nothing for a new function.

    ``changes`` are those of `tfvis_nb.core.tracings`, None if JAX has no explanation.
    """

    function: str
    file: str | None
    line: str | None
    changes: list[Change] | None


def explanation(message: str) -> Explanation | None:
    """Read a message of JAX 0.4.30 or later; None if it has another form.

    >>> text = '''TRACING CACHE MISS at train.py:9:4 (main):
    ...   for step defined at train.py:7
    ...   all previously seen cache keys differ. For the closest previous key:
    ...   different input types:
    ...   * at a, now f32[11] and before f32[10]'''
    >>> found = explanation(text)
    >>> found.function, found.line, found.changes
    ('step', '7', [{'argument': 'a', 'kind': 'shape', 'before': 'f32[10]', 'after': 'f32[11]'}])
    """
    message = message[:_LONGEST]
    match = _FUNCTION.search(message)
    if match is None:
        return None
    changes: list[Change] | None = []
    if match["known"] is not None:
        changes = list(_changes(message[match.end() :]))
        if not changes:
            if _UNEXPLAINED.search(message) is None:
                return None
            changes = None
    name = (match["new"] or match["known"]).rpartition(".")[2]
    return Explanation(name[:LONGEST_TEXT], match["file"], match["line"], changes)


def _changes(text: str) -> list[Change]:
    """Return the changes from the most similar earlier tracing: JAX may compare with several."""
    compared = [found for key in _KEY.split(text) if (found := _of_key(key))]
    return min(compared, key=len, default=[])[:MOST_CHANGES]


def _of_key(text: str) -> list[Change]:
    found: dict[tuple[str, str], Change] = {}
    for item in _ITEM.split(text):
        for argument, kind, before, after in _of_item(_HINT.split(item)[0].strip()):
            found.setdefault((argument, kind), change_of(argument, kind, before, after))
    if not found and (counts := _COUNTS.search(text)):
        after = counts["now"] or counts["after"]
        found["args", "structure"] = change_of("args", "structure", counts["before"], after)
    if not found and _CONTEXT.search(text):
        found["", "context"] = change_of("", "context", None, None)
    return list(found.values())


def _of_item(item: str) -> list[tuple[str, str, str, str]]:
    """Return argument, kind, before and after of a line that JAX marks with an asterisk."""
    if static := _STATIC.search(item):
        return [("a static argument", "value", static[2], static[1])]
    match = _CHANGE.fullmatch(item)
    if match is None:
        return []
    argument, before, after = match["argument"], match["before"], match["after"]
    if after is None:
        before, after = match["seen"], match["given"]
    if " differs: " in item and not match["structure"]:
        return [("", "context", f"{argument}={before}", f"{argument}={after}")]
    if match["structure"]:
        return [_structure(argument, before, after)]
    return [(argument, kind, before, after) for kind in _kinds(before, after)]


def _structure(argument: str, before: str, after: str) -> tuple[str, str, str, str]:
    path = _PATH.fullmatch(argument)
    argument = f"{('args', 'kwargs')[int(path[1])]}{path[2]}" if path else argument
    values = _VALUE.fullmatch(before), _VALUE.fullmatch(after)
    if values[0] and values[1]:
        return argument, "value", values[0][1], values[1][1]
    return argument, "structure", _CLASS.sub(r"\1", before), _CLASS.sub(r"\1", after)


def _kinds(before: str, after: str) -> list[str]:
    """Return what differs between the types of two arrays, such as ``f32[8@x]{weak_type=True}``."""
    arrays = _ARRAY.search(before), _ARRAY.search(after)
    if arrays[0] is None or arrays[1] is None:
        return ["value"]
    (dtype, shape), (new_dtype, new_shape) = arrays[0].groups(), arrays[1].groups()
    kinds = ["shape"] if _sizes(shape) != _sizes(new_shape) else []
    if dtype != new_dtype or ("weak_type" in before + after and not kinds):
        kinds.append("dtype")
    return kinds or ["sharding"]


def _sizes(shape: str) -> list[str]:
    return [size.partition("@")[0] for size in shape.split(",")]


class _Miss(NamedTuple):
    """An explanation, the time of its message (epoch ns), and the lines that called the function."""

    time_ns: int
    explanation: Explanation
    callers: list[tuple[str, int]]


class CacheMisses:
    """Notes JAX's explanations between `watch` and `end`. It never breaks the code.

    ``unread`` tells whether a message had the form of another version.
    """

    def __init__(self) -> None:
        self.unread = False
        self._noted: list[_Miss] = []
        self._replacements = Replacements()
        self._is_wanted = self._is_on = False

    def watch(self) -> None:
        """Start noting; JAX is imported. The program's own handlers and levels stay as they are."""
        try:
            import jax

            self._is_wanted = bool(getattr(jax.config, _OPTION))
            for name in _MODULES:
                module = sys.modules.get(name)
                if isinstance(vars(module).get("logger") if module else None, logging.Logger | _Logger):
                    self._replacements.put(module, "logger", lambda original: _Logger(original, self))
            if not self._is_wanted:
                jax.config.update(_OPTION, True)
                self._is_on = True
        except Exception:  # noqa: BLE001 - another release of JAX may lack the option
            self.end()

    def end(self) -> None:
        """Restore JAX."""
        try:
            if self._is_on:
                import jax

                self._is_on = False
                jax.config.update(_OPTION, False)
        finally:
            self._replacements.undo()

    def take(self, other: CacheMisses) -> None:
        """Add the notes of another recording."""
        self._noted += other._noted
        self.unread |= other.unread

    def level(self, level: int, message: Any) -> int | None:
        """Note a message for a logger; return the level that it has without this recording, None for none."""
        if not isinstance(message, str) or not message.startswith(_MISS):
            # The option also raises the level of messages about the persistent cache.
            raised = level == logging.WARNING and not self._is_wanted and not _logs_compiles()
            return logging.DEBUG if raised else level
        try:
            self._note(message)
        except Exception:  # noqa: BLE001 - messages of any release of JAX
            self.unread = True
        return level if self._is_wanted else None

    def _note(self, message: str) -> None:
        found = explanation(message)
        if found is None:
            self.unread = True
        elif len(self._noted) < _MOST:
            self._noted.append(_Miss(time.time_ns(), found, calling_lines(inspect.currentframe())))

    def put(self, trace: Trace) -> None:
        """Add the explanations to the events of a profile in which JAX lowers the functions."""
        lowerings: dict[str, list[tuple[int, int, int]]] = {}
        for function, lowered_ns, began_ns, row in _lowerings(trace) if self._noted else []:
            lowerings.setdefault(function, []).append((lowered_ns, began_ns, row))
        files = SourceFiles()
        column: list[dict[str, Any] | None] = [None] * len(trace.events)
        for time_ns, found, callers in self._noted:
            later = lowerings.get(found.function, [])
            later = later[bisect_left(later, time_ns, key=lambda one: one[0]) :]
            rows = (row for _, began_ns, row in later if began_ns <= time_ns and not column[row])
            row = next(rows, -1)
            if row < 0:
                continue
            own = found.file if found.file and files.own(found.file) else None
            column[row] = {
                "function": found.function,
                "source": f"{files.shown(own)}:{found.line}"[-LONGEST_TEXT:] if own else None,
                "caller": own_line(callers, files),
                "changes": found.changes,
            }
        if any(column):
            trace.nested = with_columns(trace.nested, {TRACING: pa.array(column, TYPE)})


def _lowerings(trace: Trace) -> list[tuple[str, int, int, int]]:
    """Return the function, the start, the start of the call and the row of each lowering, ordered by start.

    The call is the outermost of those of the function around the lowering, since JAX may record it twice.
    """
    events = trace.events
    is_host = is_kind(events, "host")
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    lane = np.stack([events[name].cat.codes.to_numpy() for name in ("task", "device", "lane")])
    is_call = is_host & events["name"].str.startswith("PjitFunction(").fillna(value=False).to_numpy(bool)
    calls = np.flatnonzero(is_call)
    names = events["name"].iloc[calls]
    functions = {row: jitted_function(str(name)) for row, name in zip(calls.tolist(), names, strict=True)}
    found = []
    for row in np.flatnonzero(is_host & map_categories(events["op"], lambda op: op == LOWERING)).tolist():
        around = calls[(start[calls] <= start[row]) & (end[calls] >= end[row])]
        around = around[(lane[:, around] == lane[:, [row]]).all(axis=0)]
        if len(around):
            function = functions[int(around[start[around].argmax()])]
            began = min(int(start[call]) for call in around.tolist() if functions[call] == function)
            found.append((function, int(start[row]), began, row))
    return sorted(found, key=lambda one: one[1])


def _logs_compiles() -> bool:
    import jax

    return bool(getattr(jax.config, _LOG_COMPILES))


class _Logger:
    """Stands in for a logger of JAX, for its messages at a level that depends on the option."""

    def __init__(self, original: Any, misses: CacheMisses) -> None:
        self._original = original
        self._misses = misses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def log(self, level: int, message: Any, *args: Any, **options: Any) -> None:
        """Pass a message on as JAX would log it without the recording."""
        as_before = self._misses.level(level, message)
        if as_before is not None:
            options["stacklevel"] = options.get("stacklevel", 1) + 1
            self._original.log(as_before, message, *args, **options)
