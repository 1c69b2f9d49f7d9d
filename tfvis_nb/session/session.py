"""`SavedSession`: a session's file, read and controlled from any process; it needs no TensorFlow."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from tfvis_nb.core.options import near, some_of
from tfvis_nb.core.output_path import writable
from tfvis_nb.core.trace import Trace
from tfvis_nb.session import tables, validate
from tfvis_nb.session.file import rows
from tfvis_nb.session.file.companions import file_at
from tfvis_nb.session.file.connection import QUERY_S, Guarded
from tfvis_nb.session.file.copy import write_copy
from tfvis_nb.session.file.database import Transaction, connect
from tfvis_nb.session.file.dead_writers import take_in_ended
from tfvis_nb.session.file.errors import damage_named, in_words
from tfvis_nb.session.file.schema import EVERY, check_schema
from tfvis_nb.session.jobs import job_table
from tfvis_nb.session.stored_trace import StoredTrace, stored_row
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.display.monitor.widget import MonitorWidget


class SavedSession:
    """The runs and traces of a job; while it runs, also requests for traces.

    Made by `open_session`, which describes it. It may be used from several threads.
    """

    def __init__(self, path: str | Path) -> None:
        # As from here: the process may change its folder.
        self.path = validate.file_path(path)
        self._lock = threading.RLock()
        self._reader: Guarded | None = None
        self._schema = 0
        self._file: tuple[int, int] | None = None
        self._ended: Mapping[int, int] = {}

    def _connected(self) -> Guarded:
        if self._reader is not None and not self._reader.in_transaction and file_at(self.path) != self._file:
            # It was deleted, and another may have replaced it: nobody would read requests in this one.
            self._reader.close()
            self._reader = None
        if self._reader is None:
            self._file = file_at(self.path)
            self._reader = connect(self.path)
            self._reader.reads_only = True
            self._reader.execute("PRAGMA query_only = ON")
        self._reader.allow(QUERY_S)
        version = self._reader.execute("PRAGMA schema_version").fetchone()[0]
        if version != self._schema:  # somebody has changed the tables since
            check_schema(self._reader, self.path)
            self._schema = version
        return self._reader

    @contextmanager
    def connected(self) -> Iterator[Guarded]:
        """Yield the open file, exclusively for this thread during the block."""
        with self._lock, damage_named(self.path):
            connection = self._connected()
            self._ended = take_in_ended(connection, self.path)
            yield connection

    @property
    def ended(self) -> Mapping[int, int]:
        """Processes that were killed and cannot be entered as ended, with their last runs in epoch ns."""
        return self._ended

    def _table(self, made: Callable[[Guarded], pd.DataFrame]) -> pd.DataFrame:
        with self.connected() as connection:
            return made(connection)

    @property
    def signatures(self) -> pd.DataFrame:
        """One row for each distinct kind of run, by its number.

        ``kind`` is ``session``, or Keras's ``train``, ``test`` or ``predict``. ``runs`` ended,
        ``failed`` raised; ``total_ns`` is of those that ended. ``traced`` of them were traced, kept or not:
        ``mean_ns`` and ``longest_ns`` are of the others, or of the traced ones if all were. ``first``
        and ``last`` are UTC times at which one began. ``processes`` have run it, ``traces`` are kept,
        ``requested`` are asked for, and ``rule`` is the rule for automatic traces. ``fetches``, ``targets``,
        ``feeds`` are lists of names, ``options`` a text.
        """
        return self._table(lambda db: tables.signature_table(db, tables.counts_by_writer(db, self.path)))

    @property
    def traces(self) -> pd.DataFrame:
        """One row for each trace, by its number.

        ``run`` counts from 1 and is 0 where it is not known, ``start`` is in UTC. ``duration_ns`` is the time
        of the run alone, which tracing makes longer. ``tracing_ns`` is the additional time that starting and
        collecting the trace took, without compressing and writing it. ``untraced_ns`` is the median of the
        last ``untraced_runs``, at most 64, of the signature in its process before it. ``batch`` is the number
        of a Keras batch in its epoch, from 0. ``format`` is ``parquet`` if the run ran out of memory: its
        trace has `tfvis_nb.Trace.out_of_memory`. ``bytes`` are those in the file. Unknown figures are NA.
        """
        return self._table(tables.trace_table)

    @property
    def tracing_costs(self) -> pd.DataFrame:
        """One row for each signature with traces whose process had untraced runs before: what tracing cost.

        ``traced_ns`` and ``untraced_ns`` are medians over the ``traces`` kept, ``ratio`` is the typical time
        of a traced run divided by that of the untraced ones, with its 95 % interval ``ratio_low`` to
        ``ratio_high``, which are NaN if the traces do not show it.
        """
        return tables.tracing_cost_table(self.traces)

    @property
    def jobs(self) -> pd.DataFrame:
        """One row for each signature and process that ran it, by both numbers: how run times changed.

        ``mean_ns`` is of the untraced ``runs``, or of the traced ones if all were, and ``ratio`` that of the
        process divided by that of the process before. ``traced_ratio`` is the same ratio for typical times of
        the ``traces`` kept, with its 95 % interval ``traced_low`` to ``traced_high``; NaN if it is not known.
        ``start`` (UTC) is when the process began to record.
        """
        with self.connected() as connection:
            return job_table(connection, tables.counts_by_writer(connection, self.path), self.traces)

    @property
    def processes(self) -> pd.DataFrame:
        """One row for each time a process recorded: host, pid, start and end (UTC; NaT while it does)."""
        return self._table(lambda db: tables.writer_table(db, self._ended))

    def __iter__(self) -> Iterator[Trace]:
        """Read one trace after the other, in the order of their numbers."""
        return map(self.read, self.traces.index.tolist())

    def read(self, trace: int) -> Trace:
        """Return a trace by its number in `traces`.

        Its ``sources`` or, for a profile, its ``profiles`` have TensorFlow's message, byte for byte; a run
        that ran out of memory has no message.

        Raises
        ------
        KeyError
            If there is none; it may have been deleted.
        TypeError
            If it is not a number.
        """
        return self.stored(trace).read()

    def stored(self, trace: int) -> StoredTrace:
        """Return a trace as TensorFlow gave it, without reading it; errors are those of `read`."""
        number = validate.trace(trace)
        with self.connected() as connection:
            row = stored_row(connection, number)
        if row is None:
            raise KeyError(Text("no_such_trace", number=trace, path=str(self.path)))
        return StoredTrace.unpacked(row)

    def trace_next(self, signature: int | str | None = None) -> None:
        """Request a trace of the next run of a signature, or of whatever runs next.

        Every process that runs now and has run it traces one; if there is none, the first that does.

        Parameters
        ----------
        signature
            Its number or its label in `signatures`, or its kind, such as ``train``, if there is one of it.

        Raises
        ------
        TypeError, ValueError
            If it is none of these, there is no such signature, or several have the label.
        OSError
            If the file cannot be written. All requests raise this; a `tfvis_nb.TraceSession` warns instead.
        """

        def request(connection: Guarded, number: int) -> None:
            running = "SELECT id FROM writers WHERE ended_ns IS NULL"
            if number != EVERY:
                running += " AND id IN (SELECT writer FROM counts WHERE signature = :number)"
            writers = [row[0] for row in connection.execute(running, {"number": number})]
            for writer in writers or [None]:
                connection.execute("INSERT INTO requests(signature, writer) VALUES (?, ?)", (number, writer))

        self._order(signature, request)

    def trace_every(self, n: int, signature: int | str | None = None) -> None:
        """Trace every `n`-th run, starting now: the `n`-th, the ``2 * n``-th and so on of each signature.

        With a `signature`, this and the other rules are for it alone, and take precedence over those for all.
        """
        self._rule("every", float(validate.whole(n, "n", "a number of runs")), signature)

    def trace_all(self, signature: int | str | None = None) -> None:
        """Trace every run, starting now, each slowed down by TensorFlow's tracing."""
        self._rule("all", 0.0, signature)

    def trace_slow(self, *, factor: float, signature: int | str | None = None) -> None:
        """Keep the traces of runs that took longer than `factor` times the median of the last traced ones.

        Whether a run is slow is known when it has ended, so all are traced, with the cost of
        that, and those of the others are thrown away.
        """
        self._rule("slower", validate.factor(factor, "factor"), signature)

    def cancel_requests(self, signature: int | str | None = None) -> None:
        """Cancel what `trace_next` requested of a signature, or without one all requests. Rules stay."""
        self._cancel(signature, "requests")

    def stop_tracing(self, signature: int | str | None = None) -> None:
        """Cancel the rule and the requests of a signature, or without one all rules and requests."""
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
        """Delete traces by their numbers; the file gets smaller. Those that were deleted before may be named.

        Raises
        ------
        TypeError, ValueError
            If one is not a number, or there never was such a trace; then none is deleted.
        """
        numbers = validate.traces(traces)

        def remove(connection: Guarded) -> None:
            with Transaction(connection):
                last = rows.last_number(connection, "traces")
                for number in numbers:
                    if not 1 <= number <= last:
                        raise ValueError(Text("no_such_trace", number=number, path=str(self.path)))
                connection.executemany("DELETE FROM traces WHERE id = ?", [(number,) for number in numbers])
            connection.allow(math.inf)
            # It gives back a page a step, and `execute` makes one step of a statement without rows.
            connection.executescript(
                "PRAGMA query_only = OFF; PRAGMA incremental_vacuum; PRAGMA query_only = ON"
            )

        self._write(remove)

    def save(self, path: str | Path) -> Path:
        """Write a complete copy of the current state, even while the job runs; return its path.

        Raises
        ------
        FileExistsError
            If there is such a file.
        OSError, sqlite3.Error
            If it cannot be written; a folder that is not there is a FileNotFoundError.
        """
        path = Path(path).expanduser()
        if path.exists():
            raise FileExistsError(Text("exists_already", path=str(path)))
        writable(path)
        with self.connected() as connection:
            counted = tables.counts_by_writer(connection, self.path)
            write_copy(connection, counted, path)
        return path

    def monitor(self, **options: Any) -> MonitorWidget:
        """Show the live session in a notebook cell; options as for `tfvis_nb.monitor`."""
        from tfvis_nb.display.monitor.widget import monitor_of

        return monitor_of(self, **options)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _write(self, write: Callable[[Guarded], None]) -> None:
        """Write a request to the session; an OSError names the file if that is not possible."""
        try:
            with self.connected() as connection:
                write(connection)
        except sqlite3.OperationalError as error:
            raise OSError(in_words(error, self.path)) from None

    def _order(self, signature: int | str | None, order: Callable[[Guarded, int], object]) -> None:
        called = validate.signature(signature)

        def write(connection: Guarded) -> None:
            with Transaction(connection):
                order(connection, self._signature_id(connection, called))

        self._write(write)

    def _rule(self, kind: str, value: float, signature: int | str | None) -> None:
        put = "INSERT OR REPLACE INTO rules(signature, kind, value) VALUES (?, ?, ?)"
        self._order(signature, lambda connection, number: connection.execute(put, (number, kind, value)))

    def _signature_id(self, connection: Guarded, signature: int | str | None) -> int:
        if signature is None:
            return EVERY
        known = [row[:3] for row in tables.signature_rows(connection)]
        if isinstance(signature, str):
            numbers = [number for number, _, label in known if label == signature]
            # Labels of Keras's batches include their model; users with one model need not type it.
            numbers = numbers or [number for number, kind, _ in known if kind == signature]
            if len(numbers) > 1:
                raise ValueError(Text("signature_ambiguous", signature=signature, numbers=numbers))
            # Most of a job's signatures are initialisers, which ran once.
            took = tables.total_times(tables.counts_by_writer(connection, self.path))
            labels = [label for *_, label in sorted(known, key=lambda row: -took.get(row[0], 0))]
            hint = near(signature, labels) or some_of(labels)
        else:
            numbers = [number for number, *_ in known if number == signature]
            hint = ""
        if not numbers:
            raise ValueError(Text("no_such_signature", signature=signature, path=str(self.path), hint=hint))
        return int(numbers[0])


def open_session(path: str | Path) -> SavedSession:
    """Open the file of a session, of a job that runs on this machine or has ended.

    Requests for traces go through the file: no port is opened, and the job looks for them at most ten
    times a second.

    Parameters
    ----------
    path
        The file that a `tfvis_nb.TraceSession` writes or wrote.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is none, or it is a folder.
    TraceFormatError
        If it is something else, empty or damaged.

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
            pass  # at once, so that errors are raised here
    except BaseException:
        session.close()
        raise
    return session
