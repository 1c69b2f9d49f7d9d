"""`SavedSession`: read and control a session file from any process, without TensorFlow."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from tfvis_nb.core import registry
from tfvis_nb.core.options import only_known_options
from tfvis_nb.core.output_path import writable
from tfvis_nb.core.trace import Trace
from tfvis_nb.session import tables, validate
from tfvis_nb.session.file import rows
from tfvis_nb.session.file.companions import file_at
from tfvis_nb.session.file.connection import QUERY_S, Guarded
from tfvis_nb.session.file.copy import write_copy
from tfvis_nb.session.file.creation import remove_companions
from tfvis_nb.session.file.database import Transaction, connect, connect_reader
from tfvis_nb.session.file.dead_writers import Writers, take_in_ended, unended_writers
from tfvis_nb.session.file.errors import DamagedSessionError, damage_named, in_words
from tfvis_nb.session.file.kept import (
    Notes,
    forget_traces,
    keep_trace,
    kept_traces,
    prepare_kept,
    put_notes,
    read_notes,
)
from tfvis_nb.session.file.left_files import close_unchanged, state_of
from tfvis_nb.session.file.schema import EVERY, check_schema, has_kept
from tfvis_nb.session.jobs import job_table
from tfvis_nb.session.orders import request_trace, signature_id
from tfvis_nb.session.stored_trace import StoredTrace, stored_row
from tfvis_nb.sql import connection as sql
from tfvis_nb.sql.views import table_view, views_of_traces
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    import duckdb

    from tfvis_nb.display.monitor.monitor_widget import MonitorWidget


_TABLES = ("signatures", "traces", "jobs", "processes")


class SavedSession:
    """The runs and traces of a job; while it runs, also requests for traces.

    Created by `open_session`, which describes it. Several threads may use it.
    """

    def __init__(self, path: str | Path) -> None:
        # Absolute, because the process may change its folder.
        self.path = validate.file_path(path)
        self._lock = threading.RLock()
        self._reader: Guarded | None = None
        self._closing: weakref.finalize[..., Any] | None = None
        self._schema = 0
        self._file: tuple[int, int] | None = None
        self._copied: tuple[object, ...] | None = None
        self._to_keep: set[int] = set()
        self._writers = Writers({}, recording=False)

    def _connected(self) -> Guarded:
        self._check_reader()
        if self._reader is None:
            self._file = file_at(self.path)
            self._reader, self._copied = connect_reader(self.path)
            # Also at the end of the process, when nobody has closed this.
            self._closing = weakref.finalize(self, _release, self._reader, self.path, os.getpid())
        self._reader.allow(QUERY_S)
        version = self._reader.execute("PRAGMA schema_version").fetchone()[0]
        if version != self._schema:  # the tables were changed since
            check_schema(self._reader, self.path)
            self._schema = version
        return self._reader

    def _check_reader(self) -> None:
        """Close the reader of a file that was deleted, replaced or changed since it was copied."""
        if self._closing and not self._closing.alive:
            self._forget_reader()  # Python is ending, and has closed it
        if file_at(self.path) != self._file:
            used_logs = self._reader is not None and self._copied is None
            self._forget_reader()
            if used_logs:
                # SQLite leaves them, and they would be in the way of the next session.
                remove_companions(self.path)
        elif self._copied and state_of(self.path) != self._copied:
            self._forget_reader()

    def _forget_reader(self) -> None:
        # Finalisers that are called do nothing once Python has run its exit functions.
        if self._closing and (closing := self._closing.detach()):
            _, release, arguments, _ = closing
            release(*arguments)
        self._reader = self._copied = None

    @contextmanager
    def connected(self) -> Iterator[Guarded]:
        """Yield the open file to read, exclusively for this thread during the block."""
        with self._lock, damage_named(self.path):
            connection = self._connected()
            self._writers = unended_writers(connection, self.path)
            if self._writers.ended and not self._writers.recording and not self._copied:
                # Killed while it was read. Other connections of this process may keep it from being copied.
                self._forget_reader()
                connection = self._connected()
                self._writers = unended_writers(connection, self.path)
            self._keep_traces(connection)
            yield self._connected()

    @contextmanager
    def writing(self) -> Iterator[Guarded]:
        """Yield the file opened to write, with the last counts of killed processes."""
        with self._lock, damage_named(self.path):
            self._check_reader()
            with closing(connect(self.path)) as connection:
                connection.allow(QUERY_S)
                take_in_ended(connection, self.path)
                yield connection

    @property
    def ended(self) -> Mapping[int, int]:
        """Killed processes that the file has as running, with their last runs in epoch ns."""
        return self._writers.ended

    def _table(self, made: Callable[[Guarded], pd.DataFrame]) -> pd.DataFrame:
        with self.connected() as connection:
            return made(connection)

    @property
    def signatures(self) -> pd.DataFrame:
        """One row for each distinct kind of run, by its number.

        ``kind`` is ``session``, ``step``, or Keras's ``train``, ``test`` or ``predict``. ``runs`` counts runs
        that ended, in ``total_ns``, and ``failed`` those that raised. ``traced`` counts traced runs, kept or
        not; ``mean_ns`` and ``longest_ns`` are those of untraced runs, or of traced ones if all were.
        ``first`` and ``last`` are UTC start times. ``processes``, ``traces`` and ``requested`` count the
        processes that ran it, kept traces and requests; ``rule`` is the rule for automatic traces.
        ``fetches``, ``targets`` and ``feeds`` are lists of names, ``options`` is a text. ``fetch_types`` and
        ``feed_types`` are lists of the types of ``fetches`` and ``feeds``, such as ``float32[?, 784]``, or ""
        if unknown.
        """
        return self._table(lambda db: tables.signature_table(db, tables.counts_by_writer(db, self.path)))

    @property
    def traces(self) -> pd.DataFrame:
        """One row for each trace, by its number.

        ``run`` counts from 1 and is 0 if unknown, ``start`` is in UTC. ``duration_ns`` is the time of the run
        itself, which tracing makes longer. ``tracing_ns`` is the additional time for starting and collecting
        the trace, without compressing and writing it. ``untraced_ns`` is the median of the signature's last
        ``untraced_runs`` (at most 64) before it in its process. ``batch`` is the number of a Keras batch in
        its epoch, from 0. ``format`` is ``parquet`` if the run ran out of memory: its trace has
        `tfvis_nb.Trace.out_of_memory`. ``bytes`` is the size in the file. Unknown figures are NA.
        """
        return self._table(tables.trace_table)

    @property
    def tracing_costs(self) -> pd.DataFrame:
        """The cost of tracing: one row per signature with traces after untraced runs of the same process.

        ``traced_ns`` and ``untraced_ns`` are medians over the kept ``traces``. ``ratio`` is the typical time
        of a traced run divided by that of untraced ones, with its 95 % interval ``ratio_low`` to
        ``ratio_high``; NaN if unknown.
        """
        return tables.tracing_cost_table(self.traces)

    @property
    def jobs(self) -> pd.DataFrame:
        """Changes of run times: one row for each signature and process that ran it.

        ``mean_ns`` is that of untraced ``runs``, or of traced ones if all were, and ``ratio`` its ratio to
        that of the previous process. ``traced_ratio`` is the same ratio for typical times of the kept
        ``traces``, with its 95 % interval ``traced_low`` to ``traced_high``; NaN if unknown. ``start`` (UTC)
        is when the process started recording.
        """
        with self.connected() as connection:
            counted = tables.counts_by_writer(connection, self.path)
            return job_table(connection, counted, tables.trace_table(connection))

    @property
    def processes(self) -> pd.DataFrame:
        """One row for each recording of a process: host, pid, start and end (UTC; NaT while it records)."""
        return self._table(lambda db: tables.writer_table(db, self.ended))

    def __iter__(self) -> Iterator[Trace]:
        """Yield the traces one by one, ordered by number."""
        return map(self.read, self.traces.index.tolist())

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB connection to the tables of the session and of all its traces.

        ``signatures``, ``traces``, ``jobs`` and ``processes`` are the tables of the same name. The others are
        those of `tfvis_nb.Trace.connect`, with the column ``trace`` in front.

        Raises
        ------
        ImportError
            Without DuckDB, which is in the extra ``sql``.
        """
        own: dict[str, object] = {name: table_view(partial(self._numbered, name)) for name in _TABLES}
        return sql.connect({"main": own | views_of_traces(self._numbers, self.read)})

    def sql(self, query: str) -> pd.DataFrame:
        """Return the result of one SELECT over the tables of `connect`.

        Raises
        ------
        ValueError
            If the query is not one SELECT; ``duckdb.Error`` if it is wrong.
        ImportError
            Without DuckDB, which is in the extra ``sql``.
        """
        with self.connect() as connection:
            return sql.frame(sql.select(connection, query))

    def _numbers(self) -> list[int]:
        return self.traces.index.tolist()

    def _numbered(self, name: str) -> pd.DataFrame:
        table: pd.DataFrame = getattr(self, name)
        return table.reset_index() if any(table.index.names) else table

    def read(self, trace: int) -> Trace:
        """Return a trace by its number in `traces`.

        Its ``sources`` or, for a profile, its ``profiles`` have TensorFlow's original message; a run that ran
        out of memory has none. It has the annotations that were added to it in the monitor.

        Raises
        ------
        KeyError
            If there is no such trace; it may have been deleted.
        TypeError
            If it is not a number.
        """
        return self.stored(trace).read()

    def stored(self, trace: int) -> StoredTrace:
        """Return a trace as TensorFlow's message, without reading it; errors are those of `read`."""
        number = validate.trace(trace)
        with self.connected() as connection:
            row = stored_row(connection, number)
            annotations, _ = read_notes(connection, number) if row else ([], [])
        if row is None:
            raise KeyError(Text("no_such_trace", number=trace, path=str(self.path)))
        return replace(StoredTrace.unpacked(row), annotations=annotations)

    def notes(self, trace: int) -> Notes:
        """Return the stored annotations and views of a trace; see `tfvis_nb.session.file.kept.Notes`."""
        with self.connected() as connection:
            return read_notes(connection, validate.trace(trace))

    def put_notes(self, trace: int, notes: Notes) -> None:
        """Store annotations and views of a trace, which is kept then.

        Raises
        ------
        ValueError
            If there is no such trace, or the file has no place for them.
        OSError
            If the file cannot be written.
        """
        number = validate.trace(trace)

        def put(connection: Guarded) -> None:
            with Transaction(connection):
                if not prepare_kept(connection):
                    raise ValueError(Text("notes_without_place", path=str(self.path)))
                if not put_notes(connection, number, notes):
                    raise ValueError(Text("trace_gone", trace=number))

        self._write(put)

    def keep(self, trace: int) -> None:
        """Keep a trace whatever the limit of a job, if the file can be written.

        The files of a killed job, and files of earlier versions, are not changed for this alone. Once another
        job records, its file is.
        """
        with self._lock:
            self._to_keep.add(validate.trace(trace))
            with self.connected() as connection:
                self._keep_traces(connection)

    def _keep_traces(self, connection: Guarded) -> None:
        if not self._to_keep or self._copied or not has_kept(connection):
            return
        wanted, self._to_keep = self._to_keep - kept_traces(connection), set()
        if wanted and connection.file:
            with suppress(sqlite3.OperationalError, OSError), self.writing() as written, Transaction(written):
                for trace in wanted:
                    keep_trace(written, trace)

    @only_known_options
    def trace_next(self, signature: int | str | None = None) -> None:
        """Request a trace of the next run of a signature, or of any signature.

        Each running process that has run it traces one run; if there is none, the first process that runs it.

        Parameters
        ----------
        signature
            Its number or label in `signatures`, or its kind, such as ``train``, if that is unique.

        Raises
        ------
        TypeError, ValueError
            If it is invalid, there is no such signature, or several have the label.
        OSError
            If the file cannot be written. All requests raise this; a `tfvis_nb.TraceSession` warns instead.
        """
        self._order(signature, request_trace)

    @only_known_options
    def trace_every(self, n: int, signature: int | str | None = None) -> None:
        """Trace every `n`-th run of each signature, starting now: the `n`-th, ``2 * n``-th and so on.

        With a `signature`, this and the other rules only apply to it, and override those for all.
        """
        self._rule("every", float(validate.whole(n, "n", "a number of runs")), signature)

    @only_known_options
    def trace_all(self, signature: int | str | None = None) -> None:
        """Trace every run, starting now; tracing slows each of them down."""
        self._rule("all", 0.0, signature)

    @only_known_options
    def trace_slow(self, *, factor: float, signature: int | str | None = None) -> None:
        """Keep the traces of runs that took longer than `factor` times the median of the last traced runs.

        Only the end of a run shows whether it is slow, so all runs are traced, which costs time, and the
        traces of others are discarded.
        """
        self._rule("slower", validate.factor(factor, "factor"), signature)

    @only_known_options
    def cancel_requests(self, signature: int | str | None = None) -> None:
        """Cancel the `trace_next` requests for a signature, or all requests. Rules stay."""
        self._cancel(signature, "requests")

    @only_known_options
    def stop_tracing(self, signature: int | str | None = None) -> None:
        """Cancel the rule and the requests for a signature, or all rules and requests."""
        self._cancel(signature, "rules", "requests")

    def _cancel(self, signature: int | str | None, *tables_of_orders: str) -> None:
        def cancel(connection: Guarded, number: int) -> None:
            for table in tables_of_orders:
                connection.execute(
                    f"DELETE FROM {table} WHERE ?1 = {EVERY} OR signature = ?1",  # noqa: S608 - constants
                    (number,),
                )

        self._order(signature, cancel)

    def delete(self, traces: int | Iterable[int]) -> None:
        """Delete traces by number; the file shrinks. Traces that were already deleted are ignored.

        Raises
        ------
        TypeError, ValueError
            If one is not a number, or such a trace never existed; then none is deleted.
        """
        numbers = validate.traces(traces)

        def remove(connection: Guarded) -> None:
            with Transaction(connection):
                last = rows.last_number(connection, "traces")
                for number in numbers:
                    if not 1 <= number <= last:
                        raise ValueError(Text("no_such_trace", number=number, path=str(self.path)))
                forget_traces(connection, numbers)
            connection.allow(math.inf)
            # It frees a page per step, and `execute` runs only one step of a statement without rows.
            connection.executescript("PRAGMA incremental_vacuum")

        self._write(remove)

    def save(self, path: str | Path) -> Path:
        """Write a complete copy of the session, even while the job runs; return its path.

        Raises
        ------
        FileExistsError
            If the file exists.
        OSError, sqlite3.Error
            If it cannot be written; FileNotFoundError if the folder does not exist.
        """
        path = Path(path).expanduser()
        if path.exists():
            raise FileExistsError(Text("exists_already", path=str(path)))
        writable(path)
        with self.connected() as connection:
            counted = tables.counts_by_writer(connection, self.path)
            write_copy(connection, counted, path)
        return path

    @only_known_options
    def monitor(self, *, height: int | None = None) -> MonitorWidget:
        """Show the live session in a notebook cell, as `tfvis_nb.monitor` does."""
        return registry.monitor_of(self, height=height)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._forget_reader()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _write(self, write: Callable[[Guarded], None]) -> None:
        """Write a request to the session; OSError with the file name if that fails."""
        try:
            with self.writing() as connection:
                write(connection)
        except sqlite3.OperationalError as error:
            raise OSError(in_words(error, self.path)) from None

    def _order(self, signature: int | str | None, order: Callable[[Guarded, int], object]) -> None:
        called = validate.signature(signature)

        def write(connection: Guarded) -> None:
            with Transaction(connection):
                order(connection, signature_id(connection, self.path, called))

        self._write(write)

    def _rule(self, kind: str, value: float, signature: int | str | None) -> None:
        put = "INSERT OR REPLACE INTO rules(signature, kind, value) VALUES (?, ?, ?)"
        self._order(signature, lambda connection, number: connection.execute(put, (number, kind, value)))


def _release(reader: Guarded, path: Path, process: int) -> None:
    """Close a reader, which leaves the files of a killed process as they are."""
    if os.getpid() != process:
        return  # the file and its locks belong to the parent
    with suppress(sqlite3.Error, OSError, DamagedSessionError):
        reader.allow(QUERY_S)
        writers = unended_writers(reader, path)
        if reader.file and writers.ended and not writers.recording:
            close_unchanged(reader, path)
    reader.close()


def open_session(path: str | Path) -> SavedSession:
    """Open the session file of a job that runs on this machine or has ended.

    Requests for traces go through the file: no port is opened, and the job checks for them at most ten times
    a second.

    Parameters
    ----------
    path
        The file written by a `tfvis_nb.TraceSession`.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If the file does not exist, or is a folder.
    TraceFormatError
        If it is another kind of file, empty or damaged.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> tv.open_session("no-such-run.tfvis")
    Traceback (most recent call last):
    ...
    FileNotFoundError: there is no file '...no-such-run.tfvis'
    """
    session = SavedSession(path)
    try:
        with session.connected():
            pass  # now, so that errors are raised here
    except BaseException:
        session.close()
        raise
    return session
