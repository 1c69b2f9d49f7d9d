"""Separate the logical GPUs of one card.

CUPTI only knows the card: with two logical GPUs, every lane is named ``/device:GPU:0``. Executor rows show
more: a kernel belongs to the device its op ran on, a copy to the GPU that made or uses its tensor, and a
stream to one logical GPU.
"""

import re
from collections import Counter

import numpy as np
import pyarrow as pa

from tfvis_nb.reading.columns import EventColumns, Vocabularies
from tfvis_nb.reading.stepstats.gpu_tasks import GpuTasks
from tfvis_nb.reading.stepstats.label_grammar import unpartitioned
from tfvis_nb.reading.stepstats.source_rows import Source

_INPUTS = re.compile(r" = [^ (]+\((.*)\)$", re.DOTALL)


def logical_devices(
    source: Source, part: EventColumns, blocks: GpuTasks, vocabularies: Vocabularies, executors: EventColumns
) -> np.ndarray:
    """Return the device code of each GPU row of `part`.

    The lane's device is kept unless its task ran ops on GPUs that no lane names.
    """
    entry = source.entry[part.rows]
    claimed = [
        f"{task}/device:GPU:{place.ordinal}" for task, place in zip(blocks.task, source.places, strict=True)
    ]
    device: np.ndarray = np.array([vocabularies.device.code(name) for name in claimed], np.int32)[entry]
    lanes: dict[tuple[int, str], set[str]] = {}
    ran: dict[tuple[int, str], set[str]] = {}
    for number in np.flatnonzero(np.diff(source.bounds)).tolist():
        place = source.places[number]
        group = int(source.step[number]), blocks.task[number]
        if place.family == "gpu":
            lanes.setdefault(group, set()).add(claimed[number])
        elif place.ordinal >= 0:
            ran.setdefault(group, set()).add(place.device)
    for (step, task), names in lanes.items():
        if ran.get((step, task), set()) - names and task:
            owner = _owners(source, executors, vocabularies, step, task)
            chosen = (source.step[entry] == step) & (part.task == vocabularies.task.code(task))
            _give(source, part, np.flatnonzero(chosen), device, owner, vocabularies)
    return device


def _owners(
    source: Source, executors: EventColumns, vocabularies: Vocabularies, step: int, task: str
) -> dict[str, str]:
    """Return the GPU of each node or of its consumers, if there is exactly one."""
    entry = source.entry[executors.rows]
    rows = pa.array(
        np.flatnonzero((source.step[entry] == step) & (executors.task == vocabularies.task.code(task)))
    )
    devices = [vocabularies.device.texts[code] for code in executors.device[rows.to_numpy()].tolist()]
    ran: dict[str, set[str]] = {}
    consumed: dict[str, set[str]] = {}
    texts = zip(executors.name.take(rows).to_pylist(), executors.detail.take(rows).to_pylist(), strict=True)
    for (name, label), device in zip(texts, devices, strict=True):
        if "/device:GPU:" not in device:
            continue
        ran.setdefault(name, set()).add(device)
        if match := _INPUTS.search(label):
            for text in match[1].split(", "):
                node = text.lstrip("^").partition(":")[0]
                if node != unpartitioned(node):
                    consumed.setdefault(unpartitioned(node), set()).add(device)
    owners = {name: min(where) for name, where in consumed.items() if len(where) == 1}
    return owners | {name: min(where) for name, where in ran.items() if len(where) == 1}


def _give(
    source: Source,
    part: EventColumns,
    rows: np.ndarray,
    device: np.ndarray,
    owner: dict[str, str],
    vocabularies: Vocabularies,
) -> None:
    """Assign rows to the GPU of their node, others to the most frequent GPU of their lane."""
    names: pa.Array = part.name.take(pa.array(rows))
    owners = [owner.get(name) or owner.get(unpartitioned(name), "") for name in names.to_pylist()]
    lanes = [source.devices[number] for number in source.entry[part.rows[rows]].tolist()]
    votes: dict[str, Counter[str]] = {}
    for lane, name in zip(lanes, owners, strict=True):
        if name:
            votes.setdefault(lane, Counter())[name] += 1
    elected = {lane: min(counted, key=lambda name: (-counted[name], name)) for lane, counted in votes.items()}
    for row, lane, name in zip(rows.tolist(), lanes, owners, strict=True):
        if name or lane in elected:
            device[row] = vocabularies.device.code(name or elected[lane])
