"""The grammar of event names in an XSpace: ops, kernels, input pipelines, Python frames."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.reading.stepstats.label_grammar import TRANSFER_NODES, is_collective
from tfvis_nb.reading.xspace.rows import Coded

_OP = re.compile(r"(?P<node>[^:\s#]+):(?P<op>[A-Z_]\w*)(?:#.*)?", re.DOTALL)
# A stream executor names its callbacks like TensorFlow names ops.
_NOT_NODES = ("ThenExecuteCallback",)
_CLASS_ENDS = re.compile(r"#|: | |\(|\[|/")
# The 2 of ...DatasetV2 is a version, not the number of an instance.
_NUMBERS = re.compile(r"[.:_]?(?<![a-z]V)(?<![a-z]V\d)\d+")
_BRACKETS = re.compile(r"([<>])")
_RETURNED = re.compile(r"^(?:void|static|inline) ")


class EventName(NamedTuple):
    """The parts of an event's name: name, op type or class, and kind."""

    name: str
    op: str
    kind: str


def host_event(name: str, shown: str = "") -> EventName:
    """Parse the name of an event of a host thread; `shown` is its short name, often empty.

    >>> host_event("gradient_tape/MatMul/MatMul:_MklMatMul")
    EventName(name='gradient_tape/MatMul/MatMul', op='_MklMatMul', kind='op')
    >>> host_event("PjitFunction(f)").op, host_event("$profiler.py:151 start_trace").name
    ('PjitFunction', 'profiler.py:151 start_trace')
    """
    if name.startswith("$"):
        return EventName(name[1:], "python", "host")
    match = _OP.fullmatch(name)
    if match and match["node"] not in _NOT_NODES:
        op = match["op"]
        kind = "collective" if is_collective(op) else "transfer" if op in TRANSFER_NODES else "op"
        return EventName(match["node"], op, kind)
    if shown.startswith("Iterator::"):
        return EventName(name, shown, "host")
    return EventName(name, class_of(name), "host")


def class_of(name: str) -> str:
    """Return the common name of events that only differ in arguments and numbers.

    >>> class_of("broadcast_add_fusion.2"), class_of("EagerLocalExecute: MatMul")
    ('broadcast_add_fusion', 'EagerLocalExecute')
    >>> class_of("MakeIterator::ParallelMapDatasetV2")
    'MakeIterator::ParallelMapDatasetV2'
    """
    head = _CLASS_ENDS.split(name.lstrip("%"), maxsplit=1)[0]
    return _NUMBERS.sub("", head) or name


def kernel_name(name: str) -> str:
    """Return the name of a kernel without its template arguments, parameters and return type.

    >>> kernel_name("void tensorflow::functor::Swap<unsigned int, 256>(unsigned int const*)")
    'tensorflow::functor::Swap'
    """
    kept: list[str] = []
    opened: list[int] = []
    for part in _BRACKETS.split(name):
        if part == ">" and opened:
            del kept[opened.pop() :]
            continue
        if part == "<":
            opened.append(len(kept))
        kept.append(part)
    # Names truncated at 2 kB have open brackets.
    short = _RETURNED.sub("", "".join(kept).split("<", 1)[0].replace("(anonymous namespace)::", ""))
    return short.split("(", 1)[0].strip() or name


def paired(first: Coded, second: Coded) -> Coded:
    """Join two columns of texts row by row, with a space between non-empty texts."""
    width = len(second.texts) + 1
    codes, distinct = pd.factorize(first.codes.astype(np.int64) * width + second.codes)
    texts = [
        f"{first.texts[pair // width]} {second.texts[pair % width]}".strip() for pair in distinct.tolist()
    ]
    return Coded(codes.astype(np.int32), texts)


def renamed(codes: np.ndarray, texts: Sequence[str]) -> Coded:
    """Make a column of codes that may be -1, which means an unknown text, here an empty one."""
    return Coded(np.where(codes < 0, len(texts), codes).astype(np.int32), [*texts, ""])
