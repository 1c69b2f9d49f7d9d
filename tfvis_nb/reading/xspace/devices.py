"""Hardware facts from the planes of devices: model, cores, clock, memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from tfvis_nb.core.metadata import DEVICES, table_of
from tfvis_nb.reading.xspace.planes import Plane
from tfvis_nb.reading.xspace.stats import Stats, Values

# Stat, factor, and our column; CUPTI gives the clock in kHz, TPUs their bandwidth in GB/s.
_NUMBERS = (
    ("core_count", 1, "cores"),
    ("clock_rate", 10**3, "clock_hz"),
    ("memory_size", 1, "memory_bytes"),
    ("memory_bandwidth", 1, "memory_bandwidth"),
    ("peak_hbm_bw_gigabytes_per_second", 10**9, "memory_bandwidth"),
    ("peak_teraflops_per_second", 10**12, "peak_flops"),
)
_TEXTS = (("device_vendor", "vendor"), ("gpu_device_name", "model"), ("device_type_string", "model"))
_CAPABILITY = ("compute_cap_major", "compute_cap_minor")
_WANTED = frozenset((*(name for name, *_ in (*_NUMBERS, *_TEXTS)), *_CAPABILITY))
_MOST = 2**63


def devices(planes: Sequence[Plane]) -> pd.DataFrame:
    """Return the facts about devices in a profile: a table of `tfvis_nb.core.metadata`."""
    return table_of(DEVICES, filter(None, map(_device, planes)))


def _device(plane: Plane) -> dict[str, Any] | None:
    if not plane.name.startswith("/device:") or not len(plane.own_stats):
        return None
    values = Stats(plane.own_list(), plane.stats).values(_WANTED)
    properties: dict[str, Any] = {}
    for name, factor, column in _NUMBERS:
        number = round(_number(values, name) * factor)
        if 0 < number < _MOST:
            properties[column] = number
    for name, column in _TEXTS:
        _, codes = values.texts(name)
        if len(codes):
            properties[column] = values.vocabulary[codes[0]]
    if (capability := [int(_number(values, name)) for name in _CAPABILITY])[0] > 0:
        properties["compute_capability"] = "{}.{}".format(*capability)
    return {"task": "", "device": plane.name, **properties} if properties else None


def _number(values: Values, name: str) -> float:
    """Return the value of a numeric stat; 0 if there is none."""
    mask = values.key == values.names.index(name) if name in values.names else None
    if mask is None or not mask.any():
        return 0
    whole, real = int(values.integer[mask][0]), float(values.real[mask][0])
    return whole or (real if abs(real) < _MOST else 0)
