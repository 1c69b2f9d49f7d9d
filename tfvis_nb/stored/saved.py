"""`SavedSession`: a session's file, read and controlled from any process; it needs no TensorFlow."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from tfvis_nb._trace import Trace
from tfvis_nb.stored import tables
from tfvis_nb.stored.database import EVERY, Transaction, connect
from tfvis_nb.stored.ledger import Counts, abandoned, ledger_path, read_ledger
from tfvis_nb.stored.packing import unpacked
from tfvis_nb.stored.writer import end_writer, save_counts
from tfvis_nb.unknown_options import near

if TYPE_CHECKING:
    from tfvis_nb.display.monitor import MonitorWidget

OPENED_WITHIN_NS = 60_000_000_000
"""How long a process may take from its entry in the file to its ledger beside it."""


class SavedSession:
    """What a job ran and the traces it kept; while the job runs, also what it is asked to trace.

    Made by `open_session`, which describes it. It may be used from several threads.
    """

    def __init__(self, path: str | Path) -> None:
        # As from here: the process may change its folder.
        self.path = Path(path).expanduser().absolute()
        self._lock = threading.RLock()
        self._reader: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def _connected(self) -> sqlite3.Connection:
        if self._reader is not None and not self._reader.in_transaction and _file_at(self.path) != self._file:
            # It was deleted, and another may be in its place: nobody will read what is asked for in this one.
            self._reader.close()
            self._reader = None
        if self._reader is None:
            self._file = _file_at(self.path)
            self._reader = connect(self.path)
            self._take_in_abandoned()
        return self._reader

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """Give the rest of this package the open file, which is this thread's alone meanwhile."""
        with self._lock:
            connection = self._connected()
            self._take_in_abandoned()
            yield connection

    @property
    def signatures(self) -> pd.DataFrame:
        """One row for each distinct kind of run, by its number.

        ``kind`` is ``session``, or Keras's ``train``, ``test`` or ``predict``. ``runs`` ended,
        ``failed`` raised; ``mean_ns``, ``total_ns``, ``longest_ns`` are of those that ended. ``first``
        and ``last`` are UTC times at which one began. ``processes`` have run it, ``traces`` are kept,
        ``requested`` are asked for, and ``rule`` says which are traced of themselves.
        ``fetches``, ``targets``, ``feeds`` are lists of names, ``options`` a text.
        """
        with self._lock:
            connection = self._connected()
            self._take_in_abandoned()
            return tables.signature_table(connection, tables.counts_by_writer(connection, self.path))

    @property
    def traces(self) -> pd.DataFrame:
        """One row for each trace, by its number: signature, label, process, run (from 1; 0 where it is
        not known), start (UTC), duration_ns, format, and the bytes it takes in the file."""  # fmt: skip # noqa: D205, D209
        with self._lock:
            return tables.trace_table(self._connected())

    @property
    def processes(self) -> pd.DataFrame:
        """One row for each process that recorded: host, pid, start and end (UTC; NaT while it runs)."""
        with self._lock:
            self._take_in_abandoned()
            return tables.writer_table(self._connected())

    def read(self, trace: int) -> Trace:
        """Return the trace with a number of `traces`.

        Raises
        ------
        KeyError
            If there is none; it may have been deleted since.
        """
        from tfvis_nb.reading import read_trace
        from tfvis_nb.recording.assembling import on_the_clock

        query = (
            "SELECT data, size, format, epoch_ns, label, run, note FROM traces"
            " JOIN signatures ON signatures.id = signature WHERE traces.id = ?"
        )
        with self._lock:
            row = self._connected().execute(query, (int(trace),)).fetchone()
        if row is None:
            raise KeyError(f"there is no trace {trace} in {str(self.path)!r}")
        data, size, form, epoch_ns, label, run, note = row
        title = f"{label}, run {run}" if run else label
        found = read_trace(unpacked(data, size), title=title)
        if form == "xspace":
            return on_the_clock(found, epoch_ns)
        found.step_labels = {0: label}
        found.notes[:0] = [note] if note else []
        return found

    def trace_next(self, signature: int | str | None = None) -> None:
        """Ask for a trace of the next run of a signature, or of whatever runs next.

        Every process that runs now and has run it traces one; if there is none, the first that does.

        Parameters
        ----------
        signature
            Its number or its label in `signatures`, or its kind, such as ``train``, if there is one of it.

        Raises
        ------
        ValueError
            If there is no such signature, or several have the label.
        """
        self._ordering()
        with self._lock:
            self._take_in_abandoned()
            self._request(signature)
        self._ordered()

    def _request(self, signature: int | str | None) -> None:
        with Transaction(self._connected()) as connection:
            number = self._number(signature)
            running = "SELECT id FROM writers WHERE ended_ns IS NULL"
            if number != EVERY:
                running += " AND id IN (SELECT writer FROM counts WHERE signature = :number)"
            writers = [row[0] for row in connection.execute(running, {"number": number})]
            for writer in writers or [None]:
                connection.execute("INSERT INTO requests(signature, writer) VALUES (?, ?)", (number, writer))

    def trace_every(self, n: int, signature: int | str | None = None) -> None:
        """Trace every `n`-th run from now on: the `n`-th, the ``2 * n``-th and so on of each signature.

        With a `signature`, this and the other rules are for it alone, and go before those for all.
        """
        if n < 1:
            raise ValueError(f"n is {n}; it is a number of runs, from 1 on")
        self._rule("every", float(n), signature)

    def trace_all(self, signature: int | str | None = None) -> None:
        """Trace every run from now on, each as much slower as TensorFlow's tracing makes it."""
        self._rule("all", 0.0, signature)

    def trace_when(self, *, slower_than: float, signature: int | str | None = None) -> None:
        """Keep the traces of runs that took longer than `slower_than` times the median of the last ones.

        Whether a run is slow is known when it has ended, so all are traced, with the cost of
        that, and those of the others are thrown away.
        """
        if not slower_than > 0:
            raise ValueError(f"slower_than is {slower_than}; it is a factor, such as 2")
        self._rule("slower", float(slower_than), signature)

    def trace_none(self, signature: int | str | None = None) -> None:
        """Withdraw the rule of a signature, or without one all rules and requests."""
        self._ordering()
        with self._lock, Transaction(self._connected()) as connection:
            number = self._number(signature)
            for table in ("rules", "requests"):
                connection.execute(
                    f"DELETE FROM {table} WHERE ?1 = {EVERY} OR signature = ?1",  # noqa: S608 - constants
                    (number,),
                )
        self._ordered()

    def delete(self, traces: int | Iterable[int]) -> None:
        """Delete traces by their numbers, those that are there; the file gets smaller."""
        numbers = [traces] if isinstance(traces, int) else traces
        with self._lock:
            connection = self._connected()
            with Transaction(connection):
                connection.executemany(
                    "DELETE FROM traces WHERE id = ?", [(int(number),) for number in numbers]
                )
            # It gives back a page a step, and `execute` makes one step of a statement without rows.
            connection.executescript("PRAGMA incremental_vacuum")

    def save(self, path: str | Path) -> Path:
        """Write a copy, whole as of now, also while the job runs; return where it is.

        Raises
        ------
        FileExistsError
            If there is such a file.
        """
        path = Path(path).expanduser()
        if path.exists():
            raise FileExistsError(f"{str(path)!r} is there already")
        with self._lock:
            connection = self._connected()
            counted = tables.counts_by_writer(connection, self.path)
            copy = sqlite3.connect(path, isolation_level=None)
            try:
                connection.backup(copy)
                with Transaction(copy):
                    for writer, counts in counted.items():
                        save_counts(copy, writer, counts)
                    # Nobody records into the copy.
                    last = "(SELECT max(last_ns) FROM counts WHERE writer = writers.id)"
                    copy.execute(f"UPDATE writers SET ended_ns = {last} WHERE ended_ns IS NULL")  # noqa: S608
                    copy.execute("DELETE FROM requests WHERE writer IS NOT NULL")
            finally:
                copy.close()
        return path

    def monitor(self, **options: Any) -> MonitorWidget:
        """Show the session in a notebook cell as it goes on; options as of `tfvis_nb.monitor`."""
        from tfvis_nb.display.monitor import monitor_of

        return monitor_of(self, **options)

    def close(self) -> None:
        """Close the file; it is opened again when it is asked for something."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _ordering(self) -> None:
        """What to do before orders are written: they are for a session that is there."""

    def _ordered(self) -> None:
        """What to do when the orders have changed: those who record look for themselves."""

    def _rule(self, kind: str, value: float, signature: int | str | None) -> None:
        self._ordering()
        with self._lock, Transaction(self._connected()) as connection:
            number = self._number(signature)
            connection.execute("INSERT OR REPLACE INTO rules VALUES (?, ?, ?)", (number, kind, value))
        self._ordered()

    def _number(self, signature: int | str | None) -> int:
        if signature is None:
            return EVERY
        known = self._connected().execute("SELECT id, kind, label FROM signatures").fetchall()
        if isinstance(signature, str):
            numbers = [number for number, _, label in known if label == signature]
            # Keras's batches are called by their model, too; whoever has one model need not.
            numbers = numbers or [number for number, kind, _ in known if kind == signature]
            if len(numbers) > 1:
                raise ValueError(f"several signatures are called {signature!r}: {numbers}; give the number")
            hint = near(signature, [label for *_, label in known])
        else:
            numbers = [number for number, *_ in known if number == signature]
            hint = ""
        if not numbers:
            raise ValueError(f"there is no signature {signature!r} in {str(self.path)!r}{hint}")
        return int(numbers[0])

    def _take_in_abandoned(self) -> None:
        """Write the last counts of killed processes into the database, and delete their ledgers."""
        connection = self._connected()
        running = connection.execute("SELECT id, started_ns FROM writers WHERE ended_ns IS NULL").fetchall()
        for writer, started_ns in running:
            ledger = ledger_path(self.path, writer)
            try:
                with abandoned(ledger) as gone:
                    # The file alone was copied, or it is just being opened.
                    lost = not ledger.exists() and time.time_ns() > started_ns + OPENED_WITHIN_NS
                    if gone or lost:
                        self._take_in(connection, writer, read_ledger(ledger))
                        ledger.unlink(missing_ok=True)
            except (sqlite3.OperationalError, OSError):
                return  # in a folder that is read-only; what the ledger tells is shown all the same

    @staticmethod
    def _take_in(connection: sqlite3.Connection, writer: int, slots: Mapping[int, Counts]) -> None:
        with Transaction(connection):
            query = "SELECT slot, signature, last_ns FROM counts WHERE writer = ?"
            rows = connection.execute(query, (writer,)).fetchall()
            counts = {signature: slots[slot] for slot, signature, _ in rows if slot in slots}
            save_counts(connection, writer, counts)
            began = [saved for *_, saved in rows] + [values.last_ns for values in counts.values()]
            end_writer(connection, writer, max(began, default=0))


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another that is put in its place; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def open_session(path: str | Path) -> SavedSession:
    """Open the file of a session, of a job that runs on this machine or has ended.

    What the job is asked to trace goes through the file: no port is opened, and the job
    looks for it at most ten times a second.

    Parameters
    ----------
    path
        The file that a `tfvis_nb.TraceSession` writes or wrote.

    Raises
    ------
    FileNotFoundError
        If there is none.
    TraceFormatError
        If it is something else.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> tv.open_session("no-such-run.tfvis")
    Traceback (most recent call last):
    ...
    FileNotFoundError: there is no file '...no-such-run.tfvis'
    """
    session = SavedSession(path)
    session._connected()  # noqa: SLF001 - at once, so that errors are raised here
    return session
