"""Files of sessions as tests need them: written, crafted, opened apart, or left by a killed process."""

import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import tfvis_nb as tv
from tests.support.apart import apart
from tests.support.stored_writer import METADATA
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

START_NS = 1_700_000_000_000_000_000


def recording(run: int = 1, data: bytes = METADATA) -> Recording:
    return Recording("run_metadata", data, run, START_NS + run, 5_000)


def filled(path: Path, traces: int = 3) -> None:
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train", "loss:0"))
    for run in range(1, traces + 1):
        writer.add_trace(number, recording(run), None)
    writer.close({number: Counts(traces, 0, traces * 5_000, 5_000, 1, 2)})


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def killed(path: Path, then: str) -> None:
    """Run a process that records, does `then` and is killed by it, or at its end."""
    code = (
        "import os, signal, sys; from pathlib import Path; from tfvis_nb.session.file.writer import *\n"
        "path, end = Path(sys.argv[1]), lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n" + then + "\nend()"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False, capture_output=True)
    assert done.returncode == -9, done.stderr.decode()


def crafted(path: Path, *statements: str) -> bytes:
    filled(path, traces=1)
    database = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        database.execute(statement)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    database.close()
    return path.read_bytes()


UNENDED = "UPDATE writers SET ended_ns = NULL, started_ns = 1"


def opened(path: Path) -> str:
    """Open a session in a process of its own, which may take a minute at most, and return what came of it."""
    done = apart(_open, path)
    assert not done.raised, done.raised
    return str(done.result)


def _open(path: Path) -> str:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, 10_000_000))
    try:
        with tv.open_session(path) as session:
            assert session.signatures is not None
    except tv.TraceFormatError as error:
        return type(error).__name__
    return "opened"
