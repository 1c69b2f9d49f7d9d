"""Stands for ``pynvml``: two GPUs whose values are known, of which the second supports less."""

# ruff: noqa: N802, PLW0603, ARG001 - the names of the library

import threading
from types import SimpleNamespace
from typing import Any

NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0

opened = 0
"""How often the library is open."""
asked: list[str] = []
"""The names of all functions that were called."""
sampled = threading.Event()
"""Set after the first sample of the first GPU."""

_millijoules = 0


class NVMLError(Exception):
    """The library's own error."""


def nvmlInit() -> None:
    global opened
    opened += 1


def nvmlShutdown() -> None:
    global opened
    opened -= 1


def nvmlDeviceGetCount() -> int:
    return 2


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    return index


def nvmlDeviceGetHandleByUUID(uuid: str) -> int:
    return {"GPU-zero": 0, "GPU-one": 1}[uuid]


def nvmlDeviceGetTotalEnergyConsumption(gpu: int) -> int:
    global _millijoules
    _millijoules += 7_000
    return _millijoules if gpu == 0 else 0


def nvmlDeviceGetTemperature(gpu: int, sensor: int) -> int:
    if gpu:
        raise NVMLError("not supported")
    return 71


def nvmlDeviceGetCurrentClocksThrottleReasons(gpu: int) -> int:
    return 0x8 | 0x40 if gpu == 0 else 0x1


def __getattr__(name: str) -> Any:
    """Answer what is the same for both; anything that sets something is missing."""
    answers: dict[str, Any] = {
        "nvmlDeviceGetPowerUsage": 250_000,
        "nvmlDeviceGetClockInfo": 990,
        "nvmlDeviceGetMaxClockInfo": 1980,
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=3 << 30),
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=41),
    }
    if name not in answers:
        raise AttributeError(name)

    def answer(*_: Any) -> Any:
        asked.append(name)
        if asked.count("nvmlDeviceGetUtilizationRates") > 2:  # both GPUs were asked whether they answer
            sampled.set()
        return answers[name]

    return answer
