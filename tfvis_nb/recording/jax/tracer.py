"""Profile JAX in all threads.

JAX calls its compiled functions without running Python code, so the first call cannot be detected: the
profiler runs as soon as JAX is imported. TensorFlow also imports JAX if it is installed, and on a GPU only
one of their profilers has the kernels. So with TensorFlow, the profiler waits until JAX has devices.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from tfvis_nb.recording.jax.capture import JaxProfile
from tfvis_nb.recording.jax.user_profiler import JaxBindings
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler.capture import XSpace
from tfvis_nb.recording.profiler.keras_steps import KerasSteps
from tfvis_nb.texts import Text


class JaxTracer:
    """Profiles between `install` and `remove`, several times if needed, except while the program profiles.

    ``recorded`` has the profiles in order, ``remarks`` the notes about missing data and data from elsewhere,
    each once.
    """

    def __init__(self, options: TraceOptions) -> None:
        self.recorded: list[XSpace] = []
        self.remarks: dict[str, None] = {}
        self._options = options
        self._keras = KerasSteps("jax", _mark)
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
        self.mark_batches()
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

    def mark_batches(self) -> None:
        """Start marking Keras's batches, if Keras is imported."""
        self._keras.install()

    def remove(self) -> None:
        """End the profile, and restore everything."""
        self._keras.remove()
        self._replacements.undo()
        with self._lock:
            self._open = self._lent = self._began = False
            self._end()

    def take(self, other: JaxTracer | None) -> None:
        """Add the profiles of another tracer, which recorded since `remove`."""
        if other is not None:
            self.recorded += other.recorded
            self.remarks |= other.remarks

    def leave(self) -> None:
        """Restore everything in a forked process, whose profile must not end."""
        self._lock = threading.RLock()
        self._open = self._lent = False
        self._keras.remove()
        self._replacements.undo()

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


def _mark(name: str) -> Any:
    from jax.profiler import TraceAnnotation

    mark = TraceAnnotation(name)
    mark.__enter__()
    return mark
