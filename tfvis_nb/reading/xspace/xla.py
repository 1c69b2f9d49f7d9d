"""Lines of XLA ops, and all other device lines except GPU streams."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfvis_nb.events import KINDS
from tfvis_nb.reading.xspace.events import Events
from tfvis_nb.reading.xspace.name_grammar import class_of, paired, renamed
from tfvis_nb.reading.xspace.planes import Plane
from tfvis_nb.reading.xspace.programs import Programs
from tfvis_nb.reading.xspace.rows import Coded, Rows, Sparse
from tfvis_nb.reading.xspace.stats import Stats

DERIVED = re.compile(
    r"Steps|(?:Framework|TensorFlow) (?:Ops|Name Scope)|(?:Async )?XLA (?:Modules|Ops)"
    r"|Launch Stats|Source(?: code)?"
)
"""Lines of a GPU that profilers derive from its streams and that repeat them."""

_OPS = ("XLA Ops", "Async XLA Ops")
_COLLECTIVE = re.compile(r"all-(?:reduce|gather|to-all)|reduce-scatter|collective-|ragged-all-to-all")
_COPY = re.compile(r"(?:async-)?copy|send|recv")
_MEMCPY = KINDS.index("memcpy")
_WANTED = ("hlo_category", "bytes_accessed", "flops", "model_flops", "program_id")
_WAITING = re.compile(r"dependency-wait|barrier-")


@dataclass
class _Metadata:
    """The metadata of a plane's events: each event refers to one entry.

    - `kinds`: Numbers in `tfvis_nb.events.KINDS` (uint8), for a line of XLA ops.
    - `waits`: Whether it waits for others (bool).
    - `accessed`: Bytes of memory read and written, -1 if unknown (int64).
    - `instructions`: Numbers of their instructions, -1 if unknown (int64).
    """

    names: list[str]
    ops: list[str]
    kinds: np.ndarray
    waits: np.ndarray
    accessed: np.ndarray
    instructions: np.ndarray


def device_rows(events: Events, programs: Programs) -> Rows:
    """Make rows from lines that are not streams; each line is a lane."""
    # Only lines of XLA ops show the work of a device. All others, such as modules or annotations, describe
    # that work: their events have kind "host", or "sync" if they wait. On op lines, an event's category or
    # name shows what it is: a collective, a copy, or else computing. A copy on the main line takes computing
    # time, because nothing else runs during it, and counts as a kernel. Copies that overlap other work are on
    # an asynchronous line; they count as copies, with the bytes they accessed.
    known = _metadata(events.plane, programs)
    is_op = _on_lines(events, lambda line: line in _OPS)
    asynchronous = _on_lines(events, lambda line: line.startswith("Async"))
    kind = known.kinds[events.meta]
    kind[is_op & ~asynchronous & (kind == _MEMCPY)] = KINDS.index("kernel")
    other_kind = np.where(known.waits[events.meta], KINDS.index("sync"), KINDS.index("host")).astype(np.uint8)
    copies = is_op & (kind == _MEMCPY)
    instruction = np.where(is_op, known.instructions[events.meta], -1)
    ran = np.flatnonzero(instruction >= 0)
    codes, texts = events.stats.described(("_ct", "_c", "_pt", "_p", "group_id"))
    return Rows(
        line=events.line,
        start=events.start,
        duration=events.duration,
        kind=np.where(is_op, kind, other_kind),
        name=Coded(events.meta, known.names),
        op=Coded(events.meta, known.ops),
        detail=paired(Coded(events.meta, events.plane.events.texts), Coded(codes, texts)),
        size_bytes=np.where(copies, known.accessed[events.meta], -1),
        marks={
            "group_id": Sparse(*events.stats.values(("group_id",)).integers("group_id")),
            "instruction": Sparse(ran, instruction[ran]),
        },
    )


def _metadata(plane: Plane, programs: Programs) -> _Metadata:
    stats = Stats(plane.event_stats, plane.stats).values(_WANTED)
    count = len(plane.event_stats)
    # The last one is for events without metadata.
    category = renamed(np.append(stats.spread("hlo_category", count), -1), stats.vocabulary)
    categories = [category.texts[code] for code in category.codes.tolist()]
    called = [name.split(" = ", 1)[0].lstrip("%") for name in plane.events.texts]
    names = [shown or name for name, shown in zip(called, plane.shown, strict=True)]
    program = [*stats.numbers("program_id", count).tolist(), -1]
    accessed = np.append(stats.numbers("bytes_accessed", count), -1)
    # ``model_flops`` are the operations needed; ``flops`` are scaled to the fastest type of the device.
    flops = np.append(np.maximum(*(stats.numbers(name, count) for name in ("flops", "model_flops"))), -1)
    kinds = [_kind(what or name) for what, name in zip(categories, names, strict=True)]
    return _Metadata(
        names=names,
        ops=[what or class_of(name) for what, name in zip(categories, names, strict=True)],
        kinds=np.array([KINDS.index(kind) for kind in kinds], np.uint8),
        waits=np.array([_WAITING.match(name) is not None for name in plane.events.texts]),
        accessed=accessed,
        instructions=np.array(
            [
                programs.number("", number, op, costs=costs)
                for number, op, *costs in zip(program, called, flops.tolist(), accessed.tolist(), strict=True)
            ]
        ),
    )


def _on_lines(events: Events, wanted: Callable[[str], bool]) -> np.ndarray:
    return np.isin(events.line, [number for number, line in events.lines.items() if wanted(line.name)])


def _kind(what: str) -> str:
    if _COLLECTIVE.match(what):
        return "collective"
    return "memcpy" if _COPY.match(what) else "kernel"
