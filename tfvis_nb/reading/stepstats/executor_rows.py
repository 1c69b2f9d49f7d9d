"""Rows of TensorFlow's executors and RPC log: ops, collectives, received tensors."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.devices import canonical
from tfvis_nb.reading.columns import EventColumns, Vocabularies, blank_codes, blank_texts
from tfvis_nb.reading.stepstats import label_grammar
from tfvis_nb.reading.stepstats.recorded_step import concat_arrays
from tfvis_nb.reading.stepstats.source_rows import Source
from tfvis_nb.texts import Text


def executor_part(
    source: Source, rows: np.ndarray, vocabularies: Vocabularies, notes: list[str]
) -> EventColumns:
    """Read the rows of executor devices, and of unknown devices.

    RPC rows (RecvTensor, RecvBuf) go to the lane ``recv``, named after the node whose tensor they moved;
    collectives go to ``collective``.
    """
    count = len(rows)
    entry = source.entry[rows]
    name = source.pick(source.names, rows)
    detail = source.labels_of(rows).dictionary_decode()
    op_text = label_grammar.executor_ops(detail)
    op = vocabularies.op.codes(op_text)
    places = source.places
    part = EventColumns(
        rows=rows,
        task=np.array([vocabularies.task.code(place.task) for place in places], np.int32)[entry],
        device=np.array([vocabularies.device.code(place.device) for place in places], np.int32)[entry],
        lane=np.array([vocabularies.lane.code(place.lane) for place in places], np.int32)[entry],
        kind=np.full(count, vocabularies.kind.code("op"), np.int32),
        op=op,
        source=blank_codes(count),
        destination=blank_codes(count),
        name=name,
        tensor=blank_texts(count),
        detail=detail,
        size_bytes=produced_bytes(source, rows),
    )
    collective = np.array([label_grammar.is_collective(text) for text in vocabularies.op.texts])[op]
    on_executor = np.array([place.family == "executor" for place in places])[entry]
    part.kind[collective] = vocabularies.kind.code("collective")
    part.lane[collective & on_executor] = vocabularies.lane.code("collective")
    other = np.flatnonzero(op == 0)
    if len(other):
        _read_transfers(part, other, on_executor, vocabularies, notes)
    return part


def _read_transfers(
    part: EventColumns,
    other: np.ndarray,
    on_executor: np.ndarray,
    vocabularies: Vocabularies,
    notes: list[str],
) -> None:
    """Fill in the RPC rows among `other`; the rest has no known label."""
    fields = label_grammar.transfer_fields(part.detail.take(other))
    received = fields["tensor"].is_valid().to_numpy(zero_copy_only=False)
    named = pc.is_in(part.name.take(other), pa.array(label_grammar.TRANSFER_NODES, pa.large_string()))
    known = received | named.to_numpy(zero_copy_only=False)
    rows, chosen = other[known], pa.array(known)
    part.kind[rows] = vocabularies.kind.code("transfer")
    lanes = part.lane[rows]
    part.lane[rows] = np.where(on_executor[rows], vocabularies.lane.code("recv"), lanes)
    part.op[rows] = vocabularies.op.codes(part.name.take(rows))
    for column, vocabulary, field in (
        (part.source, vocabularies.source, "source"),
        (part.destination, vocabularies.destination, "destination"),
    ):
        encoded = fields[field].filter(chosen).dictionary_encode()
        texts = pa.array([canonical(text) for text in encoded.dictionary.to_pylist()], pa.large_string())
        column[rows] = vocabulary.codes(texts.take(encoded.indices))
    tensor = fields["tensor"].filter(chosen).fill_null("")
    part.tensor = scatter(part.tensor, rows, tensor)
    part.name = scatter(part.name, rows, label_grammar.source_nodes(tensor, part.name.take(rows)))
    _fill_amounts(part, rows, fields["amount"].filter(chosen), fields["unit"].filter(chosen), notes)
    strange = other[~known]
    if len(strange):
        example = part.detail[int(strange[0])].as_py() or part.name[int(strange[0])].as_py()
        notes.append(Text("labels_unknown", rows=len(strange), example=example[:80]))


def _fill_amounts(
    part: EventColumns, rows: np.ndarray, numbers: pa.Array, unit: pa.Array, notes: list[str]
) -> None:
    """Use the rounded size in the label if the source has no exact one and it fits 64 bits."""
    amounts = pc.cast(numbers, "float64", safe=False) if len(numbers) else numbers
    amounts = np.nan_to_num(amounts.to_numpy(zero_copy_only=False).astype(np.float64), nan=-1.0)
    mega = pc.equal(unit, "MB").fill_null(False).to_numpy(zero_copy_only=False)
    sizes = np.where(mega, amounts * 2**20, amounts)
    from_label = (part.size_bytes[rows] < 0) & (sizes >= 0) & (sizes < 2**63)
    part.size_bytes[rows[from_label]] = np.rint(sizes[from_label]).astype(np.int64)
    rounded = int((from_label & mega).sum())
    if rounded:
        notes.append(Text("sizes_rounded", transfers=rounded))


def produced_bytes(source: Source, rows: np.ndarray) -> np.ndarray:
    """Return the bytes of all outputs of each row (int64); -1 for rows without outputs."""
    totals: list[np.ndarray] = []
    for chunk in source.chunks:
        outputs = chunk.field("output")
        offsets = outputs.offsets.to_numpy()
        described = outputs.values.field("tensor_description").field("allocation_description")
        sizes = pc.struct_field(described, "requested_bytes").fill_null(0).to_numpy(zero_copy_only=False)
        sums = np.concatenate([[0], np.cumsum(sizes)])
        made = sums[offsets[1:]] - sums[offsets[:-1]]
        totals.append(np.where(np.diff(offsets) > 0, made, -1))
    total: np.ndarray = concat_arrays(totals)[rows].astype(np.int64)
    return total


def scatter(texts: pa.Array, rows: np.ndarray, values: pa.Array) -> pa.Array:
    """Return `texts` with the `values` at the ascending `rows`."""
    mask = np.zeros(len(texts), bool)
    mask[rows] = True
    return pc.replace_with_mask(texts, pa.array(mask), values.cast(texts.type))
