"""A ``SessionRunHook`` by which a ``MonitoredSession`` or an ``Estimator`` records into a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfvis_nb.recording.live.trace_session import TraceSession


def session_run_hook(session: TraceSession) -> Any:
    """Return a hook that records into `session` while its ``MonitoredSession`` is there.

    It asks nothing of the runs itself: those of initialisers and savers do not pass through
    hooks, and are recorded all the same.
    """
    from tensorflow.python.training import session_run_hook

    class Recording(session_run_hook.SessionRunHook):  # type: ignore[misc] # tensorflow has no types
        """Starts the recording before the session is made, and ends it with the session."""

        def begin(self) -> None:
            session.start(self)

        def after_create_session(self, made: Any, coord: Any) -> None:  # noqa: ARG002 - of its threads
            session.start(self)  # again, if a worker was lost and the session is recreated
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
