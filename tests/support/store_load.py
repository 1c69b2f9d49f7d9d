"""Processes that write a session while others read it, and a check that everything is stored.

``python -m tests.support.store_load write|read PATH ROUNDS SECONDS`` is one of them: it prints its results as
JSON, and fails at the first fault. Writers continue until all
others have ended: then every request can be met, however slow the machine is.
"""

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tfvis_nb as tv
from tests.support.stored_writer import MESSAGES, RUN_NS, write
from tfvis_nb.session.compression import decompress

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """The totals of all processes.

    Attributes
    ----------
    written, kept
        How many traces the writers wrote, and how many are in the file.
    counted
        How many runs the file says there were, one for each trace.
    asked, met
        How many traces were asked for while others were written, and how many of these requests were met.
    reads
        How many traces were read while others were written.
    damaged
        How many traces in the file differ from the written ones.
    whole
        Whether SQLite finds no fault in the file, and all its sums are right.
    failures
        The output of failed processes, such as that the file was locked.
    megabytes
        The size of the file at the end.
    """

    written: int
    kept: int
    counted: int
    asked: int
    met: int
    reads: int
    damaged: int
    whole: bool
    failures: list[str]
    megabytes: float


def load(path: Path, seconds: float = 0.0, *, rounds: int = 1, writers: int = 2, readers: int = 3) -> Done:
    """Have a new session written and read, then look at all that is in it.

    Parameters
    ----------
    seconds, rounds
        For how long each of those who read does so, and how often at least it reads traces and asks for one.
    """
    kinds = ["read"] * readers + ["write"] * writers
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.store_load", kind, str(path), str(rounds), str(seconds)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for kind in kinds
    ]
    printed = []
    for number, process in enumerate(processes):
        if number == readers:
            _stop(path).touch()
        printed.append(process.communicate(timeout=seconds * 3 + rounds + 300))
    sums: Counter[str] = Counter()
    failures = []
    for kind, process, (said, errors) in zip(kinds, processes, printed, strict=True):
        if process.returncode or errors:
            last = [f"exit code {process.returncode}", *errors.strip().splitlines()][-1]
            failures.append(f"{kind}: {last}")
        else:
            sums.update(json.loads(said))
    with tv.open_session(path) as session:
        table = session.signatures
        ended = bool(session.processes["end"].notna().all())
    counted = int(table["runs"].sum())
    database = sqlite3.connect(path)
    kept = damaged = 0
    for run, size, data in database.execute("SELECT run, size, data FROM traces"):
        kept += 1
        damaged += decompress(data, size) != MESSAGES[run % 2]
    asked = database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'requests'").fetchone()
    sound = database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return Done(
        written=sums["written"],
        kept=kept,
        counted=counted,
        asked=asked[0] if asked else 0,
        met=sums["met"],
        reads=sums["reads"],
        damaged=damaged,
        whole=sound and ended and int(table["total_ns"].sum()) == RUN_NS * counted,
        failures=failures,
        megabytes=path.stat().st_size / 1e6,
    )


def _stop(path: Path) -> Path:
    return path.with_name("stop")


def _write(path: Path, *_: float) -> dict[str, int]:
    written, met = write(path, lambda: not _stop(path).exists())
    return {"written": written, "met": met}


def _read(path: Path, rounds: float, seconds: float) -> dict[str, int]:
    """Look at the tables, read a new and an old trace and ask for one, time and again."""
    events = [len(tv.read_trace(message).events) for message in MESSAGES]
    until, reads, seen = time.monotonic() + seconds, 0, 0
    asked = 0
    chosen = random.Random(0)
    while not path.exists():
        time.sleep(0.01)
    with tv.open_session(path) as session:
        while asked < rounds or time.monotonic() < until:
            runs = int(session.signatures["runs"].sum())
            if runs < seen:
                raise AssertionError(f"{runs} runs, where there were {seen}")
            seen = runs
            traces = session.traces["run"]
            for number in traces.index[[-1, chosen.randrange(len(traces))]] if len(traces) else ():
                found = len(session.read(int(number)).events)
                if found != events[traces[number] % 2]:
                    raise AssertionError(f"{found} events in trace {number}")
                reads += 1
            if reads:
                session.trace_next()
                asked += 1
    return {"reads": reads}


if __name__ == "__main__":
    does: dict[str, Callable[..., dict[str, int]]] = {"write": _write, "read": _read}
    print(json.dumps(does[sys.argv[1]](Path(sys.argv[2]), *map(float, sys.argv[3:]))))  # noqa: T201 - for `load`
