"""Name steps after their files, and find runs that are there twice."""

import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.files import stem
from tfvis_nb.reading.stepstats.assemble import assemble
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.reading.xspace.reader import RecordedHost
from tfvis_nb.texts import Text, id_of

_SAME_ROWS = 0.8
"""The smallest share of a timeline's rows in another source; timeline.py names transfers otherwise."""

_HEAD = 1 << 20
_TAIL = 1 << 16


def name_steps(read: Sequence[RecordedStep | RecordedHost | Trace], files: Sequence[str]) -> None:
    """Name steps without a label of their own after their files.

    An empty name means that there is no file: a `Trace` of the caller is not changed.
    """
    for item, file in zip(read, files, strict=True):
        name = stem(file)
        if not name:
            continue
        if isinstance(item, RecordedStep):
            item.name = item.name or name
        elif isinstance(item, Trace):
            for step in item.events["step"].unique().tolist():
                if step != NO_STEP and not item.step_labels.get(step):
                    item.step_labels[step] = name


class Repeats:
    """Counts how often each recording is given, in any format and under any name."""

    def __init__(self) -> None:
        self._count: Counter[tuple[int, int]] = Counter()
        self._label: dict[tuple[int, int], str] = {}

    def add(self, content: RecordedStep | RecordedHost | Trace, data: Data, label: str) -> None:
        """Add a recording, and the bytes it was read from, if any."""
        if not len(data):
            key = id(content), 0
        elif isinstance(content, RecordedHost):
            # Each recording has its own times in the first rows, so the rest need not be compared.
            key = len(data), zlib.crc32(bytes(data[:_HEAD]) + bytes(data[-_TAIL:]))
        else:
            # No two recordings have the same times. Formats differ in rows that repeat others.
            times = np.unique(_microseconds(content))
            key = len(times), zlib.crc32(times.tobytes())
        self._count[key] += 1
        self._label.setdefault(key, label)

    @property
    def notes(self) -> list[str]:
        """Return one line for each repeated recording."""
        return [
            Text("recording_given_again", times=times, recording=self._label[key][:80] or "a trace")
            for key, times in self._count.items()
            if times > 1
        ]


def repeated_timelines(read: Sequence[RecordedStep | RecordedHost | Trace]) -> list[int]:
    """Return the indexes of timelines of timeline.py whose runs others hold with more details.

    `tf.train.ProfilerHook` writes each run into an event file and into a timeline. The rows of both have the
    same node names and start in the same microseconds since the epoch.
    """
    timelines = {
        index: _rows(item)
        for index, item in enumerate(read)
        if isinstance(item, Trace) and any(id_of(note) == "timeline_py_lacks" for note in item.notes)
    }
    times = [[time for time, _ in rows] for rows in timelines.values() if rows]
    others: set[tuple[int, str]] = set()
    for index, item in enumerate(read):
        if index in timelines or isinstance(item, RecordedHost):
            continue
        starts = _microseconds(item)
        if len(starts) and any(starts.min() <= max(own) and min(own) <= starts.max() for own in times):
            others |= _rows(item)
    return [
        index for index, rows in timelines.items() if rows and len(rows & others) >= _SAME_ROWS * len(rows)
    ]


def _microseconds(item: RecordedStep | Trace) -> np.ndarray:
    """Return when each row starts."""
    if isinstance(item, Trace):
        return item.events["start_ns"].to_numpy() // 1000
    return item.numbers("all_start_micros")


def _rows(item: RecordedStep | Trace) -> set[tuple[int, str]]:
    events = (item if isinstance(item, Trace) else assemble([item])).events
    starts = (events["start_ns"].to_numpy() // 1000).tolist()
    return set(zip(starts, events["name"].astype(str).tolist(), strict=True))
