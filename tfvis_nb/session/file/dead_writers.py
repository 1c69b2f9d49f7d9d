"""Find processes that ended without closing their recording, and read their last counts."""

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from tfvis_nb.session.file.columns import stored
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.counters import (
    Counts,
    abandoned,
    is_ledger,
    ledger_content,
    ledger_path,
    read_ledger,
)
from tfvis_nb.session.file.database import Transaction
from tfvis_nb.session.file.rows import count, running_writers, text, validate_rows, whole

OPENED_WITHIN_NS = 60_000_000_000
"""How long a process may take from its entry in the file to the creation of its ledger."""

CLOCKS_NS = 60_000_000_000
"""How much later than its real start a process may seem to start, for example after setting the clock."""


MOST_AT_ONCE = 1000
"""How many processes of a file are checked at a time; others are checked the next time."""


class Writers(NamedTuple):
    """The processes that have not reported their end.

    - `ended`: Those that have ended all the same, with the epoch nanoseconds of their last run, or of their
      start.
    - `recording`: Whether there are others.
    """

    ended: dict[int, int]
    recording: bool


def unended_writers(connection: Guarded, path: Path) -> Writers:
    """Find out which of the processes that have not reported their end have ended."""
    ended = {writer: last_ns for writer, last_ns, _ in _ended(connection, path)}
    return Writers(ended, len(running_writers(connection)) > len(ended))


def take_in_ended(connection: Guarded, path: Path) -> None:
    """Write the last counts of killed processes to the database, and delete their ledgers."""
    for writer, last_ns, counts in list(_ended(connection, path)):
        with Transaction(connection):
            save_counts(connection, writer, counts)
            end_writer(connection, writer, last_ns)
        ledger = ledger_path(path, writer)
        # Another process may have the same right and be faster; a file of somebody else stays.
        with suppress(OSError):
            if is_ledger(ledger_content(ledger)):
                ledger.unlink()


def _ended(connection: Guarded, path: Path) -> Iterator[tuple[int, int, dict[int, Counts]]]:
    """Yield killed processes with their last times, and their counts by signature."""
    query = "SELECT id, host, pid, started_ns FROM writers WHERE ended_ns IS NULL ORDER BY id LIMIT ?"
    running = list(validate_rows(connection.execute(query, (MOST_AT_ONCE,)), count, text, whole, count))
    for writer, host, pid, started_ns in running:
        ledger = ledger_path(path, writer)
        with abandoned(ledger) as let_go:
            if not (_is_gone(host, pid, started_ns, ledger) if let_go is None else let_go):
                continue
        try:
            slots = read_ledger(ledger)
        except OSError:
            slots = {}  # of another user
        query = "SELECT slot, signature, last_ns FROM counts WHERE writer = ?"
        rows = list(validate_rows(connection.execute(query, (writer,)), whole, whole, count))
        counts = {signature: slots[slot] for slot, signature, _ in rows if slot in slots}
        began = [saved for *_, saved in rows] + [values.last_ns for values in counts.values()]
        yield writer, max(began, default=0) or started_ns, counts


def _is_gone(host: str, pid: int, started_ns: int, ledger: Path) -> bool:
    """Whether a process without a ledger lock has ended: it does not exist, or cannot be opened."""
    if host == socket.gethostname():
        try:
            # A process started later may have the same number.
            if psutil.Process(pid).create_time() * 1e9 > started_ns + CLOCKS_NS:
                return True
        except (psutil.NoSuchProcess, ValueError):
            return True
        except (psutil.Error, OSError):
            pass  # of another user
    # Only the session file was copied, or it is just being opened.
    return not os.path.lexists(ledger) and time.time_ns() > started_ns + OPENED_WITHIN_NS


def save_counts(connection: Guarded, writer: int, counts: Mapping[int, Counts]) -> None:
    """Write the counts of a process by signature; part of a transaction."""
    columns = stored(connection, Counts._fields)
    put = ", ".join(f"{column} = ?" for column in columns)
    connection.executemany(
        f"UPDATE counts SET {put} WHERE writer = ? AND signature = ?",  # noqa: S608 - constants
        [(*values[: len(columns)], writer, signature) for signature, values in counts.items()],
    )


def end_writer(connection: Guarded, writer: int, ended_ns: int) -> None:
    """Record the end of a process, and drop its requests; part of a transaction."""
    connection.execute("UPDATE writers SET ended_ns = ? WHERE id = ?", (ended_ns, writer))
    connection.execute("DELETE FROM requests WHERE writer = ?", (writer,))
