"""PyTorch's records other than events: hardware, totals of allocators, and the base of times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfvis_nb.core.metadata import DEVICES, Metadata, table_of
from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.chrome.values import text

_ALLOCATIONS = ("[memory]", "[OutOfMemory]")
_TOTALS = {"Total Allocated": "allocated bytes", "Total Reserved": "reserved bytes"}
_CPU, _CUDA = 0, 1
_NUMBERS = {"numSms": "cores", "totalGlobalMem": "memory_bytes"}
_ACCELERATOR = re.compile(r"(?!CPU\b)(?P<kind>[A-Z]{2,12}) (?P<number>\d{1,9})")
_ASCEND = "Ascend Hardware"
MOST_DEVICES = 1024
_WARP = 32
"""Threads of a warp on NVIDIA GPUs; on others, the file's compute capability has another meaning."""


class AllocatorTotals:
    """Collects the totals recorded with allocations and deallocations."""

    def __init__(self) -> None:
        self._of_device: dict[tuple[Any, Any], list[dict[str, Any]]] = {}

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        for event in events:
            if type(event) is not dict or event.get("name") not in _ALLOCATIONS:
                continue
            given = event.get("args")
            if event.get("ph") not in ("i", "I") or type(given) is not dict:
                continue
            device = given.get("Device Type"), given.get("Device Id")
            # PyTorch does not reserve CPU memory, and writes 0.
            wanted = list(_TOTALS.items())[: 1 if device[0] == _CPU else None]
            totals = {series: given[name] for name, series in wanted if name in given}
            if totals and all(type(part) is int for part in device):
                values = {"name": "memory", "ts": event.get("ts"), "args": totals}
                self._of_device.setdefault(device, []).append(values)

    def by_device(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield each device with its counter events."""
        for (kind, number), values in self._of_device.items():
            names = {_CPU: "/device:CPU:0", _CUDA: f"/device:GPU:{number}"}
            yield names.get(kind, f"/device:type {kind}:{number}"), values


def accelerator(label: str, process: str) -> str:
    """Return the device that a process stands for, by its label or name; empty for a process of the host.

    >>> accelerator("GPU 3", "python"), accelerator("MTIA 17", "MTIA 17"), accelerator("CPU", "python")
    ('/device:GPU:3', '/device:MTIA:17', '')
    """
    for given in (label, process):
        if (match := _ACCELERATOR.fullmatch(given.strip())) is not None:
            return f"/device:{match['kind'].upper()}:{int(match['number'])}"
    return "/device:NPU:0" if process == _ASCEND else ""


def base_time(keys: Mapping[str, Any]) -> int:
    """Return the origin of times in epoch ns."""
    base = keys.get("baseTimeNanoseconds")
    return base if type(base) is int and 0 <= base <= LATEST_NS // 2 else 0


def hardware(keys: Mapping[str, Any], task: str) -> Metadata:
    """Return the facts about the GPUs of a task: a table of `tfvis_nb.core.metadata`."""
    listed = keys.get("deviceProperties")
    rows = [
        row for one in (listed[:MOST_DEVICES] if isinstance(listed, list) else []) if (row := _device(one))
    ]
    return {DEVICES: table_of(DEVICES, [row | {"task": task} for row in rows])} if rows else {}


def _device(given: Any) -> dict[str, Any]:
    number = given.get("id") if isinstance(given, dict) else None
    if type(number) is not int or number < 0:
        return {}
    properties: dict[str, Any] = {
        column: value
        for name, column in _NUMBERS.items()
        if type(value := given.get(name)) is int and 0 < value < 2**63
    }
    if isinstance(given.get("name"), str):
        properties["model"] = text(given["name"])
    capability = [given.get(name) for name in ("computeMajor", "computeMinor")]
    if given.get("warpSize") == _WARP and all(type(part) is int for part in capability):
        properties["compute_capability"] = "{}.{}".format(*capability)
    return {"device": f"/device:GPU:{number}", **properties} if properties else {}
