"""`TraceSession`: counts all runs and steps of a job in a file, and traces them on request."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pandas as pd

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.options import only_known_options
from tfvis_nb.recording.live.requests import RunRegistry, warn_stopped
from tfvis_nb.recording.live.session_runs import RunObserver
from tfvis_nb.recording.live.steps import STEP, StepObserver, running_framework
from tfvis_nb.recording.options import Framework, Level, TraceOptions
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.database import connect
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.errors import FILE_ERRORS, in_words
from tfvis_nb.session.file.schema import empty_session
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.session import SavedSession
from tfvis_nb.session.validate import whole

_open: weakref.WeakSet[TraceSession] = weakref.WeakSet()
_of_parents: list[object] = []


class TraceSession(SavedSession):
    """Counts every ``session.run``, Keras batch and step in a file, and traces runs on request.

    The file is the session. It is written while the job runs, so a killed job loses at most the current run.
    Any process can read it and request traces with `tfvis_nb.open_session`. If the file cannot be written or
    is deleted, the recording ends with one warning in the log, but the job continues. Then `problem` has the
    reason, requests do nothing, and the tables show what can still be read. Invalid requests raise, and so do
    `read` and `save` if they fail.

    It records in a ``with`` block, from `hook` in a ``MonitoredSession`` or ``Estimator``, from
    `keras_callback` in ``fit``, from the first `step`, or starting with `record_process`. All of these see
    the runs of every session in the process, including those of initialisers and savers; in a JAX program
    there are none.

    Parameters
    ----------
    path
        The file, usually ``*.tfvis``. An existing one is continued. None creates ``run-DATE-TIME-PID.tfvis``
        in the current folder.
    keep
        How many of the newest traces to keep for each signature, besides those that were requested, opened in
        the monitor or annotated; None keeps all.
    level
        Trace level of session runs, as in `tfvis_nb.trace`.
    partition_graphs
        Whether to keep the executed graphs with the traces of session runs.

    Raises
    ------
    TypeError, ValueError
        If there is no such option or level, or `keep` is not a whole number of at least 1.

    Examples
    --------
    >>> import tempfile
    >>> import tensorflow.compat.v1 as tf
    >>> import tfvis_nb as tv
    >>> folder = tempfile.TemporaryDirectory()
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     total = tf.reduce_sum(tf.random.uniform([100, 100]), name="total")
    ...     with tv.TraceSession(folder.name + "/run.tfvis") as recorded:
    ...         value = session.run(total)
    ...         recorded.trace_next("total")
    ...         value = session.run(total)
    >>> recorded.signatures[["label", "runs", "traces"]].values.tolist()
    [['total', 2, 1]]
    >>> recorded.read(1).steps["label"].tolist()
    ['total']
    >>> recorded.close()
    >>> folder.cleanup()
    """

    @only_known_options
    def __init__(
        self,
        path: str | Path | None = None,
        *,
        keep: int | None = 10,
        level: Level = "full",
        partition_graphs: bool = False,
    ) -> None:
        if keep is not None:
            keep = whole(keep, "keep", "None for all, or a number of traces")
        super().__init__(time.strftime(f"run-%Y%m%d-%H%M%S-{os.getpid()}.tfvis") if path is None else path)
        self._keep = keep
        self._options = TraceOptions(level=level, partition_graphs=partition_graphs, mode="session")
        self._switching = threading.RLock()
        self._users: list[object] = []
        self._book: RunRegistry | None = None
        self._observer: RunObserver | None = None
        self._problem = ""
        self._injected = Replacements()

    @property
    def recording(self) -> bool:
        """Whether runs are being counted now."""
        return self._book is not None and self._book.open

    @property
    def problem(self) -> str:
        """Why recording has stopped, such as a full disk; otherwise empty."""
        book = self._book
        return (book.problem if book is not None else "") or self._problem

    @property
    def hook(self) -> Any:
        """A new ``SessionRunHook`` for ``MonitoredTrainingSession(hooks=[...])`` or ``Estimator.train``.

        It records from before the session is created until it is closed.
        """
        return _session_run_hook(self)

    def keras_callback(self) -> Any:
        """Return a new callback for ``fit``, ``evaluate`` and ``predict`` that counts each batch.

        A traced batch is profiled by TensorFlow's or JAX's profiler, unless that is in use.
        """
        from tfvis_nb.recording.live.keras_batches import keras_callback

        return keras_callback(self)

    @only_known_options
    @contextmanager
    def step(self, name: str = STEP, *, framework: Framework | None = None) -> Iterator[None]:
        """Count the block as a step of the program's own loop, and trace it on request.

        A traced step is profiled by TensorFlow's or JAX's profiler, unless that is in use, and then waits for
        the devices. Without a ``with`` block of the session, the first step starts the recording, until
        `close`. A step that raises counts as failed, but not one that ends with ``StopIteration``.

        Parameters
        ----------
        name
            The label of the steps; those of different names are different signatures.
        framework
            The framework whose profiler traces it; None for the one that runs.

        Raises
        ------
        ValueError
            If there is no such framework.

        Examples
        --------
        >>> import tempfile
        >>> import tfvis_nb as tv
        >>> folder = tempfile.TemporaryDirectory()
        >>> with tv.TraceSession(folder.name + "/run.tfvis") as recorded:
        ...     for _ in range(3):
        ...         with recorded.step("train"):
        ...             total = sum(range(100))
        >>> recorded.signatures[["kind", "label", "runs"]].values.tolist()
        [['step', 'train', 3]]
        >>> recorded.close()
        >>> folder.cleanup()
        """
        TraceOptions(framework=framework)  # raises if there is none of this name
        book = self._book or self.start(STEP)
        observer = None if book is None else StepObserver(book)
        step = observer and observer.begin(
            Signature(STEP, name, targets=name), framework or running_framework()
        )
        if not observer or not step:
            yield
            return
        try:
            yield
        except StopIteration:
            observer.drop(step)
            raise
        except BaseException:
            observer.fail(step)
            raise
        observer.end(step)

    @only_known_options
    def start(self, user: object = None) -> RunRegistry | None:
        """Start recording, until `stop` has been called for each user that started it; None if it cannot.

        Parameters
        ----------
        user
            Any object that identifies the caller.
        """
        with self._switching:
            if not any(user is one for one in self._users):
                self._users.append(user)
            if self._book is None and not self._problem:
                self._begin()
            return self._book

    @only_known_options
    def stop(self, user: object = None) -> None:
        """End the recording for a user that called `start`."""
        with self._switching:
            self._users = [one for one in self._users if one is not user]
            if not self._users:
                self._end()

    def close(self) -> None:
        """End the recording for all users, and close the file."""
        from tfvis_nb.recording.live.keras_batches import PhaseRecorder

        for user in list(self._users):
            if isinstance(user, PhaseRecorder):
                user.let_go()  # ends its profile, without waiting for threads that wait for this one
        with self._switching:
            self._users = []
            self._end()
            self._injected.undo()
        super().close()

    def __enter__(self) -> Self:
        self.start(self)
        return self

    def __exit__(self, *_: object) -> None:
        with self._switching:
            self._injected.undo()
            self.stop(self)

    def _begin(self) -> None:
        try:
            writer = Writer(self.path, self._keep)
        except FILE_ERRORS as error:
            self._stop_for(error)
            return
        book = RunRegistry(writer)
        try:
            observer = _run_observer(book, self._options)
        except BaseException:
            book.close()
            raise
        self._book, self._observer = book, observer
        _open.add(self)

    def _inject(self) -> None:
        """Also record Keras training without a callback."""
        from tfvis_nb.recording.live.keras_batches import inject_callback

        with self._switching:
            self.start(self)
            inject_callback(self, self._injected)

    def _end(self) -> None:
        book, self._book = self._book, None
        observer, self._observer = self._observer, None
        if book is None:
            return
        _open.discard(self)
        if observer is not None:
            observer.remove()
        book.close()
        self._problem = book.problem

    def _write(self, write: Callable[[Guarded], None]) -> None:
        if self.problem:
            return
        try:
            if self._book is None and self._is_unmade():
                # If training does not return, requests are made before it starts.
                connect(self.path, create=True).close()
            super()._write(write)
        except FILE_ERRORS as error:
            self._stop_for(error)
            return
        book = self._book
        if book is not None:
            book.look_now()

    def _table(self, made: Callable[[Guarded], pd.DataFrame]) -> pd.DataFrame:
        try:
            # Before its first use the file need not exist.
            if self._book is not None or not self._is_unmade():
                return super()._table(made)
        except FILE_ERRORS as error:
            self._stop_for(error)
        except TraceFormatError:
            # If it was recorded into, the file has since been emptied, which was reported.
            if not self.problem:
                raise
        connection = empty_session()
        try:
            return made(connection)
        finally:
            connection.close()

    def _is_unmade(self) -> bool:
        """Whether the file does not exist or is empty, like those of `tempfile`."""
        return not self.path.exists() or (self.path.is_file() and self.path.stat().st_size == 0)

    def _stop_for(self, error: Exception) -> None:
        """Stop recording because of an error of the file, with one warning."""
        with self._switching:
            if self._book is not None:
                self._book.stop(error)
            elif not self._problem:
                self._problem = in_words(error, self.path)
                warn_stopped(self._problem)

    def _forked(self) -> None:
        """Drop the parent's handles in a child process; a connection must not even be closed."""
        if self._book is not None:
            self._book.forget()
        _of_parents.append((self._book, self._reader, self._closing))
        self._reader = self._closing = None


@only_known_options
def record_process(
    path: str | Path | None = None,
    *,
    keep: int | None = 10,
    level: Level = "full",
    partition_graphs: bool = False,
) -> TraceSession:
    """Record every session of this process, starting now, without changing the code that runs them.

    Keras's ``fit``, ``evaluate`` and ``predict`` are recorded as with `TraceSession.keras_callback`.

    Parameters
    ----------
    path, keep, level, partition_graphs
        As in `TraceSession`.

    Returns
    -------
    TraceSession
        Already recording. Its ``close()`` or the end of a ``with`` block undoes everything; the end of the
        process also closes it.

    Examples
    --------
    >>> import os, tempfile
    >>> import tensorflow.compat.v1 as tf
    >>> import tfvis_nb as tv
    >>> folder = tempfile.TemporaryDirectory()
    >>> recorded = tv.record_process(os.path.join(folder.name, "run.tfvis"))
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     value = session.run(tf.constant(1.0, name="one"))
    >>> recorded.signatures["label"].tolist()
    ['one']
    >>> recorded.close()
    >>> folder.cleanup()
    """
    session = TraceSession(path, keep=keep, level=level, partition_graphs=partition_graphs)
    session._inject()  # noqa: SLF001
    return session


def _run_observer(book: RunRegistry, options: TraceOptions) -> RunObserver | None:
    """Observe session runs, unless the program runs JAX without TensorFlow."""
    if "tensorflow" not in sys.modules and "jax" in sys.modules:
        return None
    try:
        observer = RunObserver(book, options)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "tensorflow":
            raise
        return None
    observer.install()
    return observer


def _session_run_hook(session: TraceSession) -> Any:
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


def _close_all() -> None:
    for session in list(_open):
        session.close()


def _forget_all() -> None:
    for session in list(_open):
        session._forked()  # noqa: SLF001
    _open.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
