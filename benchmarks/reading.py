"""`read_trace` beside TensorFlow's own timeline.py, on the same RunMetadata in the same run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import traces
from benchmarks.table import Row, show
from tfvis_nb import read_trace

RUNS = 5
FASTER = 20.0
"""How many times as fast as timeline.py."""
ROWS = 400_000
"""Rows a second."""
MEMORY = 8.0
"""Peak memory of reading, in sizes of the file."""

_PEAK = """
import resource, sys
import tfvis_nb
import ptars, pyarrow.compute

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
trace = tfvis_nb.read_trace(sys.argv[1])
print(peak() - before)
"""


def best(action: Callable[[], object], runs: int) -> float:
    """Seconds of the quickest of `runs` runs: the others were disturbed."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        path = traces.large(Path(folder))
        rows = len(read_trace(path).events)
        ours = best(lambda: read_trace(path), RUNS)
        theirs = best(_timeline_of(path), 1)
        size = path.stat().st_size
        run = subprocess.run(
            [sys.executable, "-c", _PEAK, str(path)], check=True, capture_output=True, text=True
        )
        peak = int(run.stdout)
    what = f"read_trace, {rows} rows, {size / 1e6:.0f} MB"
    show(
        f"Reading (best of {RUNS}; timeline.py once, its parsing not counted)",
        [
            Row(
                what,
                f"{ours:.3f} s",
                f"timeline.py {theirs:.2f} s",
                f"{theirs / ours:.0f}x faster",
                f">= {FASTER:.0f}x",
                theirs / ours >= FASTER,
            ),
            Row(
                what,
                f"{rows / ours / 1000:.0f} 000 rows/s",
                "",
                "",
                f">= {ROWS // 1000} 000",
                rows / ours >= ROWS,
            ),
            Row(
                "  its peak memory",
                f"{peak / 1e6:.0f} MB",
                f"the file {size / 1e6:.0f} MB",
                f"{peak / size:.1f}x",
                f"<= {MEMORY:.0f}x",
                peak <= MEMORY * size,
            ),
        ],
    )


def _timeline_of(path: Path) -> Callable[[], object]:
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import timeline

    metadata = config_pb2.RunMetadata.FromString(path.read_bytes())
    return lambda: timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()


if __name__ == "__main__":
    main()
