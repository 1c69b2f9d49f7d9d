"""Trace callables of ``BaseSession._make_callable_from_options``, which Keras's graph mode uses.

Their run options are fixed at creation, so tracing one needs a twin with raised options. The original stays
unchanged and costs nothing later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tfvis_nb.recording.sessions.user_run_metadata import as_requested

if TYPE_CHECKING:
    from tfvis_nb.recording.sessions.runs import SessionTracer


class CallableTracer:
    """Traces the calls of callables that are created while it is installed."""

    def __init__(self, tracer: SessionTracer) -> None:
        self._tracer = tracer
        self._options: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._twins: WeakKeyDictionary[Any, dict[tuple[int, bool], Any]] = WeakKeyDictionary()
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
                self._tracer.miss("runs_of_older_callables")
                return original(made, *args, **kwargs)
            label = self._tracer.label(options.fetch, options.target)
            return self._tracer.record(label, lambda: self.call(original, made, options, args, kwargs))

        return call

    def options(self, made: Any) -> Any:
        """Return the ``CallableOptions`` a callable was made with; None if it was made earlier."""
        return self._options.get(made)

    def release(self) -> None:
        """Release the twins."""
        self._twins.clear()

    def call(
        self, original: Any, made: Any, options: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, bytes]:
        """Call the twin of a callable that was made with `options`; return its result and RunMetadata."""
        session, requested = made._session, options.run_options  # noqa: SLF001
        users: Any = kwargs.get("run_metadata")
        exact = users is not None and bool(requested.trace_level)
        with self._tracer.slot.level(session, requested.trace_level, blocking=False, exact=exact) as level:
            twin = self._twin(made, options, level, exact=exact)
            metadata = users if exact else self._tracer.new_metadata()
            result = original(twin, *args, **{**kwargs, "run_metadata": metadata})
        recorded = metadata.SerializeToString()
        if users is not None and not exact:
            users.CopyFrom(as_requested(metadata, requested))
        return result, recorded

    def _twin(self, made: Any, options: Any, level: int, *, exact: bool) -> Any:
        twins = self._twins.setdefault(made, {})
        if (level, exact) not in twins:
            raised = type(options)()
            raised.CopyFrom(options)
            raised.run_options.CopyFrom(self._tracer.raised_options(options.run_options, level, exact=exact))
            twins[level, exact] = self._make(made._session, raised)  # noqa: SLF001
        return twins[level, exact]
