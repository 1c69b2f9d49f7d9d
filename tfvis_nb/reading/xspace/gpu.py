"""Convert events of GPU streams to rows: kernels, copies, memsets."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.events import KINDS
from tfvis_nb.reading.stepstats import label_grammar
from tfvis_nb.reading.xspace.events import Events
from tfvis_nb.reading.xspace.name_grammar import class_of, kernel_name, paired, renamed
from tfvis_nb.reading.xspace.programs import STATS, Programs
from tfvis_nb.reading.xspace.rows import Coded, Rows, Sparse
from tfvis_nb.reading.xspace.stats import Values

_ANNOTATIONS = ("tf_op", "level 0", "annotation")
_DETAILS = ("kernel_details", "memcpy_details", "Memset_details", "memset_details", "memalloc_details")
_WANTED = frozenset((*_ANNOTATIONS, *_DETAILS, "edge_name", *STATS, "correlation_id", "group_id"))
_STREAM = re.compile(r"Stream #(?P<id>-?\d+)(?:\(.*\))?")
_NODE = re.compile(r"(?P<node>[^:\s#]+):(?P<op>[A-Za-z_]\w*)(?:#.*)?(?:@@.*)?", re.DOTALL)
_KIND = re.compile(
    r"(?P<memcpy>memcpy|Copy(?:Host|Device)To(?:Host|Device)\b)|(?P<memset>memset|FillBuffer\b)"
    rf"|(?P<collective>{label_grammar.COLLECTIVE_KERNEL})|(?P<host>mem(?:ory)?(?:alloc|free))",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\b(?:size|num_bytes|bytes): ?(\d{1,18})\b")


def is_stream(line: str) -> bool:
    """Return whether a line of a GPU's plane is one of its streams."""
    return _STREAM.fullmatch(line) is not None


def gpu_rows(events: Events, device: str, programs: Programs) -> Rows:
    """Make rows from the events of a GPU's streams; `device` is a name such as ``/device:GPU:0``."""
    count = len(events)
    values = events.stats.values(_WANTED)
    kind = _kinds(events)
    details = _first_of(values, _DETAILS, count)
    annotation = _first_of(values, _ANNOTATIONS, count)
    node, op = _nodes(events, values, annotation)
    lane = Coded(events.line.astype(np.int32), _lanes(events))
    detail = paired(Coded(events.meta, events.plane.events.texts), details)
    rows = Rows(
        line=events.line,
        start=events.start,
        duration=events.duration,
        kind=kind,
        name=node,
        op=op,
        detail=detail,
        lane=lane,
        size_bytes=np.full(count, -1, np.int64),
        marks={
            "launched": Sparse(*values.integers("correlation_id")),
            "group_id": Sparse(*values.integers("group_id")),
            "instruction": programs.of_events(values, events.plane.events.texts, events.meta),
        },
    )
    memset = kind == KINDS.index("memset")
    if memset.any():
        rows.lane = lane.where(memset, Coded.of("memset", count))
        rows.op = rows.op.where(memset, Coded.of("Memset", count))
        rows.size_bytes[memset] = np.array([_size(text) for text in details.texts])[details.codes[memset]]
    copies = np.flatnonzero(kind == KINDS.index("memcpy"))
    if len(copies):
        edge = renamed(values.spread("edge_name", count), values.vocabulary)
        _read_copies(rows, copies, events, annotation, edge, details, device)
    return rows


def _kinds(events: Events) -> np.ndarray:
    texts = events.plane.events.texts
    numbers = np.full(len(texts), KINDS.index("kernel"), np.uint8)
    for index in distinct_numbers(events.meta).tolist():
        if match := _KIND.match(texts[index]):
            numbers[index] = KINDS.index(str(match.lastgroup))
    kinds: np.ndarray = numbers[events.meta]
    return kinds


def _lanes(events: Events) -> list[str]:
    lanes = [""] * (max(events.lines, default=-1) + 1)
    for number, line in events.lines.items():
        match = _STREAM.fullmatch(line.name)
        lanes[number] = f"stream:{match['id']}" if match else line.name
    return lanes


def _first_of(values: Values, names: tuple[str, ...], count: int) -> Coded:
    """Return each event's first text among some stats."""
    codes = np.full(count, -1, np.int64)
    for name in names:
        other = values.spread(name, count)
        codes = np.where(codes < 0, other, codes)
    return renamed(codes, values.vocabulary)


def _nodes(events: Events, values: Values, annotation: Coded) -> tuple[Coded, Coded]:
    """Return the node that launched each kernel, or another name, and its op type."""
    hlo = values.spread("hlo_op", len(events))
    vocabulary = [*values.vocabulary, ""]
    width = len(vocabulary) + 1
    texts = events.plane.events.texts
    mixed = (annotation.codes.astype(np.int64) * width + hlo + 1) * len(texts) + events.meta
    codes, distinct = pd.factorize(mixed)
    names, ops = [], []
    for one in distinct.tolist():
        rest, index = divmod(one, len(texts))
        note, module_op = divmod(rest, width)
        match = _NODE.fullmatch(annotation.texts[note])
        if match:
            names.append(match["node"])
            ops.append(match["op"])
            continue
        name = vocabulary[module_op - 1] if module_op else ""
        if not name or name.startswith("command_buffer"):
            name = kernel_name(texts[index])
        names.append(name)
        ops.append(class_of(name))
    codes = codes.astype(np.int32)
    return Coded(codes, names), Coded(codes, ops)


def _size(text: str) -> int:
    match = _SIZE.search(text)
    return int(match[1]) if match else -1


def _read_copies(
    rows: Rows,
    copies: np.ndarray,
    events: Events,
    annotation: Coded,
    edge: Coded,
    details: Coded,
    device: str,
) -> None:
    """Fill in the columns of copies; each distinct one is parsed once."""
    columns = [events.meta, annotation.codes, edge.codes, details.codes]
    keys = np.stack([column[copies].astype(np.int64) for column in columns], axis=1)
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    read = []
    for name, note, named, size in distinct.tolist():
        what = events.plane.events.texts[name]
        copy = label_grammar.parse_copy(what, annotation.texts[note] or what, details.texts[size])
        tensor = edge.texts[named]
        read.append(copy._replace(tensor=tensor or copy.tensor, node=copy.node or what))
    ends = {"H": "/device:CPU:0", "D": device, "": ""}
    targets = [
        f"/device:GPU:{copy.peer}" if copy.lane == "memcpy P2P" and copy.peer >= 0 else ends[copy.target]
        for copy in read
    ]
    mask = np.zeros(len(rows), bool)
    mask[copies] = True
    spread = np.zeros(len(rows), np.int32)
    spread[copies] = which
    for column, texts in (
        ("name", [copy.node for copy in read]),
        ("op", [copy.op for copy in read]),
        ("lane", [copy.lane for copy in read]),
        ("tensor", [copy.tensor for copy in read]),
        ("source", [ends[copy.origin] for copy in read]),
        ("destination", targets),
    ):
        setattr(rows, column, getattr(rows, column).where(mask, Coded(spread, texts)))
    rows.size_bytes[copies] = np.array([copy.size_bytes for copy in read], np.int64)[which]
