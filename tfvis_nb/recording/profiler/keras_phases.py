"""Running Keras phases, and those ended by an error, which Keras does not report to callbacks.

A phase runs as long as its Keras function is on the stack of a thread. Otherwise its running batch would keep
TensorFlow's only profiler, and its recording would never end.
"""

import os
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Protocol

from tfvis_nb.recording.thread_frames import frames_of_threads, module_of

LOOK_S = 1.0
"""How often to check whether phases still run; code that needs the profiler checks immediately."""

_FUNCTIONS = {"fit", "evaluate", "predict"}
_PACKAGES = {"keras", "tf_keras"}


class Phases(Protocol):
    """Recorders of phases, each with the Keras function that runs it, or None."""

    def under_way(self) -> dict[str, FrameType | None]:
        """Return the running phases."""

    def give_up(self, phase: str) -> None:
        """End a phase that an error has ended."""

    @property
    def thread(self) -> int:
        """The thread in which they run."""


_all: dict[Phases, bool] = {}
"""All recorders, and whether the Keras functions that run their phases are known."""

_lock = threading.Lock()
_watching = False


def watch(phases: Phases) -> None:
    """Watch phases until `forget`, to give up those that an error has ended."""
    global _watching  # noqa: PLW0603 - one thread is enough for all
    known = any(function is not None for function in phases.under_way().values())
    with _lock:
        _all[phases] = known
        begin = known and not _watching
        _watching = _watching or begin
    if begin:
        threading.Thread(target=_watch, name="tfvis_nb phases", daemon=True).start()


def forget(phases: Phases) -> None:
    """Stop watching phases, none of which runs any more."""
    with _lock:
        _all.pop(phases, None)


def running_function() -> FrameType | None:
    """Return the Keras function that called this one, if the Keras functions are known."""
    for frame, _ in traceback.walk_stack(sys._getframe()):  # noqa: SLF001
        package = module_of(frame).partition(".")[0]
        if frame.f_code.co_name in _FUNCTIONS and package in _PACKAGES:
            return frame
    return None


def drop_abandoned(begins: str | None = None) -> None:
    """Give up the phases that an error has ended.

    A phase of the kind `begins` starts now in this thread, so an earlier one of that kind has ended there.
    This is the only sign for phases with an unknown function.
    """
    with _lock:
        known = list(_all)
    # Without the lock: code that ends a phase holds the lock of the phases, and forgets them.
    under_way = [(phases, *one) for phases in known for one in phases.under_way().items()]
    if not under_way:
        return
    # After the phases: a function that starts in between is in neither.
    going_on = frames_of_threads()
    for phases, phase, function in under_way:
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
