"""A ``SessionRunHook`` that records a ``MonitoredSession`` or an ``Estimator`` into a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfvis_nb.recording.live.trace_session import TraceSession


def session_run_hook(session: TraceSession) -> Any:
    """Return a hook that records into `session` while its ``MonitoredSession`` exists.

    The hook itself requests nothing of runs: those of initialisers and savers do not pass through hooks, but
    are also recorded.
    """
    from tensorflow.python.training import session_run_hook

    class Recording(session_run_hook.SessionRunHook):  # type: ignore[misc] # tensorflow has no types
        """Starts the recording before the session is created, and ends it with the session."""

        def begin(self) -> None:
            session.start(self)

        def after_create_session(self, made: Any, coord: Any) -> None:  # noqa: ARG002 - of its threads
            session.start(self)  # called again if a worker was lost and the session is recreated
            close = made.close

            def closing() -> None:
                try:
                    close()
                finally:
                    session.stop(self)

            # An error ends a MonitoredSession without `end`.
            made.close = closing

        def end(self, session_: Any) -> None:  # noqa: ARG002 - whose values nobody needs
            session.stop(self)

    return Recording()
