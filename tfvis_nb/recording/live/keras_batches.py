"""Count Keras's batches, and profile the requested ones."""

from __future__ import annotations

import importlib
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

from tfvis_nb.recording.live.requests import RunRegistry
from tfvis_nb.recording.live.steps import Step, StepObserver
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler import keras_phases
from tfvis_nb.recording.profiler.keras_steps import PHASES, backend
from tfvis_nb.session.file.entries import Signature

if TYPE_CHECKING:
    from tfvis_nb.recording.live.trace_session import TraceSession


class BatchObserver:
    """Counts the batches of ``fit``, ``evaluate`` and ``predict`` of one model."""

    def __init__(self, book: RunRegistry) -> None:
        self._steps = StepObserver(book)
        self._under_way: dict[str, Step] = {}

    def begin(self, phase: str, model: Any, of_epoch: int) -> None:
        """Note the start of a batch, given its number in the epoch, and profile it if requested."""
        self.drop(phase)  # one that never ended because its data set was exhausted
        signature = Signature(phase, f"{phase} {model.name}", targets=model.name)
        batch = self._steps.begin(signature, backend(), batch=of_epoch, model=model)
        if batch is not None:
            self._under_way[phase] = batch

    def end(self, phase: str) -> None:
        """Note the end of the batch, and keep its profile."""
        if (batch := self._under_way.pop(phase, None)) is not None:
            self._steps.end(batch)

    def drop(self, phase: str) -> None:
        """Forget a batch that did not end."""
        if (batch := self._under_way.pop(phase, None)) is not None:
            self._steps.drop(batch)

    def fail(self, phase: str) -> None:
        """Note that the running batch, if any, has failed."""
        if (batch := self._under_way.pop(phase, None)) is not None:
            self._steps.fail(batch)


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
        # `model` of Keras 3 copies the state of a model that JAX runs.
        model = self._model if hasattr(self, "_model") else self.model
        self.recorder.batch_begin(phase, model, int(batch))

    def on_batch_end(self: Any, batch: int, logs: Any = None) -> None:  # noqa: ARG001
        self.recorder.batch_end(phase)

    setattr(callback, f"on_{phase}_begin", on_begin)
    setattr(callback, f"on_{phase}_end", on_end)
    setattr(callback, f"on_{phase}_batch_begin", on_batch_begin)
    setattr(callback, f"on_{phase}_batch_end", on_batch_end)
