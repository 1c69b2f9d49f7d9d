"""`read_trace` of an XSpace compared with `XSpace.FromString`, which only parses the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import traces
from benchmarks.reading import MEMORY, best, peak
from benchmarks.table import Row, show
from tfvis_nb import read_trace

RUNS = 5
PARSING = 5.0
"""The limit of reading time as a multiple of only parsing."""


def main() -> None:
    """Measure and print."""
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    with tempfile.TemporaryDirectory() as folder:
        path = traces.profile(Path(folder))
        data = path.read_bytes()
        parsing = best(lambda: XSpace.FromString(data), RUNS)
        events = sum(len(line.events) for plane in XSpace.FromString(data).planes for line in plane.lines)
        reading = best(lambda: read_trace(path), RUNS)
        most = peak(path)
    size = len(data)
    show(
        f"Reading a profile (best of {RUNS})",
        [
            Row(
                f"read_trace, {events:,} recorded events, {size / 1e6:.0f} MB",
                f"{reading:.3f} s",
                f"XSpace.FromString {parsing:.3f} s",
                f"{reading / parsing:.1f}x",
                f"<= {PARSING:.0f}x",
                reading <= PARSING * parsing,
            ),
            Row("  events a second", f"{events / reading:,.0f}", "", "", "", True),
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


if __name__ == "__main__":
    main()
