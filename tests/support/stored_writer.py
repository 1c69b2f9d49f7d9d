"""A process that keeps traces: ``python -m tests.support.stored_writer PATH SECONDS``; it prints how many."""

import sqlite3
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.real_traces import DATA
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.schema import EVERY
from tfvis_nb.session.file.write_ahead_log import is_held
from tfvis_nb.session.file.writer import Writer

METADATA = (DATA / "local_mlp_step1.pb").read_bytes()
MESSAGES = (METADATA, (DATA / "dist_inproc_ps_2workers_step0.pb").read_bytes())
"""Of runs with even and odd numbers: who reads a trace knows what must be in it."""

RUN_NS = 5

Result = TypeVar("Result")


def write(path: Path, going: Callable[[], bool]) -> tuple[int, int]:
    """Keep traces of three signatures as fast as it goes, and count each as a run.

    Parameters
    ----------
    going
        Whether to continue; pending requests are still served.

    Returns
    -------
    int, int
        How many traces, and how many of them were requested.
    """
    writer = Writer(path, keep=None)
    signatures = []
    for which in range(3):
        taken = writer.take_slot(Signature("session", f"run {which}", str(which)))
        signatures.append(patiently(partial(writer.add_signature, *taken)))
    runs, met = 0, 0
    counts = {}
    asked: list[tuple[int, bool]] = []
    while True:
        last = not going()
        orders = writer.orders()
        if orders is not None:
            asked = orders.requests.get(EVERY, [])
        if last and not asked:
            break
        number, slot = signatures[runs % 3]
        runs += 1
        done = (runs + 2) // 3
        counts[number] = Counts(done, 0, RUN_NS * done, RUN_NS, 1, runs)
        writer.count(slot, counts[number])
        met += len(asked[:1])
        recording = Recording("run_metadata", MESSAGES[done % 2], done, runs, RUN_NS)
        request = asked.pop(0)[0] if asked else None
        patiently(partial(writer.add_trace, number, recording, request))
        writer.save_counts(counts)
    writer.close(counts)
    return runs, met


def patiently(write: Callable[[], Result]) -> Result:
    """Write as the recorder does: what another process keeps from being written is written later."""
    while True:
        try:
            return write()
        except (sqlite3.Error, OSError) as error:
            if not is_held(error):
                raise


if __name__ == "__main__":
    until = time.monotonic() + float(sys.argv[2])
    print(write(Path(sys.argv[1]), lambda: time.monotonic() < until)[0])  # noqa: T201 - read by the test
