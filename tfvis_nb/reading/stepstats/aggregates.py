"""Aggregate lanes: ``stream:all`` and ``memcpy`` repeat the rows of the other lanes of their GPU."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tfvis_nb.core.devices import Place, block_numbers
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep

_TIMES = ("all_start_micros", "all_end_rel_micros", "scheduled_micros")


def _groups(places: Sequence[Place]) -> np.ndarray:
    """Return the GPU number of each entry in its block; -1 for entries not covered by an aggregate lane."""
    numbers = block_numbers(places)
    groups = [
        block << 16 | where.ordinal & 0xFFFF if where.family == "gpu" and where.lane != "sync" else -1
        for block, where in zip(numbers, places, strict=True)
    ]
    return np.array(groups, np.int64)


def same_bytes(places: Sequence[Place], contents: Sequence[pa.Buffer]) -> bool:
    """Return whether each aggregate lane equals one other lane of its GPU, as with a single stream."""
    keys = zip(_groups(places).tolist(), (one.size for one in contents), range(len(places)), strict=True)
    covered = sorted(key for key in keys if key[0] >= 0)
    lanes = [key for key in covered if not places[key[2]].aggregate]
    totals = [key for key in covered if places[key[2]].aggregate]
    return [key[:2] for key in lanes] == [key[:2] for key in totals] and all(
        contents[one].equals(contents[other]) for (*_, one), (*_, other) in zip(lanes, totals, strict=True)
    )


def same_letters(places: Sequence[Place], contents: Sequence[pa.Buffer]) -> bool:
    """Return whether the bytes of aggregate lanes add up to those of the other lanes of their GPU."""
    lanes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    totals: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for group, where, content in zip(_groups(places).tolist(), places, contents, strict=True):
        if group >= 0:
            letters = np.frombuffer(content, np.uint8)
            one = Counter(count=letters.size, total=int(letters.sum(dtype=np.int64)))
            (totals if where.aggregate else lanes)[group] += one
    return lanes == totals


def same_times(step: RecordedStep, aggregates: RecordedStep) -> bool:
    """Return whether aggregate lanes have exactly the times of the other lanes of their GPU."""
    sides: list[np.ndarray] = []
    for side in (step, aggregates):
        group = _groups(side.places)[side.entry] if len(side.entry) else np.zeros(0, np.int64)
        mixed = group.astype(np.uint64)
        for name in _TIMES if len(side.entry) else ():
            mixed = (mixed ^ side.numbers(name).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        sides.append(np.sort(mixed[group >= 0]))
    return np.array_equal(sides[0], sides[1])


def without_repeats(step: RecordedStep) -> RecordedStep:
    """Drop rows of aggregate lanes that another lane also has, with the same name, label and times."""
    group = _groups(step.places)[step.entry].tolist()
    fields = [step.numbers(name).tolist() for name in _TIMES]
    names = [value for chunk in step.chunks for value in chunk.field("node_name").to_pylist()]
    labels = [value for chunk in step.chunks for value in chunk.field("timeline_label").to_pylist()]
    keys = list(zip(group, names, labels, *fields, strict=True))
    aggregate = np.array([where.aggregate for where in step.places])[step.entry]
    available = Counter(key for key, total in zip(keys, aggregate.tolist(), strict=True) if not total)
    keep = np.ones(len(keys), bool)
    for row in np.flatnonzero(aggregate).tolist():
        if available[keys[row]] > 0:
            available[keys[row]] -= 1
            keep[row] = False
    chunks, first = [], 0
    for chunk in step.chunks:
        chunks.append(chunk.filter(pa.array(keep[first : first + len(chunk)])))
        first += len(chunk)
    step.chunks, step.entry, step.repeated = chunks, step.entry[keep], int((~keep).sum())
    return step
