"""What Python does during a recording: samples of the user's lines, and pauses of the collector.

The thread that records is sampled, and threads of TensorFlow, JAX and Keras while they run the user's Python,
such as the body of a py_function or a generator. Other threads are sampled while they run bytecode. The
samples have the innermost line of the user's own code: a file, a function and a line, and no values.
"""

from __future__ import annotations

import gc
import opcode
import random
import re
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, THREAD_SAMPLES, Metadata, table_of
from tfvis_nb.recording.stacks.source_files import SourceFiles
from tfvis_nb.recording.thread_frames import module_of

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
loop over a generator twice as fast. So while other threads run Python, the interval is the program's, except
for a moment before a sample.
"""

_COLLECTS_IN_FRAMES = sys.version_info < (3, 12)
"""Whether the garbage collector can run while Python makes the object of a frame; see `thread_frames`."""

_MOST_OTHERS = 8
"""Of more other threads with Python, so many are looked at each time, chosen at random."""

_QUIET = 8
"""Looks without another thread that runs Python, after which the interval is short again."""

_KERAS = re.compile(r"(?:tf_)?keras\.|tensorflow\.python\.keras\.")

_BETWEEN_CALLS = (opcode.opmap["RESUME"], opcode.opmap["JUMP_BACKWARD"])
"""Where a thread that runs Python waits for the interpreter; one that stays at a call is idle."""


class _Line(NamedTuple):
    file: str
    line: int
    function: str


class _OfThread(NamedTuple):
    """A sample of a thread other than the one that records."""

    time_ns: int
    line: _Line
    called: bool
    """Whether TensorFlow, JAX or Keras called this Python."""
    running: bool
    """Whether it runs bytecode; otherwise it is in a call as before, which may have released the lock."""


class PythonSampler:
    """Samples the thread that makes it, between `start` and `stop`, several times if needed.

    Without `lines`, only the pauses of the garbage collector are noted.
    """

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines
        self._sampled = threading.get_ident()
        self._ours: tuple[int, ...] = (self._sampled,)
        self._random = random.Random()  # noqa: S311 - the program's own random numbers stay the same
        self._files = SourceFiles()
        self._own: dict[str, bool] = {}
        self._known: dict[_Line, _Line] = {}
        self._samples: list[tuple[int, _Line | None]] = []
        self._of_threads: list[_OfThread] = []
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
        # The first look at a file reads lists of installed packages, which takes milliseconds.
        self._line(sys._getframe())  # noqa: SLF001
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
        self._of_threads += other._of_threads
        self._pauses += other._pauses

    def metadata(self) -> Metadata:
        """Return what was noted, as facts about a trace."""
        files = SourceFiles()  # with the cells that have run
        pauses = [
            dict(zip(("time_ns", "duration_ns", "generation"), pause, strict=True)) for pause in self._pauses
        ]
        tables = {GC_PAUSES: table_of(GC_PAUSES, [{"task": "", **pause} for pause in pauses])}
        if self._lines:
            shown: dict[_Line | None, dict[str, Any]] = {
                line: {**line._asdict(), "file": files.shown(line.file)} for line in self.lines()
            }
            rows = [{"task": "", "time_ns": at, **shown.get(line, {})} for at, line in self._samples]
            tables[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, rows)
            rows = [
                {"task": "", "time_ns": at, **shown[line], "called": int(called), "running": int(running)}
                for at, line, called, running in self._of_threads
            ]
            tables[THREAD_SAMPLES] = table_of(THREAD_SAMPLES, rows)
        return tables

    def lines(self) -> Sequence[_Line]:
        """Return the sampled lines, each once; files are those of this process."""
        lines = (*(line for _, line in self._samples), *(sample.line for sample in self._of_threads))
        return list(dict.fromkeys(line for line in lines if line))

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
        self._ours = (self._sampled, threading.get_ident())
        with suppress(Exception):  # a recording without samples is better than none
            while True:
                late_s = self._wait(going_on, self._period_s * self._random.uniform(0.5, 1.5))
                if late_s is None:
                    return
                if not self._look(late_s):
                    # Not just after the interpreter was given away.
                    self._change_interval(self._interval_s, self._handover_s)
                    late_s = self._wait(going_on, self._random.uniform(0, self._interval_s))
                    if late_s is None:
                        return
                    self._look(late_s, again=True)
                if len(self._samples) >= MOST_SAMPLES:
                    del self._samples[::2]
                    times = {at for at, _ in self._samples}
                    self._of_threads = [sample for sample in self._of_threads if sample.time_ns in times]
                    self._period_s *= 2

    @staticmethod
    def _wait(going_on: threading.Lock, wait_s: float) -> float | None:
        """Wait, and return how much longer that took; None if sampling has ended."""
        due_s = time.perf_counter() + wait_s
        return None if going_on.acquire(timeout=wait_s) else time.perf_counter() - due_s

    def _look(self, late_s: float, *, again: bool = False) -> bool:
        """Note the lines of the sampled threads; return False if the switch interval is the program's.

        Threads would then be seen mostly where they give the interpreter away, as NumPy does within a call.
        With the short interval a sample is only late if a thread is in a call that holds the interpreter,
        whose line is right. A second look `again` counts in any case.

        No frame stays alive, which would keep its variables alive.

        Only the frames inside the user's innermost one are visited: their objects are most of the cost.
        """
        collects = _COLLECTS_IN_FRAMES and gc.isenabled()
        if collects:
            gc.disable()
        try:
            tops = sys._current_frames()  # noqa: SLF001
            top = tops.get(self._sampled)
            if top is None:
                return True
            due_ns = time.time_ns() - int(late_s * 1e9)
            counts = again or sys.getswitchinterval() == self._handover_s
            active = self._mind_others(tops)
            if not counts:
                return False
            self._samples.append((due_ns, self._line(top)))
            others = [at for at in tops if at not in self._ours]
            if len(others) > _MOST_OTHERS:
                others = self._random.sample(others, _MOST_OTHERS)
            for at in others:
                line = self._line(tops[at])
                called = line is not None and (_is_foreign(at) or self._is_called_by_keras(tops[at]))
                if line is not None and (called or at in active):
                    self._of_threads.append(_OfThread(due_ns, line, called, at in active))
            return True
        finally:
            if collects:
                gc.enable()

    def _line(self, frame: FrameType | None) -> _Line | None:
        while frame is not None and not self._is_own(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return None
        code = frame.f_code
        # Some jumps of loops have no line.
        line = _Line(code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_name)
        return self._known.setdefault(line, line)

    def _is_called_by_keras(self, frame: FrameType | None) -> bool:
        """Return whether a thread of Keras runs the user's code, as for a PyDataset with workers."""
        is_inside = True
        while frame is not None and (is_inside or self._is_own(frame.f_code.co_filename)):
            is_inside = is_inside and not self._is_own(frame.f_code.co_filename)
            frame = frame.f_back
        return frame is not None and _KERAS.match(module_of(frame)) is not None

    def _is_own(self, file: str) -> bool:
        own = self._own.get(file)
        if own is None:
            own = self._own[file] = self._files.own(file)
        return own

    def _mind_others(self, tops: dict[int, FrameType]) -> set[int]:
        """Leave the switch interval to the program while other threads run Python; return these.

        Threads that were not there the last time keep the interval, but may only be in a call.
        """
        others = {at: (id(top.f_code), top.f_lasti) for at, top in tops.items() if at not in self._ours}
        before = others if self._others is None else self._others
        active = {
            at
            for at, place in others.items()
            if before.get(at, place) != place or tops[at].f_code.co_code[place[1]] in _BETWEEN_CALLS
        }
        busy = active or others.keys() - before.keys()
        self._others = others
        self._quiet = 0 if busy else self._quiet + 1
        if busy:
            self._change_interval(self._handover_s, self._interval_s)
        elif self._quiet >= _QUIET:
            self._change_interval(self._interval_s, self._handover_s)
        return active


def _is_foreign(thread: int) -> bool:
    """Return whether a thread was not started by Python: it is there while a library calls Python on it.

    Threads that Python starts are there as well while they wait for work.
    """
    known = threading._active.get(thread)  # type: ignore[attr-defined] # noqa: SLF001 - enumerate() locks
    return known is None or isinstance(known, threading._DummyThread)  # noqa: SLF001
