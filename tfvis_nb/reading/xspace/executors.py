"""The device of the executor that ran each row, in profiles of a process whose devices meet in collectives.

Threads of one pool run the executors of all CPU devices, and those that launch work of GPUs, so neither plane
nor line shows the device. But each executor runs a graph of its own, and when it sends a tensor to another
device, the key of the transfer starts with its own device.
"""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.xspace.links import Links
from tfvis_nb.reading.xspace.rows import Rows
from tfvis_nb.reading.xspace.steps import Threads, runs

_SENDER = re.compile(r"\bkey=(?:/job:\w+/replica:\d+/task:\d+)?(/device:\w+:\d+);")


def executor_devices(parts: Sequence[Rows], links: Links, threads: Threads) -> pa.Array | None:
    """Return the device of each row's executor, null if unknown; None unless devices meet in collectives."""
    met = links.mark("instance")
    instances, instance = np.unique(met.numbers, return_inverse=True)
    if len(instances) == len(met.rows):
        return None
    run = links.mark("run")
    number = runs(links, threads, run.rows[run.numbers == 1])
    sender, devices = _senders(parts, number)
    device = np.append(sender, -1)[number]
    known = device[met.rows] >= 0
    pairs = np.unique(instance[known] * len(devices) + device[met.rows][known])
    if np.bincount(pairs // max(len(devices), 1)).max(initial=0) < 2:
        return None
    return pa.DictionaryArray.from_arrays(
        pa.array(device, pa.int32(), mask=device < 0), pa.array(devices, pa.string())
    )


def _senders(parts: Sequence[Rows], number: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the index of the device that sends in each run, -1 for none or several, and the devices."""
    runs_of, codes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    devices: dict[str, int] = {}
    first = 0
    for part in parts:
        found = [_SENDER.search(text) for text in part.detail.texts]
        of_text = np.array([-1 if one is None else devices.setdefault(one[1], len(devices)) for one in found])
        code = of_text[part.detail.codes] if found else np.zeros(0, np.int64)
        sent = np.flatnonzero((code >= 0) & (number[first : first + len(part)] != NO_STEP))
        runs_of.append(number[first + sent].astype(np.int64))
        codes.append(code[sent])
        first += len(part)
    run, code = np.concatenate(runs_of), np.concatenate(codes)
    count = int(number.max(initial=-1)) + 1
    least, most = np.full(count, len(devices)), np.full(count, -1)
    np.minimum.at(least, run, code)
    np.maximum.at(most, run, code)
    return np.where(least == most, most, -1), list(devices)
