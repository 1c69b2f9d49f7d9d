"""Whether a damaged session's file ever gives anything but what is right or an error by name, in time."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import Row, show
from tests.support.session_mutants import mutants, sample, use


def main() -> int:
    """Run, print and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.session_mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    faults, longest = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.tfvis"
        content = sample(path)
        for what, mutant in itertools.islice(mutants(content, asked.seed), asked.count):
            path.write_bytes(mutant)
            start = time.perf_counter()
            faults += [f"{what}: {fault}" for fault in use(path)]
            longest = max(longest, time.perf_counter() - start)
    rows = [
        Row("errors without a name", f"{len(faults):,}", f"mutants {asked.count:,}", "", "0", not faults),
        Row("longest", f"{longest:.2f} s", "", "", "<= 30 s", longest <= 30),
    ]
    show("Damaged sessions, page by page", rows)
    for fault in faults[:20]:
        print(f"  {fault}", file=sys.stderr)
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
