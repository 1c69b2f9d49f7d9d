"""Give way to profiles of the user's code, because a process has only one JAX profiler.

``jax.profiler.start_trace`` and Keras's TensorBoard callback create their profiler in one module. A stand-in
replaces it there during a recording.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tfvis_nb.recording.profiler.capture import XSpace, written
from tfvis_nb.recording.profiler.user_profiler import ProfilerHandover


class JaxBindings:
    """Replaces JAX's ``_profiler`` where the user's code gets its profiler."""

    def __init__(self, original: Any, lender: ProfilerHandover) -> None:
        self._original = original
        self._lender = lender

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def ProfilerSession(self, *options: Any) -> _UsersProfile:  # noqa: N802 - JAX's name
        """Return a running profiler with the interface that the user's code expects."""
        self._lender.lend()
        return _UsersProfile(self._original.ProfilerSession(*options), self._lender)


class _UsersProfile:
    """A profiler of the user's code, which reports its end."""

    def __init__(self, session: Any, lender: ProfilerHandover) -> None:
        self._session = session
        self._lender = lender
        self._epoch_ns = time.time_ns()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def stop(self) -> bytes:
        data: bytes = self._session.stop()
        self._lender.take_back(XSpace(data, self._epoch_ns))
        return data

    def stop_and_export(self, folder: str) -> None:
        recorded = None
        try:
            self._session.stop_and_export(folder)
            recorded = self._saved(folder)
        finally:
            self._lender.take_back(recorded)

    def stop_and_get_profile_data(self) -> Any:
        try:
            return self._session.stop_and_get_profile_data()
        finally:
            self._lender.take_back(None)

    def _saved(self, folder: str) -> XSpace | None:
        try:
            return written(Path(folder), self._epoch_ns)
        except OSError:
            return None  # in a folder that is not on this machine
