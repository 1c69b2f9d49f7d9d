"""Find the task of lanes without a task prefix.

GPU tracers write ``/device:GPU:0/stream:13`` for any task. In the source the lanes of one worker are
together, directly before that worker's ``/job:...`` entries: this is a *block*. The task of a block is that
of the entry after it, unless its kernels are named after ops of another task. TensorFlow up to 1.13 writes
the entries of a worker in the order of a hash table, so lanes of one task may be apart.
"""

import re

import numpy as np

from tfvis_nb.core.devices import block_numbers, task_of
from tfvis_nb.reading.stepstats.source_rows import Source
from tfvis_nb.texts import Text

_LABELLED_DEVICE = re.compile(r"device=(/job:[^,#]+)")


class GpuTasks:
    """The block of each entry without its own task, -1 for others; and the task of each, own or found."""

    def __init__(self, source: Source, notes: list[str]) -> None:
        self.task = [place.task for place in source.places]
        self.number = np.full(len(self.task), -1)
        first = 0
        for step in range(len(source.steps)):
            entries = np.flatnonzero(source.step == step)
            numbers = np.array(block_numbers([source.places[entry] for entry in entries]), np.int64)
            self.number[entries] = np.where(numbers >= 0, numbers + first, -1)
            first += int(numbers.max(initial=-1)) + 1
            for block in np.unique(numbers[numbers >= 0]).tolist():
                members = entries[numbers == block].tolist()
                self._close(members, _task_behind(source, members, entries.tolist()))
        self._tell_by_names(source, notes)
        self._join(source)

    def _join(self, source: Source) -> None:
        """Make one block of all lanes of a task in a step, which one tracer wrote with one clock."""
        blocks: dict[tuple[int, str], int] = {}
        for entry in np.flatnonzero(self.number >= 0).tolist():
            key = int(source.step[entry]), self.task[entry]
            self.number[entry] = blocks.setdefault(key, len(blocks))

    def _close(self, entries: list[int], task: str) -> None:
        for entry in entries:
            self.task[entry] = task

    def _tell_by_names(self, source: Source, notes: list[str]) -> None:
        """Reassign blocks whose op names belong to another task than their position."""
        for step in np.unique(source.step[self.number >= 0]).tolist():
            entries = np.flatnonzero(source.step == step)
            executors = [entry for entry in entries.tolist() if source.places[entry].family == "executor"]
            tasks = sorted({self.task[entry] for entry in executors})
            if len(tasks) < 2:
                continue
            known = {
                task: self._names(source, [e for e in executors if self.task[e] == task]) for task in tasks
            }
            for block in np.unique(self.number[entries]).tolist():
                if block >= 0:
                    self._settle(source, np.flatnonzero(self.number == block).tolist(), known, notes)

    def _settle(self, source: Source, block: list[int], known: dict[str, set[str]], notes: list[str]) -> None:
        task_named = self._labelled_task(source, block)
        names = self._names(source, block)
        scores = {task: len(names & theirs) for task, theirs in known.items()}
        best = max(scores, key=lambda task: scores[task])
        position = self.task[block[0]]
        if task_named:
            self._close(block, task_named)
        elif scores[best] > scores.get(position, 0):
            self._close(block, best)
            notes.append(Text("lanes_given_to_task", other=position, task=best))

    @staticmethod
    def _names(source: Source, entries: list[int]) -> set[str]:
        """Return the nodes of entries; for a kernel the part before the colon of ``MatMul:MatMul``."""
        names: set[str] = set()
        for entry in entries:
            first, last = int(source.bounds[entry]), int(source.bounds[entry + 1])
            texts = source.names.slice(first, last - first).unique().to_pylist()
            names.update(text.partition(":")[0] for text in texts)
        names.discard("_SOURCE")
        return names

    @staticmethod
    def _labelled_task(source: Source, entries: list[int]) -> str:
        """Return the most frequent task in labels or names of TF 1.14 to 2.3."""
        counts: dict[str, int] = {}
        for entry in entries:
            first, last = int(source.bounds[entry]), int(source.bounds[entry + 1])
            for texts in (source.labels, source.names):
                for count in texts.slice(first, last - first).value_counts().to_pylist():
                    if match := _LABELLED_DEVICE.search(count["values"]):
                        task = task_of(match[1])
                        counts[task] = counts.get(task, 0) + count["counts"]
        return max(counts, key=lambda task: counts[task]) if counts else ""


def _task_behind(source: Source, members: list[int], entries: list[int]) -> str:
    """Return the task of the next entry of the step that has one, else of the last one before."""
    tasks = [source.places[entry].task for entry in entries]
    behind = [task for task in tasks[entries.index(members[-1]) :] if task]
    before = [task for task in tasks[: entries.index(members[0])] if task]
    return behind[0] if behind else before[-1] if before else ""
