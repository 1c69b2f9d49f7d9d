"""Tracing the callables of ``BaseSession._make_callable_from_options``, which Keras's graph mode uses.

Their run options are fixed when they are made, so tracing one takes a twin of
it with raised options. The original stays as it was and costs nothing later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from tfvis_nb.recording.sessions import SessionTracer

MADE_BEFORE = "came from a callable made before the trace, whose options can no longer be raised"


class CallableTracer:
    """Traces the calls of the callables that are made while it is in place.

    Parameters
    ----------
    tracer
        Keeps what the calls record.
    """

    def __init__(self, tracer: SessionTracer) -> None:
        self._tracer = tracer
        self._options: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._twins: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()
        self._make: Any = None

    def making(self, original: Any) -> Callable[..., Any]:
        """Return a ``_make_callable_from_options`` that remembers the options while runs are recorded."""
        return self.remembering(original, lambda: self._tracer.active)

    def remembering(self, original: Any, wanted: Callable[[], bool] = lambda: True) -> Callable[..., Any]:
        """Return a ``_make_callable_from_options`` that remembers the options while that is `wanted`."""
        self._make = original

        def make_callable_from_options(session: Any, callable_options: Any) -> Any:
            made = original(session, callable_options)
            if wanted():
                self._options[made] = callable_options
            return made

        return make_callable_from_options

    def calling(self, original: Any) -> Callable[..., Any]:
        """Return a ``_Callable.__call__`` that calls the traced twin instead."""

        def call(made: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._tracer.active:
                return original(made, *args, **kwargs)
            options = self.options(made)
            if options is None:
                self._tracer.miss(MADE_BEFORE)
                return original(made, *args, **kwargs)
            label = self._tracer.label(options.fetch, options.target)
            return self._tracer.record(label, lambda: self.call(original, made, options, args, kwargs))

        return call

    def options(self, made: Any) -> Any:
        """Return the ``CallableOptions`` a callable was made with; None if that was before."""
        return self._options.get(made)

    def release(self) -> None:
        """Let the twins go."""
        self._twins.clear()

    def call(
        self, original: Any, made: Any, options: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, bytes]:
        """Call the twin of a callable that was made with `options`; return its result and RunMetadata."""
        session = made._session  # noqa: SLF001
        with self._tracer.slot.level(session, options.run_options.trace_level, blocking=False) as level:
            twin = self._twin(made, options, level)
            # The user's own message, where there is one, is the one to fill.
            metadata = kwargs.get("run_metadata") or self._tracer.new_metadata()
            result = original(twin, *args, **{**kwargs, "run_metadata": metadata})
        return result, metadata.SerializeToString()

    def _twin(self, made: Any, options: Any, level: int) -> Any:
        twins = self._twins.setdefault(made, {})
        if level not in twins:
            raised = type(options)()
            raised.CopyFrom(options)
            self._tracer.raise_options(raised.run_options, level)
            twins[level] = self._make(made._session, raised)  # noqa: SLF001
        return twins[level]
