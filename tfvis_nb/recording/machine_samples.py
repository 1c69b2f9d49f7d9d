"""What the machine does during a recording, as counters: memory, and power, clocks and load of NVIDIA GPUs.

A thread of its own asks the system and the frameworks, and NVIDIA's library if the package ``nvidia-ml-py``
is installed. It only reads.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import psutil

from tfvis_nb.core import counters
from tfvis_nb.core.counters import ALLOCATED, ENERGY, POWER, REASONS, RESIDENT, SM_CLOCK, THROTTLED

PERIOD_S = 0.05

MOST_COST = 0.005
"""The most that sampling takes of a core: if a sample takes longer, the period grows."""

MOST_SAMPLES = 1 << 12
"""After three minutes every second sample is dropped, and the period doubles."""

_BITS = (0x4, 0x10, 0x20 | 0x40, 0x80, 0x200, 0x400)
"""NVML's bits of `REASONS` but the last. Idle GPUs and clocks that a user has set are not throttled."""
_SLOWDOWN = 0x8
_CAUSES_OF_SLOWDOWN = 0x40 | 0x80
"""With one of these the bit of a slowdown by the hardware says nothing more."""


class _Series(NamedTuple):
    device: str
    counter: str
    series: str
    unit: str


_Values = tuple[list[int], list[float]]
"""Times and values of a series."""


class _Reading(NamedTuple):
    """The values that one call returns, and their series."""

    series: Sequence[_Series]
    read: Callable[[], Sequence[float]]


class MachineSampler:
    """Samples between `start` and `stop`, several times if needed."""

    def __init__(self) -> None:
        self._samples: list[tuple[int, dict[_Series, float]]] = []
        self._period_s = PERIOD_S
        self._running: tuple[threading.Thread, threading.Lock] | None = None

    def start(self) -> None:
        """Start or continue."""
        going_on = threading.Lock()
        going_on.acquire()
        thread = threading.Thread(target=self._run, args=(going_on,), name="tfvis_nb machine", daemon=True)
        self._running = thread, going_on
        with suppress(RuntimeError):  # Python ends, and starts no threads
            thread.start()

    def stop(self) -> None:
        """Stop after a last sample."""
        running, self._running = self._running, None
        if running is not None:
            thread, going_on = running
            going_on.release()
            if thread.ident is not None:
                thread.join()

    def leave(self) -> None:
        """Forget the thread in a forked process, which does not have it."""
        self._running = None

    def take(self, other: MachineSampler) -> None:
        """Add what another sampler has noted since `stop`."""
        self._samples += other._samples

    def counters(self, task: str) -> pd.DataFrame:
        """Return the samples as counters of a task: the table of `tfvis_nb.core.counters`."""
        every: dict[_Series, _Values] = {}
        for at, values in self._samples:
            for series, value in values.items():
                times, levels = every.setdefault(series, ([], []))
                times.append(at)
                levels.append(value)
        for device in {one.device for one in every if one.counter in (POWER, ENERGY)}:
            power, energy = _Series(device, POWER, "", "W"), _Series(device, ENERGY, "", "J")
            every[energy] = _energy(*(every.get(one, ([], [])) for one in (energy, power)))
        # A reason for throttling that never held is not worth a track.
        kept = {
            one: values
            for one, values in every.items()
            if not (one.counter == THROTTLED and one.series) or any(values[1])
        }
        columns: dict[str, Any] = {"task": [], "time_ns": [], "value": []} | {
            name: [] for name in _Series._fields
        }
        for series, (times, levels) in kept.items():
            device = task + series.device if series.device else ""
            named = series._replace(device=device)._asdict() | {"task": task}
            for name, text in named.items():
                columns[name] += [text] * len(times)
            columns["time_ns"] += times
            columns["value"] += levels
        return counters.build(columns)

    def _run(self, going_on: threading.Lock) -> None:
        with suppress(Exception), _readings() as readings:  # a recording without samples is better than none
            while True:
                wait_s = max(self._period_s, self._sample(readings) / MOST_COST)
                if going_on.acquire(timeout=wait_s):
                    self._sample(readings)
                    return

    def _sample(self, readings: Sequence[_Reading]) -> float:
        """Note a sample, and return how long the processor took for it, in s."""
        began = time.thread_time()
        values: dict[_Series, float] = {}
        now = time.time_ns()
        for reading in readings:
            with suppress(Exception):  # one of many that may fail for a while
                values |= zip(reading.series, reading.read(), strict=True)
        for framework, in_use in _IN_USE.items():
            with suppress(Exception):  # another release may lack what is asked
                values |= {_Series(name, ALLOCATED, framework, "bytes"): size for name, size in in_use()}
        self._samples.append((now, values))
        if len(self._samples) >= MOST_SAMPLES:
            del self._samples[1::2]
            self._period_s *= 2
        return time.thread_time() - began


def _energy(meter: _Values, power: _Values) -> _Values:
    """Return the energy that a device has used since its first value, in J.

    It is that of the device's own meter, or the integral of power if there is none or it stands still.
    """
    times, joules = meter
    if joules and joules[-1] > joules[0]:
        return times, [one - joules[0] for one in joules]
    times, watts = power
    spent = np.add(watts[1:], watts[:-1]) / 2 * np.diff(times) / 1e9
    return times, np.cumsum([0.0, *spent])[: len(times)].tolist()


def _of_tensorflow() -> Iterator[tuple[str, float]]:
    """Yield the bytes in use of each device; none before TensorFlow has made its devices."""
    context: Any = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    for device in getattr(context, "_logical_devices", None) or ():
        if device.device_type != "CPU":  # its allocator keeps no statistics
            name = device.name.rpartition("device:")[2]
            yield f"/device:{name}", context.get_memory_info(name)["current"]


def _of_jax() -> Iterator[tuple[str, float]]:
    """Yield the same of JAX."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bridge.backends_are_initialized():
        for device in bridge.local_devices():
            if (known := device.memory_stats()) and "bytes_in_use" in known:
                yield f"/device:{device.platform.upper()}:{device.local_hardware_id}", known["bytes_in_use"]


_IN_USE: dict[str, Callable[[], Iterator[tuple[str, float]]]] = {"TensorFlow": _of_tensorflow, "JAX": _of_jax}


@contextmanager
def _readings() -> Iterator[Sequence[_Reading]]:
    """Open what can be read here, and close it in the end."""
    process = psutil.Process()
    memory = _Reading([_Series("", RESIDENT, "", "bytes")], lambda: [process.memory_info().rss])
    with _library() as nvml:
        every = [] if nvml is None else [one for name, gpu in _gpus(nvml) for one in _of_gpu(nvml, name, gpu)]
        yield [memory, *filter(_works, every)]


@contextmanager
def _library() -> Iterator[Any]:
    """Open NVIDIA's library; None if it or a driver is missing."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001 - the library has one class per error
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def _works(reading: _Reading) -> bool:
    """Return whether a device answers; many do not support everything."""
    try:
        reading.read()
    except Exception:  # noqa: BLE001 - the library has one class per error
        return False
    return True


def _gpus(nvml: Any) -> Iterator[tuple[str, Any]]:
    """Yield the GPUs that CUDA shows to this process, by the names that TensorFlow and JAX give them."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = nvml.nvmlDeviceGetCount()
    for number, one in enumerate(map(str, range(count)) if chosen is None else chosen.split(",")):
        name = one.strip()
        if name.isdecimal() and int(name) < count:
            gpu = nvml.nvmlDeviceGetHandleByIndex(int(name))
        elif name.startswith("GPU-"):
            gpu = nvml.nvmlDeviceGetHandleByUUID(name)
        else:
            return  # CUDA shows none of those after a wrong one
        yield f"/device:GPU:{number}", gpu


def _of_gpu(nvml: Any, device: str, gpu: Any) -> list[_Reading]:
    """Return what can be asked of a GPU."""

    def utilization() -> tuple[float, float]:
        rates = nvml.nvmlDeviceGetUtilizationRates(gpu)
        return rates.gpu, rates.memory

    def throttled() -> list[float]:
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
        slowdown = bool(bits & _SLOWDOWN) and not bits & _CAUSES_OF_SLOWDOWN
        reasons = [*(bool(bits & mask) for mask in _BITS), slowdown]
        return [float(any(reasons)), *map(float, reasons)]

    def scaled(name: str, factor: float, *arguments: int) -> list[float]:
        return [getattr(nvml, name)(gpu, *arguments) * factor]

    def of(counter: str, unit: str, *names: str) -> list[_Series]:
        return [_Series(device, counter, name, unit) for name in names or ("",)]

    clock, sensor = nvml.NVML_CLOCK_SM, nvml.NVML_TEMPERATURE_GPU
    return [
        _Reading(of(POWER, "W"), partial(scaled, "nvmlDeviceGetPowerUsage", 1e-3)),
        _Reading(of(ENERGY, "J"), partial(scaled, "nvmlDeviceGetTotalEnergyConsumption", 1e-3)),
        _Reading(of(SM_CLOCK, "MHz"), partial(scaled, "nvmlDeviceGetClockInfo", 1, clock)),
        _Reading(of(SM_CLOCK, "MHz", "maximum"), partial(scaled, "nvmlDeviceGetMaxClockInfo", 1, clock)),
        _Reading(of("temperature", "°C"), partial(scaled, "nvmlDeviceGetTemperature", 1, sensor)),
        _Reading(of("memory in use", "bytes"), lambda: [nvml.nvmlDeviceGetMemoryInfo(gpu).used]),
        _Reading(of("utilization", "%", "", "memory"), utilization),
        _Reading(of(THROTTLED, "", "", *REASONS), throttled),
    ]
