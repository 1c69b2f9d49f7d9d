"""A process that keeps traces: ``python -m tests.stored_writer PATH SECONDS``; it prints how many."""

import sys
import time
from pathlib import Path

from tests.real_traces import DATA
from tfvis_nb.stored.ledger import Counts
from tfvis_nb.stored.writer import Recording, Signature, Writer

METADATA = (DATA / "local_mlp_step1.pb").read_bytes()


def write(path: Path, seconds: float) -> int:
    """Keep traces of three signatures as fast as it goes, and count each as a run of 5 ns."""
    writer = Writer(path, keep=None)
    signatures = [
        writer.add_signature(Signature("session", f"run {which}", str(which))) for which in range(3)
    ]
    until, runs = time.monotonic() + seconds, 0
    counts = {}
    while time.monotonic() < until:
        number, slot = signatures[runs % 3]
        runs += 1
        writer.orders()
        done = (runs + 2) // 3
        counts[number] = Counts(done, 0, 5 * done, 5, 1, runs)
        writer.count(slot, counts[number])
        writer.add_trace(number, Recording("run_metadata", METADATA, done, runs, 5), None)
        writer.save_counts(counts, wait=False)
    writer.close(counts)
    return runs


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), float(sys.argv[2])))  # noqa: T201 - what the test reads
