"""Profile eager code, ``tf.function`` and Keras, in all threads.

The profiler only starts at the first eager call: if only sessions run, their full traces have more detail,
and the two exclude each other. While it runs, sessions are traced at ``SOFTWARE_TRACE``, and the profile has
their kernels.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler import lock
from tfvis_nb.recording.profiler.capture import Profile, XSpace
from tfvis_nb.recording.profiler.eager_calls import EagerCalls
from tfvis_nb.recording.profiler.function_graphs import FunctionGraph, FunctionGraphs
from tfvis_nb.recording.profiler.keras_steps import KerasSteps
from tfvis_nb.recording.profiler.user_profiler import Bindings
from tfvis_nb.texts import Text

RETRY_S = 0.1
"""How long to wait before asking again for a profiler that someone else holds."""

PATIENCE_S = 0.5
"""How long the first eager call waits for a traced session run to end, which may be waiting for *it*."""


class ProfileTracer:
    """Profiles between the first eager call after `install` and `remove`, several times if needed.

    ``recorded`` has the profiles in order, ``graphs`` the graphs of instantiated functions, ``remarks`` the
    notes about missing data and data from elsewhere, each once.
    """

    def __init__(self, options: TraceOptions) -> None:
        self.recorded: list[XSpace] = []
        self.graphs: list[FunctionGraph] = []
        self.remarks: dict[str, None] = {}
        self._options = options
        self._calls = EagerCalls(self._before_call)
        self._keras = KerasSteps("tensorflow", _mark)
        self._functions = FunctionGraphs()
        self._replacements = Replacements()
        # Reentrant: garbage collection may release the user's profile, and resume ours, anywhere.
        self._lock = threading.RLock()
        self._profile: Profile | None = None
        self._holds = False
        self._lent = False
        self._goes_on = False
        self._open = False
        self._wait_s = PATIENCE_S
        self._retry_at = 0.0

    @property
    def active(self) -> bool:
        """Whether a profile runs: ours, or one of the cell that borrowed the profiler."""
        return self._holds

    def install(self) -> None:
        """Wait for the first eager call, or start immediately if only the profiler records."""
        if self._options.mode == "session":
            return
        from tensorflow.python.profiler import profiler_v2

        self._open = True
        self._replacements.put(profiler_v2, "_pywrap_profiler", lambda original: Bindings(original, self))
        self._calls.watch()
        if self._options.mode == "profiler":
            self._begin()

    def remove(self) -> None:
        """End the profile, and restore everything."""
        self._calls.end()
        self._keras.remove()
        self._replacements.undo()
        with self._lock:
            self._open = self._lent = False
            try:
                self._end()
            finally:
                self._release()
                self.graphs += self._functions.taken()

    def take(self, other: ProfileTracer) -> None:
        """Add the profiles of another tracer, which recorded since `remove`."""
        self.recorded += other.recorded
        self.graphs += other.graphs
        self.remarks |= other.remarks

    def leave(self) -> None:
        """Restore everything in a forked process, whose profile must not end."""
        self._lock = threading.RLock()
        self._open = self._lent = self._holds = False
        self._calls.end()
        self._keras.remove()
        self._replacements.undo()
        if self._profile is not None:
            self._profile.leave()

    def lend(self) -> None:
        """End the profile, because one that the user's code starts needs the profiler."""
        with self._lock:
            self._lent, self._goes_on = self._open, self._profile is not None
            self._end()
            if self._lent and not self._holds:
                # A full trace of a session run would block theirs.
                self._holds = lock.hold_profiler(lock.LONGEST_WAIT_S)

    def take_back(self, recorded: XSpace | None) -> None:
        """Resume profiling, because the user's profile has ended."""
        with self._lock:
            if not self._lent:
                return
            self._lent = False
            self.remarks[Text("profile_of_program" if recorded else "profile_of_program_lost")] = None
            if recorded is not None:
                self.recorded.append(recorded)
            if not self._goes_on:
                self._release()
            elif not self._start():
                self._calls.watch()

    def _before_call(self) -> bool:
        """Start if necessary; return whether eager calls no longer need to be watched."""
        with self._lock:
            if not self._open:
                return True
            began = self._profile is not None or self._begin()
            if self._options.partition_graphs:
                self._functions.collect()
            return self._keras.install() and began

    def _begin(self) -> bool:
        """Start profiling; return whether it runs."""
        if self._lent or time.monotonic() < self._retry_at:
            return False
        if lock.profiler_active():
            self._put_off(Text("profiler_taken"))
            return False
        self._holds = lock.hold_profiler(self._wait_s)
        if not self._holds:
            self._put_off(Text("profiler_held_by_run"))
            return False
        return self._start()

    def _put_off(self, why: str) -> None:
        self.remarks[why] = None
        self._wait_s = 0.0  # its holder may be waiting for this call
        self._retry_at = time.monotonic() + RETRY_S

    def _start(self) -> bool:
        from tensorflow.python.framework import errors

        try:
            self._profile = Profile(self._options.profiler_levels)
        except errors.AlreadyExistsError:
            self._release()
            self._put_off(Text("profiler_taken"))
        return self._profile is not None

    def _end(self) -> None:
        profile, self._profile = self._profile, None
        if profile is None:
            return
        finish_devices()
        try:
            self.recorded.append(profile.stop())
        except OSError as error:
            self.remarks[Text("profile_unwritten", reason=error)] = None

    def _release(self) -> None:
        if self._holds:
            self._holds = False
            lock.release_profiler()


def _mark(name: str) -> Any:
    from tensorflow.python.profiler.trace import Trace

    return Trace(name)


def finish_devices() -> None:
    """Wait for the accelerators, because unfinished work would be missing in the profile."""
    from tensorflow.python.eager import context
    from tensorflow.python.framework import errors, ops
    from tensorflow.python.ops import gen_sync_ops

    eager: Any = context.context()
    if eager._context_handle is None:  # noqa: SLF001
        return  # they have no eager work, and listing them would initialise TensorFlow
    with context.eager_mode():
        for device in eager.list_logical_devices():
            if "CPU" in device.device_type:
                continue
            try:
                with ops.device(device.name):
                    gen_sync_ops.sync_device()
            except errors.OpError:
                continue  # its work has failed, which the user's code also sees
