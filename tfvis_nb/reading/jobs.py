"""Merge files of several tasks of one job into steps with all tasks.

Each worker of a cluster, and each rank of PyTorch, writes a file of its own. Files are of one job if they
name different tasks of a job of the same size, ran mostly the same nodes at the same time, and have steps
with the same marks, or steps of which each overlaps one of the other task. Where a task is there twice at
the same time, there are several jobs, and nothing is merged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.concat import merge_tasks, with_steps
from tfvis_nb.reading.sources.files import listed, stem
from tfvis_nb.reading.stepstats.assemble import assemble
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.reading.tasks import APART, LOCAL
from tfvis_nb.reading.xspace.reader import RecordedHost
from tfvis_nb.texts import Text

_SERVERS = "/job:ps/"
"""Parameter servers answer all workers, so they are in the files of each."""
_WORKING = ("op", "kernel", "collective")
_ALIKE = 0.5
"""The smallest share of nodes that two tasks of a job have in common."""
_TASK_IN_NAME = re.compile(
    r"(?<![a-z])(?:rank|worker|chief|master|task|host|node|replica)[-_]?\d{1,6}(?!\d)[-_.]?", re.IGNORECASE
)


class Named(NamedTuple):
    """A source that was read, the name of its file, and its name in messages."""

    content: RecordedStep | RecordedHost | Trace
    file: str
    label: str


class _Step(NamedTuple):
    """A step of a file: its number there and in the job, its mark, the name of its file, and its time."""

    file: int
    number: int
    mark: str
    name: str
    start: int
    end: int


class _File(NamedTuple):
    """A file of tasks of a job; `tasks` are without parameter servers."""

    place: int
    trace: Trace
    tasks: frozenset[str]
    ranks: frozenset[str]
    nodes: frozenset[str]
    steps: list[_Step]

    @property
    def start(self) -> int:
        return min(step.start for step in self.steps)

    @property
    def end(self) -> int:
        return max(step.end for step in self.steps)


def by_job(read: Sequence[Named]) -> list[Named]:
    """Merge files of one job into one trace, at the position of the first.

    What the caller holds in memory stays as it is: one step each, such as the runs of a recording.
    """
    tasks = {index: names for index, one in enumerate(read) if one.file and (names := _tasks(one.content))}
    if len(set(tasks.values())) < 2:
        return list(read)
    files = [file for index in tasks if (file := _file(index, read[index], tasks[index])).steps]
    made: dict[int, Named] = {}
    gone: set[int] = set()
    done: list[_Merged] = []
    for group in _groups(files):
        clusters = _clusters(group)
        merged = {step.file for cluster in clusters for step in cluster if len(cluster) > 1}
        if merged:
            chosen = [file for file in group if file.place in merged]
            kept = [steps for cluster in clusters if (steps := [s for s in cluster if s.file in merged])]
            first, *others = sorted(merged)
            done.append(_merged(chosen, kept))
            made[first] = Named(done[-1].trace, "", read[first].label)
            gone |= {*others}
    for why in {one.why for one in done}:
        _note([one for one in done if one.why == why], read)
    return [made.get(index, one) for index, one in enumerate(read) if index not in gone]


def _tasks(content: RecordedStep | RecordedHost | Trace) -> frozenset[str]:
    """Return the tasks of a cluster that only one file has; empty for a process without a task."""
    if isinstance(content, RecordedHost):
        return frozenset()
    if isinstance(content, RecordedStep):
        tasks = {where.task for where in content.places}
    else:
        tasks = {str(task) for task in content.events["task"].unique()}
    tasks -= {""}
    if LOCAL in tasks:
        return frozenset()
    return frozenset(task for task in tasks if not task.startswith(_SERVERS)) or frozenset(tasks)


def _file(index: int, one: Named, tasks: frozenset[str]) -> _File:
    trace = assemble([one.content]) if isinstance(one.content, RecordedStep) else one.content
    assert isinstance(trace, Trace)
    events = trace.events
    own = events["task"].isin(tasks).to_numpy()
    works = own & events["kind"].isin(_WORKING).to_numpy()
    end = events["start_ns"] + events["duration_ns"]
    spans = events.assign(end=end)[own].groupby("step", observed=True).agg({"start_ns": "min", "end": "max"})
    name = _TASK_IN_NAME.sub("", stem(one.file)).strip("-_.")
    steps = [
        _Step(index, int(number), trace.step_labels.get(int(number), ""), name, int(start), int(stop))
        for number, start, stop in zip(spans.index, spans["start_ns"], spans["end"], strict=True)
        if number != NO_STEP
    ]
    ranks = frozenset(
        str(note.figures["ranks"])
        for note in trace.notes
        if isinstance(note, Text)
        and note.id in ("rank_named", "task_of_cluster")
        and str(note.figures["ranks"]).isdecimal()
    )
    return _File(index, trace, tasks, ranks, frozenset(events["name"][works].unique()), steps)


def _groups(files: Sequence[_File]) -> list[list[_File]]:
    """Return groups of files that may be of one job, without those in which a task is there twice."""
    groups: list[list[_File]] = []
    done: list[list[_File]] = []
    for file in sorted(files, key=lambda file: file.start):
        joined, others = [file], []
        for group in groups:
            # Long before a file, none is of its job any more.
            if any(_of_one_job(file, other) for other in reversed(group)):
                joined = group + joined
            elif max(other.end for other in group) + APART < file.start:
                done.append(group)
            else:
                others.append(group)
        groups = [*others, joined]
    return [group for group in done + groups if len(group) > 1 and not _any_twice(group)]


def _of_one_job(one: _File, other: _File) -> bool:
    if one.tasks & other.tasks or (one.ranks and other.ranks and one.ranks != other.ranks):
        return False
    longest = max(one.end - one.start, other.end - other.start)
    if max(one.start, other.start) - min(one.end, other.end) > min(longest, APART):
        return False
    common = len(one.nodes & other.nodes)
    return common >= _ALIKE * min(len(one.nodes), len(other.nodes))


def _any_twice(group: Sequence[_File]) -> bool:
    """Return whether a task runs two steps at once, or files have some tasks in common and others not."""
    own = {file.tasks for file in group}
    if sum(map(len, own)) != len(frozenset().union(*own)):
        return True
    for tasks in own:
        latest: _Step | None = None
        steps = (step for file in group if file.tasks == tasks for step in file.steps)
        for step in sorted(steps, key=lambda step: step.start):
            if latest is not None and step.file != latest.file and _overlap(latest, step):
                return True
            latest = step if latest is None or step.end > latest.end else latest
    return False


def _overlap(one: _Step, other: _Step) -> bool:
    """Return whether two steps overlap for most of the shorter one."""
    both = min(one.end, other.end) - max(one.start, other.start)
    return 2 * both > min(one.end - one.start, other.end - other.start)


def _clusters(group: Sequence[_File]) -> list[list[_Step]]:
    """Return the steps of a group in order, each with those of the same number in the files of others."""
    tasks: dict[frozenset[str], list[_Step]] = {}
    for file in group:
        tasks.setdefault(file.tasks, []).extend(file.steps)
    clusters: list[list[_Step]] = []
    for steps in tasks.values():
        pairs = _pairs(clusters, sorted(steps, key=lambda step: step.start))
        for step in steps:
            clusters[pairs[step]].append(step) if step in pairs else clusters.append([step])
    return sorted(clusters, key=lambda cluster: min(step.start for step in cluster))


def _pairs(clusters: Sequence[list[_Step]], steps: Sequence[_Step]) -> dict[_Step, int]:
    """Return the cluster of each step of another task, by marks or times, or else by names of files."""
    by_marks = _same(clusters, steps, "mark")
    if by_marks:
        return by_marks
    # A step that overlaps several is of a job whose tasks do not wait for each other.
    start, end = (np.array([getattr(step, name) for step in steps])[:, None] for name in ("start", "end"))
    first = np.array([min(step.start for step in cluster) for cluster in clusters], np.int64)
    last = np.array([max(step.end for step in cluster) for cluster in clusters], np.int64)
    both = np.minimum(end, last) - np.maximum(start, first)
    overlaps = 2 * both > np.minimum(end - start, last - first)
    single = overlaps & (overlaps.sum(1, keepdims=True) == 1) & (overlaps.sum(0, keepdims=True) == 1)
    pairs = {steps[row]: int(cluster) for row, cluster in np.argwhere(single).tolist()}
    if pairs or overlaps.any():
        return pairs
    return _same(clusters, steps, "name")


def _same(clusters: Sequence[list[_Step]], steps: Sequence[_Step], name: str) -> dict[_Step, int]:
    """Pair steps by a name; the first of several with one name is the first of all tasks."""
    places: dict[tuple[str, int], int] = {}
    seen: dict[str, int] = {}
    for place, cluster in enumerate(clusters):
        text = getattr(cluster[0], name)
        seen[text] = seen.get(text, -1) + 1
        places[text, seen[text]] = place
    seen = {}
    matched: dict[_Step, int] = {}
    for step in steps:
        text = getattr(step, name)
        seen[text] = seen.get(text, -1) + 1
        if text and (text, seen[text]) in places:
            matched[step] = places[text, seen[text]]
    return matched


class _Merged(NamedTuple):
    """A merged trace, its files, its number of steps, and what shows that they are the same."""

    trace: Trace
    files: list[_File]
    steps: int
    why: str


def _merged(files: Sequence[_File], clusters: Sequence[list[_Step]]) -> _Merged:
    numbers: dict[int, dict[int, int]] = {}
    names: dict[int, str] = {}
    for number, cluster in enumerate(clusters):
        for step in cluster:
            numbers.setdefault(step.file, {})[step.number] = number
        if len(distinct := {step.name for step in cluster}) == 1:
            names[number] = distinct.pop()
    files = sorted(files, key=lambda file: (sorted(file.tasks), file.place))
    trace = merge_tasks([with_steps(file.trace, numbers[file.place]) for file in files])
    trace.step_labels = {step: name for step, name in names.items() if name} | trace.step_labels
    by_marks = all(len({step.mark for step in cluster}) == 1 and cluster[0].mark for cluster in clusters)
    return _Merged(trace, files, len(clusters), "have the same names" if by_marks else "overlap")


def _note(merged: Sequence[_Merged], read: Sequence[Named]) -> None:
    """Add one note on all merged files of a kind to the first of the traces."""
    files = sorted((file for one in merged for file in one.files), key=lambda file: file.place)
    note = Text(
        "job_files_merged",
        files=len(files),
        names=listed([read[file.place].label.rpartition("/")[2] for file in files]),
        tasks=len({task for file in files for task in file.tasks}),
        steps=sum(one.steps for one in merged),
        why=merged[0].why,
    )
    merged[0].trace.notes.insert(0, note)
