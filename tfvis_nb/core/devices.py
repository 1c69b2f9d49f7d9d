"""Parse device strings of ``dev_stats`` into task, device, lane and the kind of rows they hold."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Family = Literal["executor", "gpu", "host", "unknown"]

_TASK = r"(?P<task>/job:[^/]+(?:/replica:\d+)?(?:/task:\d+)?)"
_EXECUTOR = re.compile(_TASK + r"/(?:device:)?(?P<type>[A-Za-z_]+):(?P<ordinal>\d+)(?:/(?P<rest>.+))?")
_GPU_LANE = re.compile(
    _TASK + r"?/(?:device:)?gpu:(?P<ordinal>\d+)/"
    r"(?:(?P<other>memcpy|sync|stream:all)|stream:(?P<stream>[^<]*)(?:<(?P<what>\w*)>)?)",
    re.IGNORECASE,
)
_GPU_CONTEXT = re.compile(
    r"/gpu:(?P<ordinal>\d+) \(.*\)/context#(?P<context>\d+)/"
    r"(?:stream#(?P<stream>\d+)|null stream)(?::(?P<what>\w+))?",
    re.IGNORECASE,
)
_HOST = re.compile(_TASK + r"?/host:CPU")

HOROVOD_OF_NO_TASK = "Horovod"
"""The device of a Horovod timeline whose task is unknown."""

HOROVOD = re.compile(r"(?:^|/device:)Horovod$")
"""Matches the devices of Horovod timelines, and no others."""


ACCELERATOR = re.compile(r"(?:^|/device:)(?!(?:XLA_)?CPU:)[A-Z_]+:\d+$")
"""Matches the devices of GPUs, TPUs and other accelerators."""


class Place(NamedTuple):
    """Where the rows of one device string belong.

    If the string does not contain the task, `task` is empty and `device` starts with ``/device:``. `what` is
    the string's description of its rows: ``MemcpyH2D``, ``Kernel``, ``sync``, ``memcpy`` or empty. An
    `aggregate` lane repeats the rows of the other lanes of its GPU.
    """

    family: Family
    task: str
    device: str
    lane: str
    what: str = ""
    ordinal: int = -1
    aggregate: bool = False


def canonical(device: str) -> str:
    """Return the full name of a device: the old ``/gpu:0`` becomes ``/device:GPU:0``; other texts stay."""
    match = _EXECUTOR.fullmatch(device)
    if match is None or match["rest"]:
        return device
    return f"{match['task']}/device:{match['type'].upper()}:{match['ordinal']}"


def task_of(device: str) -> str:
    """Return the task part of a device name, or an empty text."""
    match = re.match(_TASK, device)
    return match["task"] if match else ""


def horovod_device(task: str) -> str:
    """Return the device for the rows of a task's Horovod timeline."""
    return f"{task}/device:Horovod" if task else HOROVOD_OF_NO_TASK


def place(device: str) -> Place:
    """Parse a device string of any TensorFlow version.

    >>> place("/device:GPU:0/stream:14<MemcpyH2D>").lane
    'stream:14'
    >>> place("/job:ps/replica:0/task:0/cpu:0").device
    '/job:ps/replica:0/task:0/device:CPU:0'
    """
    if match := _GPU_CONTEXT.fullmatch(device):
        stream = f"stream:{match['stream']}" if match["stream"] else "null stream"
        lane = stream if match["context"] == "0" else f"context:{match['context']} {stream}"
        return _gpu("", match["ordinal"], lane, match["what"])
    if match := _GPU_LANE.fullmatch(device):
        other = (match["other"] or "").lower()
        task = match["task"] or ""
        if other in ("memcpy", "stream:all"):
            return _gpu(task, match["ordinal"], other, "memcpy" if other == "memcpy" else "", aggregate=True)
        if other == "sync":
            return _gpu(task, match["ordinal"], "sync", "sync")
        return _gpu(task, match["ordinal"], f"stream:{match['stream']}", match["what"])
    if match := _HOST.fullmatch(device):
        task = match["task"] or ""
        return Place("host", task, f"{task}/device:CPU:0", "host")
    if match := _EXECUTOR.fullmatch(device):
        name = f"{match['task']}/device:{match['type'].upper()}:{match['ordinal']}"
        ordinal = int(match["ordinal"]) if match["type"].upper() == "GPU" else -1
        if match["rest"]:
            return Place("unknown", match["task"], name, match["rest"])
        return Place("executor", match["task"], name, "ops", ordinal=ordinal)
    return Place("unknown", "", "", device)


def _gpu(task: str, ordinal: str, lane: str, what: str | None, *, aggregate: bool = False) -> Place:
    return Place("gpu", task, f"{task}/device:GPU:{int(ordinal)}", lane, what or "", int(ordinal), aggregate)


def block_numbers(places: Sequence[Place]) -> list[int]:
    """Number the blocks of a step: consecutive lanes without a task, each before the entries of its task.

    Lanes with a task have -1.

    >>> block_numbers([place("/device:GPU:0/stream:1"), place("/job:a/task:0/cpu:0"), place("/host:CPU")])
    [0, -1, 1]
    """
    block, open_block, numbers = 0, False, []
    for where in places:
        lost = where.family in ("gpu", "host") and not where.task
        if where.task and open_block:
            block += 1
        open_block = lost or (open_block and not where.task)
        numbers.append(block if lost else -1)
    return numbers
