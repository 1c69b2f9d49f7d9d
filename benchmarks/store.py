"""Whether a session file loses data while two processes write it, and three read it and request traces.

It fails if a trace is lost or damaged, or a process finds the file locked.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.table import Row, show
from tests.support.store_load import Done, load


def rows(done: Done) -> list[Row]:
    """Return the results as rows of a table."""
    counts = [
        ("traces in the file", done.kept, "written", done.written),
        ("runs counted in the file", done.counted, "run", done.written),
        ("requests met", done.met, "asked", done.asked),
        ("damaged traces", done.damaged, "", 0),
        ("processes that failed", len(done.failures), "", 0),
    ]
    return [
        *(
            Row(what, f"{found:,}", f"{name} {wanted:,}" if name else "", "", f"{wanted:,}", found == wanted)
            for what, found, name, wanted in counts
        ),
        Row("traces read meanwhile", f"{done.reads:,}", "", "", "> 0", done.reads > 0),
        Row("requests meanwhile", f"{done.asked:,}", "", "", "> 0", done.asked > 0),
        Row("file", f"{done.megabytes:.0f} MB", "", "", "whole", done.whole),
    ]


def main() -> int:
    """Run, print and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = load(Path(folder) / "run.tfvis", asked.seconds, writers=asked.writers, readers=asked.readers)
    table = rows(done)
    title = f"A session's file, {asked.seconds:g} s, {asked.writers} writers, {asked.readers} readers"
    show(title, table)
    for failure in done.failures:
        print(f"  {failure}", file=sys.stderr)
    return 0 if all(row.kept for row in table) else 1


if __name__ == "__main__":
    sys.exit(main())
