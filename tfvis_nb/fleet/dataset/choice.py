"""Choose the sources of a run, and tasks and steps of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from tfvis_nb.core.labels import natural, shown_task
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset.manifest import Entry
from tfvis_nb.fleet.dataset.read_back import Chosen
from tfvis_nb.texts import Text

_MOST_SHOWN = 8


def choose(
    entries: Sequence[Entry],
    run: str | None,
    tasks: Collection[str] | str | None,
    steps: Collection[int] | int | None,
) -> list[Chosen]:
    """Return the sources of a run, with the selected tasks and steps of each; see `TraceDataset.trace`.

    TypeError if steps are not numbers, ValueError if nothing is selected or several runs are.
    """
    runs = sorted({entry.run for entry in entries}, key=natural)
    if run is None and len(runs) > 1:
        raise ValueError(Text("dataset_runs", runs=len(runs), names=_some(runs)))
    numbers = _numbers(steps)
    # Events outside steps cannot be chosen.
    wanted = None if numbers is None else numbers - {NO_STEP}
    named = None if tasks is None else {tasks} if isinstance(tasks, str) else {*tasks}
    of_run = [entry for entry in entries if run in (None, entry.run)]
    chosen = []
    for entry in of_run:
        own = [task for task in entry.tasks if named is None or {task, shown_task(task)} & named]
        if own:
            chosen.append(Chosen(entry, own, wanted))
    matching = [one for one in chosen if wanted is None or wanted & {*one.entry.steps}]
    if matching:
        return matching
    known: tuple[str, Iterable[object]] = ("runs", runs)
    if chosen:
        known = "steps", sorted({step for one in chosen for step in one.entry.steps})
    elif of_run:
        names = sorted({shown_task(task) for entry in of_run for task in entry.tasks}, key=natural)
        known = "tasks", names
    shown = "all" if numbers is None else ", ".join(map(str, sorted(numbers)[:_MOST_SHOWN])) or "none"
    task = "all" if named is None else ", ".join(sorted(map(str, named))[:_MOST_SHOWN])
    raise ValueError(
        Text("nothing_selected", run=run, task=task, steps=shown, kind=known[0], known=_some(known[1]))
    )


def _numbers(steps: Collection[int] | int | None) -> set[int] | None:
    """Return numbers of steps; TypeError if they are none."""
    if steps is None:
        return None
    numbers = [*steps] if isinstance(steps, Iterable) else [steps]
    if any(isinstance(one, bool) or not isinstance(one, (int, np.integer)) for one in numbers):
        raise TypeError(Text("steps_no_numbers", steps=steps))
    return {int(one) for one in numbers}


def _some(known: Iterable[object]) -> str:
    names = [repr(one) for one in known]
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    return (", ".join(names[:_MOST_SHOWN]) or "none") + more
