"""Whether killed jobs lose a finished run or trace: one job, two in a file, Keras, ``keep``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.table import Row, show
from tests.support.kills import KINDS, Killed, killed


def main() -> int:
    """Run, print and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="how many jobs to kill")
    most = parser.parse_args().kills
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
    show("Killed jobs", rows)
    for one in wrong:
        print(f"  {one}", file=sys.stderr)
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
