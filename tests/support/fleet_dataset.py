"""A small dataset of a fleet: four workers, two days, a step that waits for its input, and a straggler."""

from pathlib import Path
from typing import Any

import numpy as np

from tfvis_nb import Trace, events
from tfvis_nb.fleet.dataset import TraceDataset, open_traces

DAY_NS = 86_400 * 10**9
WORKERS, STEPS = 4, 12
STRAGGLER, SLOW = 2, 5
"""The worker that the others wait for, and the number of the step in which worker 1 waits for its input."""
SLOWER = "Softmax"
"""The op that takes twice as long on the second day."""


def fleet_dataset(folder: Path) -> TraceDataset:
    """Make the traces of days ``day1`` and ``day2`` with steps 0 to 11 each, and a dataset of them.

    Worker 3 has not recorded the last step of the first day.
    """
    for day in range(2):
        for worker in range(WORKERS):
            path = folder / "traces" / f"day{day + 1}" / f"rank{worker}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            _trace(day, worker).to_parquet(path)
    dataset = open_traces(folder / "fleet")
    dataset.ingest(folder / "traces", progress=False)
    return dataset


def _trace(day: int, worker: int) -> Trace:
    rng = np.random.default_rng(100 * day + worker)
    rows: list[dict[str, Any]] = []
    for step in range(STEPS - (day == 0 and worker == 3)):
        at = 1_760_000_000 * 10**9 + day * DAY_NS + step * 200_000_000
        waited = 60_000_000 if (day, step, worker) == (1, SLOW, 1) else 2_000_000
        computed = 14_000_000 if worker == STRAGGLER else 9_000_000
        parts = [
            ("IteratorGetNext", "op", waited + int(rng.integers(200_000))),
            ("MatMul", "op", computed + int(rng.integers(2_000_000))),
            (SLOWER, "op", (day + 1) * 1_000_000 + int(rng.integers(200_000))),
        ]
        end = 90_000_000 if step == SLOW and day == 1 else 21_000_000 + 300_000 * (step % 3)
        parts.append(("_Recv", "transfer", end - sum(length for *_, length in parts)))
        for op, kind, length in parts:
            rows.append({"start_ns": at, "duration_ns": length, "op": op, "kind": kind, "step": step})
            at += length
    return Trace(events.build({name: [row[name] for row in rows] for name in rows[0]}))
