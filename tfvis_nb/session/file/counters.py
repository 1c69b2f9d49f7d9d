"""The counts of a running process, in a companion file (ledger) of the session.

Each run that ends writes one record of fixed size with one system call, which takes a microsecond or two; a
transaction takes tens. The kernel holds written data, so it survives when the process is killed. Nothing is
memory-mapped, so no change of the file can crash the process. The counts are saved to the database from time
to time, and the file is removed when the process ends. The next process to open the session takes in the
ledger of a killed one.
"""

import errno
import os
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tfvis_nb.core.folder_lock import try_lock
from tfvis_nb.session.file.companions import open_plain, read_plain
from tfvis_nb.texts import Text

SLOTS = 4096
"""How many signatures a process can count separately."""

READINGS = 10
"""How often to read until no record is in the middle of a write; a truncated write stays incomplete."""

NEW_LEDGER = ".new"
"""The suffix of a ledger that is being created."""

MOST_COUNT = 1 << 62
"""The maximum of counts, and of times in nanoseconds."""

_RECORD = struct.Struct("<10q")
_HEAD = b"tfvis_nb counts 2\n".ljust(_RECORD.size, b"\0")
_BEFORE_TRACED_RUNS = struct.Struct("<8q")
_HEAD_BEFORE = b"tfvis_nb counts\n".ljust(_BEFORE_TRACED_RUNS.size, b"\0")
_LARGEST = len(_HEAD) + SLOTS * _RECORD.size


class Counts(NamedTuple):
    """Counts of the runs of one signature in one process; times in nanoseconds.

    ``first_ns`` and ``last_ns`` are epoch times of starts, 0 without runs. ``runs`` and ``total_ns`` cover
    all runs that ended, ``traced`` and ``traced_ns`` the traced ones among them. ``longest_ns`` is that of
    untraced runs, or of traced ones if there are no others.
    """

    runs: int = 0
    failed: int = 0
    total_ns: int = 0
    longest_ns: int = 0
    first_ns: int = 0
    last_ns: int = 0
    traced: int = 0
    traced_ns: int = 0

    @property
    def mean_ns(self) -> float | None:
        """The mean of the untraced runs, or of the traced ones if there are no others; None without runs."""
        untraced = self.runs - self.traced
        if untraced > 0:
            return (self.total_ns - self.traced_ns) / untraced
        return self.total_ns / self.runs if self.runs else None


def ledger_path(path: Path, writer: int) -> Path:
    """Return the ledger path of the process with the number `writer`."""
    return path.with_name(f"{path.name}-counts{writer}")


def ledgers_beside(path: Path) -> list[Path]:
    """Return the files with the names of ledgers of the session at `path`, of whatever content."""
    name = re.compile(re.escape(path.name) + "-counts[0-9]+")
    try:
        return sorted(beside for beside in path.parent.iterdir() if name.fullmatch(beside.name))
    except OSError:  # nobody can list the folder
        return []


def is_ledger(head: bytes) -> bool:
    """Whether a file with these first bytes has counts."""
    return head.startswith((_HEAD, _HEAD_BEFORE))


class Ledger:
    """The writer's side; it replaces the file of an earlier process.

    `mode` is the permissions of the session. FileExistsError if another kind of file is there, OSError on
    file systems without locks.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self._path = path
        if os.path.lexists(path) and not is_ledger(read_plain(path, len(_HEAD))):
            raise FileExistsError(Text("counts_in_the_way", path=str(path)))
        new = path.with_name(path.name + NEW_LEDGER)
        self._file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        try:
            os.fchmod(self._file, mode)
            _lock(self._file)
            os.pwrite(self._file, _HEAD, 0)
            # Only now: without its lock it would look like that of a killed process.
            new.rename(path)
        except BaseException:
            self.close()
            new.unlink(missing_ok=True)
            raise

    def put(self, slot: int, counts: Counts) -> None:
        """Write the counts of one signature."""
        self.putting(slot)(*counts)

    def putting(self, slot: int) -> Callable[..., None]:
        """Return a function that writes the counts of one signature, given the values of `Counts`."""
        write, pack, offset = os.pwrite, _RECORD.pack, len(_HEAD) + slot * _RECORD.size

        def put(
            runs: int, failed: int, total: int, longest: int, first: int, last: int, traces: int, traced: int
        ) -> None:
            # Two values twice: if they differ, a reader knows that a record is being written.
            record = pack(runs, failed, total, longest, first, last, traces, traced, total, runs + failed)
            write(self._file, record, offset)

        return put

    def counts(self) -> dict[int, Counts]:
        """Return its content for the slots that have counts."""
        return _counts(os.pread(self._file, _LARGEST, 0))[0]

    def close(self) -> None:
        """Close the file, which stays."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def remove(self) -> None:
        """Delete the file, because all of it is in the database."""
        try:
            # The file may belong to another session that replaced this one.
            own = os.path.samestat(os.fstat(self._file), self._path.lstat())
        except FileNotFoundError:
            own = False
        self.close()
        if own:
            self._path.unlink(missing_ok=True)


def _lock(file: int) -> None:
    if not try_lock(file):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def read_ledger(path: Path) -> dict[int, Counts]:
    """Read the used slots; none if the file is missing, DamagedSessionError if it is not a plain file."""
    counts: dict[int, Counts] = {}
    for _ in range(READINGS):
        now, half_written = _counts(ledger_content(path))
        counts |= now
        if not half_written:
            break
    return counts


def ledger_content(path: Path) -> bytes:
    """Return the bytes of a ledger, empty if it does not exist; errors are those of `read_ledger`."""
    try:
        return read_plain(path, _LARGEST)
    except FileNotFoundError:
        return b""


def _counts(content: bytes) -> tuple[dict[int, Counts], bool]:
    """Return the counts by slot, and whether some are missing because they were being written."""
    counts: dict[int, Counts] = {}
    half_written = False
    if not is_ledger(content):
        return counts, half_written
    # The head is as long as a record.
    layout = _RECORD if content.startswith(_HEAD) else _BEFORE_TRACED_RUNS
    whole = len(content) // layout.size * layout.size
    for slot, record in enumerate(layout.iter_unpack(content[layout.size : whole])):
        if record[-2:] != (record[2], record[0] + record[1]):
            half_written = True
        elif record[0] + record[1] > 0 and 0 <= min(record) <= max(record) <= MOST_COUNT:
            counts[slot] = Counts(*record[:-2])
    return counts, half_written


@contextmanager
def abandoned(path: Path) -> Iterator[bool | None]:
    """Yield whether the process that wrote the ledger has ended.

    None if unknown: the ledger does not exist or cannot be opened.
    """
    try:
        file = open_plain(path)
    except OSError:
        yield None
        return
    try:
        # Shared, because to others that look at the same time, this process would seem to record.
        locked = try_lock(file, shared=True)
        yield path.exists() if locked else locked
    finally:
        os.close(file)
