"""Aggregate lanes: ``stream:all`` and ``memcpy`` repeat the rows of the other lanes of the GPUs.

Only the contents show what repeats what: TensorFlow up to 1.13 writes ``dev_stats`` in the order of a hash
table, so a lane and its aggregate may stand far apart.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tfvis_nb.core.devices import Place
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep

_TIMES = ("all_start_micros", "all_end_rel_micros", "scheduled_micros")


def _covered(places: Sequence[Place]) -> np.ndarray:
    """Return whether aggregate lanes repeat each entry; they are covered themselves."""
    return np.array([where.family == "gpu" and where.lane != "sync" for where in places], bool)


def same_bytes(places: Sequence[Place], contents: Sequence[pa.Buffer]) -> bool:
    """Return whether each aggregate lane equals one other lane, as with a single stream."""
    sized = sorted((contents[number].size, number) for number in np.flatnonzero(_covered(places)).tolist())
    lanes = [number for _, number in sized if not places[number].aggregate]
    totals = [number for _, number in sized if places[number].aggregate]
    pairs = zip(lanes, totals, strict=False)
    return len(lanes) == len(totals) and all(contents[one].equals(contents[other]) for one, other in pairs)


def same_letters(places: Sequence[Place], contents: Sequence[pa.Buffer]) -> bool:
    """Return whether the bytes of aggregate lanes add up to those of the other lanes."""
    lanes: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for is_covered, where, content in zip(_covered(places).tolist(), places, contents, strict=True):
        if is_covered:
            letters = np.frombuffer(content, np.uint8)
            one = Counter(count=letters.size, total=int(letters.sum(dtype=np.int64)))
            (totals if where.aggregate else lanes).update(one)
    return lanes == totals


def same_times(step: RecordedStep, aggregates: RecordedStep) -> bool:
    """Return whether aggregate lanes have exactly the times of the other lanes."""
    sides: list[np.ndarray] = []
    for side in (step, aggregates):
        covered = _covered(side.places)[side.entry] if len(side.entry) else np.zeros(0, bool)
        mixed = np.zeros(len(covered), np.uint64)
        for name in _TIMES if len(side.entry) else ():
            mixed = (mixed ^ side.numbers(name).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        sides.append(np.sort(mixed[covered]))
    return np.array_equal(sides[0], sides[1])


def without_repeats(step: RecordedStep) -> RecordedStep:
    """Drop rows of aggregate lanes that another lane also has, with the same name, label and times."""
    fields = [step.numbers(name).tolist() for name in _TIMES]
    names = [value for chunk in step.chunks for value in chunk.field("node_name").to_pylist()]
    labels = [value for chunk in step.chunks for value in chunk.field("timeline_label").to_pylist()]
    keys = list(zip(names, labels, *fields, strict=True))
    aggregate = np.array([where.aggregate for where in step.places])[step.entry]
    covers = _covered(step.places)[step.entry] & ~aggregate
    available = Counter(key for key, other in zip(keys, covers.tolist(), strict=True) if other)
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
