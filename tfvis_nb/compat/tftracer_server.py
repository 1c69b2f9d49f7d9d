"""tftracer's `TracingServer` and `hook_inject`: scripts only need to change their import.

New code should use `tfvis_nb.TraceSession`, which needs no server: `tfvis_nb.open_session` and
``tfvis-nb serve`` open its file from any other process.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from tfvis_nb.core.options import only_known_options
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.recording.live.trace_session import TraceSession
from tfvis_nb.session.file import rows as stored_rows
from tfvis_nb.session.file.columns import OF_TRACED_RUN, selected, stored
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.database import Transaction, connect
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.schema import has_kept
from tfvis_nb.session.file.writer import signature_number
from tfvis_nb.session.session import SavedSession, open_session
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.serving import MonitorServer

PORT = 9999
"""Where tftracer served."""

_SQLITE = b"SQLite format 3\0"

_log = logging.getLogger("tfvis_nb")
_injecting = threading.Lock()
_injected: TracingServer | None = None


class ServerOptions(TypedDict, total=False):
    """Options of `TracingServer`."""

    start_web_server_on_start: bool
    server_port: int
    server_ip: str
    keep_traces: int
    is_horovod: bool
    certfile: str | Path | None
    keyfile: str | Path | None
    path: str | Path | None
    token: str | None


class TracingServer:
    """Records the runs of a job and serves a page that lists them and traces the ones you click.

    The page is at `url`, which contains the token: it is served on this machine to anyone who has the token.
    The log shows the address without it. The runs are recorded by a `tfvis_nb.TraceSession`, `session`.

    Parameters
    ----------
    start_web_server_on_start
        Whether to serve the page immediately; otherwise `start_web_server` starts it.
    server_port
        The port; if it is taken, another one is used. `url` has the actual port.
    server_ip
        The name or address to serve at. With ``"0.0.0.0"`` other machines can also reach the page,
        unencrypted without `certfile`.
    keep_traces
        How many of the newest traces to keep for each signature, besides those that were requested, opened
        or annotated. Files of `save_session`, and this session after `load_session`, hold at most that many.
    is_horovod
        Has no effect: each rank of a Horovod job is recorded like any other process.
    certfile, keyfile
        PEM files of a certificate and its key: with them the page is served over HTTPS. One file may hold
        both.
    path
        The file to record into, as for `tfvis_nb.TraceSession`. It is created when recording starts.
    token
        The secret for opening the page, at least 16 characters; random by default.

    Raises
    ------
    TypeError, ValueError
        If an option is unknown or has an invalid value.

    Notes
    -----
    ``docs/migrating.md`` lists the differences from tftracer.

    Examples
    --------
    >>> import os, tempfile
    >>> import tensorflow.compat.v1 as tf
    >>> from tfvis_nb import TracingServer
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "run.tfvis")
    >>> tracing_server = TracingServer(start_web_server_on_start=False, path=path)
    >>> with tf.Graph().as_default():
    ...     step = tf.train.get_or_create_global_step()
    ...     train_op = tf.group(step.assign_add(1), name="train")
    ...     with tf.train.MonitoredTrainingSession(hooks=[tracing_server.hook]) as session:
    ...         for _ in range(5):
    ...             value = session.run(train_op)
    >>> int(tracing_server.session.signatures.set_index("label")["runs"]["train"])
    5
    >>> tracing_server.close()
    >>> folder.cleanup()
    """

    @only_known_options
    def __init__(
        self,
        *,
        start_web_server_on_start: bool = True,
        server_port: int = PORT,
        server_ip: str = "127.0.0.1",
        keep_traces: int = 5,
        is_horovod: bool = False,  # noqa: ARG002 - tftracer's
        certfile: str | Path | None = None,
        keyfile: str | Path | None = None,
        path: str | Path | None = None,
        token: str | None = None,
    ) -> None:
        from tfvis_nb.serving import MonitorServer

        if isinstance(server_port, bool) or not isinstance(server_port, int):
            raise TypeError(Text("server_port_no_number", server_port=server_port))
        for name, text in (("server_ip", server_ip), ("token", token)):
            if not isinstance(text, str) and (name, text) != ("token", None):
                raise TypeError(Text("no_text", name=name, text=text))
        self.session = TraceSession(path, keep=keep_traces)
        self._keep = keep_traces
        self.closed = False
        self._process = os.getpid()
        self._made_for_loading = False
        self._loaded = 0

        def served_at(port: int) -> MonitorServer:
            return MonitorServer(
                self.session, host=server_ip, port=port, token=token, certfile=certfile, keyfile=keyfile
            )

        self._served_at: Callable[[int], MonitorServer] = served_at
        self._port = server_port
        self._server = served_at(server_port)
        atexit.register(self.close)
        if start_web_server_on_start:
            try:
                self.start_web_server()
            except OSError as error:
                _log.warning(Text("monitor_not_served", reason=error))

    @property
    def hook(self) -> Any:
        """A new ``SessionRunHook`` for ``MonitoredTrainingSession(hooks=[...])`` or ``Estimator.train``.

        It records from before the session is made until it is closed.
        """
        return self.session.hook

    @property
    def url(self) -> str | None:
        """The address of the page, with the token that gives access to it; None while it is not served."""
        return self._server.url if self._server.running else None

    def start_web_server(self) -> None:
        """Serve the page in a thread that ends with the process; has no effect if it is already served.

        Raises
        ------
        OSError
            If it cannot be served at that address.
        """
        if self._server.running:
            return
        try:
            self._server.start()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            self._server = self._served_at(0)
            self._server.start()
            _log.warning(Text("port_in_use", port=self._port))
        # Without the token, because people who may not use the page can read the log.
        _log.warning(Text("monitor_at", address=self._server.address))
        if not self._server.loopback and not self._server.secure:
            _log.warning(Text("monitor_not_encrypted"))

    def stop_web_server(self) -> None:
        """Stop serving the page; recording continues."""
        self._server.stop()

    def join(self) -> None:
        """Wait until `stop_web_server` is called or Ctrl-C is pressed; the script then goes on."""
        with suppress(KeyboardInterrupt):
            while self._server.running:
                # Ctrl-C must not have to wait for the thread.
                self._server.join(0.5)

    def save_session(self, filename: str | Path) -> None:
        """Write everything recorded so far to one file of any name; the job may continue.

        `load_session`, `tfvis_nb.open_session` and ``tfvis-nb`` read it; tftracer does not.

        Parameters
        ----------
        filename
            Where to write. An existing session or other file is replaced.

        Raises
        ------
        FileNotFoundError
            If nothing was recorded or loaded, or there is no such folder.
        FileExistsError
            If it is the file of a session that is being recorded.
        OSError
            If it cannot be written.
        """
        from tfvis_nb.core.output_path import whole, writable

        target = writable(filename).absolute()
        if not self.session.path.exists():
            raise FileNotFoundError(Text("nothing_to_save", filename=str(filename)))
        beside = target.with_name(f"{target.name}-wal")
        if beside.exists() or (target.exists() and target.samefile(self.session.path)):
            raise FileExistsError(Text("save_over_recording", filename=str(filename)))
        with tempfile.TemporaryDirectory(prefix="tfvis_nb-") as folder:
            copy = self.session.save(Path(folder, target.name))
            keep_newest(copy, self._keep)
            with whole(target) as new:
                shutil.copy(copy, new)

    @only_known_options
    def load_session(self, filename: str | Path, gziped: bool | None = None) -> None:  # noqa: ARG002 - tftracer's
        """Add the runs and traces of a saved session to this one; the log lists anything unreadable.

        Parameters
        ----------
        filename
            A file of `save_session` or `tfvis_nb.TraceSession`, or of tftracer, compressed or not.
        gziped
            Ignored: compression is detected from the content.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        TraceFormatError
            If it is another kind of file, or damaged.
        sqlite3.Error
            If `session` cannot be written.

        Notes
        -----
        Nothing that a session of tftracer names is imported or called. The duration of the longest run and
        the run of a trace are missing: both are 0.
        """
        from tfvis_nb.compat.import_tftracer import converted
        from tfvis_nb.session.file.database import connect

        source = Path(filename).expanduser()
        notes: list[str] = []
        with TemporaryFolder() as folder:
            if not _is_session(source):
                notes = converted(source, folder.path / "loaded.tfvis")
                source = folder.path / "loaded.tfvis"
            if not self.session.path.exists():
                connect(self.session.path, create=True).close()
                self._made_for_loading = True
            self._loaded += add_session(self.session, source, self._keep)
        for note in notes:
            _log.warning("%s: %s", filename, note)

    def close(self) -> None:
        """End the recording and stop serving the page.

        The file stays, unless nothing was recorded and it holds only what `load_session` brought.
        """
        atexit.unregister(self.close)
        self.closed = True
        if os.getpid() != self._process:
            return  # forked: everything here belongs to the parent
        self._server.stop()
        self.session.close()
        if self._made_for_loading and self._only_loaded():
            self.session.path.unlink(missing_ok=True)

    def _only_loaded(self) -> bool:
        try:
            return len(self.session.processes) == self._loaded
        except (sqlite3.Error, OSError):
            return False
        finally:
            self.session.close()


def _is_session(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


@only_known_options
def hook_inject(**options: Unpack[ServerOptions]) -> TracingServer:
    """Start recording every session of this process, and Keras training, without changing the code.

    Parameters
    ----------
    options
        As for `TracingServer`.

    Returns
    -------
    TracingServer
        Already recording; further calls return the same one. Its ``close()`` or the end of the process undoes
        everything.

    Examples
    --------
    >>> import os, tempfile
    >>> import tensorflow.compat.v1 as tf
    >>> from tfvis_nb import hook_inject
    >>> folder = tempfile.TemporaryDirectory()
    >>> tracing_server = hook_inject(
    ...     start_web_server_on_start=False, path=os.path.join(folder.name, "run.tfvis")
    ... )
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     value = session.run(tf.constant(1.0, name="one"))
    >>> tracing_server.session.signatures["label"].tolist()
    ['one']
    >>> tracing_server.close()
    >>> folder.cleanup()
    """
    global _injected  # noqa: PLW0603 - a process is injected once
    with _injecting:
        if _injected is None or _injected.closed:
            _injected = TracingServer(**options)
            _injected.session._inject()  # noqa: SLF001
        return _injected


_RECORDED = ("run", "start_ns", "duration_ns", *OF_TRACED_RUN)
_RECORDED += ("format", "epoch_ns", "size", "note", "layers", "data")

_ADD_WRITERS = """INSERT INTO main.writers(id, host, pid, started_ns, ended_ns)
        SELECT id + :writers, host, pid, started_ns, ended_ns FROM added.writers"""
_SIGNATURES = "SELECT id, kind, label, fetches, targets, feeds, options FROM added.signatures ORDER BY id"
_OF_SIGNATURE = (
    """INSERT INTO main.counts(writer, signature, slot, {counts})
        SELECT writer + :writers, :own, slot, {added_counts}
        FROM added.counts WHERE signature = :signature""",
    """INSERT INTO main.traces(id, signature, writer, {recorded})
        SELECT id + :traces, :own, writer + :writers, {added_recorded}
        FROM added.traces WHERE signature = :signature ORDER BY id""",
)
# By time, because numbers are in the order of adding.
_DELETE_OLDEST = """DELETE FROM main.traces WHERE id IN (
        SELECT id FROM (
            SELECT id, row_number() OVER (PARTITION BY signature ORDER BY start_ns DESC, id DESC) AS place
            FROM main.traces)
        WHERE place > ?)"""
_ADD_KEPT = "INSERT INTO main.kept SELECT trace + :traces, annotations, views FROM added.kept"
_FORGET = "DELETE FROM main.kept WHERE trace NOT IN (SELECT id FROM main.traces)"


def keep_newest(path: Path, keep: int) -> None:
    """Delete all but the newest `keep` traces of each signature from a session file."""
    with closing(connect(path)) as connection:
        with Transaction(connection):
            _delete_oldest(connection, keep)
        connection.executescript("PRAGMA incremental_vacuum")


def _delete_oldest(connection: Guarded, keep: int) -> None:
    """Delete all but the newest traces, requested ones as well: this is how tftracer's server keeps them."""
    connection.execute(_DELETE_OLDEST, (keep,))
    if has_kept(connection):
        connection.execute(_FORGET)


def add_session(session: SavedSession, source: str | Path, keep: int) -> int:
    """Add the current runs, processes and traces of another session, without its requests.

    The newest `keep` traces of each signature stay, from either session. Both may be recording. Return how
    many processes recorded the other one. If it cannot be read or this one cannot be written (sqlite3.Error),
    nothing is added.
    """
    # A copy, because the counts of recording processes are not in the database.
    with TemporaryFolder() as folder, open_session(source) as other:
        return _add(session, other.save(folder.path / "added.tfvis"), keep)


def _add(session: SavedSession, copy: Path, keep: int) -> int:
    with session.writing() as connection:
        connection.execute("ATTACH ? AS added", (str(copy),))
        try:
            with Transaction(connection):
                return _copied(connection, keep)
        finally:
            connection.execute("DETACH added")


def _copied(connection: Guarded, keep: int) -> int:
    after = {name: stored_rows.last_number(connection, name) for name in ("writers", "traces")}
    columns: dict[str, str] = {}
    for name, each in (("counts", Counts._fields), ("recorded", _RECORDED)):
        kept = stored(connection, each)
        columns |= {name: ", ".join(kept), f"added_{name}": selected(connection, kept, "added")}
    connection.execute(_ADD_WRITERS, after)
    signatures = stored_rows.validate_rows(
        connection.execute(_SIGNATURES), stored_rows.count, *[stored_rows.text] * 6
    )
    for number, *signature in list(signatures):
        numbers = {**after, "signature": number, "own": signature_number(connection, Signature(*signature))}
        for statement in _OF_SIGNATURE:
            connection.execute(statement.format(**columns), numbers)
    if has_kept(connection) and has_kept(connection, "added"):
        connection.execute(_ADD_KEPT, after)
    _delete_oldest(connection, keep)
    return int(connection.execute("SELECT count(*) FROM added.writers").fetchone()[0])
