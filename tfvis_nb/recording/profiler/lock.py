"""Choose the trace level of a run, because TensorFlow has one GPU profiler per process.

Two runs traced at ``HARDWARE_TRACE`` or above at the same time, or one while ``tf.profiler`` is active, end
in ``AlreadyExistsError`` *after* the step was executed: its updates are applied, but its results are lost. So
such a run holds a lock. A run that cannot get it is traced at ``SOFTWARE_TRACE``, which has no such limit and
only misses GPU rows. A profile recorded together with the runs holds the same lock, and has those rows.
"""

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from tfvis_nb.recording.options import LEVELS
from tfvis_nb.recording.profiler.keras_phases import drop_abandoned

SOFTWARE, FULL = LEVELS["software"], LEVELS["full"]

LONGEST_WAIT_S = 2.0
"""How long a run waits for another traced run to end, which may be waiting for *this* one."""

LOOK_S = 0.02
"""How often a waiting run checks whether it still has to wait."""


_PROFILER = threading.Lock()


class ProfilerSlot:
    """Grants trace levels to the runs of one recording, and counts those with a lowered level.

    `level` is the number in ``RunOptions.TraceLevel`` that every run should have. With `profiled`, a profile
    is recorded during the runs and has the GPU's rows. ``lowered`` counts the runs without GPU rows by
    reason, ``beside`` the runs whose GPU rows are in the profile.
    """

    def __init__(self, level: int, profiled: Callable[[], bool]) -> None:
        self.lowered: Counter[str] = Counter()
        self.beside = 0
        self._level = level
        self._profiled = profiled
        self._wait_s = LONGEST_WAIT_S
        self._accelerated: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    @contextmanager
    def level(self, session: Any, user_level: int, *, blocking: bool, exact: bool = False) -> Iterator[int]:
        """Yield the trace level for a run of `session`, and hold the profiler during the run.

        A higher level in the user's own ``RunOptions`` is kept. A `blocking` run fills a queue, so it waits
        for other runs while the queue is full. With `exact`, the program keeps the trace itself, so it must
        get its level.
        """
        granted = user_level if exact else max(self._level, user_level)
        if session._target:  # noqa: SLF001
            # Workers of a cluster only respond to FULL_TRACE, and ignore a taken profiler.
            held = hold_profiler(0)
            granted = granted if exact else FULL
        elif granted <= SOFTWARE or not self._has_accelerator(session):
            if exact and self._level > granted and self._has_accelerator(session):
                self.lowered["run_traced_by_program"] += 1
            held, granted = False, SOFTWARE  # without a GPU every level records the same
        elif self._profiled():
            held, granted = False, SOFTWARE
            self.beside += 1
        else:
            held = self._acquired(blocking=blocking)
            granted = granted if held else SOFTWARE
        try:
            yield granted
        finally:
            if held:
                release_profiler()

    def _acquired(self, *, blocking: bool) -> bool:
        if blocking:
            lowered = "run_fills_queue"
        elif profiler_active():
            lowered = "program_profiles"
        elif self._waited():
            return True
        elif self._profiled():
            self.beside += 1
            return False
        else:
            lowered = "profiler_busy"
            self._wait_s = (
                0.0  # the runs of this program depend on each other, so waiting again would not help
            )
        self.lowered[lowered] += 1
        return False

    def _waited(self) -> bool:
        """Wait for the profiler, but not for a long-running profile that may hold it."""
        if hold_profiler(0):
            return True
        until = time.monotonic() + self._wait_s
        while not _PROFILER.acquire(timeout=min(self._wait_s, LOOK_S)):
            if self._profiled() or time.monotonic() >= until:
                return False
        return True

    def _has_accelerator(self, session: Any) -> bool:
        known = self._accelerated.get(session)
        if known is None:
            known = any(device.device_type not in ("CPU", "XLA_CPU") for device in session.list_devices())
            self._accelerated[session] = known
        return known


def hold_profiler(wait_s: float) -> bool:
    """Block full traces until `release_profiler`; return False if one did not end within `wait_s`."""
    if _PROFILER.acquire(blocking=False):
        return True
    drop_abandoned()  # a Keras batch ended by an error may hold it
    return _PROFILER.acquire(timeout=wait_s)


def release_profiler() -> None:
    """Allow full traces again."""
    with contextlib.suppress(RuntimeError):  # a process forked meanwhile has a new lock
        _PROFILER.release()


def profiler_active() -> bool:
    """Whether the user's own code has started ``tf.profiler``."""
    modules = ("tensorflow.python.profiler.profiler_v2", "tensorflow.python.eager.profiler")
    return any(getattr(sys.modules.get(name), "_profiler", None) is not None for name in modules)


def _forked() -> None:
    """Forget the parent's profiler in a child process."""
    global _PROFILER  # noqa: PLW0603
    _PROFILER = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
