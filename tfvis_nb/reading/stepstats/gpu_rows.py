"""Rows of the GPU tracers: kernels, copies, memsets, synchronisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfvis_nb.reading.columns import Part, Vocabularies, blank_codes, blank_texts
from tfvis_nb.reading.stepstats import label_grammar
from tfvis_nb.reading.stepstats.executor_rows import scatter
from tfvis_nb.reading.stepstats.gpu_tasks import Blocks
from tfvis_nb.reading.stepstats.logical_gpus import logical_devices
from tfvis_nb.reading.stepstats.source_rows import Source

if TYPE_CHECKING:
    import pyarrow as pa

_SPECIAL_LABEL = r"^(?i:memcpy|memset|(?:void )?nccl)"
_SPECIAL_NAME = r"(?i)memcpy|memset|nccl"
_COPY_NAME = r"(?i:(?:^|:|@@)memcpy[a-z0-9]*$)"
_STARTS = {"copy": r"^(?i:memcpy)", "memset": r"^(?i:memset)", "nccl": r"^(?i:(?:void )?nccl)"}
_OLD_KERNEL = r"^(?P<node>[^:\s]+):(?P<op>[A-Za-z_]\w*)[^ ]* regs:"


def gpu_part(source: Source, rows: np.ndarray, blocks: Blocks, words: Vocabularies, executors: Part) -> Part:
    """Read the rows of GPU lanes; the op names of the executors' rows tell logical GPUs apart."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = len(rows)
    entry = source.entry[rows]
    places = source.places
    raw = source.pick(source.names, rows)
    detail = source.pick(source.labels, rows)

    def said(*starts: str) -> np.ndarray:
        """Return a mask of the rows whose lane says that it holds such things."""
        lanes: np.ndarray = np.array([place.what.lower().startswith(starts) for place in places], bool)
        chosen: np.ndarray = lanes[entry]
        return chosen

    names = raw.dictionary_encode()
    by_label = _special(detail, _SPECIAL_LABEL, _STARTS)
    by_name = _special(names.dictionary, _SPECIAL_NAME, _STARTS | {"copy": _COPY_NAME})
    by_name = {word: found[names.indices.to_numpy()] for word, found in by_name.items()}
    copies = said("memcpy") | by_label["copy"] | (by_name["copy"] & ~said("kernel"))
    memsets = ~copies & (by_label["memset"] | by_name["memset"] | said("memset"))
    syncs = said("sync") & ~(copies | memsets)
    nccl = ~(copies | memsets | syncs) & (by_label["nccl"] | by_name["nccl"])
    name, op_text = _nodes(names, raw, detail)
    kind = np.full(count, words.kind.code("kernel"), np.int32)
    kind[nccl] = words.kind.code("collective")
    kind[memsets] = words.kind.code("memset")
    kind[syncs] = words.kind.code("sync")
    kind[copies] = words.kind.code("memcpy")
    lane = np.array([words.lane.code(place.lane) for place in places], np.int32)[entry]
    lane[memsets] = words.lane.code("memset")
    op = words.op.codes(op_text)
    op[memsets] = words.op.code("Memset")
    op[syncs] = words.op.codes(raw.filter(pa.array(syncs)))
    part = Part(
        rows=rows,
        task=np.array([words.task.code(task) for task in blocks.task], np.int32)[entry],
        device=blank_codes(count),
        lane=lane,
        kind=kind,
        op=op,
        source=blank_codes(count),
        destination=blank_codes(count),
        name=name,
        tensor=blank_texts(count),
        detail=detail,
        amount=_amounts(detail, memsets),
    )
    _keep_telling_names(source, rows, raw, detail)
    found = _read_copies(part, np.flatnonzero(copies), source, raw, words)
    part.device = logical_devices(source, part, blocks, words, executors)
    _ends_of_copies(part, found, words)
    unknown = np.flatnonzero((part.op == 0) & (kind == words.kind.code("kernel")))
    if len(unknown):
        same = pc.index_in(part.name.take(pa.array(unknown)), executors.name).fill_null(-1).to_numpy()
        part.op[unknown] = np.append(executors.op, 0)[same]
    return part


def _special(texts: pa.Array, any_of: str, patterns: dict[str, str]) -> dict[str, np.ndarray]:
    """Return for each of `patterns` a mask of the texts it matches; `any_of` matches when one of them does.

    Nearly every text is a kernel's, which the one common pattern passes over.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = np.flatnonzero(pc.match_substring_regex(texts, any_of).to_numpy(zero_copy_only=False))
    found = {word: np.zeros(len(texts), bool) for word in patterns}
    few = texts.take(pa.array(rows))
    for word, pattern in patterns.items():
        found[word][rows] = pc.match_substring_regex(few, pattern).to_numpy(zero_copy_only=False)
    return found


def _nodes(names: pa.DictionaryArray, raw: pa.Array, detail: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the node that launched each kernel and its op type, null where not known."""
    import pyarrow.compute as pc

    node, op = label_grammar.node_and_op(names.dictionary)
    node, op = node.take(names.indices), op.take(names.indices)
    if node.null_count:
        # Tracers of the TF 1.3 era put the annotation into the label.
        parts = pc.extract_regex(detail, _OLD_KERNEL)
        node = pc.coalesce(node, pc.struct_field(parts, "node"))
        op = pc.coalesce(op, pc.struct_field(parts, "op"))
        node = pc.coalesce(node, raw)
    return node, op


def _keep_telling_names(source: Source, rows: np.ndarray, raw: pa.Array, detail: pa.Array) -> None:
    """Show the whole node name as the detail of rows where only that says anything (TF 1.14 to 2.0)."""
    import pyarrow.compute as pc

    told = pc.equal(detail, "")
    if pc.any(told).as_py():
        told = pc.and_(told, pc.match_substring(raw, "@@"))
        telling = rows[told.to_numpy(zero_copy_only=False)]
        source.details = scatter(source.details, telling, raw.filter(told))


def _amounts(detail: pa.Array, memsets: np.ndarray) -> np.ndarray:
    """Return the bytes a memset fills, -1 for other rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    amount = np.full(len(detail), -1, np.int64)
    if memsets.any():
        parts = pc.extract_regex(
            detail.filter(pa.array(memsets)), r"\b(?:size|num_bytes|bytes): ?(?P<amount>\d{1,18})\b"
        )
        amount[memsets] = pc.cast(pc.struct_field(parts, "amount"), "int64").fill_null(-1).to_numpy()
    return amount


def _read_copies(
    part: Part, rows: np.ndarray, source: Source, raw: pa.Array, words: Vocabularies
) -> tuple[np.ndarray, list[label_grammar.Copy], np.ndarray]:
    """Fill in the columns of copies; return their rows, the distinct copies, and which one each row is."""
    import pyarrow as pa

    if not len(rows):
        return rows, [], rows
    names = raw.take(pa.array(rows)).dictionary_encode()
    details = source.labels.take(pa.array(part.rows[rows])).dictionary_encode()
    lanes = source.entry[part.rows[rows]]
    told = np.stack([lanes, names.indices.to_numpy(), details.indices.to_numpy()], axis=1)
    distinct, which = np.unique(told, axis=0, return_inverse=True)
    name_texts, label_texts = names.dictionary.to_pylist(), details.dictionary.to_pylist()
    copies = [
        label_grammar.parse_copy(source.places[lane].what, name_texts[name], label_texts[label])
        for lane, name, label in distinct.tolist()
    ]
    which = which.reshape(-1)
    part.op[rows] = np.array([words.op.code(copy.op) for copy in copies], np.int32)[which]
    part.lane[rows] = np.array([words.lane.code(copy.lane) for copy in copies], np.int32)[which]
    part.amount[rows] = np.array([copy.amount for copy in copies], np.int64)[which]
    nodes = pa.array([copy.node for copy in copies], pa.large_string())
    tensors = pa.array([copy.tensor for copy in copies], pa.large_string())
    part.name = scatter(part.name, rows, nodes.take(pa.array(which)))
    part.tensor = scatter(part.tensor, rows, tensors.take(pa.array(which)))
    return rows, copies, which


def _ends_of_copies(
    part: Part, found: tuple[np.ndarray, list[label_grammar.Copy], np.ndarray], words: Vocabularies
) -> None:
    """Set source and destination of each copy: the GPU, another GPU or the host of its task."""
    rows, copies, which = found
    pairs: dict[tuple[int, int, int], tuple[int, int]] = {}
    keys = list(zip(part.device[rows].tolist(), part.task[rows].tolist(), which.tolist(), strict=True))
    for key in keys:
        if key not in pairs:
            device, task = words.device.texts[key[0]], words.task.texts[key[1]]
            copy = copies[key[2]]
            ends = {"H": f"{task}/device:CPU:0", "D": device, "": ""}
            target = ends[copy.target]
            if copy.lane == "memcpy P2P" and copy.peer >= 0:
                target = f"{task}/device:GPU:{copy.peer}"
            pairs[key] = words.source.code(ends[copy.origin]), words.destination.code(target)
    if keys:
        part.source[rows], part.destination[rows] = np.array([pairs[key] for key in keys], np.int32).T
