"""A recording process's side of its session: count runs, store traces, and check for requests."""

import math
import os
import socket
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tfvis_nb.session.compression import compress
from tfvis_nb.session.file.columns import OF_TRACED_RUN, stored
from tfvis_nb.session.file.companions import file_at
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.counters import SLOTS, Counts, Ledger, ledger_path
from tfvis_nb.session.file.creation import making_files, remove_companions
from tfvis_nb.session.file.database import PATIENCE_S, Transaction, connect
from tfvis_nb.session.file.dead_writers import end_writer, save_counts, take_in_ended
from tfvis_nb.session.file.entries import Orders, Recording, Signature, name_and_type
from tfvis_nb.session.file.errors import DamagedSessionError, damage_named, deleted
from tfvis_nb.session.file.kept import forget_traces, keep_trace, kept_traces, prepare_kept
from tfvis_nb.session.file.rows import count, factor, rule, validate_rows, whole, whole_or_none
from tfvis_nb.session.file.schema import check_schema, has_kept
from tfvis_nb.session.file.write_ahead_log import HeldError, WriteAheadLog, is_held
from tfvis_nb.texts import Text

MORE = "runs of more signatures"
"""Stands for all signatures that a process ran after its first `SLOTS`."""

_RECORDED = ("run", "start_ns", "duration_ns", *OF_TRACED_RUN, "format", "epoch_ns", "note", "layers")

RUN_S = 0.5
WORK_S = 0.9
"""How long a run may wait for another process, or for a query."""

DELETE_NS = 100_000_000
DELETE_BYTES = 1_000_000
DELETE_TRACES = 10
"""Limits for traces beyond those to keep: how long, how many bytes, and how many may stay.

Deleting a trace touches more of the file than writing one, and if all runs are traced, they wait for both.
"""

MOST_ORDERS = 10_000
"""How many rules and requests a process reads: those of the first signatures, and the oldest."""


def signature_number(connection: Guarded, signature: Signature) -> int:
    """Return the number of a signature in a session that is being written: an existing or a new one."""
    kind, label, fetches, targets, _, options = signature
    first, _ = name_and_type(fetches.partition("\n")[0])
    # After its first name comes a line end, a space or nothing, all of which sort before "!".
    alike = connection.execute(
        "SELECT id, fetches, feeds FROM signatures WHERE kind = ? AND fetches >= ? AND fetches < ?"
        " AND targets = ? AND options = ? AND typeof(feeds) = 'text' ORDER BY id",
        (kind, first, f"{first}!", targets, options),
    )
    for number, fetched, fed in alike:
        if Signature(kind, label, fetched, targets, fed, options).key == signature.key:
            return int(number)
    added = connection.execute(
        "INSERT INTO signatures(kind, label, fetches, targets, feeds, options) VALUES (?, ?, ?, ?, ?, ?)",
        signature,
    )
    assert added.lastrowid is not None
    return added.lastrowid


class Writer:
    """One process's connection to a session, which is created if there is none.

    `keep` is the number of traces to keep per signature besides those that were requested, opened or
    annotated; None for all.
    """

    def __init__(self, path: Path, keep: int | None) -> None:
        if not hasattr(os, "pwrite"):  # Windows, which has no locks that end with a process either
            raise OSError(Text("sessions_on_unix_only", path=str(path)))
        self.path = path
        self._keep = keep
        self._lock = threading.RLock()
        self._slots = 0
        self._seen = -1
        self._grown: set[int] = set()
        self._grown_bytes = 0
        self._grown_traces = 0
        self._delete_at = 0
        self._schema = -1
        self._wait_s = PATIENCE_S
        self._requested: set[int] = set()
        self._connection = connect(path, create=True)
        self._file = file_at(path)
        self._log = WriteAheadLog(path, self._connection)
        try:
            # Also because an earlier version of the file can only be changed while nobody records.
            self._take_in_ended()
            with Transaction(self._connection) as connection:
                prepare_kept(connection)
                row = {"host": socket.gethostname(), "pid": os.getpid(), "started_ns": time.time_ns()}
                row |= dict.fromkeys(stored(connection, ["keep"]), keep)
                started = f"INSERT INTO writers({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
                number = connection.execute(f"{started} RETURNING id", tuple(row.values()))
                self.number: int = number.fetchone()[0]
            self._recorded = stored(self._connection, _RECORDED)
            with making_files(path):
                mode = stat.S_IMODE(path.stat().st_mode)
                self._ledger = Ledger(ledger_path(path, self.number), mode)
            self.wait(RUN_S)
        except BaseException:
            self._connection.close()
            raise

    def wait(self, seconds: float) -> None:
        """Set how long later calls wait for another writing process before they raise."""
        with self._lock:
            self._wait_s = seconds
            self._connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def take_slot(self, signature: Signature) -> tuple[Signature, int]:
        """Return the slot and the signature for counting one that this process runs for the first time."""
        with self._lock:
            slot = min(self._slots, SLOTS - 1)
            self._slots += 1
            return (signature if slot < SLOTS - 1 else Signature("session", MORE)), slot

    def add_signature(self, signature: Signature, slot: int | None = None) -> tuple[int, int]:
        """Return the number of a signature, and its slot: an existing or a new one."""
        with self._lock:
            if slot is None:
                signature, slot = self.take_slot(signature)
            with Transaction(self._connection) as connection:
                number = signature_number(connection, signature)
                connection.execute(
                    "INSERT OR IGNORE INTO counts(writer, signature, slot) VALUES (?, ?, ?)",
                    (self.number, number, slot),
                )
            return number, slot

    def count(self, slot: int, counts: Counts) -> None:
        """Record the counts of the signature in `slot`."""
        self._ledger.put(slot, counts)

    def orders(self) -> Orders | None:
        """Return the requests if another connection has written since the last call.

        FileNotFoundError if the file was deleted or replaced, because nobody would read further writes.
        """
        with self._lock:
            self._check_there()
            connection = self._connection
            connection.allow(WORK_S)
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            if version == self._seen:
                return None
            with damage_named(self.path):
                schema = connection.execute("PRAGMA schema_version").fetchone()[0]
                if schema != self._schema:
                    check_schema(connection, self.path)
                    self._schema = schema
                orders = self._asked()
            self._seen = version
            return orders

    def _asked(self) -> Orders:
        orders = Orders()
        rules = "SELECT signature, kind, value FROM rules ORDER BY signature LIMIT ?"
        rows = self._connection.execute(rules, (MOST_ORDERS,))
        for signature, kind, value in validate_rows(rows, whole, rule, factor):
            orders.rules[signature] = (kind, value)
        requests = (
            "SELECT id, signature, writer FROM requests WHERE writer IS NULL OR writer = ?"
            " ORDER BY id LIMIT ?"
        )
        rows = self._connection.execute(requests, (self.number, MOST_ORDERS))
        for request, signature, writer in validate_rows(rows, count, whole, whole_or_none):
            orders.requests.setdefault(signature, []).append((request, writer is not None))
        return orders

    def tidy(self) -> None:
        """Delete traces beyond those to keep, if there may be any."""
        with self._lock:
            if self._grown:
                with self._transaction() as connection:
                    self._delete_oldest(connection)

    def _transaction(self) -> Transaction:
        """Return a transaction for a run to wait for.

        HeldError if the log has grown too long because a reader does not end.
        """
        self._connection.allow(WORK_S)
        self._log.keep_short(self._connection)
        return Transaction(self._connection)

    def claim(self, request: int) -> bool:
        """Take a request that any process may serve; False if another one was faster."""
        with self._lock, self._transaction() as connection:
            taken = "UPDATE requests SET writer = ? WHERE id = ? AND writer IS NULL"
            return connection.execute(taken, (self.number, request)).rowcount == 1

    def add_trace(self, signature: int, recording: Recording, request: int | None) -> None:
        """Store a trace, which completes its request, and delete the oldest ones beyond those to keep.

        If traces follow each other quickly, they are deleted together a little later.
        """
        data = compress(recording.data)
        row = {"signature": signature, "writer": self.number, "size": len(recording.data), "data": data}
        row |= {name: getattr(recording, name) for name in self._recorded}
        with self._lock, self._transaction() as connection:
            number = connection.execute(
                f"INSERT INTO traces({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608 - constants
                tuple(row.values()),
            ).lastrowid
            if request is not None and number is not None:
                connection.execute("DELETE FROM requests WHERE id = ?", (request,))
                self._requested.add(number)
                if has_kept(connection):
                    keep_trace(connection, number)
            elif self._keep is not None:
                self._grown.add(signature)
                self._grown_bytes += len(data)
                self._grown_traces += 1
                if (
                    self._grown_bytes > DELETE_BYTES
                    or self._grown_traces >= DELETE_TRACES
                    or time.monotonic_ns() > self._delete_at
                ):
                    self._delete_oldest(connection)

    def _delete_oldest(self, connection: Guarded) -> None:
        """Delete traces beyond those to keep; part of a transaction."""
        if self._grown:
            # Files of earlier versions do not list what others asked for or opened.
            of_all = has_kept(connection)
            kept = kept_traces(connection) if of_all else self._requested
            query = "SELECT id FROM traces WHERE signature = ? AND (? OR writer = ?) ORDER BY id DESC"
            for signature in self._grown:
                rows = connection.execute(query, (signature, of_all, self.number))
                others = [number for (number,) in validate_rows(rows, count) if number not in kept]
                forget_traces(connection, others[self._keep :])
        self._grown.clear()
        self._grown_bytes = self._grown_traces = 0
        self._delete_at = time.monotonic_ns() + DELETE_NS

    def counting(self, slot: int) -> Callable[..., None]:
        """Return a function that records counts of the signature in `slot`, given the values of `Counts`."""
        return self._ledger.putting(slot)

    def save_counts(self, counts: Mapping[int, Counts]) -> None:
        """Write the counts of signatures to the database, unless another process is writing."""
        with self._lock:
            before = self._wait_s
            self.wait(0)
            try:
                with self._transaction() as connection:
                    save_counts(connection, self.number, counts)
            except (sqlite3.OperationalError, HeldError) as error:
                if not is_held(error):
                    raise
            finally:
                self.wait(before)

    def close(self, counts: Mapping[int, Counts]) -> None:
        """End, with the last counts of signatures."""
        with self._lock:
            try:
                self._check_there()
                self.wait(PATIENCE_S)
                self._connection.allow(math.inf)
                with Transaction(self._connection) as connection:
                    self._delete_oldest(connection)
                    save_counts(connection, self.number, counts)
                    end_writer(connection, self.number, time.time_ns())
            except BaseException:
                self.abandon()
                raise
            self._take_in_ended()
            self.wait(RUN_S)
            with suppress(sqlite3.Error):
                # A reader that has the file open keeps SQLite from doing so.
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._connection.close()
            self._ledger.remove()

    def _take_in_ended(self) -> None:
        """Take in the counts of killed processes, unless their files are in no order."""
        with suppress(sqlite3.Error, OSError, DamagedSessionError):
            take_in_ended(self._connection, self.path)

    def abandon(self) -> None:
        """Release everything without writing; the ledger has the counts."""
        with self._lock:
            there = file_at(self.path) == self._file
            if not there:
                with suppress(sqlite3.Error):
                    self._complete_moved()
            self._connection.close()
            if not there:  # and no session takes it in
                with suppress(OSError):
                    self._ledger.remove()
                remove_companions(self.path)
            else:
                self._ledger.close()

    def _complete_moved(self) -> None:
        """Write all companion data to the file, which may have been moved and be read elsewhere.

        SQLite itself would leave the data where it is.
        """
        slots = self._ledger.counts()
        with Transaction(self._connection) as connection:
            rows = connection.execute("SELECT signature, slot FROM counts WHERE writer = ?", (self.number,))
            counts = {number: slots[slot] for number, slot in rows.fetchall() if slot in slots}
            save_counts(connection, self.number, counts)
            end_writer(connection, self.number, time.time_ns())
        # Not TRUNCATE, because another session at the old path may already use the log there.
        self._connection.execute("PRAGMA wal_checkpoint(FULL)")

    def _check_there(self) -> None:
        if file_at(self.path) != self._file:
            raise FileNotFoundError(deleted(self.path))

    def forget(self) -> None:
        """In a forked process, release handles that would keep the parent's lock after its end."""
        self._ledger.close()
