"""The run, task and step of a source, from its path and content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset.layout import brief_name
from tfvis_nb.reading.sources.files import stem
from tfvis_nb.reading.tasks import LOCAL, under_task

_HIVE = re.compile(r"(run|task|rank|steps?)=(.*)", re.IGNORECASE | re.DOTALL)
_TASK = re.compile(r"(?<![a-z])(rank|worker|task|ps|chief)[-_]?(\d{1,6})(?![a-z\d])", re.IGNORECASE)
_STEP = re.compile(r"(?<![a-z])(?:global[-_]?)?steps?[-_]?(\d{1,9})(?:-\d{1,9})?(?![a-z\d])", re.IGNORECASE)
_NUMBER = re.compile(r"(?:^|\D)(\d{1,9})$")
_FULL = re.compile(r"/job:[^/]+/replica:\d+/task:\d+")
_BETWEEN = "-_. "
_LAST_STEP = 2**31 - 1


class Named(NamedTuple):
    """The names in a path.

    - `run`: The run; `folders` is the part that does not come from the file name `file`.
    - `task`, `step`: The task and the number of the first step, if present.
    """

    run: str
    folders: str
    file: str
    task: str | None = None
    step: int | None = None


class Identity(NamedTuple):
    """The identity of a source: its run, the recorded names of its tasks, and the numbers of its steps."""

    run: str
    tasks: dict[str, str]
    steps: list[int]


def named(parts: Sequence[str], root: int) -> Named:
    """Return the names in the parts of a path; the first `root` parts are the given folder.

    Folders such as ``run=a``, ``task=2`` and ``step=17`` name them explicitly; parts of names such as
    ``rank3``, ``worker-1`` and ``step_17`` name task and step. In ``plugins/profile/<time>`` the file has the
    name of its host. The rest is the run: the folders below `root`, or the nearest above, and the file's
    name.

    >>> source = named(["logs", "a", "rank3", "step17.pb"], 1)
    >>> source.run, source.task, source.step
    ('a', '/job:worker/replica:0/task:3', 17)
    >>> source = named(["logs", "train", "plugins", "profile", "2026_01_31", "gpu7.xplane.pb"], 1)
    >>> source.run, source.task, source.step
    ('train/2026_01_31', '/job:gpu7/replica:0/task:0', None)
    >>> source = named(["traces", "mlp_step2.pb.xz"], 1)
    >>> source.run, source.task, source.step
    ('mlp', None, 2)
    """
    *folders, file = parts
    root = min(root, len(folders))
    while root and (_says_all(folders[root - 1]) or _in_profile(folders, root - 1)):
        root -= 1
    run, task, step = None, None, None
    rest: list[str] = []
    for at, folder in enumerate(folders):
        if match := _HIVE.fullmatch(folder):
            name, value = match[1].lower(), unquote(match[2])
            if name == "run":
                run = value or None
            elif name.startswith("step"):
                step = _first(value, step)
            else:
                task = _task_named(value)
        elif at >= root and not _in_profile(folders, at):
            left, task, step = _taken(folder, task, step)
            rest.append(left)
    last = own = stem(file)
    if folders[-3:-1] == ["plugins", "profile"]:
        task, own = task or _task_named(last), ""
    else:
        own, task, step = _taken(last, task, step)
    within = "/".join(filter(None, rest))
    above = within or (folders[root - 1] if root else "") or last
    run, without_file = ("/".join(filter(None, (within, own))) or above, above) if run is None else (run, run)
    return Named(
        brief_name(run), brief_name(without_file), last, None if task is None else brief_name(task), step
    )


def identified(trace: Trace, names: Named, hosts: Sequence[str]) -> tuple[Trace, Identity]:
    """Return the identity of a source, and its trace with the task that its path names, or its host.

    Recorded tasks are kept. Steps have the numbers in their labels, such as ``train 13``; otherwise they
    count from the number in the path, or from 0.
    """
    host = hosts[0] if len(hosts) == 1 else ""
    recorded = [str(task) for task in trace.events["task"].unique()]
    task = names.task or (_task_named(host) if host else None)
    if task is not None and {*recorded} <= {"", LOCAL}:
        task = brief_name(task)
        trace = under_task(trace, task)
        recorded = [task]
    tasks = {brief_name(task or LOCAL): task for task in recorded}
    # A file named after its host is not a separate run.
    run = names.folders if host and names.file == host else names.run
    return trace, Identity(run, tasks, _numbers(trace, names.step))


def _numbers(trace: Trace, first: int | None) -> list[int]:
    """Return the number of each step of a trace."""
    steps = distinct_numbers(trace.events["step"].to_numpy())
    steps = steps[steps != NO_STEP]
    count = int(steps.max(initial=-1)) + 1
    labelled = [_NUMBER.search(trace.step_labels.get(step, "")) for step in steps.tolist()]
    numbers = [int(match[1]) for match in labelled if match]
    if (
        len(numbers) == len(steps)
        and (np.diff(numbers) > 0).all()
        and min(numbers, default=0) >= (first or 0)
    ):
        # Keep the numbers of steps without events in between.
        spread: Iterable[float] = np.interp(np.arange(count), steps, numbers) if count else []
        return [int(number) for number in spread]
    return [(first or 0) + step for step in range(count)]


def _says_all(folder: str) -> bool:
    """Return whether a folder's name only names a task, a step or a partition, not a run."""
    return any(pattern.fullmatch(folder) for pattern in (_HIVE, _TASK, _STEP))


def _in_profile(folders: Sequence[str], at: int) -> bool:
    return ["plugins", "profile"] in ([*folders[at : at + 2]], [*folders[max(at - 1, 0) : at + 1]])


def _taken(name: str, task: str | None, step: int | None) -> tuple[str, str | None, int | None]:
    """Remove the task and the step from a name; those of the innermost folder or file count."""
    if match := _TASK.search(name):
        job = match[1].lower()
        task = f"/job:{'worker' if job in ('rank', 'task') else job}/replica:0/task:{int(match[2])}"
        name = _without(name, match)
    if match := _STEP.search(name):
        step = int(match[1])
        name = _without(name, match)
    return name, task, step


def _without(name: str, match: re.Match[str]) -> str:
    around: Iterable[str] = (name[: match.start()].rstrip(_BETWEEN), name[match.end() :].lstrip(_BETWEEN))
    return "_".join(filter(None, around))


def _first(value: str, otherwise: int | None) -> int | None:
    number = value.partition("-")[0]
    return int(number) if number.isdecimal() and int(number) <= _LAST_STEP else otherwise


def _task_named(value: str) -> str:
    """Return the full name of a task; names other than TensorFlow's are treated as jobs."""
    if value.isdecimal():
        return f"/job:worker/replica:0/task:{int(value)}"
    name = value.replace("/", "_") or "localhost"
    return value if _FULL.fullmatch(value) else f"/job:{name}/replica:0/task:0"
