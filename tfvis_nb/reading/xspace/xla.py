"""Lines that say what XLA ran, and all other lines of a device that is no GPU's stream."""

from __future__ import annotations

import re

import numpy as np

from tfvis_nb.events import KINDS
from tfvis_nb.reading.xspace.events import Events
from tfvis_nb.reading.xspace.name_grammar import class_of, paired, renamed
from tfvis_nb.reading.xspace.rows import Coded, Rows, Sparse
from tfvis_nb.reading.xspace.stats import Stats

DERIVED = re.compile(
    r"Steps|(?:Framework|TensorFlow) (?:Ops|Name Scope)|(?:Async )?XLA (?:Modules|Ops)"
    r"|Launch Stats|Source(?: code)?"
)
"""Lines of a GPU that profilers make of its streams: they repeat what the streams have."""

_OPS = ("XLA Ops", "Async XLA Ops")
_COLLECTIVE = re.compile(r"all-(?:reduce|gather|to-all)|reduce-scatter|collective-|ragged-all-to-all")
_COPY = re.compile(r"(?:async-)?copy|send|recv")
_WAITING = re.compile(r"dependency-wait|barrier-")


def device_rows(events: Events) -> Rows:
    """Make rows of lines that are no streams; each line is a lane."""
    count = len(events)
    plane = events.plane
    about = Stats(plane.event_stats, plane.stats).values(("hlo_category", "bytes_accessed"))
    known = len(plane.event_stats)
    category = renamed(np.append(about.spread("hlo_category", known), -1), about.words)
    accessed = np.append(about.numbers("bytes_accessed", known), -1)
    is_op = np.isin(events.line, [n for n, line in events.lines.items() if line.name in _OPS])
    asynchronous = np.isin(
        events.line, [n for n, line in events.lines.items() if line.name.startswith("Async")]
    )
    names, ops, kinds = [], [], []
    for name, shown, word in zip(plane.events.texts, plane.shown, category.codes.tolist(), strict=True):
        what = category.words[word]
        short = shown or name.split(" = ", 1)[0].lstrip("%")
        names.append(short)
        ops.append(what or class_of(short))
        kinds.append(_kind(what or short))
    kind = np.array([KINDS.index(one) for one in kinds], np.uint8)[events.meta]
    waits = np.array([_WAITING.match(name) is not None for name in plane.events.texts])[events.meta]
    outside = np.where(waits, KINDS.index("sync"), KINDS.index("host")).astype(np.uint8)
    # What is copied while something else runs is a copy; a step of computing that copies is not.
    copying = is_op & ~asynchronous & (kind == KINDS.index("memcpy"))
    kind[copying] = KINDS.index("kernel")
    blank = Coded.of("", count)
    codes, texts = events.stats.described(("_ct", "_c", "_pt", "_p", "group_id"))
    detail = paired(Coded(events.meta, plane.events.texts), Coded(codes, texts))
    amount = np.full(count, -1, np.int64)
    moved = is_op & (kind == KINDS.index("memcpy"))
    amount[moved] = accessed[events.meta[moved]]
    groups = events.stats.values(("group_id",))
    return Rows(
        line=events.line,
        start=events.start,
        duration=events.duration,
        kind=np.where(is_op, kind, outside),
        name=Coded(events.meta, names),
        op=Coded(events.meta, ops),
        detail=detail,
        lane=None,
        tensor=blank,
        source=blank,
        destination=blank,
        amount=amount,
        marks={"group_id": Sparse(*groups.integers("group_id"))},
    )


def _kind(what: str) -> str:
    if _COLLECTIVE.match(what):
        return "collective"
    return "memcpy" if _COPY.match(what) else "kernel"
