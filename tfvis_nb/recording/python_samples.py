"""What Python does during a recording: samples of the recording thread's line, and pauses of the collector.

The samples have the innermost line of the user's own code: a file, a function and a line, and no values.
"""

from __future__ import annotations

import gc
import opcode
import random
import sys
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, Metadata, table_of
from tfvis_nb.recording.stacks.source_files import SourceFiles

PERIOD_S = 0.02
"""The mean time between samples. It varies at random, because steps are periodic."""

MOST_SAMPLES = 1 << 14
"""After five minutes every second sample is dropped, and the period doubles: all count the same."""

MOST_PAUSES = 1 << 12
LEAST_PAUSE_NS = 100_000
"""Shorter pauses are not noted; the limit doubles when there are `MOST_PAUSES`."""

HANDOVER_S = 0.0001
"""How long a thread may hold the interpreter while the sampler waits for it.

By default it is 5 ms. Python code that calls TensorFlow more often would only be seen where it lets go of the
interpreter: in the call. But threads that run Python side by side change places sooner as well, which made a
loop over a generator twice as fast. So while other threads run Python, the interval is the program's.
"""

_COLLECTS_IN_FRAMES = sys.version_info < (3, 12)
"""Whether the garbage collector can run while Python makes the object of a frame; see `thread_frames`."""

_LATE_S = 0.001
"""A later sample has no line while other threads run Python.

Otherwise it is late because the thread is in a call that holds the interpreter, whose line is right.
"""

_QUIET = 8
"""Samples without another thread that runs Python, after which the interval is short again."""

_BETWEEN_CALLS = (opcode.opmap["RESUME"], opcode.opmap["JUMP_BACKWARD"])
"""Where a thread that runs Python waits for the interpreter; one that stays at a call is idle."""


class _Line(NamedTuple):
    file: str
    line: int
    function: str


class PythonSampler:
    """Samples the thread that makes it, between `start` and `stop`, several times if needed.

    Without `lines`, only the pauses of the garbage collector are noted.
    """

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines
        self._sampled = threading.get_ident()
        self._files = SourceFiles()
        self._own: dict[str, bool] = {}
        self._known: dict[_Line, _Line] = {}
        self._samples: list[tuple[int, _Line | None]] = []
        self._period_s = PERIOD_S
        self._pauses: list[tuple[int, int, int]] = []
        self._least_pause_ns = LEAST_PAUSE_NS
        self._collecting_ns: int | None = None
        self._interval_s = self._handover_s = 0.0
        self._running: tuple[threading.Thread, threading.Lock] | None = None
        self._others: dict[int, tuple[int, int]] | None = None
        self._quiet = 0

    def start(self) -> None:
        """Start or continue."""
        gc.callbacks.append(self._note_collection)
        if not self._lines:
            return
        self._interval_s = sys.getswitchinterval()
        sys.setswitchinterval(min(HANDOVER_S, self._interval_s))
        self._handover_s = sys.getswitchinterval()
        going_on = threading.Lock()
        going_on.acquire()
        thread = threading.Thread(target=self._sample, args=(going_on,), name="tfvis_nb samples", daemon=True)
        self._running = thread, going_on
        with suppress(RuntimeError):  # Python ends, and starts no threads
            thread.start()

    def stop(self) -> None:
        """Stop, and restore what `start` has changed."""
        running, self._running = self._running, None
        try:
            if running is not None:
                thread, going_on = running
                going_on.release()
                if thread.ident is not None:
                    thread.join()
        finally:
            # The thread changes the interval as well.
            self._restore()

    def leave(self) -> None:
        """Restore a forked process, which has no thread of its parent."""
        self._running = None
        self._restore()

    def take(self, other: PythonSampler) -> None:
        """Add what another sampler has noted since `stop`."""
        self._samples += other._samples
        self._pauses += other._pauses

    def metadata(self) -> Metadata:
        """Return what was noted, as facts about a trace."""
        files = SourceFiles()  # with the cells that have run
        pauses = [
            dict(zip(("time_ns", "duration_ns", "generation"), pause, strict=True)) for pause in self._pauses
        ]
        found = {GC_PAUSES: table_of(GC_PAUSES, [{"task": "", **pause} for pause in pauses])}
        if self._lines:
            lines = {line for _, line in self._samples if line}
            shown = {line: {**line._asdict(), "file": files.shown(line.file)} for line in lines}
            rows = [
                {"task": "", "time_ns": at, **(shown[line] if line else {})} for at, line in self._samples
            ]
            found[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, rows)
        return found

    def _restore(self) -> None:
        with suppress(ValueError):
            gc.callbacks.remove(self._note_collection)
        self._change_interval(self._handover_s, self._interval_s)
        self._handover_s = self._interval_s = 0.0

    @staticmethod
    def _change_interval(before_s: float, after_s: float) -> None:
        """Change the switch interval, unless the program has changed it."""
        if before_s and sys.getswitchinterval() == before_s:
            sys.setswitchinterval(after_s + 5e-7)  # Python rounds down to microseconds

    def _note_collection(self, phase: str, facts: dict[str, Any]) -> None:
        now = time.perf_counter_ns()
        if phase == "start":
            self._collecting_ns = now
            return
        began, self._collecting_ns = self._collecting_ns, None
        if began is None or now - began < self._least_pause_ns:
            return
        self._pauses.append((time.time_ns() - (now - began), now - began, facts["generation"]))
        if len(self._pauses) >= MOST_PAUSES:
            self._least_pause_ns *= 2
            self._pauses = [pause for pause in self._pauses if pause[1] >= self._least_pause_ns]

    def _sample(self, going_on: threading.Lock) -> None:
        between = random.Random().uniform  # noqa: S311 - the program's own random numbers stay the same
        with suppress(Exception):  # a recording without samples is better than none
            while True:
                wait_s = self._period_s * between(0.5, 1.5)
                due_s = time.perf_counter() + wait_s
                if going_on.acquire(timeout=wait_s):
                    return
                self._look(time.perf_counter() - due_s)
                if len(self._samples) >= MOST_SAMPLES:
                    del self._samples[::2]
                    self._period_s *= 2

    def _look(self, late_s: float) -> None:
        """Note the line of the sampled thread. No frame stays alive, which would keep its variables alive.

        Only the frames inside the user's innermost one are visited: their objects are most of the cost.
        """
        collects = _COLLECTS_IN_FRAMES and gc.isenabled()
        if collects:
            gc.disable()
        try:
            tops = sys._current_frames()  # noqa: SLF001
            frame = tops.get(self._sampled)
            if frame is None:
                return
            due_ns = time.time_ns() - int(late_s * 1e9)
            self._mind_others(tops)
            if late_s > _LATE_S and sys.getswitchinterval() != self._handover_s:
                self._samples.append((due_ns, None))
                return
            while frame is not None and not self._is_own(frame.f_code.co_filename):
                frame = frame.f_back
            line = None
            if frame is not None:
                line = _Line(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)
                line = self._known.setdefault(line, line)
            self._samples.append((due_ns, line))
        finally:
            if collects:
                gc.enable()

    def _is_own(self, file: str) -> bool:
        own = self._own.get(file)
        if own is None:
            own = self._own[file] = self._files.own(file)
        return own

    def _mind_others(self, tops: dict[int, FrameType]) -> None:
        """Leave the switch interval to the program while other threads run Python."""
        ours = (self._sampled, threading.get_ident())
        others = {at: (id(top.f_code), top.f_lasti) for at, top in tops.items() if at not in ours}
        before = others if self._others is None else self._others
        busy = any(
            before.get(thread) != place or tops[thread].f_code.co_code[place[1]] in _BETWEEN_CALLS
            for thread, place in others.items()
        )
        self._others = others
        self._quiet = 0 if busy else self._quiet + 1
        if busy:
            self._change_interval(self._handover_s, self._interval_s)
        elif self._quiet >= _QUIET:
            self._change_interval(self._interval_s, self._handover_s)
