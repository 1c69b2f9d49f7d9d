"""Leave out the rows of aggregate lanes: ``stream:all`` and ``memcpy`` repeat other lanes' rows."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tfvis_nb.reading.blocks import Blocks
from tfvis_nb.reading.source import Source

_KEY = ("all_start_micros", "all_end_rel_micros", "scheduled_micros")


def repeated_rows(source: Source, blocks: Blocks, notes: list[str]) -> np.ndarray:
    """Return a mask of the rows that repeat another row of the same GPU and block.

    A row of an aggregate lane that is in no other lane is kept: it is the only record of its execution.
    """
    repeated = np.zeros(source.rows, bool)
    groups: dict[tuple[int, int, int], tuple[list[int], list[int]]] = {}
    for entry, place in enumerate(source.places):
        if place.family == "gpu" and place.lane != "sync":
            key = (int(source.step[entry]), int(blocks.number[entry]), place.ordinal)
            groups.setdefault(key, ([], []))[0 if place.aggregate else 1].append(entry)
    fields = [source.numbers(field) for field in _KEY]
    for aggregates, details in groups.values():
        if not aggregates:
            continue
        detail_rows = _rows(source, details)
        rows = _rows(source, aggregates)
        every = np.sort(_digest(fields, rows))
        if len(rows) == len(detail_rows) and np.array_equal(every, np.sort(_digest(fields, detail_rows))):
            repeated[rows] = True
        else:
            repeated[_matched(source, fields, rows, detail_rows)] = True
    dropped = int(repeated.sum())
    if dropped:
        notes.append(
            f"{dropped} rows of the lanes stream:all and memcpy were left out: they repeat rows of other lanes"
        )
    return repeated


def _rows(source: Source, entries: list[int]) -> np.ndarray:
    ranges = [np.arange(source.bounds[entry], source.bounds[entry + 1]) for entry in entries]
    return np.concatenate(ranges) if ranges else np.zeros(0, np.int64)


def _digest(fields: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Mix the times of each row into one number, to compare two sets of rows quickly."""
    mixed = np.zeros(len(rows), np.uint64)
    for field in fields:
        mixed = (mixed ^ field[rows].view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed


def _matched(source: Source, fields: list[np.ndarray], rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return those of `rows` that have a partner of equal name, label and times among `others`."""
    available = Counter(_keys(source, fields, others))
    matched = []
    for row, key in zip(rows.tolist(), _keys(source, fields, rows), strict=True):
        if available[key] > 0:
            available[key] -= 1
            matched.append(row)
    return np.array(matched, np.int64)


def _keys(source: Source, fields: list[np.ndarray], rows: np.ndarray) -> list[tuple[object, ...]]:
    texts = (source.names.take(rows).to_pylist(), source.labels.take(rows).to_pylist())
    return list(zip(*texts, *(field[rows].tolist() for field in fields), strict=True))
