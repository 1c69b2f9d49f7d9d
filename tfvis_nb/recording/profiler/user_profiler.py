"""Give way to profiles of the user's code, because a process has only one profiler.

``tf.profiler.experimental``, ``tf.summary.trace_on`` and Keras's TensorBoard callback all create their
profiler in one module. A stand-in replaces it there during a recording: the recording's profile ends before
theirs starts, and continues when theirs has ended.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol

from tfvis_nb.recording.profiler.capture import XSpace, written


class ProfilerHandover(Protocol):
    """The owner of the profiler, who lends it."""

    def lend(self) -> None:
        """End our profile, because the user's starts."""

    def take_back(self, recorded: XSpace | None) -> None:
        """Resume: the user's profile has ended; this is its recording, if it was saved."""


class Bindings:
    """Replaces TensorFlow's ``_pywrap_profiler`` where the user's code gets its profiler."""

    def __init__(self, original: Any, lender: ProfilerHandover) -> None:
        self._original = original
        self._lender = lender

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def ProfilerSession(self) -> _UsersProfile:  # noqa: N802 - TensorFlow's name
        """Return a profiler with the interface that the user's code expects."""
        return _UsersProfile(self._original.ProfilerSession(), self._lender)


class _UsersProfile:
    """A profiler of the user's code, which reports its start and end."""

    def __init__(self, session: Any, lender: ProfilerHandover) -> None:
        self._session = session
        self._lender = lender
        self._borrowed = False
        self._folder = ""
        self._epoch_ns = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def start(self, folder: str, options: Any) -> None:
        self._lender.lend()
        self._borrowed, self._folder, self._epoch_ns = True, str(folder), time.time_ns()
        try:
            self._session.start(folder, options)
        except BaseException:
            self._give_back(None)
            raise

    def export_to_tb(self) -> None:
        self._session.export_to_tb()
        self._give_back(self._saved())

    def __del__(self) -> None:
        # stop(save=False) only releases it.
        self._give_back(None)

    def _saved(self) -> XSpace | None:
        try:
            return written(Path(self._folder), self._epoch_ns)
        except OSError:
            return None  # in a folder that is not on this machine

    def _give_back(self, recorded: XSpace | None) -> None:
        if self._borrowed:
            self._borrowed = False
            self._session = None  # which frees the profiler of the process
            self._lender.take_back(recorded)
