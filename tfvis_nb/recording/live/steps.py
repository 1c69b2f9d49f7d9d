"""Count steps of Keras and of the program's own loops, and profile the requested ones."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tfvis_nb.analysis.model_layers.description import to_json
from tfvis_nb.core.metadata import OUT_OF_MEMORY
from tfvis_nb.recording.jax import capture as jax_capture
from tfvis_nb.recording.live.failed_allocations import with_failure
from tfvis_nb.recording.live.requests import RunRegistry, SignatureStats, TraceRequest
from tfvis_nb.recording.model_layers import layers_of_model
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.profiler import lock
from tfvis_nb.recording.profiler.capture import Profile, XSpace
from tfvis_nb.recording.profiler.profiles import finish_devices
from tfvis_nb.session.file.entries import Recording, Signature

STEP = "step"
"""The kind of steps of the program's own loops."""

JAX, TENSORFLOW = "jax", "tensorflow"


def running_framework() -> str:
    """Return the framework that runs the steps of this process: the one to profile them with."""
    xla_bridge = sys.modules.get("jax._src.xla_bridge")
    if xla_bridge is None:
        return TENSORFLOW
    # TensorFlow imports JAX if it is installed, but does not use its devices.
    uses_jax = xla_bridge.backends_are_initialized() or TENSORFLOW not in sys.modules
    return JAX if uses_jax else TENSORFLOW


@dataclass
class Step:
    """A running step, with its profile if it is traced."""

    counted: SignatureStats
    number: int
    batch: int | None
    model: Any
    started_ns: int
    began_ns: int
    order: TraceRequest | None
    thread: int = field(default_factory=threading.get_ident)
    profile: StepProfile | None = None
    starting_ns: int = 0


class StepObserver:
    """Counts the steps of one process."""

    def __init__(self, book: RunRegistry) -> None:
        self._book = book

    def begin(
        self, signature: Signature, framework: str, *, batch: int | None = None, model: Any = None
    ) -> Step | None:
        """Note the start of a step, and profile it if requested; None if recording has stopped.

        Of a Keras model, `batch` is the number of the batch in its epoch.
        """
        self._book.look(time.perf_counter_ns())
        counted = self._book.counted(signature)
        if counted is None:
            return None
        number = self._book.begin(counted)
        order = self._book.order(counted, number) if counted.wanted else None
        self._book.allocations.begin()
        step = Step(counted, number, batch, model, time.time_ns(), time.perf_counter_ns(), order)
        if order is not None:
            self._profile(step, framework)
        return step

    def end(self, step: Step) -> None:
        """Note the end of a step, and keep its profile."""
        duration = time.perf_counter_ns() - step.began_ns
        self._book.allocations.take(step.thread)
        finished = self._keep(step, duration)
        is_traced = step.profile is not None
        self._book.ran(step.counted, step.started_ns, duration, traced=is_traced, finished_ns=finished)

    def drop(self, step: Step) -> None:
        """Forget a step that did not happen."""
        self._book.allocations.take(step.thread)
        self._book.not_begun(step.counted)
        self._book.not_traced(step.order)
        if step.profile is not None:
            step.profile.stop()

    def fail(self, step: Step) -> None:
        """Note that a step has failed."""
        recorded = step.profile and step.profile.stop()
        self._book.failed(step.counted, step.order)
        if failure := self._book.allocations.take(step.thread):
            duration = max(int(failure[OUT_OF_MEMORY]["time_ns"].iloc[0]) - step.started_ns, 0)
            kept = with_failure(
                _recording(step, recorded or XSpace(b"", 0), duration),
                failure,
                step.counted.signature.label,
            )
            if kept is not None:
                self._book.traced(step.counted, TraceRequest(), kept)

    def _profile(self, step: Step, framework: str) -> None:
        began = time.perf_counter_ns()
        step.profile = step_profile(framework, step.counted.signature)
        if step.profile is None:
            self._book.not_traced(step.order)  # the next step may get the profiler
            return
        step.started_ns, step.began_ns = time.time_ns(), time.perf_counter_ns()
        step.starting_ns = step.began_ns - began

    def _keep(self, step: Step, duration_ns: int) -> int:
        """Keep the profile, if there is one; return the time until its devices had finished."""
        if step.profile is None or step.order is None:
            return 0
        ended = time.perf_counter_ns()
        # An untraced step does not wait for devices, so this is not its own time.
        step.profile.finish(step.number)
        finished = time.perf_counter_ns() - step.began_ns
        recorded = step.profile.stop()
        if recorded is None:
            self._book.not_traced(step.order)
            return finished
        recording = _recording(step, recorded, duration_ns)
        tracing = step.starting_ns + time.perf_counter_ns() - ended
        recording = replace(recording, tracing_ns=tracing)
        self._book.traced(step.counted, step.order, recording, finished_ns=finished)
        return finished


def _recording(step: Step, recorded: XSpace, duration_ns: int) -> Recording:
    return Recording(
        "xspace",
        recorded.data,
        step.number,
        step.started_ns,
        duration_ns,
        recorded.epoch_ns,
        batch=step.batch,
        layers=None if step.model is None else _layers(step.model),
    )


def _layers(model: Any) -> str | None:
    """Describe the layers of a model, which may run their code; None if that fails."""
    with contextlib.suppress(Exception):
        return to_json([layers_of_model(model)])
    return None


class StepProfile:
    """A profile of one step, which holds the profiler until `stop`."""

    def __init__(self, stop: Callable[[], XSpace], mark: Any, wait: Callable[[], None]) -> None:
        self._stop = stop
        self._mark = mark
        self._wait = wait

    def finish(self, number: int) -> None:
        """Wait for devices and end the step, given its number."""
        self._wait()
        self._mark.set_metadata(step_num=number, _r=1)

    def stop(self) -> XSpace | None:
        """End the profile and return it; None if the framework has none."""
        self._mark.__exit__(None, None, None)
        try:
            return self._stop()
        except (OSError, RuntimeError):
            return None
        finally:
            lock.release_profiler()


def step_profile(framework: str, signature: Signature) -> StepProfile | None:
    """Start to profile a step; None if the framework has no profiler, or another profile runs."""
    if framework not in sys.modules or lock.profiler_active() or not lock.hold_profiler(0):
        return None
    # Keras's labels also name the model.
    name = signature.label if signature.kind == STEP else signature.kind
    begin = {JAX: _jax_profile, TENSORFLOW: _tensorflow_profile}.get(framework)
    profile = None if begin is None else begin(name)
    if profile is None:
        lock.release_profiler()
    return profile


def _tensorflow_profile(name: str) -> StepProfile | None:
    from tensorflow.python.framework import errors
    from tensorflow.python.profiler.trace import Trace

    try:
        profile = Profile({})
    except (errors.OpError, OSError):
        return None
    return StepProfile(profile.stop, Trace(name), finish_devices)


def _jax_profile(name: str) -> StepProfile | None:
    from jax._src.profiler import _profile_state

    if _profile_state.profile_session is not None:
        return None
    profile = jax_capture.JaxProfile(TraceOptions().profiler_levels)
    stop = partial(profile.stop, wait=False)
    return StepProfile(stop, jax_capture.begin_mark(name), jax_capture.finish_arrays)
