"""Read all pieces of a source into traces, with notes on the rest."""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.progress import Progress
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.formats import Read, read_piece
from tfvis_nb.reading.horovod.overlay import is_horovod_timeline
from tfvis_nb.reading.horovod.ranks import by_rank
from tfvis_nb.reading.jobs import Named, by_job
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.drivers import Remote
from tfvis_nb.reading.sources.files import listed, stem
from tfvis_nb.reading.sources.pieces import Piece, Remark, Skipped, pieces, skipped
from tfvis_nb.reading.sources.unpacking import Budget
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
        is_timeless = isinstance(content, Trace) and not len(content.events)
        if not len(data) or is_timeless:
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


_MOST_DAMAGED = 5


class Collection(NamedTuple):
    """The sources read: steps, Horovod timelines, titles, notes, whether tasks are ranks, were merged."""

    steps: list[Read]
    timelines: list[Trace]
    titles: list[str]
    notes: list[str]
    ranked: bool
    merged: bool


class _Item(NamedTuple):
    """The result of one piece; `file` and `label` are empty for a `Trace` that the caller gave."""

    content: Read
    title: str
    file: str = ""
    label: str = ""


def collect(source: Any, threadpool: bool, budget: Budget, remote: Remote, progress: Progress) -> Collection:
    """Read all steps of `source`, while `progress` shows how many were read."""
    collector = _Collector(threadpool)
    for count, piece in enumerate(pieces(source, budget, remote)):
        if count:
            progress.what = f"reading, trace {count + 1}"
        collector.add(piece)
    if not collector.items:
        raise collector.nothing(type(source).__name__)
    return collector.collection()


@dataclass
class _Collector:
    threadpool: bool
    items: list[_Item] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    empty: list[Skipped] = field(default_factory=list)
    empty_titles: list[str] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)
    repeats: Repeats = field(default_factory=Repeats)

    def add(self, piece: Piece | Skipped | Remark | Trace) -> None:
        """Read a piece, unless it already is a trace or cannot be read."""
        if isinstance(piece, Remark):
            self.remarks.append(piece.note)
        elif isinstance(piece, Skipped):
            self.left_out.append(piece)
        elif isinstance(piece, Trace):
            self.items.append(_Item(piece, piece.title))
            self.repeats.add(piece, b"", piece.title)
        else:
            self._read(piece)

    def _read(self, piece: Piece) -> None:
        try:
            content = read_piece(piece, threadpool=self.threadpool)
        except EmptyTraceError as error:
            self.empty.append(skipped(piece.label, piece.found_in, error))
            self.empty_titles += [piece.title] if piece.title and not error.foreign else []
            return
        except TraceFormatError as error:
            if not piece.found_in:
                raise
            self.left_out.append(skipped(piece.label, piece.found_in, error))
            return
        title = content.title if isinstance(content, Trace) else piece.title
        self.items.append(_Item(content, title, piece.title, piece.label))
        self.repeats.add(content, piece.data, piece.title or piece.label)

    def nothing(self, what: str) -> TraceFormatError:
        """Return the error for a source, a `what`, in which nothing could be read."""
        unread = [*self.left_out, *self.empty]
        folder = next((one.found_in for one in unread if one.found_in), "")
        if folder and (self.left_out or len(unread) > 1):
            reasons, more = _briefly(unread)
            message = Text("no_file_is_trace", folder=folder, files=len(unread), reasons=reasons, more=more)
            return TraceFormatError(message) if self.left_out else EmptyTraceError(message)
        return EmptyTraceError(unread[0].reason if unread else Text("source_empty", type=what))

    def collection(self) -> Collection:
        """Return the contents read, with the ranks of a job merged."""
        self._leave_out_timelines()
        # On its own, Horovod's timeline is a trace like any other; with others it adds to their steps.
        timelines = [item for item in self.items if _is_timeline(item.content)]
        if len(timelines) == len(self.items):
            timelines = []
        beside = {id(item) for item in timelines}
        steps = [item for item in self.items if id(item) not in beside]
        named = by_job([Named(item.content, item.file, item.label) for item in steps])
        contents = [item.content for item in named]
        if len(self.items) > 1:
            name_steps(contents, [item.file for item in named])
            name_steps([item.content for item in timelines], [item.file for item in timelines])
        grouped = by_rank(contents, [item.label for item in named], fewest=1 if timelines else 2)
        return Collection(
            steps=grouped,
            timelines=[item.content for item in timelines if isinstance(item.content, Trace)],
            titles=[item.title for item in steps + timelines],
            notes=[*self.remarks, *self._omissions(), *self.repeats.notes],
            ranked=not {id(content) for content in grouped} <= {id(content) for content in contents},
            merged=len(named) < len(steps),
        )

    def _leave_out_timelines(self) -> None:
        repeated = repeated_timelines([item.content for item in self.items])
        # A trace of the caller stays.
        left_out = [self.items[index] for index in repeated if self.items[index].label]
        if left_out:
            names = listed([item.file or item.label for item in left_out])
            self.remarks.append(Text("repeated_timelines", files=len(left_out), names=names))
            self.items = [item for item in self.items if all(item is not one for one in left_out)]

    def _omissions(self) -> list[str]:
        """Name the omissions: steps without events, files that are not traces, and damaged traces."""
        notes: list[str] = []
        if empty := sum(not one.foreign for one in self.empty):
            count = empty + len(self.items)
            which = f": {listed(self.empty_titles)}" if self.empty_titles else ""
            notes.append(Text("steps_without_events", empty=empty, steps=count, names=which))
        foreign = [one.label for one in self.left_out + self.empty if one.foreign]
        if foreign:
            notes.append(Text("foreign_files_left_out", files=listed(foreign)))
        damaged = [one for one in self.left_out if not one.foreign]
        if damaged:
            named, more = _briefly(damaged)
            notes.append(Text("damaged_files_left_out", files=named, more=more))
        return notes


def _briefly(unread: list[Skipped]) -> tuple[str, str]:
    """Name the first few unread files with the reasons, and count the others."""
    named = [f"{listed([one.label])} ({one.briefly})" for one in unread[:_MOST_DAMAGED]]
    more = f" and {len(unread) - _MOST_DAMAGED} more" if len(unread) > _MOST_DAMAGED else ""
    return ", ".join(named), more


def _is_timeline(content: Read) -> bool:
    return isinstance(content, Trace) and is_horovod_timeline(content)
