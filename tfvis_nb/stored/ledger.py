"""The counts of a running process, in a file of its own in memory shared with its readers.

A write to it costs less than a microsecond, where a transaction costs tens of them, and as
it is the kernel that holds the pages, what was written stays when the process is killed.
The counts go to the database from time to time, and the file goes when the process ends;
that of a killed process is taken in by whoever opens the session next.
"""

from __future__ import annotations

import functools
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tfvis_nb.stored.making import NEW_LEDGER

SLOTS = 4096
"""How many signatures a process can count apart."""

READINGS = 10
"""How often to read, until no record is found in the middle of a write; one that was cut short stays so."""

_RECORD = struct.Struct("<8q")


class Counts(NamedTuple):
    """What is counted of the runs of one signature in one process; times in nanoseconds.

    ``first_ns`` and ``last_ns`` are epoch times of the starts; 0 when there was no run.
    """

    runs: int = 0
    failed: int = 0
    total_ns: int = 0
    longest_ns: int = 0
    first_ns: int = 0
    last_ns: int = 0


def ledger_path(path: Path, writer: int) -> Path:
    """Return where the process with the number `writer` counts its runs.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tfvis_nb.stored.ledger import ledger_path
    >>> ledger_path(Path("run.tfvis"), 3).name
    'run.tfvis-counts3'
    """
    return path.with_name(f"{path.name}-counts{writer}")


class Ledger:
    """The writer's side.

    Parameters
    ----------
    path
        The file, which must not be there.

    Raises
    ------
    OSError
        If there is no room for it.
    """

    def __init__(self, path: Path) -> None:
        import fcntl

        self._path = path
        new = path.with_name(path.name + NEW_LEDGER)
        self._file = new.open("x+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            # All of it now: on a full disk, a write into a page that has no room ends the process.
            self._file.write(bytes(SLOTS * _RECORD.size))
            self._file.flush()
            self._map = mmap.mmap(self._file.fileno(), SLOTS * _RECORD.size)
            # Only now: found without its lock it would be taken for that of a killed process.
            new.rename(path)
        except BaseException:
            self._file.close()
            new.unlink(missing_ok=True)
            raise

    def put(self, slot: int, counts: Counts) -> None:
        """Write the counts of one signature."""
        self.putting(slot)(*counts, counts.total_ns, counts.runs + counts.failed)

    def putting(self, slot: int) -> Callable[..., None]:
        """Return what writes the counts of one signature in one call, with `total_ns` and all runs once more.

        The last two tell a reader whether it has read the middle of a write.
        """
        return functools.partial(_RECORD.pack_into, self._map, slot * _RECORD.size)

    def counts(self) -> dict[int, Counts]:
        """Return what is in it, of the slots that have counts."""
        return _counts(self._map[:])[0]

    def close(self) -> None:
        """Let go of the file, which stays."""
        self._map.close()
        self._file.close()

    def remove(self) -> None:
        """Delete the file: all of it is in the database."""
        try:
            # Another one may be there, of a session in the place of this one's.
            own = os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except FileNotFoundError:
            own = False
        self.close()
        if own:
            self._path.unlink(missing_ok=True)


def read_ledger(path: Path) -> dict[int, Counts]:
    """Read the slots that have counts; of a file that is not there, none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tfvis_nb.stored.ledger import Counts, Ledger, read_ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / "run.tfvis-counts1")
    ...     ledger.put(2, Counts(runs=5, total_ns=70))
    ...     found = read_ledger(Path(folder) / "run.tfvis-counts1")
    ...     ledger.remove()
    >>> {slot: counts.runs for slot, counts in found.items()}
    {2: 5}
    """
    found: dict[int, Counts] = {}
    for _ in range(READINGS):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return found
        now, half_written = _counts(content)
        found |= now
        if not half_written:
            break
    return found


def _counts(content: bytes) -> tuple[dict[int, Counts], bool]:
    """Return the counts by slot, and whether some are missing that were just being written."""
    whole = len(content) // _RECORD.size * _RECORD.size
    found: dict[int, Counts] = {}
    half_written = False
    for slot, record in enumerate(_RECORD.iter_unpack(content[:whole])):
        if record[6:] != (record[2], record[0] + record[1]):
            half_written = True
        elif record[0] + record[1] > 0:
            found[slot] = Counts(*record[:6])
    return found, half_written


@contextmanager
def abandoned(path: Path) -> Iterator[bool | None]:
    """Yield whether the process that wrote the ledger is gone; hold the ledger meanwhile, if so.

    None where that cannot be told: it is not there, or may not be opened.
    """
    import fcntl

    try:
        # A lock needs no right to write, which nobody has where the file system is read-only.
        file = path.open("rb")
    except OSError:
        yield None
        return
    with file:
        try:
            # The kernel unlocks it when the process ends, in whatever way.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            gone: bool | None = path.exists()
        except BlockingIOError:
            gone = False
        except OSError:
            gone = None
        yield gone
