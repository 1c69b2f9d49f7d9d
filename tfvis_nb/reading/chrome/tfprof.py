"""The timelines of ``tf.compat.v1.profiler`` (tfprof, ``with_timeline_output``)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfvis_nb.core.devices import canonical, place, task_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.slices import Slices
from tfvis_nb.reading.chrome.table import category, make_trace, thread_numbers
from tfvis_nb.reading.xspace.name_grammar import class_of
from tfvis_nb.texts import Text

_PROCESS = re.compile(r"(Op (?P<where>execution|scheduling) threads|mem usage on): ?(?P<device>/\S*)")


class TfprofReader:
    """Reads tfprof's timelines.

    "Op execution threads" are the kernels of a GPU, named after the nodes that launched them; "Op scheduling
    threads" are the ops of a device, on the host. The file has no op types, launches and kernel names: ``op``
    is the end of the node's name without its number.
    """

    def __init__(self) -> None:
        self._bars = Slices()

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._bars.add(events)

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are not used."""
        del keys
        columns = self._bars.finish()
        matches = {pid: _PROCESS.match(name) for pid, name in self._bars.processes.items()}
        tasks = {task_of(match["device"]) for match in matches.values() if match} - {""}
        # GPUs do not have the task in their names.
        task = next(iter(tasks)) if len(tasks) == 1 else ""
        for pid, match in matches.items():
            if match:
                device = _device(match["device"], task)
                self._bars.places[pid] = task_of(device), device
        rows = [matches.get(pid) for pid, _ in columns.threads]
        executed = [match is not None and match["where"] == "execution" for match in rows]
        devices = [self._bars.places.get(pid, ("", ""))[1] for pid, _ in columns.threads]
        lanes = ["stream:all" if on_gpu else "ops" for on_gpu in executed]
        ops = [class_of(name.rpartition("/")[2]) for name in columns.name.to_pylist()]
        table = {
            "task": category([task_of(device) for device in devices], columns.thread),
            "device": category(devices, columns.thread),
            "lane": category(lanes, columns.thread),
            "kind": category(["kernel" if on_gpu else "op" for on_gpu in executed], columns.thread),
            "op": category(ops, np.arange(len(ops))),
            "thread": thread_numbers(columns),
        }
        return make_trace(columns, table, self._bars, notes=[Text("tfprof_lacks")], is_run=True)


def _device(name: str, task: str) -> str:
    """Return the full name of a device, without the stream."""
    where = place(name)
    device = where.device if where.family != "unknown" else canonical(name)
    return device if where.task or not device.startswith("/device:") else task + device
