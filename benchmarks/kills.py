"""Whether killed jobs lose a finished run or trace: one job, two in a file, Keras, ``keep``.

And whether a job that traces each of very many runs grows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.table import Row, show
from tests.support.kills import KINDS, Killed, killed

_GROWTH = 0.02
"""Of the memory after the first tenth of the traced runs."""

# Prints the resident memory in bytes after a tenth of the runs, and after all.
_TRACED = """
import re, sys
from pathlib import Path
import tensorflow.compat.v1 as tf
import tfvis_nb as tv

tf.disable_eager_execution()
total = tf.reduce_sum(tf.ones([10, 10]))
runs = int(sys.argv[2])
with tf.Session() as session, tv.TraceSession(sys.argv[1], keep=10) as recorded:
    recorded.trace_all()
    for run in range(1, runs + 1):
        session.run(total)
        if run in (runs // 10, runs):
            print(int(re.search(r"VmRSS:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024)
assert recorded.traces["run"].tolist() == list(range(runs - 9, runs + 1))
"""


def memory_row(path: Path, runs: int) -> Row:
    """Return a row with the memory of a job that traces all its runs."""
    command = [sys.executable, "-c", _TRACED, str(path), str(runs)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    first, last = map(int, printed.split())
    return Row(
        f"memory after {runs:,} traced runs",
        f"{last / 1e6:.0f} MB",
        f"after {runs // 10:,} {first / 1e6:.0f} MB",
        f"{last / first:.3f}x",
        f"<= {1 + _GROWTH:.2f}x",
        last <= first * (1 + _GROWTH),
    )


def main() -> int:
    """Run, print and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="how many jobs to kill")
    parser.add_argument("--traced", type=int, default=10_000, help="how many runs one job traces")
    arguments = parser.parse_args()
    most = arguments.kills
    found: list[Killed] = []
    while sum(one.jobs for one in found) < most:
        with tempfile.TemporaryDirectory() as folder:
            kind = list(KINDS)[len(found) % len(KINDS)]
            found.append(killed(Path(folder) / "run.tfvis", kind, len(found)))
    finished, jobs = sum(one.finished for one in found), sum(one.jobs for one in found)
    counted = sum(one.counted for one in found)
    wrong = [one.wrong for one in found if one.wrong]
    under_way = 0 <= counted - finished <= jobs
    rows = [
        Row("jobs killed", f"{jobs}", "", "", "", kept=True),
        Row(
            "runs counted",
            f"{counted:,}",
            f"finished {finished:,}",
            "",
            "all; one under way a job",
            under_way,
        ),
        Row("sessions that lack something", f"{len(wrong)}", "", "", "0", not wrong),
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows.append(memory_row(Path(folder) / "run.tfvis", arguments.traced))
    show("Killed jobs", rows)
    for one in wrong:
        print(f"  {one}", file=sys.stderr)
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
