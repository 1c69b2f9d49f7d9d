"""A session of three signatures, for tests of the monitor."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.serving.conftest import METADATA
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

MS = 1_000_000
RUNS = {"init": (1, 90 * MS), "train": (4000, 8000 * MS), "evaluate": (20, 200 * MS)}
COSTS: dict[int, dict[str, Any]] = {
    2000: {"tracing_ns": 9 * MS, "untraced_ns": 2 * MS, "untraced_runs": 64, "batch": 0}
}


def write_session(path: Path) -> None:
    """Write a session in which ``train`` has two traces and ``evaluate`` one.

    The cost of the trace of run 2000 is known.
    """
    writer = Writer(path, keep=None)
    counted = {}
    for label, (runs, total) in RUNS.items():
        number, slot = writer.add_signature(Signature("session", label, f"{label}/fetched:0", "", "images:0"))
        of_train = {"failed": 3, "traced": 2, "traced_ns": 6 * MS} if label == "train" else {}
        counted[number] = Counts(runs, 0, total, 50 * MS, 10**18, 10**18 + 1)._replace(**of_train)
        writer.count(slot, counted[number])
        for run in {"train": (1000, 2000), "evaluate": (7,)}.get(label, ()):
            recorded = Recording("run_metadata", METADATA, run, 10**18 + run, run * 2000)
            writer.add_trace(number, replace(recorded, **COSTS.get(run, {})), None)
    writer.close(counted)
