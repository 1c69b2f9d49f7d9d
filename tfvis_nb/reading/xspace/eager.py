"""Eager ops: the row ``EagerLocalExecute: MatMul`` becomes the op ``MatMul``."""

import re
import zlib
from collections.abc import Sequence

import numpy as np

from tfvis_nb.events import KINDS
from tfvis_nb.reading.stepstats.label_grammar import is_collective
from tfvis_nb.reading.xspace.links import Links
from tfvis_nb.reading.xspace.name_grammar import paired
from tfvis_nb.reading.xspace.rows import Coded, Rows, Sparse
from tfvis_nb.reading.xspace.steps import Threads

# Functions are named `__inference_f_12`, or by the program with a number appended.
_BEGINNING = "EagerLocalExecute: "
_EAGER = re.compile(_BEGINNING + r"(?P<op>_?[A-Z][\w>]*)")
_FUNCTION = re.compile(r".*_\d+")


def eager_op(name: str) -> str:
    """Return the op type that an event runs eagerly; empty for other events and for functions.

    >>> eager_op("EagerLocalExecute: MatMul"), eager_op("EagerLocalExecute: __inference_step_52")
    ('MatMul', '')
    """
    match = _EAGER.fullmatch(name)
    return match["op"] if match and not _FUNCTION.fullmatch(match["op"]) else ""


def eager_marks(texts: Sequence[str], meta: np.ndarray, ops: Coded, kind: np.ndarray) -> dict[str, Sparse]:
    """Mark the events that run an op eagerly, and the rows of ops of the same types.

    `texts` are the names of events, `meta` has the index of each event's name.
    """
    numbers = np.full(len(texts), -1, np.int64)
    for index, text in enumerate(texts):
        if text.startswith(_BEGINNING) and (op := eager_op(text)):
            numbers[index] = _op_hash(op)
    number = numbers[meta]
    eager = np.flatnonzero(number >= 0)
    if not (numbers >= 0).any():
        return {}
    own = np.array([_op_hash(text) for text in ops.texts], np.int64)[ops.codes]
    ran = np.flatnonzero((kind != KINDS.index("host")) & np.isin(own, numbers[numbers >= 0]))
    return {"eager": Sparse(eager, number[eager]), "ran": Sparse(ran, own[ran])}


def name_eager_ops(parts: Sequence[Rows], links: Links, threads: Threads) -> None:
    """Convert rows that run an op eagerly to ops, unless they contain a row of that op."""
    eager = links.mark("eager")
    if not len(eager.rows):
        return
    chosen = ~(_runs_function(eager, links, threads) | _ran_inside(eager, links, threads))
    index = np.searchsorted(links.firsts, eager.rows, "right") - 1
    for part in np.unique(index[chosen]).tolist():
        _rename(parts[part], eager.rows[chosen & (index == part)] - int(links.firsts[part]))


def _op_hash(op: str) -> int:
    return zlib.crc32(op.encode("utf-8", "replace"))


def _runs_function(eager: Sparse, links: Links, threads: Threads) -> np.ndarray:
    """Return a mask of the rows that run a function, according to the enclosing ``EagerExecute``."""
    functions = links.mark("is_func")
    on_threads = threads.position[functions.rows] >= 0
    rows, is_func = functions.rows[on_threads], functions.numbers[on_threads]
    if not len(rows):
        return np.zeros(len(eager.rows), bool)
    order = np.argsort(threads.position[rows])
    rows, is_func = rows[order], is_func[order]
    first, last = threads.inside(rows)
    index = threads.position[eager.rows]
    around = np.maximum(np.searchsorted(first, index, "right") - 1, 0)
    within = (first[around] <= index) & (index < last[around])
    called: np.ndarray = within & (is_func[around] == 1)
    return called


def _ran_inside(eager: Sparse, links: Links, threads: Threads) -> np.ndarray:
    """Return a mask of the rows that contain a row of the same op on their thread."""
    ran = links.mark("ran")
    width = np.int64(len(threads.rows) + 1)
    known = np.sort(ran.numbers * width + threads.position[ran.rows])
    first, last = threads.inside(eager.rows)
    inside: np.ndarray = np.searchsorted(known, eager.numbers * width + last) > np.searchsorted(
        known, eager.numbers * width + first
    )
    return inside


def _rename(rows: Rows, chosen: np.ndarray) -> None:
    """Give rows the name, type and kind of their op, and keep the old name as detail."""
    mask = np.zeros(len(rows), bool)
    mask[chosen] = True
    names = rows.name
    ops = ["" for _ in names.texts]
    kinds = np.zeros(len(ops), np.uint8)
    for code in np.unique(names.codes[chosen]).tolist():
        ops[code] = eager_op(names.texts[code])
        kinds[code] = KINDS.index("collective" if is_collective(ops[code]) else "op")
    op = Coded(names.codes, ops)
    rows.kind[chosen] = kinds[names.codes[chosen]]
    rows.detail = rows.detail.where(mask, paired(names, rows.detail))
    rows.name, rows.op = names.where(mask, op), rows.op.where(mask, op)
