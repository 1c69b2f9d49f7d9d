"""Make the event table, the nested columns and the steps from the rows of all planes of an XSpace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core.nested_columns import EXECUTOR, ITERATOR
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import undivided
from tfvis_nb.reading.columns import Vocabulary, nullable
from tfvis_nb.reading.stepstats.timestamps import ABSURD
from tfvis_nb.reading.xspace.eager import name_eager_ops
from tfvis_nb.reading.xspace.epoch import EARLIEST_NS
from tfvis_nb.reading.xspace.events import Line
from tfvis_nb.reading.xspace.jitted import jitted_function
from tfvis_nb.reading.xspace.links import Links
from tfvis_nb.reading.xspace.planes import Plane
from tfvis_nb.reading.xspace.programs import Programs
from tfvis_nb.reading.xspace.rows import Coded, Rows
from tfvis_nb.reading.xspace.steps import Threads, executor_devices, find_steps, in_order
from tfvis_nb.texts import Text

_PIECE = 1 << 16


@dataclass
class LineRows:
    """The rows of some lines of a plane: a GPU stream, derived from one, or neither."""

    plane: Plane
    lines: dict[int, Line]
    rows: Rows
    stream: bool = False
    derived: bool = False

    @property
    def is_host(self) -> bool:
        """Whether the lines are threads of the host."""
        return self.plane.name.startswith("/host:")

    @property
    def device(self) -> str:
        """The device of the rows, without a task."""
        return self.plane.device


def table(parts: list[LineRows], programs: Programs, began: int, *, threadpool: bool, salt: int) -> Trace:
    """Make a `Trace` from the rows of one XSpace.

    `parts` is emptied to free its memory for the table. `began` is the start of the profile (epoch ns), 0 if
    unknown. `salt` makes the numbers of launches and links distinct.
    """
    notes: list[str] = []
    rows = [part.rows for part in parts]
    links = Links(rows)
    start = np.concatenate([one.start for one in rows])
    duration = np.concatenate([one.duration for one in rows])
    usable = _usable(start, duration, notes)
    threads = Threads(_threads(parts), start, duration)
    step, chosen = find_steps(links, threads, start, programs.own_functions)
    name_eager_ops(rows, links, threads)
    executors = executor_devices(rows, links, threads)
    order = _order(links, start, duration, usable, threadpool, notes)
    columns = _times(links, start, duration, order, began, notes)
    columns["step"] = step[order]
    outside = int((columns["step"] == event_table.NO_STEP).sum())
    if outside and outside < len(order):
        notes.append(Text("events_of_no_step", events=outside))
    # The texts are last, after releasing the data for times and links.
    del start, duration, step, threads
    grouped = len(links.mark("group_id").rows) > 0
    nested = _nested(parts, links, order, salt)
    origins, stacks = programs.columns(links.mark("instruction"), len(usable), order, notes)
    for name, column in origins.items():
        nested = nested.append_column(name, column)
    if executors is not None:
        nested = nested.append_column(EXECUTOR, executors.take(pa.array(order)))
    labels = _labels(parts, links, chosen)
    columns |= _texts(parts, order)
    del rows, links
    parts.clear()
    return Trace(
        event_table.build(columns),
        nested=nested,
        notes=notes,
        step_labels=labels,
        stacks=stacks,
        programs=programs.run(),
        metadata={} if grouped or len(chosen) else undivided(),
    )


def _order(
    links: Links,
    start: np.ndarray,
    duration: np.ndarray,
    usable: np.ndarray,
    threadpool: bool,
    notes: list[str],
) -> np.ndarray:
    """Return the rows to keep, in the order of the event table."""
    keep = usable.copy()
    noise = links.mark("noise").rows
    if len(noise) and not threadpool:
        keep[noise] = False
        notes.append(Text("threadpool_events_left_out", events=len(noise)))
    kept = np.flatnonzero(keep)
    order: np.ndarray = kept[in_order(start[kept], duration[kept])]
    return order


def _usable(start: np.ndarray, duration: np.ndarray, notes: list[str]) -> np.ndarray:
    """Return a mask of rows with a possible time; repair in place times that would spoil the rest."""
    middle = int(np.partition(start, len(start) // 2)[len(start) // 2])
    usable: np.ndarray = np.abs(start.astype(np.float64) - middle) <= ABSURD
    if aside := int((~usable).sum()):
        start[~usable] = middle
        notes.append(Text("events_set_aside", events=aside))
    long = duration > ABSURD
    if long.any():
        duration[long] = 0
        notes.append(Text("event_durations_absurd", events=int(long.sum())))
    return usable


def _times(
    links: Links, start: np.ndarray, duration: np.ndarray, order: np.ndarray, began: int, notes: list[str]
) -> dict[str, Any]:
    absolute = int(start.min()) > EARLIEST_NS
    base = 0 if absolute else began
    if not base and not absolute:
        notes.append(Text("no_start_time"))
    launch, launched = links.launches()
    scheduled, known = np.zeros(len(start), np.int64), np.zeros(len(start), bool)
    scheduled[launched] = start[launch]
    known[launched] = True
    return {
        "start_ns": start[order] + base,
        "duration_ns": duration[order],
        "scheduled_ns": nullable(scheduled[order] + base, known[order]),
    }


def _threads(parts: Sequence[LineRows]) -> np.ndarray:
    """Return the number of each row's host thread; -1 for rows of devices."""
    numbers: dict[tuple[str, int], int] = {}
    threads = [np.zeros(0, np.int64)]
    for part in parts:
        if part.is_host:
            numbers_of_line = np.array(
                [
                    numbers.setdefault((part.plane.name, n), len(numbers)) if n in part.lines else 0
                    for n in range(len(part.plane.lines))
                ],
                np.int64,
            )
            threads.append(numbers_of_line[part.rows.line])
        else:
            threads.append(np.full(len(part.rows), -1))
    return np.concatenate(threads)


def _texts(parts: Sequence[LineRows], order: np.ndarray) -> dict[str, Any]:
    """Make the columns that do not depend on the order of rows, most of them texts."""
    lanes = thread_lanes([(part.plane.name, part.lines) for part in parts])
    kinds = Vocabulary()
    numbers = np.array([kinds.code(kind) for kind in event_table.KINDS], np.int32)
    kind = numbers[np.concatenate([part.rows.kind for part in parts])[order]]
    size_bytes = np.concatenate([part.rows.size_bytes for part in parts])[order]
    thread, known = _thread_ids(parts, order)
    columns: dict[str, Any] = {
        name: _text([getattr(part.rows, name) for part in parts], order)
        for name in ("detail", "name", "tensor")
    }
    lane = [part.rows.lane or Coded(part.rows.line, names) for part, names in zip(parts, lanes, strict=True)]
    columns |= {
        "kind": kinds.categorical(kind),
        "device": _category([Coded.of(part.device, len(part.rows)) for part in parts], order),
        "lane": _category(lane, order),
        "bytes": nullable(size_bytes, size_bytes >= 0),
        "thread": nullable(thread, known),
    }
    for name in ("op", "source", "destination"):
        columns[name] = _category([getattr(part.rows, name) for part in parts], order)
    return columns


def _thread_ids(parts: Sequence[LineRows], order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ids, known = [np.zeros(0, np.int64)], [np.zeros(0, bool)]
    for part in parts:
        numbers_of_line = np.array(
            [part.lines[n].id if n in part.lines else 0 for n in range(len(part.plane.lines))], np.int64
        )
        ids.append(numbers_of_line[part.rows.line])
        known.append(np.full(len(part.rows), part.is_host))
    return np.concatenate(ids)[order], np.concatenate(known)[order]


def _category(columns: Sequence[Coded], order: np.ndarray) -> pd.Categorical:
    vocabulary = Vocabulary()
    codes = [
        np.array([vocabulary.code(text) for text in _used(column)], np.int32)[_renumbered(column)]
        for column in columns
    ]
    return vocabulary.categorical(np.concatenate(codes)[order])


def _used(column: Coded) -> list[str]:
    return [column.texts[code] for code in distinct_numbers(column.codes).tolist()]


def _renumbered(column: Coded) -> np.ndarray:
    used = np.zeros(len(column.texts), bool)
    used[column.codes] = True
    codes: np.ndarray = (np.cumsum(used) - 1)[column.codes]
    return codes


def _text(columns: Sequence[Coded], order: np.ndarray) -> pa.ChunkedArray:
    firsts = np.cumsum([0, *(len(column.texts) for column in columns)])
    vocabulary = pa.array([text for column in columns for text in column.texts], pa.large_string())
    codes = np.concatenate(
        [column.codes + int(first) for column, first in zip(columns, firsts, strict=False)]
    )
    # In pieces, because a growing column temporarily takes twice its memory.
    pieces = [
        vocabulary.take(pa.array(codes[order[first : first + _PIECE]]))
        for first in range(0, len(order), _PIECE)
    ]
    return pa.chunked_array(pieces, pa.large_string())


def _nested(parts: Sequence[LineRows], links: Links, order: np.ndarray, salt: int) -> pa.Table:
    """Make the nested columns: where each row was recorded, and the numbers that link it with others."""
    raw = _category(
        [
            Coded(
                part.rows.line,
                [
                    f"{part.plane.name}/{part.lines[n].name}" if n in part.lines else ""
                    for n in range(len(part.plane.lines))
                ],
            )
            for part in parts
        ],
        order,
    )
    columns = {
        "raw_device": pa.DictionaryArray.from_arrays(
            pa.array(np.asarray(raw.codes, np.int32)), pa.array(raw.categories.tolist(), pa.string())
        )
    }
    distinct = np.int64(salt) << np.int64(31)
    for name, marks, mixed in (
        ("launch", ("launch", "launched"), distinct),
        ("produced", ("produced",), distinct),
        ("consumed", ("consumed",), distinct),
        ("instance", ("instance",), np.int64(0)),
    ):
        number = np.zeros(int(links.firsts[-1]), np.int64)
        known = np.zeros(len(number), bool)
        for mark in marks:
            sparse = links.mark(mark)
            number[sparse.rows] = sparse.numbers ^ mixed
            known[sparse.rows] = True
        if known.any():
            columns[name] = pa.array(number[order], mask=~known[order])
    return pa.table(columns | _facts(links, order))


def _facts(links: Links, order: np.ndarray) -> dict[str, pa.Array]:
    """Make the columns of facts about allocators of allocations, and iterators of tf.data calls."""
    columns = {}
    for name, mark in (
        ("in_use_bytes", "in_use"),
        ("available_bytes", "available"),
        ("fragmentation", "fragmentation"),
        ("address", "address"),
        *((name, name) for name in ITERATOR),
    ):
        sparse = links.mark(mark)
        if not len(sparse.rows):
            continue
        number = np.zeros(int(links.firsts[-1]), sparse.numbers.dtype)
        known = np.zeros(len(number), bool)
        number[sparse.rows], known[sparse.rows] = sparse.numbers, True
        columns[name] = pa.array(number[order], mask=~known[order])
    return columns


def _labels(parts: Sequence[LineRows], links: Links, chosen: np.ndarray) -> dict[int, str]:
    """Return the label of each step: the name of its event, and its number."""
    numbered = links.mark("step_num")
    numbers = dict(zip(numbered.rows.tolist(), numbered.numbers.tolist(), strict=True))
    labels = {}
    for step, row in enumerate(chosen.tolist()):
        if row < 0:
            continue
        part = int(np.searchsorted(links.firsts, row, "right")) - 1
        rows = parts[part].rows
        name = rows.name.texts[rows.name.codes[row - int(links.firsts[part])]]
        name = jitted_function(name) or name
        labels[step] = f"{name} {numbers[row]}" if row in numbers else name
    return labels


_LONG = 7
"""A thread number with at least this many digits is a hash, which is meaningless to readers."""


def thread_lanes(parts: Sequence[tuple[str, dict[int, Line]]]) -> list[list[str]]:
    """Name the lanes of lines without another name, by the index of the line in its plane.

    Threads have their pool's name and a number of 19 digits; instead they are numbered from 1 within their
    pool, in source order. Each part is the name of a plane, and its lines.

    >>> lines = {0: Line(-6496432264529327406, "tf_Compute/-6496432264529327406"), 1: Line(7, "python")}
    >>> thread_lanes([("/host:CPU", lines)])
    [['tf_Compute/1', 'python']]
    """
    pools: dict[tuple[str, str], int] = {}
    taken: dict[str, tuple[str, int]] = {}
    named: dict[tuple[str, int], str] = {}
    last: dict[str, int] = {}
    for plane, lines in parts:
        for number, line in lines.items():
            if (plane, number) in named:
                continue
            named[plane, number] = _free(_short(plane, line, pools), (plane, number), taken, last)
    return [
        [named.get((plane, number), "") for number in range(max(lines, default=-1) + 1)]
        for plane, lines in parts
    ]


def _short(plane: str, line: Line, pools: dict[tuple[str, str], int]) -> str:
    pool, _, number = line.name.rpartition("/")
    name = line.name
    if pool and number.lstrip("-").isdecimal() and len(number) >= _LONG:
        pools[plane, pool] = pools.get((plane, pool), 0) + 1
        name = f"{pool}/{pools[plane, pool]}"
    if plane.startswith("/host:") and plane != "/host:CPU":
        name = f"{plane.removeprefix('/host:')} {name}".strip()
    return name or f"line {line.id}"


def _free(name: str, owner: tuple[str, int], taken: dict[str, tuple[str, int]], last: dict[str, int]) -> str:
    """Return `name`, with a number if another line of the host has the same name.

    `last` has the highest number of each name.
    """
    # Lanes of devices are distinguished by their device.
    scope = "" if owner[0].startswith("/host:") else owner[0]
    wanted = f"{scope}\0{name}"
    number = last.get(wanted, 1)
    free = name if number == 1 else f"{name} ({number})"
    while taken.setdefault(f"{scope}\0{free}", owner) != owner:
        number += 1
        free = f"{name} ({number})"
    last[wanted] = number
    return free
