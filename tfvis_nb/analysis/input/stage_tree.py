"""The tree of tf.data stages: which stage consumes the elements of which."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

NONE = -1
"""The consumer of a root."""

Key = tuple[str, str, str]
"""Task, name and dataset of a stage."""


_MOST_LEVELS = 100
"""How many levels above a stage its consumer is searched by name: more than pipelines have."""


class Place(NamedTuple):
    """A stage in the tree: its index, its consumer's index, and the number of stages above it."""

    stage: int
    consumer: int
    depth: int


def stage_tree(calls: pd.DataFrame, keys: Sequence[Key], number: np.ndarray) -> list[Place]:
    """Return the stages, each after its consumer, otherwise in the order of their keys.

    `calls` comes from `stage_calls`, and `number` is the index in `keys` of each call's stage.
    """
    consumer = _consumers(calls, keys, number)
    below: dict[int, list[int]] = {}
    for stage in sorted(range(len(keys)), key=lambda one: _order(keys[one])):
        below.setdefault(consumer[stage], []).append(stage)
    places: dict[int, Place] = {}
    # In damaged files stages may form a cycle: the first of them is also a root.
    for root in [*below.get(NONE, ()), *sorted(range(len(keys)), key=lambda one: _order(keys[one]))]:
        waiting = [Place(root, NONE, 0)]
        while waiting:
            place = waiting.pop()
            if place.stage not in places:
                places[place.stage] = place
                inputs = reversed(below.get(place.stage, ()))
                waiting += [Place(one, place.stage, place.depth + 1) for one in inputs]
    return list(places.values())


def bottlenecks(places: Sequence[Place], keys: Sequence[Key], busy: Sequence[int]) -> list[int]:
    """Return the stage that limits each pipeline.

    Starting at the root, go to the input with the largest busy time, as long as that is at least half of the
    busy time above it.
    """
    below: dict[int, list[int]] = {}
    for place in places:
        below.setdefault(place.consumer, []).append(place.stage)
    found = []
    for root in below.get(NONE, ()):
        # A stage without a recorded consumer, but named below one, is not the root of a pipeline.
        stage = NONE if "::" in keys[root][1] else root
        while stage != NONE:
            largest = max(below.get(stage, ()), key=lambda one: busy[one], default=NONE)
            if largest == NONE or 2 * busy[largest] < busy[stage]:
                found.append(stage)
                break
            stage = largest
    return found


def _consumers(calls: pd.DataFrame, keys: Sequence[Key], number: np.ndarray) -> list[int]:
    """Return the consumer that the calls of each stage name, otherwise the one with the matching name."""
    tasks = calls["task"].tolist()
    of_iterator = dict(zip(zip(tasks, calls["iterator"], strict=True), number.tolist(), strict=True))
    named: dict[tuple[str, str], int] = {}
    for stage, (task, name, _) in enumerate(keys):
        named.setdefault((task, name), stage)
    consumer = [_above(named, task, name) for task, name, _ in keys]
    for stage, task, iterator in zip(number.tolist(), tasks, calls["parent_iterator"], strict=True):
        recorded = of_iterator.get((task, iterator), NONE) if iterator else NONE
        if recorded not in (NONE, stage):
            consumer[stage] = recorded
    return consumer


def _above(named: Mapping[tuple[str, str], int], task: str, name: str) -> int:
    for _ in range(_MOST_LEVELS):
        name = name.rpartition("::")[0]
        if (task, name) in named:
            return named[task, name]
    return NONE


def _order(key: Key) -> tuple[str, list[str], str]:
    task, name, dataset = key
    return task, name.split("::"), dataset
