"""A JAX profile, from its start to its XSpace, and the wait for work queued in JAX."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tfvis_nb.core.progress import progress_after
from tfvis_nb.recording.profiler.capture import XSpace
from tfvis_nb.recording.profiler.thread_names import ThreadNames

WAIT = "tfvis_nb_wait"
"""The name of the function that JAX runs last, to wait for all earlier work."""


@dataclass(frozen=True)
class JaxXSpace(XSpace):
    """A serialised ``XSpace``, and the end of the recorded code in epoch ns."""

    ended_ns: int


class JaxProfile:
    """A profile that runs until `stop`.

    `levels` are those of `TraceOptions.profiler_levels`; JAX itself chooses what to record of devices.
    """

    def __init__(self, levels: Mapping[str, int]) -> None:
        from jax._src.lib import _profiler

        options = _profiler.ProfileOptions()
        options.host_tracer_level = levels["host_tracer_level"]
        options.python_tracer_level = levels["python_tracer_level"]
        self._epoch_ns = time.time_ns()
        # Not through jax.profiler, whose running profile belongs to the user.
        self._session: Any = _profiler.ProfilerSession(options)
        self._threads = ThreadNames()
        self._threads.watch()

    def leave(self) -> None:
        """Restore Python, also in a forked process, whose parent goes on profiling."""
        self._threads.end()

    def stop(self, *, wait: bool = True) -> JaxXSpace:
        """Wait for JAX, unless the caller has done so, end the profile and return its recording.

        Raises
        ------
        RuntimeError
            If another profile was running when this one started.
        """
        session, self._session = self._session, None
        self.leave()
        ended_ns = time.time_ns()
        try:
            if wait:
                finish_devices()
        finally:
            with progress_after("JAX is collecting its profile"):
                data = session.stop()
        return JaxXSpace(self._threads.named(data), self._epoch_ns, ended_ns)


def begin_mark(name: str) -> Any:
    """Start a mark of the profile, which has ``set_metadata`` and ends with ``__exit__``."""
    from jax.profiler import TraceAnnotation

    mark = TraceAnnotation(name)
    mark.__enter__()
    return mark


def finish_devices() -> None:
    """Wait for the work that this thread has queued in JAX, and for pending arrays.

    JAX returns from a call before its devices have run it, and cannot wait for results that the program has
    released. A device runs the calls of one thread in order, so an additional call ends last.
    """
    import jax
    from jax._src import xla_bridge

    if not xla_bridge.backends_are_initialized():
        return  # no device has work, and listing them would initialise them
    # Failed work raises here; the program gets the error when it uses the result.
    with contextlib.suppress(Exception):
        jax.effects_barrier()
        for device in jax.local_devices():
            _wait()(jax.device_put(0, device)).block_until_ready()
    finish_arrays()


def finish_arrays() -> None:
    """Wait for pending arrays, without a trace of it: work whose results are released may go on."""
    import jax

    with contextlib.suppress(Exception):
        jax.effects_barrier()
    for array in jax.live_arrays():
        with contextlib.suppress(Exception):
            array.block_until_ready()


@cache
def _wait() -> Any:
    import jax

    def wait(number: Any) -> Any:
        return number + 1

    wait.__name__ = wait.__qualname__ = WAIT
    return jax.jit(wait)
