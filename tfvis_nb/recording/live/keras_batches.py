"""Count Keras's batches, and profile the requested ones."""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from tfvis_nb.analysis.model_layers.description import to_json
from tfvis_nb.core.metadata import OUT_OF_MEMORY
from tfvis_nb.recording.live.failed_allocations import with_failure
from tfvis_nb.recording.live.requests import RunRegistry, SignatureStats, TraceRequest
from tfvis_nb.recording.model_layers import layers_of_model
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler import keras_phases, lock
from tfvis_nb.recording.profiler.capture import Profile
from tfvis_nb.recording.profiler.keras_steps import PHASES
from tfvis_nb.recording.profiler.profiles import finish_devices
from tfvis_nb.session.file.entries import Recording, Signature

if TYPE_CHECKING:
    from tfvis_nb.recording.live.trace_session import TraceSession


@dataclass
class _Batch:
    """A running batch, with its profile if it is traced."""

    counted: SignatureStats
    model: Any
    number: int
    of_epoch: int
    started_ns: int
    began_ns: int
    order: TraceRequest | None
    thread: int = field(default_factory=threading.get_ident)
    profile: Profile | None = None
    starting_ns: int = 0
    mark: Any = None


class BatchObserver:
    """Counts the batches of ``fit``, ``evaluate`` and ``predict`` of one model."""

    def __init__(self, book: RunRegistry) -> None:
        self._book = book
        self._under_way: dict[str, _Batch] = {}

    def begin(self, phase: str, model: Any, of_epoch: int) -> None:
        """Note the start of a batch, given its number in the epoch, and profile it if requested."""
        self.drop(phase)  # one that never ended because its data set was exhausted
        now = time.perf_counter_ns()
        self._book.look(now)
        counted = self._book.counted(Signature(phase, f"{phase} {model.name}", targets=model.name))
        if counted is None:
            return
        number = self._book.begin(counted)
        order = self._book.order(counted, number) if counted.wanted else None
        self._book.allocations.begin()
        batch = _Batch(counted, model, number, of_epoch, time.time_ns(), time.perf_counter_ns(), order)
        if order is not None:
            self._profile(batch, phase)
        self._under_way[phase] = batch

    def end(self, phase: str) -> None:
        """Note the end of the batch, and keep its profile."""
        batch = self._under_way.pop(phase, None)
        if batch is None:
            return
        duration = time.perf_counter_ns() - batch.began_ns
        self._book.allocations.take(batch.thread)
        self._keep(batch, duration)
        self._book.ran(batch.counted, batch.started_ns, duration, traced=batch.profile is not None)

    def drop(self, phase: str) -> None:
        """Forget a batch that did not end."""
        batch = self._under_way.pop(phase, None)
        if batch is not None:
            self._book.allocations.take(batch.thread)
            self._book.not_begun(batch.counted)
            self._book.not_traced(batch.order)
            if batch.profile is not None:
                self._ended(batch)

    def fail(self, phase: str) -> None:
        """Note that the running batch, if any, has failed."""
        batch = self._under_way.pop(phase, None)
        if batch is None:
            return
        data, epoch_ns = (batch.profile and self._ended(batch)) or (b"", 0)
        self._book.failed(batch.counted, batch.order)
        if failure := self._book.allocations.take(batch.thread):
            duration = max(int(failure[OUT_OF_MEMORY]["time_ns"].iloc[0]) - batch.started_ns, 0)
            layers = _layers(batch.model)
            recording = Recording("xspace", data, batch.number, batch.started_ns, duration, epoch_ns)
            recording = replace(recording, batch=batch.of_epoch, layers=layers)
            kept = with_failure(recording, failure, batch.counted.signature.label)
            if kept is not None:
                self._book.traced(batch.counted, TraceRequest(), kept)

    def _profile(self, batch: _Batch, phase: str) -> None:
        from tensorflow.python.framework import errors
        from tensorflow.python.profiler.trace import Trace

        if lock.profiler_active() or not lock.hold_profiler(0):
            self._book.not_traced(batch.order)  # TensorFlow has one profiler; the next batch may get it
            return
        began = time.perf_counter_ns()
        try:
            batch.profile = Profile({})
        except (errors.OpError, OSError):
            lock.release_profiler()
            self._book.not_traced(batch.order)
            return
        batch.mark = Trace(phase)
        batch.started_ns, batch.began_ns = time.time_ns(), time.perf_counter_ns()
        batch.starting_ns = batch.began_ns - began

    def _keep(self, batch: _Batch, duration_ns: int) -> None:
        if batch.profile is None or batch.order is None:
            return
        ended = time.perf_counter_ns()
        # An untraced batch does not wait for devices, so this is not its own time.
        finish_devices()
        batch.mark.set_metadata(step_num=batch.number, _r=1)
        recorded = self._ended(batch)
        if recorded is None:
            self._book.not_traced(batch.order)
            return
        data, epoch_ns = recorded
        layers = _layers(batch.model)
        tracing = batch.starting_ns + time.perf_counter_ns() - ended
        recording = Recording(
            "xspace",
            data,
            batch.number,
            batch.started_ns,
            duration_ns,
            epoch_ns,
            tracing_ns=tracing,
            batch=batch.of_epoch,
            layers=layers,
        )
        self._book.traced(batch.counted, batch.order, recording)

    @staticmethod
    def _ended(batch: _Batch) -> tuple[bytes, int] | None:
        """End the profile and return it with its start; None if TensorFlow could not write it."""
        assert batch.profile is not None
        batch.mark.__exit__(None, None, None)
        try:
            recorded = batch.profile.stop()
        except OSError:
            return None
        finally:
            lock.release_profiler()
        return recorded.data, recorded.epoch_ns


def _layers(model: Any) -> str | None:
    """Describe the layers of a model, which may run their code; None if that fails."""
    with contextlib.suppress(Exception):
        return to_json([layers_of_model(model)])
    return None


class PhaseRecorder:
    """Records into a session while Keras runs, for one callback."""

    def __init__(self, session: TraceSession) -> None:
        self.session = session
        self.thread = threading.get_ident()
        self._lock = threading.RLock()
        self._observer: BatchObserver | None = None
        self._phases: dict[str, FrameType | None] = {}

    def under_way(self) -> dict[str, FrameType | None]:
        """Return the running phases, with the Keras functions that run them."""
        with self._lock:
            return dict(self._phases)

    def begin(self, phase: str) -> None:
        """Note the start of a phase."""
        keras_phases.drop_abandoned(phase)
        with self._lock:
            self.thread = threading.get_ident()
            self._phases[phase] = keras_phases.running_function()
        keras_phases.watch(self)
        book = self.session.start(self)
        if self._observer is None and book is not None:
            self._observer = BatchObserver(book)

    def end(self, phase: str) -> None:
        """Note the end of a phase."""
        with self._lock:
            if self._observer is not None:
                self._observer.drop(phase)
            ended = self._without(phase)
        if ended:
            self.session.stop(self)

    def give_up(self, phase: str) -> None:
        """Note that an error has ended a phase and its running batch."""
        with self._lock:
            if self._observer is not None:
                self._observer.fail(phase)
            ended = self._without(phase)
        if ended:
            self.session.stop(self)

    def let_go(self) -> None:
        """End all phases of this thread, because the session is closed."""
        keras_phases.drop_abandoned()
        if self.thread == threading.get_ident():
            for phase in self.under_way():
                self.end(phase)

    def batch_begin(self, phase: str, model: Any, of_epoch: int) -> None:
        """Note the start of a batch."""
        observer = self._observer
        if observer is not None:
            observer.begin(phase, model, of_epoch)

    def batch_end(self, phase: str) -> None:
        """Note the end of a batch."""
        observer = self._observer
        if observer is not None:
            observer.end(phase)

    def _without(self, phase: str) -> bool:
        """Remove a phase; return whether it was the last one."""
        known = phase in self._phases
        self._phases.pop(phase, None)
        if self._phases or not known:
            return False
        self._observer = None
        keras_phases.forget(self)
        return True


def keras_callback(session: TraceSession) -> Any:
    """Return a ``keras.callbacks.Callback`` that records into `session` while Keras runs."""
    import keras

    class Recording(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
        """Counts batches, and traces the requested ones."""

        def __init__(self) -> None:
            super().__init__()
            self.session = session
            self.recorder = PhaseRecorder(session)

    for phase in PHASES:
        _delegate(Recording, phase)
    return Recording()


def inject_callback(session: TraceSession, replacements: Replacements) -> None:
    """Give every ``fit``, ``evaluate`` and ``predict`` the callback of `session`, if Keras is imported."""
    try:
        # Keras 2 and 3 both have it there, but define it in different places.
        module = importlib.import_module("keras.callbacks")
    except ImportError:
        return

    def making(original: Any) -> Any:
        def init(made: Any, callbacks: Any = None, *args: Any, **kwargs: Any) -> None:
            given = _flat(callbacks)
            if session.recording and not any(getattr(one, "session", None) is session for one in given):
                # Set together with the others: Keras 2 checks only once, here, which of them want batch
                # events.
                given.append(keras_callback(session))
            original(made, given, *args, **kwargs)

        return init

    replacements.put(module.CallbackList, "__init__", making)


def _flat(callbacks: Any) -> list[Any]:
    """Return the callbacks given to Keras: one, or nested lists."""
    if isinstance(callbacks, (list, tuple)):
        return [one for part in callbacks for one in _flat(part)]
    return [] if callbacks is None else [callbacks]


def _delegate(callback: Any, phase: str) -> None:
    """Give a callback Keras's methods of one phase."""

    def on_begin(self: Any, logs: Any = None) -> None:  # noqa: ARG001 - Keras passes them by name
        self.recorder.begin(phase)

    def on_end(self: Any, logs: Any = None) -> None:  # noqa: ARG001
        self.recorder.end(phase)

    def on_batch_begin(self: Any, batch: int, logs: Any = None) -> None:  # noqa: ARG001
        self.recorder.batch_begin(phase, self.model, int(batch))

    def on_batch_end(self: Any, batch: int, logs: Any = None) -> None:  # noqa: ARG001
        self.recorder.batch_end(phase)

    setattr(callback, f"on_{phase}_begin", on_begin)
    setattr(callback, f"on_{phase}_end", on_end)
    setattr(callback, f"on_{phase}_batch_begin", on_batch_begin)
    setattr(callback, f"on_{phase}_batch_end", on_batch_end)
