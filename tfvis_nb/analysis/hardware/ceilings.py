"""The highest rates of the devices of a trace: floating-point operations and bytes a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.hardware.devices import devices
from tfvis_nb.analysis.hardware.peak_rates import PER_CYCLE, peak_rate
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text


class Ceiling(NamedTuple):
    """The highest rate of a device for some number types, by XLA's names; no types means all."""

    types: tuple[str, ...]
    flops: float


def check_rates(peak_flops: float | None, memory_bandwidth: float | None) -> None:
    """Raise ValueError if a given rate is not a number above 0."""
    rates: dict[str, Any] = {"peak_flops": peak_flops, "memory_bandwidth": memory_bandwidth}
    for name, rate in rates.items():
        if rate is not None and not (isinstance(rate, int | float | np.number) and rate > 0):
            raise ValueError(Text("rate_not_positive", name=name, given=rate))


def ceilings(trace: Trace, device: str) -> tuple[list[Ceiling], float]:
    """Return the ceilings of a device, the highest first, and the bandwidth of its memory.

    If the trace does not have them, there are none and the bandwidth is NaN.
    """
    known = _hardware(trace).get(device, {})
    recorded = _number(known, "peak_flops")
    rates: dict[float, tuple[str, ...]] = {recorded: ()} if recorded > 0 else {}
    for kind in () if rates else PER_CYCLE.get(str(known.get("compute_capability")), {}):
        if (rate := _highest(known, kind)) > 0:
            rates[rate] = (*rates.get(rate, ()), kind)
    peaks = [Ceiling(types, rate) for rate, types in sorted(rates.items(), reverse=True)]
    return peaks, _number(known, "memory_bandwidth")


def highest_rates(
    trace: Trace, table: pd.DataFrame, peak_flops: float | None, memory_bandwidth: float | None
) -> dict[str, np.ndarray]:
    """Return the highest rates of the device that each row ran on, by its ``longest`` event and ``type``."""
    hardware = _hardware(trace)
    device = trace.events["device"].astype(object).iloc[table["longest"]].to_numpy()
    code, first = number_rows(device, table["type"])
    pairs = zip(device[first], table["type"].iloc[first], strict=True)
    known = [(hardware.get(str(name), {}), kind) for name, kind in pairs]
    flops = np.array([peak_flops or _highest(row, kind) for row, kind in known])
    bandwidths = np.array([memory_bandwidth or _number(row, "memory_bandwidth") for row, _ in known])
    return {"peak_flops": flops[code], "peak_bytes": bandwidths[code]}


def _hardware(trace: Trace) -> dict[str, Mapping[Any, Any]]:
    return {str(row["device"]): row for row in devices(trace).to_dict("records")}


def _highest(known: Mapping[Any, Any], kind: str) -> float:
    recorded = _number(known, "peak_flops")
    cores, clock = (_number(known, name) for name in ("cores", "clock_hz"))
    if recorded > 0 or not (cores > 0 and clock > 0):
        return recorded
    capability = known.get("compute_capability")
    return peak_rate(str(capability), int(cores), int(clock), kind) or float("nan")


def _number(known: Mapping[Any, Any], name: str) -> float:
    value = known.get(name)
    return float("nan") if value is None or pd.isna(value) or value <= 0 else float(value)
