"""`read_trace` compared with TensorFlow's timeline.py, on the same RunMetadata in the same run."""

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
"""The required speed as a multiple of timeline.py."""
ROWS = 400_000
"""Rows per second."""
MEMORY = 8.0
"""Peak memory of reading, as a multiple of the file size."""

# The kernel's high-water mark: getrusage also counts memory of the parent when it started the process.
_PEAK = """
import pathlib, re, sys
import tfvis_nb
import ptars, pyarrow.compute

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) * 1024

before = peak()
trace = tfvis_nb.read_trace(sys.argv[1])
print(peak() - before)
"""


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        path = traces.large(Path(folder))
        size = path.stat().st_size
        ours = best(lambda: read_trace(path), RUNS)
        most = peak(path)
        rows, theirs = _timeline(path)
    what = f"read_trace, {rows:,} recorded rows, {size / 1e6:.0f} MB"
    show(
        f"Reading (best of {RUNS}; timeline.py once, its parsing not counted)",
        [
            *(
                Row(
                    what,
                    f"{ours:.3f} s",
                    f"{options} {seconds:.2f} s",
                    f"{seconds / ours:.0f}x faster",
                    f">= {FASTER:.0f}x",
                    seconds / ours >= FASTER,
                )
                for options, seconds in theirs.items()
            ),
            Row("  rows a second", f"{rows / ours:,.0f}", "", "", f">= {ROWS:,}", rows / ours >= ROWS),
            Row(
                "  peak memory",
                f"{most / 1e6:.0f} MB",
                f"the file {size / 1e6:.0f} MB",
                f"{most / size:.1f}x",
                f"<= {MEMORY:.0f}x",
                most <= MEMORY * size,
            ),
        ],
    )


def best(action: Callable[[], object], runs: int) -> float:
    """Return the seconds of the fastest of `runs` runs, because the others were disturbed."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def peak(path: Path) -> int:
    """Return the bytes by which reading raises the peak of a process with only its imports."""
    run = subprocess.run([sys.executable, "-c", _PEAK, str(path)], check=True, capture_output=True, text=True)
    return int(run.stdout)


def _timeline(path: Path) -> tuple[int, dict[str, float]]:
    """Return the rows of the file, and timeline.py's seconds without and with memory, which we read."""
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import timeline

    stats = config_pb2.RunMetadata.FromString(path.read_bytes()).step_stats

    def formatted(**options: bool) -> float:
        return best(lambda: timeline.Timeline(stats).generate_chrome_trace_format(**options), 1)

    taken = {
        "timeline.py": formatted(),
        "timeline.py with show_memory": formatted(show_memory=True),
    }
    return sum(len(device.node_stats) for device in stats.dev_stats), taken


if __name__ == "__main__":
    main()
