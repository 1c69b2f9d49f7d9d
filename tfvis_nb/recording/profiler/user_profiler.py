"""Giving way to profiles of the user's own code, because a process has only one profiler.

``tf.profiler.experimental``, ``tf.summary.trace_on`` and Keras's TensorBoard callback all
make their profiler in one module. There a stand-in answers while a recording is on: the
recording's own profile ends before theirs starts, and continues when theirs has ended.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol

from tfvis_nb.recording.profiler.capture import XSpace, written


class ProfilerHandover(Protocol):
    """Who has the profiler, and lends it."""

    def lend(self) -> None:
        """End the own profile: the user's starts."""

    def take_back(self, recorded: XSpace | None) -> None:
        """Continue: the user's profile has ended, and this is its recording, if that was saved."""


class Bindings:
    """Stands in for TensorFlow's ``_pywrap_profiler`` where the user's code gets its profiler."""

    def __init__(self, original: Any, lender: ProfilerHandover) -> None:
        self._original = original
        self._lender = lender

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def ProfilerSession(self) -> _UsersProfile:  # noqa: N802 - TensorFlow's name
        """Return a profiler as the user's code expects it."""
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
        # stop(save=False) only lets go of it.
        self._give_back(None)

    def _saved(self) -> XSpace | None:
        try:
            return written(Path(self._folder), self._epoch_ns)
        except OSError:
            return None  # in a folder that is not of this machine's

    def _give_back(self, recorded: XSpace | None) -> None:
        if self._borrowed:
            self._borrowed = False
            self._session = None  # with which the process's profiler is free again
            self._lender.take_back(recorded)
