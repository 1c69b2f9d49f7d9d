"""Running phases of Keras, and those ended by an error, which Keras does not report to callbacks.

A phase goes on for as long as the function of Keras that runs it is on the stack of a thread.
Its batch under way would otherwise keep TensorFlow's one profiler, and its recording never end.
"""

import os
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Protocol

from tfvis_nb.recording.thread_frames import frames_of_threads

LOOK_S = 1.0
"""How often to look whether phases are still under way; whoever needs the profiler looks at once."""

_FUNCTIONS = {"fit", "evaluate", "predict"}
_PACKAGES = {"keras", "tf_keras"}


class Phases(Protocol):
    """The recorders of phases, each with the Keras function that runs it, or None."""

    def under_way(self) -> dict[str, FrameType | None]:
        """Return the phases that have begun and not ended."""

    def give_up(self, phase: str) -> None:
        """End a phase that an error has ended."""

    @property
    def thread(self) -> int:
        """The thread in which they run."""


_all: dict[Phases, bool] = {}
"""With whether the functions of Keras that run them are known."""

_lock = threading.Lock()
_watching = False


def watch(phases: Phases) -> None:
    """Have phases given up when an error has ended them, until `forget`."""
    global _watching  # noqa: PLW0603 - one thread is enough for all
    known = any(function is not None for function in phases.under_way().values())
    with _lock:
        _all[phases] = known
        begin = known and not _watching
        _watching = _watching or begin
    if begin:
        threading.Thread(target=_watch, name="tfvis_nb phases", daemon=True).start()


def forget(phases: Phases) -> None:
    """Forget phases of which none is under way."""
    with _lock:
        _all.pop(phases, None)


def running_function() -> FrameType | None:
    """Return the function of Keras that has called this one, if it is known which functions those are."""
    for frame, _ in traceback.walk_stack(sys._getframe()):  # noqa: SLF001
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_name in _FUNCTIONS and package in _PACKAGES:
            return frame
    return None


def drop_abandoned(begins: str | None = None) -> None:
    """Give up the phases that an error has ended.

    A phase of the kind `begins` starts now in this thread, so an earlier one of that kind has ended there.
    This is the only sign for phases whose function is not known.
    """
    with _lock:
        known = list(_all)
    # Without the lock: who ends a phase holds that of the phases, and forgets them.
    found = [(phases, *one) for phases in known for one in phases.under_way().items()]
    if not found:
        return
    # After these: a function that begins in between is in neither.
    going_on = frames_of_threads()
    for phases, phase, function in found:
        if function is None:
            ended = phase == begins and phases.thread == threading.get_ident()
        else:
            ended = not any(function is frame for frame in going_on)
        if ended and phases.under_way().get(phase, begins) is function:
            phases.give_up(phase)


def _watch() -> None:
    global _watching  # noqa: PLW0603
    while True:
        time.sleep(LOOK_S)
        drop_abandoned()
        with _lock:
            _watching = any(_all.values())
            if not _watching:
                return


def _forked() -> None:
    """Forget the parent's phases and watching thread in a child process."""
    global _lock, _watching  # noqa: PLW0603
    _lock = threading.Lock()
    _watching = False
    _all.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
