"""Write counters of a trace as counter events of Chrome traces."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.time_series.buffer_fill import buffer_fill
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.tfvis import COUNTER
from tfvis_nb.writing.chrome_rows import ChromeRows, described, unique_id

_DERIVED = "derived"
"""The category of counters derived from events, which are not read back."""


def counter_events(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    """Make an event for each counter value of a trace, in the processes of their devices."""
    events: list[dict[str, Any]] = []
    processes = _Processes(trace, rows)
    for category, table in ((COUNTER, trace.recorded_counters), (_DERIVED, buffer_fill(trace))):
        names = ("counter", "series", "unit", "task", "device")
        texts = [table[name].astype(object).tolist() for name in names]
        time = table["time_ns"].to_numpy()
        numbers = [(time // 1000).tolist(), time.tolist(), table["value"].tolist()]
        events += [
            {
                "ph": "C",
                "cat": category,
                "name": counter,
                "pid": processes.of(task, device),
                "tid": 0,
                "ts": micros,
                "args": {series: value},
                # Viewers only show values in the arguments.
                "time_ns": str(exact),
                "task": task,
                "device": device,
                "unit": unit,
            }
            for counter, series, unit, task, device, micros, exact, value in zip(
                *texts, *numbers, strict=True
            )
        ]
    return processes.named + events


class _Processes:
    """The processes of devices: those of their events, and new ones, named by events in `named`."""

    def __init__(self, trace: Trace, rows: ChromeRows) -> None:
        self.named: list[dict[str, Any]] = []
        task, device = (trace.events[name].cat for name in ("task", "device"))
        code = task.codes.to_numpy(np.int64) * (len(device.categories) + 1) + device.codes.to_numpy(np.int64)
        _, first = np.unique(code, return_index=True)
        places: pd.DataFrame = trace.events[["task", "device"]].take(first).astype(object)
        pids = rows.pid[first].tolist()
        self._known: dict[tuple[Any, ...], int] = dict(
            zip(places.itertuples(index=False, name=None), pids, strict=True)
        )
        self._taken = set(pids)

    def of(self, task: str, device: str) -> int:
        """Return the process of a task's device."""
        if (task, device) not in self._known:
            process = unique_id(f"{task}\n{device}", self._taken)
            self._known[task, device] = process
            name = {"name": device or task or "counters"}
            self.named += described("process", len(self._taken), name, process)
        return self._known[task, device]
