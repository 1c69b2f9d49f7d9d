"""Profile JAX in all threads.

JAX calls its compiled functions without running Python code, so the first call cannot be detected: the
profiler runs as soon as JAX is imported. TensorFlow also imports JAX if it is installed, and on a GPU only
one of their profilers has the kernels. So with TensorFlow, the profiler waits until JAX has devices.

A process has only one JAX profiler. ``jax.profiler.start_trace`` and Keras's TensorBoard callback create
theirs in one module. A stand-in replaces it there during a recording, which gives way to them.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from tfvis_nb.recording.jax.cache_misses import CacheMisses
from tfvis_nb.recording.jax.capture import JaxProfile, begin_mark
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler.capture import XSpace, written
from tfvis_nb.recording.profiler.keras_steps import KerasSteps
from tfvis_nb.recording.profiler.user_profiler import ProfilerHandover
from tfvis_nb.recording.python_rows import PythonRows
from tfvis_nb.texts import Text


class JaxTracer:
    """Profiles between `install` and `remove`, several times if needed, except while the program profiles.

    ``recorded`` has the profiles in order, ``misses`` why functions were traced again, and ``remarks`` the
    notes about missing data and data from elsewhere, each once.
    """

    def __init__(self, options: TraceOptions) -> None:
        self.recorded: list[XSpace] = []
        self.misses = CacheMisses()
        self.remarks: dict[str, None] = {}
        self._options = options
        self._keras = KerasSteps("jax", begin_mark)
        self._python = PythonRows("jax", begin_mark)
        self._replacements = Replacements()
        self._lock = threading.RLock()
        self._profile: JaxProfile | None = None
        self._open = False
        self._lent = False
        self._began = False

    def install(self) -> None:
        """Start, or wait for JAX to be used; JAX is imported."""
        from jax._src import profiler, xla_bridge

        self._open = True
        self._replacements.put(profiler, "_profiler", lambda original: JaxBindings(original, self))
        if self._options.source:
            self.misses.watch()
        self.mark_python()
        wanted = self._options.framework == "jax" or "tensorflow" not in sys.modules
        if wanted or xla_bridge.backends_are_initialized():
            self._begin()
        else:
            self._replacements.put(xla_bridge, "backends", self._beginning)

    def _beginning(self, original: Any) -> Any:
        def backends() -> Any:
            result = original()
            self._begin()
            return result

        return backends

    def _begin(self) -> None:
        with self._lock:
            if self._open and not self._began:
                self._began = True
                self._profile = JaxProfile(self._options.profiler_levels)

    def mark_python(self) -> None:
        """Start marking Keras's batches, and the Python of imported packages that has rows."""
        self._keras.install()
        self._python.install()

    def remove(self) -> None:
        """End the profile, and restore everything."""
        self._keras.remove()
        self._python.remove()
        self._replacements.undo()
        # Before the profile traces a function of its own.
        self.misses.end()
        if self.misses.unread:
            self.remarks[Text("jax_explanations_unread")] = None
        with self._lock:
            self._open = self._lent = self._began = False
            self._end()

    def take(self, other: JaxTracer | None) -> None:
        """Add the profiles of another tracer, which recorded since `remove`."""
        if other is not None:
            self.recorded += other.recorded
            self.misses.take(other.misses)
            self.remarks |= other.remarks

    def leave(self) -> None:
        """Restore everything in a forked process, whose profile must not end."""
        self._lock = threading.RLock()
        self._open = self._lent = False
        self._keras.remove()
        self._python.remove()
        self._replacements.undo()
        self.misses.end()
        if self._profile is not None:
            self._profile.leave()

    def lend(self) -> None:
        """End the profile, because one that the program starts needs the profiler."""
        with self._lock:
            self._lent, self._began = self._open, True
            self._end()

    def take_back(self, recorded: XSpace | None) -> None:
        """Resume profiling, because the program's own profile has ended."""
        with self._lock:
            if not self._lent:
                return
            self._lent = False
            self.remarks[Text("profile_of_program" if recorded else "profile_of_program_lost")] = None
            if recorded is not None:
                self.recorded.append(recorded)
            self._profile = JaxProfile(self._options.profiler_levels)

    def _end(self) -> None:
        profile, self._profile = self._profile, None
        if profile is None:
            return
        try:
            self.recorded.append(profile.stop())
        except RuntimeError:
            self.remarks[Text("jax_profiler_taken")] = None


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
