"""Rows of ``/host:CPU`` (TF 1.14 to 2.3): the work of host threads, named by thread.

They repeat executor ops, from the point of view of the thread that ran or merely enqueued them, so they have
their own lanes and kind.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.columns import EventColumns, Vocabularies, blank_codes, blank_texts
from tfvis_nb.reading.stepstats import label_grammar
from tfvis_nb.reading.stepstats.gpu_tasks import GpuTasks
from tfvis_nb.reading.stepstats.source_rows import Source
from tfvis_nb.texts import Text

_STEP = re.compile(r"id=(?P<id>\d+),device=(?P<device>[^,]*)")


def host_part(
    source: Source, rows: np.ndarray, blocks: GpuTasks, vocabularies: Vocabularies, notes: list[str]
) -> EventColumns:
    """Read the rows of host threads; each lane is a thread, with its recorded name plus its id."""
    count = len(rows)
    entry = source.entry[rows]
    raw = source.pick(source.names, rows)
    detail = source.labels_of(rows)
    encoded = raw.dictionary_encode()
    node, op = label_grammar.node_and_op(encoded.dictionary)
    device = [
        f"{task}{place.device.removeprefix(place.task)}"
        for task, place in zip(blocks.task, source.places, strict=True)
    ]
    if count:
        notes.append(Text("host_rows", rows=count))
        _warn_of_other_steps(detail, notes)
    return EventColumns(
        rows=rows,
        task=np.array([vocabularies.task.code(task) for task in blocks.task], np.int32)[entry],
        device=np.array([vocabularies.device.code(name) for name in device], np.int32)[entry],
        lane=_thread_lanes(source, entry, source.numbers("thread_id")[rows], vocabularies),
        kind=np.full(count, vocabularies.kind.code("host"), np.int32),
        op=vocabularies.op.codes(op.take(encoded.indices)),
        source=blank_codes(count),
        destination=blank_codes(count),
        name=pc.coalesce(node, encoded.dictionary).take(encoded.indices),
        tensor=blank_texts(count),
        detail=detail,
        size_bytes=np.full(count, -1, np.int64),
    )


def _thread_lanes(
    source: Source, entry: np.ndarray, thread: np.ndarray, vocabularies: Vocabularies
) -> np.ndarray:
    """Return the lane of each row; it includes the thread id, because several threads may share a name."""
    pairs = entry.astype(np.int64) << 32 | thread.astype(np.int64)
    distinct, which = np.unique(pairs, return_inverse=True)
    codes = []
    for pair in distinct.tolist():
        number = pair & 0xFFFFFFFF
        name = source.threads[pair >> 32].get(number, "thread")
        codes.append(vocabularies.lane.code(f"{name}/{number}"))
    return np.array(codes, np.int32)[which]


def _warn_of_other_steps(detail: pa.Array, notes: list[str]) -> None:
    """Note that rows have several step ids: a lane may contain the step of another worker."""
    counts: dict[str, dict[str, int]] = {}
    for label in detail.value_counts().to_pylist():
        if match := _STEP.match(label["values"]):
            ids = counts.setdefault(match["device"], {})
            ids[match["id"]] = ids.get(match["id"], 0) + label["counts"]
    strangers = sum(sum(ids.values()) - max(ids.values()) for ids in counts.values())
    if strangers:
        notes.append(Text("host_rows_of_other_steps", rows=strangers))
