"""Short texts for people: names of tasks, devices and lanes, and one-line summaries.

`js/model/lanes/labels.ts` gives the same names; `tests/data/conformance` has the cases that both must pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tfvis_nb.core.format import format_duration
from tfvis_nb.core.undivided import is_undivided
from tfvis_nb.events import NO_STEP

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

_TASK = re.compile(r"^/job:([^/]+)(?:/replica:([0-9]+))?/task:([0-9]+)")
_DEVICE = re.compile(r"/?device:([^/]+)")
NO_OP = "(no op)"
"""Shown for events without a recorded op type, such as kernels that no op launched."""
NO_NAME = "(no name)"

_RUN_NAMES = 3
"""How many names the label of a run shows before it only counts the rest."""

_NUMBER = re.compile(r"[0-9]+")
_DIGITS = re.compile(r"(\d+)")


def run_label(fetches: Iterable[str], targets: Iterable[str]) -> str:
    """Name a run of a session by its ops, such as the train op, and its fetches (without ``:0``)."""
    names = [*targets, *(name.removesuffix(":0") for name in fetches)]
    more = [f"{len(names) - _RUN_NAMES} more"] if len(names) > _RUN_NAMES else []
    return ", ".join(names[:_RUN_NAMES] + more)


def task_label(task: str) -> str:
    """Return the short name of a task; local and unknown tasks have none."""
    match = _TASK.match(task)
    if match is None:
        return task
    job, replica, number = match.groups()
    if job == "localhost":
        return ""
    return f"{job} {number}" if replica in (None, "0") else f"{job} {number} replica {replica}"


def shown_task(task: str) -> str:
    """Return the name of a task in tables, where a local one has a name as well, or of a device of one.

    >>> shown_task("/job:worker/replica:0/task:1"), shown_task("/job:localhost/replica:0/task:0")
    ('worker 1', 'local')
    >>> shown_task("/job:localhost/replica:0/task:0/device:CPU:1")
    'CPU:1'
    """
    return device_location(task) or "local"


def device_label(device: str) -> str:
    """Return the short name of a device, without its task."""
    rest = _TASK.sub("", device)
    match = _DEVICE.fullmatch(rest)
    return match[1] if match else rest.removeprefix("/")


def lane_name(lane: str) -> str:
    """Return the short name of a lane, without its device."""
    if lane.startswith("memcpy "):
        return f"copy {lane.removeprefix('memcpy ')}"
    if lane.startswith("stream:"):
        return f"stream {lane.removeprefix('stream:')}"
    return "receive" if lane == "recv" else lane


def lane_label(task: str, device: str, lane: str) -> str:
    """Name a lane and its location; a device if `lane` is empty, a task if both are."""
    return " \u00b7 ".join(filter(None, (task_label(task), device_label(device), lane_name(lane))))


def device_location(device: str) -> str:
    """Name a device and its task, given the device's full name."""
    match = _TASK.match(device)
    return lane_label("" if match is None else match[0], device, "")


def lane_search_text(task: str, device: str, lane: str) -> str:
    """Return all full and short names of a lane, in lower case, for searching."""
    return f"{task} {device} {lane} {_brief(task, device, lane)}".lower()


def matches_lane(names: Sequence[str], words: Iterable[str]) -> bool:
    """Return whether the names of a lane contain all `words`.

    Numbers only match as words of the short names: in ``/job:worker/replica:0/task:1`` the 0 does not mean
    worker 0.

    `names` are task, device and lane; `words` are in lower case.
    """
    task, device, lane = names
    brief, whole = _brief(task, device, lane).lower().split(" "), lane_search_text(task, device, lane)
    return all(word in (brief if _NUMBER.fullmatch(word) else whole) for word in words)


def _brief(task: str, device: str, lane: str) -> str:
    return f"{task_label(task)} {device_label(device)} {lane_name(lane)}"


def printable(text: str, most: int) -> str:
    r"""Cut a text from a trace to `most` characters and make invisible and control characters visible.

    Terminals act on control characters, pages on those that change the writing direction, and XML cannot
    contain some of them.
    """
    cut = text if len(text) <= most else text[: most - 1] + "\u2026"
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in cut)


def one_line(trace: Trace, title: str | None = None) -> str:
    """Describe the size of a trace in one line."""
    events = trace.events
    title = trace.title if title is None else title
    counts = [_count(len(events), "event")]
    if len(events):
        end = int((events["start_ns"] + events["duration_ns"]).max())
        tasks = events["task"].nunique()
        counts += [_count(tasks, "task")] if tasks > 1 else []
        steps = int((events["step"].unique() != NO_STEP).sum())
        counts.append(_count(events["device"].nunique(), "device"))
        counts += [] if is_undivided(trace) else [_count(steps, "step")]
        counts.append(format_duration(end - int(events["start_ns"].iloc[0])))
    # Titles come from file names or users: keep them short and on one line.
    brief = printable(" ".join(title.split()), 80)
    return f"{brief}: {', '.join(counts)}" if brief else ", ".join(counts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts ``task:10`` after ``task:9``.

    >>> sorted(["task:10", "task:9"], key=natural)
    ['task:9', 'task:10']
    """
    # Longer digit sequences are addresses, not counts.
    return [(0, int(part[-18:]), "") if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(text)]
