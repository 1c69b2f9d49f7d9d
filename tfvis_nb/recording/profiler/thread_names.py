"""Name the lanes of Python's threads in a profile, and leave out those of the recorder's own threads.

The profiler names a thread as the system does, so every thread of Python is called ``python``. Its line has
the id that TensorFlow's ``Env`` gives the thread: a hash of the system's handle, which is Python's
``Thread.ident``. The system gives the handle of an ended thread to a new one, and then both have one line.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from tfvis_nb.reading.protobuf.wire import LENGTH, Data, WireField, delimited, fields, whole_number
from tfvis_nb.recording.patches import Replacements

_PYTHON = "python"
"""The lane of the main thread; lanes of other threads are named ``python/NAME``."""

_POOL = re.compile(rb"/-?\d+$")
"""Ends the name of a thread of TensorFlow's own pools."""

_OWN = "tfvis_nb "
"""Begins the names of the recorder's threads."""

_MOST_NAMES = 3
"""How many names of threads that share a line are listed."""

_WORD = 2**64 - 1


class _Noted(NamedTuple):
    """A thread, and its name and ids when it was noted, in case it no longer exists."""

    thread: Callable[[], threading.Thread | None]
    name: str
    ids: tuple[int, ...]


class ThreadNames:
    """Notes the threads of Python that run between `watch` and `end`."""

    def __init__(self) -> None:
        self._replacements = Replacements()
        self._threads: list[_Noted] = []

    def watch(self) -> None:
        """Begin to note threads."""
        self._replacements.put(threading.Thread, "start", self._noting)
        # enumerate() locks, and a thread that holds the lock may be collecting garbage, which ends profiles.
        starting, active = (tuple(vars(threading).get(name, {}).values()) for name in ("_limbo", "_active"))
        for thread in starting:  # they have no ids yet
            self._threads.append(_Noted(partial(_same, thread), "", ()))
        for thread in active:
            self._note(thread)

    def end(self) -> None:
        """Stop noting them."""
        self._replacements.undo()

    def named(self, profile: bytes) -> bytes:
        """Return a serialised ``XSpace`` whose lines have the names of their threads, without our own."""
        names: dict[bytes, dict[str, None]] = {}
        for noted in self._threads:
            thread = noted.thread()
            name, ids = noted[1:] if thread is None else _facts(thread)
            for number in ids:
                names.setdefault(whole_number(_LINE_ID, number), {})[name] = None
        return with_line_names(profile, {line: _joined([*own]) for line, own in names.items()})

    def _noting(self, original: Any) -> Any:
        def start(thread: threading.Thread) -> None:
            original(thread)
            self._note(thread)

        return start

    def _note(self, thread: threading.Thread) -> None:
        # Libraries' threads that call Python have better names of their own.
        if isinstance(thread, threading._DummyThread):  # noqa: SLF001
            return
        self._threads.append(_Noted(weakref.ref(thread), *_facts(thread)))


def _same(thread: threading.Thread) -> threading.Thread:
    return thread


def _facts(thread: threading.Thread) -> tuple[str, tuple[int, ...]]:
    with suppress(Exception):  # threads of the program may have code of their own
        return "" if thread is threading.main_thread() else str(thread.name), line_ids(thread)
    return "", ()


def _joined(names: list[str]) -> str:
    """Return the lane of threads that ran one after the other; empty if all were the recorder's."""
    names = [name for name in names if not name.startswith(_OWN)]
    if not names:
        return ""
    shown = ", ".join(names[:_MOST_NAMES] + ["..."] * (len(names) > _MOST_NAMES))
    return f"{_PYTHON}/{shown}" if shown else _PYTHON


def line_ids(thread: threading.Thread) -> tuple[int, ...]:
    """Return the ids that the line of a thread may have, as numbers without a sign.

    On Linux it is ``std::hash<std::thread::id>``, up to TensorFlow 2.18 its lower half; on other systems the
    number that the system shows.
    """
    if thread.ident is None:
        return ()
    hashed = hash_of(thread.ident)
    return (thread.native_id or 0, hashed & 0xFFFFFFFF, hashed)


def hash_of(value: int) -> int:
    """Return what libstdc++'s ``std::hash`` makes of 8 bytes: MurmurHash64A with its own seed."""
    multiplier = 0xC6A4A7935BD1E995
    mixed = value * multiplier & _WORD
    mixed = (mixed ^ mixed >> 47) * multiplier & _WORD
    hashed = (0xC70F6907 ^ 8 * multiplier & _WORD) ^ mixed
    for _ in range(2):
        hashed = hashed * multiplier & _WORD
        hashed ^= hashed >> 47
    return hashed


_PLANES, _PLANE_NAME, _LINES, _LINE_ID, _LINE_NAME, _EVENTS, _SHOWN_NAME = 1, 2, 3, 1, 2, 4, 11
"""Fields of ``XSpace``, ``XPlane`` and ``XLine``."""


def with_line_names(profile: bytes, names: Mapping[bytes, str]) -> bytes:
    """Return a serialised ``XSpace`` whose hosts show other names of lines, by the lines' id fields.

    Lines without a name are left out.
    """
    pieces: list[Data] = []
    for part in fields(profile):
        whole = memoryview(profile)[part.position : part.end]
        is_plane = part.number == _PLANES and part.wire_type == LENGTH
        pieces.append(delimited(_PLANES, _plane(profile, part, names)) if is_plane else whole)
    return b"".join(pieces)


def _plane(profile: bytes, plane: WireField, names: Mapping[bytes, str]) -> bytes:
    pieces: list[Data] = []
    at, is_host = plane.start, False
    for part in fields(profile, plane.start, plane.end):
        if part.number == _PLANE_NAME:
            is_host = profile.startswith(b"/host:", part.start)
        elif part.number == _LINES and is_host and (name := _line_name(profile, part, names)) is not None:
            pieces.append(memoryview(profile)[at : part.position])
            if name:
                # Of a field that is there twice, the last one counts.
                shown = delimited(_SHOWN_NAME, name.encode("utf-8", "replace"))
                pieces.append(delimited(_LINES, profile[part.start : part.end] + shown))
            at = part.end
    return b"".join([*pieces, memoryview(profile)[at : plane.end]])


def _line_name(profile: bytes, line: WireField, names: Mapping[bytes, str]) -> str | None:
    name = None
    for part in fields(profile, line.start, line.end):
        if part.number == _LINE_ID:
            name = names.get(profile[part.position : part.end])
        elif part.number == _LINE_NAME and _POOL.search(profile[part.start : part.end]):
            return None
        elif part.number >= _EVENTS or name is None:
            break
    return name
