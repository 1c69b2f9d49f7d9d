"""Rows of the GPU tracers: kernels, copies, memsets, synchronisation.

CUPTI only knows the card: with two logical GPUs, every lane is named ``/device:GPU:0``. Executor rows show
more: a kernel belongs to the device its op ran on, a copy to the GPU that made or uses its tensor, and a
stream to one logical GPU.
"""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.columns import EventColumns, Vocabularies, blank_codes, blank_texts, constant
from tfvis_nb.reading.stepstats import label_grammar
from tfvis_nb.reading.stepstats.executor_rows import scatter
from tfvis_nb.reading.stepstats.gpu_tasks import GpuTasks
from tfvis_nb.reading.stepstats.label_grammar import unpartitioned
from tfvis_nb.reading.stepstats.source_rows import Source

_SPECIAL = r"(?i)memcpy|memset|nccl"
_COPY_NAME = r"(?i:(?:^|:|@@)memcpy[a-z0-9]*$)"
_STARTS = {"copy": r"^(?i:memcpy)", "memset": r"^(?i:memset)", "nccl": r"^(?i:(?:void )?nccl)"}
_OLD_KERNEL = r"^(?P<node>[^:\s]+):(?P<op>[A-Za-z_]\w*)[^ ]* regs:"


class _Special(NamedTuple):
    """Masks of the rows that are not kernels; no row is in two of them."""

    copies: np.ndarray
    memsets: np.ndarray
    syncs: np.ndarray
    collectives: np.ndarray


class GpuTexts(NamedTuple):
    """Data parsed from names and labels of GPU lanes; all but `special` are Arrow texts."""

    rows: np.ndarray
    raw_names: pa.Array
    detail: pa.DictionaryArray
    special: _Special
    nodes: pa.Array
    op_types: pa.Array


def gpu_texts(source: Source, rows: np.ndarray) -> GpuTexts:
    """Parse the names and labels of the rows of GPU lanes."""
    raw_names = source.pick(source.names, rows)
    detail = source.labels_of(rows)
    names = raw_names.dictionary_encode()
    with ThreadPoolExecutor(1) as other:
        nodes = other.submit(_nodes, names, raw_names, detail)
        special = _special_rows(source, source.entry[rows], names, detail)
    return GpuTexts(rows, raw_names, detail, special, *nodes.result())


def gpu_part(
    source: Source, texts: GpuTexts, blocks: GpuTasks, vocabularies: Vocabularies, executors: EventColumns
) -> EventColumns:
    """Make the rows of GPU lanes; op names in executor rows separate logical GPUs."""
    rows, raw_names, detail, special, nodes, op_types = texts
    part = EventColumns(
        rows=rows,
        task=np.array([vocabularies.task.code(task) for task in blocks.task], np.int32)[source.entry[rows]],
        device=blank_codes(len(rows)),
        lane=_lanes(source, rows, special, vocabularies),
        kind=_kinds(len(rows), special, vocabularies),
        op=_ops(op_types, raw_names, special, vocabularies),
        source=blank_codes(len(rows)),
        destination=blank_codes(len(rows)),
        name=nodes,
        tensor=blank_texts(len(rows)),
        detail=detail,
        size_bytes=_amounts(detail, special.memsets),
    )
    _keep_telling_names(source, rows, raw_names, detail)
    # The device of a copy depends on its lane, and the ends of a copy on its device.
    copies = _read_copies(part, np.flatnonzero(special.copies), source, raw_names, vocabularies)
    part.device = logical_devices(source, part, blocks, vocabularies, executors)
    _ends_of_copies(part, copies, vocabularies)
    _ops_of_executors(part, executors, vocabularies)
    return part


def _special_rows(
    source: Source, entry: np.ndarray, names: pa.DictionaryArray, detail: pa.DictionaryArray
) -> _Special:
    """Find the rows that are not kernels."""

    # A GPU row is a kernel unless one of three texts shows otherwise: the word in the name of its lane
    # ("stream:14<MemcpyH2D>"), the start of its label, or its name. The name is mostly that of the node that
    # launched it, and a node may be called "memcpy": in a lane of kernels, that does not make a row a copy.
    # If two of these texts differ, the row is the first of copy, memset, synchronisation and collective.
    def in_lane_of(start: str) -> np.ndarray:
        lanes: np.ndarray = np.array([place.what.lower().startswith(start) for place in source.places], bool)
        mask: np.ndarray = lanes[entry]
        return mask

    by_label = _matches(detail, _STARTS)
    by_name = _matches(names, _STARTS | {"copy": _COPY_NAME})
    copies = in_lane_of("memcpy") | by_label["copy"] | (by_name["copy"] & ~in_lane_of("kernel"))
    memsets = ~copies & (by_label["memset"] | by_name["memset"] | in_lane_of("memset"))
    syncs = in_lane_of("sync") & ~(copies | memsets)
    collectives = ~(copies | memsets | syncs) & (by_label["nccl"] | by_name["nccl"])
    return _Special(copies, memsets, syncs, collectives)


def _kinds(count: int, special: _Special, vocabularies: Vocabularies) -> np.ndarray:
    kind = constant(count, vocabularies.kind.code("kernel"))
    kind[special.collectives] = vocabularies.kind.code("collective")
    kind[special.memsets] = vocabularies.kind.code("memset")
    kind[special.syncs] = vocabularies.kind.code("sync")
    kind[special.copies] = vocabularies.kind.code("memcpy")
    return kind


def _lanes(source: Source, rows: np.ndarray, special: _Special, vocabularies: Vocabularies) -> np.ndarray:
    codes = np.array([vocabularies.lane.code(place.lane) for place in source.places], np.int32)
    lane: np.ndarray = codes[source.entry[rows]]
    lane[special.memsets] = vocabularies.lane.code("memset")
    return lane


def _ops(
    op_types: pa.Array, raw_names: pa.Array, special: _Special, vocabularies: Vocabularies
) -> np.ndarray:
    """Return the op of each row; ops of copies are parsed with the copies."""
    op = vocabularies.op.codes(op_types)
    op[special.memsets] = vocabularies.op.code("Memset")
    op[special.syncs] = vocabularies.op.codes(raw_names.filter(pa.array(special.syncs)))
    return op


def _ops_of_executors(part: EventColumns, executors: EventColumns, vocabularies: Vocabularies) -> None:
    """Give kernels without an op the op of the executor row with the same node."""
    unknown = np.flatnonzero((part.op == 0) & (part.kind == vocabularies.kind.code("kernel")))
    if len(unknown):
        same = pc.index_in(part.name.take(pa.array(unknown)), executors.name).fill_null(-1).to_numpy()
        part.op[unknown] = np.append(executors.op, 0)[same]


def _matches(encoded: pa.DictionaryArray, patterns: dict[str, str]) -> dict[str, np.ndarray]:
    """Return a mask of the matching texts for each of `patterns`, all of which contain a `_SPECIAL` word.

    Nearly all texts belong to kernels, which the single common pattern skips.
    """
    texts, indices = encoded.dictionary, encoded.indices.to_numpy()
    rows = np.flatnonzero(pc.match_substring_regex(texts, _SPECIAL).to_numpy(zero_copy_only=False))
    masks = {what: np.zeros(len(texts), bool) for what in patterns}
    candidates = texts.take(pa.array(rows))
    for what, pattern in patterns.items():
        masks[what][rows] = pc.match_substring_regex(candidates, pattern).to_numpy(zero_copy_only=False)
    return {what: mask[indices] for what, mask in masks.items()}


def _nodes(names: pa.DictionaryArray, raw: pa.Array, detail: pa.DictionaryArray) -> tuple[pa.Array, pa.Array]:
    """Return the node that launched each kernel and its op type; null if unknown."""
    node, op = label_grammar.node_and_op(names.dictionary)
    node, op = node.take(names.indices), op.take(names.indices)
    if node.null_count:
        # Tracers around TF 1.3 put the annotation into the label.
        parts = pc.extract_regex(detail.dictionary, _OLD_KERNEL).take(detail.indices)
        node = pc.coalesce(node, pc.struct_field(parts, "node"))
        op = pc.coalesce(op, pc.struct_field(parts, "op"))
        node = pc.coalesce(node, raw)
    return node, op


def _keep_telling_names(
    source: Source, rows: np.ndarray, raw_names: pa.Array, detail: pa.DictionaryArray
) -> None:
    """Show the whole node name as detail of rows without other information (TF 1.14 to 2.0)."""
    telling = pc.equal(detail.dictionary, "").take(detail.indices)
    if pc.any(telling).as_py():
        telling = pc.and_(telling, pc.match_substring(raw_names, "@@"))
        chosen = rows[telling.to_numpy(zero_copy_only=False)]
        source.details = scatter(source.labels.dictionary_decode(), chosen, raw_names.filter(telling))


def _amounts(detail: pa.DictionaryArray, memsets: np.ndarray) -> np.ndarray:
    """Return the bytes a memset fills, -1 for other rows."""
    size_bytes = np.full(len(detail), -1, np.int64)
    if memsets.any():
        parts = pc.extract_regex(
            detail.filter(pa.array(memsets)).dictionary_decode(),
            r"\b(?:size|num_bytes|bytes): ?(?P<amount>\d{1,18})\b",
        )
        size_bytes[memsets] = pc.cast(pc.struct_field(parts, "amount"), "int64").fill_null(-1).to_numpy()
    return size_bytes


class _Copies(NamedTuple):
    """The rows of copies, the distinct copies among them, and the index of each row's copy."""

    rows: np.ndarray
    distinct: list[label_grammar.Copy]
    which: np.ndarray


def _read_copies(
    part: EventColumns, rows: np.ndarray, source: Source, raw_names: pa.Array, vocabularies: Vocabularies
) -> _Copies:
    """Fill in the columns of copies except their ends."""
    if not len(rows):
        return _Copies(rows, [], rows)
    names = raw_names.take(pa.array(rows)).dictionary_encode()
    labels = source.labels.take(pa.array(part.rows[rows])).dictionary_decode().dictionary_encode()
    lanes = source.entry[part.rows[rows]]
    keys = np.stack([lanes, names.indices.to_numpy(), labels.indices.to_numpy()], axis=1)
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    name_texts, label_texts = names.dictionary.to_pylist(), labels.dictionary.to_pylist()
    copies = [
        label_grammar.parse_copy(source.places[lane].what, name_texts[name], label_texts[label])
        for lane, name, label in distinct.tolist()
    ]
    which = which.reshape(-1)
    part.op[rows] = np.array([vocabularies.op.code(copy.op) for copy in copies], np.int32)[which]
    part.lane[rows] = np.array([vocabularies.lane.code(copy.lane) for copy in copies], np.int32)[which]
    part.size_bytes[rows] = np.array([copy.size_bytes for copy in copies], np.int64)[which]
    nodes = pa.array([copy.node for copy in copies], pa.large_string())
    tensors = pa.array([copy.tensor for copy in copies], pa.large_string())
    part.name = scatter(part.name, rows, nodes.take(pa.array(which)))
    part.tensor = scatter(part.tensor, rows, tensors.take(pa.array(which)))
    return _Copies(rows, copies, which)


def _ends_of_copies(part: EventColumns, copies: _Copies, vocabularies: Vocabularies) -> None:
    """Set source and destination of each copy: the GPU, another GPU or the host of its task."""
    rows = copies.rows
    ends: dict[tuple[int, int, int], tuple[int, int]] = {}
    keys = list(zip(part.device[rows].tolist(), part.task[rows].tolist(), copies.which.tolist(), strict=True))
    for key in dict.fromkeys(keys):
        device, task = vocabularies.device.texts[key[0]], vocabularies.task.texts[key[1]]
        copy = copies.distinct[key[2]]
        location = {"H": f"{task}/device:CPU:0", "D": device, "": ""}
        target = location[copy.target]
        if copy.lane == "memcpy P2P" and copy.peer >= 0:
            target = f"{task}/device:GPU:{copy.peer}"
        ends[key] = vocabularies.source.code(location[copy.origin]), vocabularies.destination.code(target)
    if keys:
        part.source[rows], part.destination[rows] = np.array([ends[key] for key in keys], np.int32).T


_INPUTS = re.compile(r" = [^ (]+\((.*)\)$", re.DOTALL)


def logical_devices(
    source: Source, part: EventColumns, blocks: GpuTasks, vocabularies: Vocabularies, executors: EventColumns
) -> np.ndarray:
    """Return the device code of each GPU row of `part`.

    The lane's device is kept unless its task ran ops on GPUs that no lane names.
    """
    entry = source.entry[part.rows]
    claimed = [
        f"{task}/device:GPU:{place.ordinal}" for task, place in zip(blocks.task, source.places, strict=True)
    ]
    device: np.ndarray = np.array([vocabularies.device.code(name) for name in claimed], np.int32)[entry]
    lanes: dict[tuple[int, str], set[str]] = {}
    ran: dict[tuple[int, str], set[str]] = {}
    for number in np.flatnonzero(np.diff(source.bounds)).tolist():
        place = source.places[number]
        group = int(source.step[number]), blocks.task[number]
        if place.family == "gpu":
            lanes.setdefault(group, set()).add(claimed[number])
        elif place.ordinal >= 0:
            ran.setdefault(group, set()).add(place.device)
    for (step, task), names in lanes.items():
        if ran.get((step, task), set()) - names and task:
            owner = _owners(source, executors, vocabularies, step, task)
            chosen = (source.step[entry] == step) & (part.task == vocabularies.task.code(task))
            _give(source, part, np.flatnonzero(chosen), device, owner, vocabularies)
    return device


def _owners(
    source: Source, executors: EventColumns, vocabularies: Vocabularies, step: int, task: str
) -> dict[str, str]:
    """Return the GPU of each node or of its consumers, if there is exactly one."""
    entry = source.entry[executors.rows]
    rows = pa.array(
        np.flatnonzero((source.step[entry] == step) & (executors.task == vocabularies.task.code(task)))
    )
    devices = [vocabularies.device.texts[code] for code in executors.device[rows.to_numpy()].tolist()]
    ran: dict[str, set[str]] = {}
    consumed: dict[str, set[str]] = {}
    texts = zip(executors.name.take(rows).to_pylist(), executors.detail.take(rows).to_pylist(), strict=True)
    for (name, label), device in zip(texts, devices, strict=True):
        if "/device:GPU:" not in device:
            continue
        ran.setdefault(name, set()).add(device)
        if match := _INPUTS.search(label):
            for text in match[1].split(", "):
                node = text.lstrip("^").partition(":")[0]
                if node != unpartitioned(node):
                    consumed.setdefault(unpartitioned(node), set()).add(device)
    owners = {name: min(where) for name, where in consumed.items() if len(where) == 1}
    return owners | {name: min(where) for name, where in ran.items() if len(where) == 1}


def _give(
    source: Source,
    part: EventColumns,
    rows: np.ndarray,
    device: np.ndarray,
    owner: dict[str, str],
    vocabularies: Vocabularies,
) -> None:
    """Assign rows to the GPU of their node, others to the most frequent GPU of their lane."""
    names: pa.Array = part.name.take(pa.array(rows))
    owners = [owner.get(name) or owner.get(unpartitioned(name), "") for name in names.to_pylist()]
    lanes = [source.devices[number] for number in source.entry[part.rows[rows]].tolist()]
    votes: dict[str, Counter[str]] = {}
    for lane, name in zip(lanes, owners, strict=True):
        if name:
            votes.setdefault(lane, Counter())[name] += 1
    elected = {lane: min(counted, key=lambda name: (-counted[name], name)) for lane, counted in votes.items()}
    for row, lane, name in zip(rows.tolist(), lanes, owners, strict=True):
        if name or lane in elected:
            device[row] = vocabularies.device.code(name or elected[lane])
