"""Decode one serialised step to Arrow columns, exactly as in the source.

The step is split into its ``DeviceStepStats`` by hand, by following a few lengths. So aggregate lanes, half
of a GPU trace's bytes, need not be decoded if their bytes or times show that they only repeat other rows.

Only the contents show which lanes repeat the rows of others: TensorFlow up to 1.13 writes ``dev_stats`` in
the order of a hash table, so a lane and its aggregate may stand far apart.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tfvis_nb.core.devices import Place, place
from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.reading.protobuf import to_arrow, wire
from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.wire import Data, WireField, text, texts
from tfvis_nb.reading.sources.damage import damaged_message
from tfvis_nb.reading.stepstats.duplicates import repeated_spans
from tfvis_nb.reading.stepstats.recognition import kind_of
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.texts import Text, text_of

PARTITION_GRAPHS = 3
_FUNCTION_GRAPHS = 4
_KEPT = {2: "cost_graph", _FUNCTION_GRAPHS: "function_graphs", 5: "session_metadata"}
_MOST_GRAPHS = 100_000
_MOST_BYTES = 1 << 26
"""Limit for a message without its partition graphs: a graph before optimisation may contain weights."""
_LARGE = 1 << 22
_WORKERS = 2
_MANY = 10_000
"""Number of entries after which the others are counted before they are processed."""
_LOOK = 1000
"""Number of labels of a batch that are checked for repetition."""
_Map = Callable[[Callable[[list[int]], "pa.RecordBatch"], list[list[int]]], Iterable["pa.RecordBatch"]]
_Batches = Iterable[tuple[list[int], "pa.RecordBatch"]]
_TIMES = ("all_start_micros", "all_end_rel_micros", "scheduled_micros")


class GraphParts:
    """Collects the graphs of one RunMetadata.

    Attributes
    ----------
    left_out
        The names of fields that are not kept.
    damage
        Why the first damaged message was left out; empty if there is none.
    """

    def __init__(self) -> None:
        self.left_out: set[str] = set()
        self.damage = ""
        self._partitions: list[bytes] = []
        self._of_functions: list[bytes] = []
        self._rest = bytearray()

    @property
    def graphs(self) -> list[bytes]:
        """The partition graphs: TensorFlow repeats those of functions in them, which may also occur alone."""
        return self._partitions or self._of_functions

    @property
    def rest(self) -> bytes:
        """A RunMetadata with everything else: costs, session, functions before and after optimisation."""
        return bytes(self._rest)

    def take(self, data: Data, part: WireField, message: str) -> None:
        """Keep a field of a RunMetadata with the bytes `data`; DamageError if there are too many graphs."""
        if part.number == PARTITION_GRAPHS:
            self._add(self._partitions, data, part, message)
        elif part.number not in _KEPT or part.wire_type != wire.LENGTH:
            self.left_out.add(_KEPT.get(part.number, "unknown fields"))
        elif len(self._rest) + part.end - part.position > _MOST_BYTES:
            self.left_out.add(_KEPT[part.number])
        elif part.number == _FUNCTION_GRAPHS:
            self._function(data, part, message)
        else:
            self._rest += data[part.position : part.end]

    def _function(self, data: Data, part: WireField, message: str) -> None:
        try:
            parts = list(wire.fields(data, part.start, part.end))
        except wire.DamageError as damage:
            self.damage = self.damage or text_of(damage)
            return
        kept = bytearray()
        for graph in parts:
            if graph.number == 1 and graph.wire_type == wire.LENGTH:
                self._add(self._of_functions, data, graph, message)
            else:
                kept += data[graph.position : graph.end]
        if kept:
            self._rest += wire.delimited(_FUNCTION_GRAPHS, bytes(kept))

    def _add(self, graphs: list[bytes], data: Data, part: WireField, message: str) -> None:
        if len(graphs) >= _MOST_GRAPHS:
            raise wire.DamageError(part.position, Text("too_many_graphs", most=_MOST_GRAPHS), message)
        graphs.append(bytes(data[part.start : part.end]))


class _Entry(NamedTuple):
    """The position of a DeviceStepStats in the data, its device, and the start of its other fields."""

    start: int
    end: int
    device: str
    content: int


def decode(data: Data, label: str, message: str = "", room: RecordMemory | None = None) -> RecordedStep:
    """Read a serialised RunMetadata or StepStats, recognised by its bytes unless `message` names it.

    `room` is the memory for the records of all messages of a file or archive.
    """
    message = message or kind_of(data)
    try:
        parts = GraphParts()
        entries = _split(data, message, label, parts)
        step = _decode_entries(data, entries, parts, label, room)
    except TraceFormatError:
        raise
    except (wire.DamageError, ValueError) as error:
        reason = damaged_message(data, f"a binary {message}", message, error)
        raise TraceFormatError(reason.named(label)) from None
    if not len(step.entry):
        known = any(part.number <= 5 for part in wire.fields(data))
        if len(data) and not known:
            raise TraceFormatError(Text("no_known_field", label=label, message=message), foreign=True)
        raise EmptyTraceError(_what_is_there(data, label, message, parts.graphs))
    if parts.left_out:
        fields = ", ".join(sorted(parts.left_out))
        step.notes.append(Text("message_parts_left_out", message=message, fields=fields))
    if parts.damage:
        step.notes.append(Text("damaged_graphs_left_out", reason=parts.damage))
    again = repeated_spans(data, [(entry.start, entry.end) for entry in entries])
    step.doubled = int(np.isin(step.entry, again).sum())
    return step


def _what_is_there(data: Data, label: str, message: str, graphs: list[bytes]) -> Text:
    if not len(data):
        return Text("empty_run", label=label)
    if graphs:
        return Text("graphs_without_run", label=label, message=message, graphs=len(graphs))
    return Text("message_without_events", label=label, message=message)


def _split(data: Data, message: str, label: str, parts: GraphParts) -> list[_Entry]:
    """Find the DeviceStepStats of a message, and pass its other fields to `parts`."""
    if message == "StepStats":
        return _entries(data, [(0, len(data))], message, label, parts.left_out)
    steps: list[tuple[int, int]] = []
    for part in wire.fields(data):
        if part.number in (1, PARTITION_GRAPHS) and part.wire_type != wire.LENGTH:
            raise wire.DamageError(
                part.position, Text("wire_type_in_place_of_message", wire_type=part.wire_type), message
            )
        if part.number == 1:
            steps.append((part.start, part.end))
            _refuse_many(data, message, label, len(steps))
        else:
            parts.take(data, part, message)
    return _entries(data, steps, message, label, parts.left_out)


def _refuse_many(data: Data, message: str, label: str, number: int) -> None:
    """When many entries have been found, check in advance whether memory can hold the rest."""
    if number == _MANY:
        room = RecordMemory().of(len(data), label)
        if room is not None:
            room.take_message(data, message)


def _entries(
    data: Data, steps: Iterable[tuple[int, int]], message: str, label: str, left_out: set[str]
) -> list[_Entry]:
    entries: list[_Entry] = []
    for start, end in steps:
        for part in wire.fields(data, start, end):
            if part.number == 1 and part.wire_type != wire.LENGTH:
                raise wire.DamageError(
                    part.position,
                    Text("wire_type_in_place_of_message", wire_type=part.wire_type),
                    "dev_stats",
                )
            if part.number == 1:
                names = (f for f in wire.fields(data, part.start, part.end) if f.number == 1)
                name = next(names, None)
                device = text(bytes(data[name.start : name.end])) if name else ""
                content = name.end if name and name.position == part.start else part.start
                entries.append(_Entry(part.start, part.end, device, content))
                _refuse_many(data, message, label, len(entries))
            else:
                left_out.add("unknown fields of step_stats")
    return entries


def _decode_entries(
    data: Data, entries: list[_Entry], parts: GraphParts, label: str, room: RecordMemory | None
) -> RecordedStep:
    """Decode the entries, unless there are too many records in them."""
    places = [place(entry.device) for entry in entries]
    totals = {number for number, where in enumerate(places) if where.aggregate}
    others = set(range(len(entries))) - totals
    whole = pa.py_buffer(data)
    contents = [whole.slice(entry.content, entry.end - entry.content) for entry in entries]
    twins = bool(totals) and same_bytes(places, contents)
    if twins:
        totals = set()
    with ThreadPoolExecutor(_WORKERS) as pool:
        # ptars releases the GIL; threads only start when a task is submitted.
        run: _Map = pool.map if len(data) > _LARGE else map
        room = (room or RecordMemory()).of(len(data), label)
        of_others = _decoded(data, entries, others, "DeviceStepStats", run, room)
        times = _decoded(data, entries, totals, "TimesOnly", run, room)
        step = _step(of_others, entries, places, parts)
        if twins:
            # Aggregate lanes of GPUs cover all lanes except those of synchronisation.
            covered = [where.family == "gpu" and where.lane != "sync" for where in places]
            step.repeated = int(np.array(covered)[step.entry].sum())
        elif totals:
            aggregates = _step(times, entries, places, parts)
            if same_times(step, aggregates) and same_letters(places, contents):
                step.repeated = len(aggregates.entry)
            else:
                every = _decoded(data, entries, totals | others, "DeviceStepStats", run)
                step = without_repeats(_step(every, entries, places, parts))
    return step


def _decoded(
    data: Data,
    entries: list[_Entry],
    wanted: set[int],
    message: str,
    run: _Map,
    room: RecordMemory | None = None,
) -> _Batches:
    """Start decoding the entries with `wanted` numbers: return numbers and Arrow rows, run by run.

    The records of a run are counted just before: ptars blocks other threads from starting a run for a third
    of its time, and for less while counting.
    """
    runs = _runs(entries, wanted)
    finish = _with_texts if message == "DeviceStepStats" else lambda batch: batch

    def decoded(numbers: list[int]) -> pa.RecordBatch:
        chosen = [entries[number] for number in numbers]
        if room is not None:
            room.take(_batch(data, chosen, "RecordsOnly"))
        return finish(_batch(data, chosen, message))

    return zip(runs, run(decoded, runs), strict=True)


def _step(batches: _Batches, entries: list[_Entry], places: list[Place], parts: GraphParts) -> RecordedStep:
    """Concatenate decoded entries; unwanted ones have no rows."""
    chunks: list[pa.StructArray] = []
    rows = np.zeros(len(entries), np.int64)
    threads: list[dict[int, str]] = [{} for _ in entries]
    for numbers, batch in batches:
        nodes = batch.column("node_stats")
        chunks.append(nodes.values)
        rows[numbers] = np.diff(nodes.offsets.to_numpy())
        if "thread_names" in batch.schema.names:
            for number, names in zip(numbers, batch.column("thread_names").to_pylist(), strict=True):
                threads[number] = {name["key"]: text(name["value"]) for name in names}
    entry = np.repeat(np.arange(len(entries)), rows)
    devices = [one.device for one in entries]
    return RecordedStep(devices, places, threads, chunks, entry, parts.graphs, parts.rest)


def _runs(entries: list[_Entry], wanted: set[int]) -> list[list[int]]:
    sizes = [(number, entry.end - entry.start) for number, entry in enumerate(entries)]
    return to_arrow.grouped((number, size) for number, size in sizes if number in wanted)


def _batch(data: Data, entries: list[_Entry], message: str) -> pa.RecordBatch:
    handler = to_arrow.handler(message)
    if len(entries) > 1:
        return handler.list_to_record_batch([bytes(data[one.start : one.end]) for one in entries])
    one = entries[0]
    # The bytes of a large entry are read without copying.
    content = pa.py_buffer(data).slice(one.start, one.end - one.start)
    offsets = pa.py_buffer(np.array([0, one.end - one.start], np.int32))
    return handler.array_to_record_batch(pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content]))


def _with_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert the bytes of names and labels to texts, for `RecordedStep`."""
    nodes = batch.column("node_stats")
    fields = {field.name: nodes.values.field(field.name) for field in nodes.values.type}
    labels = texts(fields["timeline_label"])
    head = labels.slice(0, _LOOK)
    if 2 * len(head.unique()) < len(head):
        labels = labels.dictionary_encode()
    else:
        labels = pa.DictionaryArray.from_arrays(pa.array(np.arange(len(labels))), labels)
    fields |= {"node_name": texts(fields["node_name"]), "timeline_label": labels}
    rows = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    lists = pa.ListArray.from_arrays(nodes.offsets, rows)
    return batch.set_column(batch.schema.get_field_index("node_stats"), "node_stats", lists)


def _covered(places: Sequence[Place]) -> np.ndarray:
    """Return whether aggregate lanes repeat each entry; they are covered themselves."""
    return np.array([where.family == "gpu" and where.lane != "sync" for where in places], bool)


def same_bytes(places: Sequence[Place], contents: Sequence[pa.Buffer]) -> bool:
    """Return whether each aggregate lane equals one other lane, as with a single stream."""
    sized = sorted((contents[number].size, number) for number in np.flatnonzero(_covered(places)).tolist())
    lanes = [number for _, number in sized if not places[number].aggregate]
    totals = [number for _, number in sized if places[number].aggregate]
    pairs = zip(lanes, totals, strict=False)
    return len(lanes) == len(totals) and all(contents[one].equals(contents[other]) for one, other in pairs)


def same_letters(places: Sequence[Place], contents: Sequence[pa.Buffer]) -> bool:
    """Return whether the bytes of aggregate lanes add up to those of the other lanes."""
    lanes: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for is_covered, where, content in zip(_covered(places).tolist(), places, contents, strict=True):
        if is_covered:
            letters = np.frombuffer(content, np.uint8)
            one = Counter(count=letters.size, total=int(letters.sum(dtype=np.int64)))
            (totals if where.aggregate else lanes).update(one)
    return lanes == totals


def same_times(step: RecordedStep, aggregates: RecordedStep) -> bool:
    """Return whether aggregate lanes have exactly the times of the other lanes."""
    sides: list[np.ndarray] = []
    for side in (step, aggregates):
        covered = _covered(side.places)[side.entry] if len(side.entry) else np.zeros(0, bool)
        mixed = np.zeros(len(covered), np.uint64)
        for name in _TIMES if len(side.entry) else ():
            mixed = (mixed ^ side.numbers(name).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        sides.append(np.sort(mixed[covered]))
    return np.array_equal(sides[0], sides[1])


def without_repeats(step: RecordedStep) -> RecordedStep:
    """Drop rows of aggregate lanes that another lane also has, with the same name, label and times."""
    fields = [step.numbers(name).tolist() for name in _TIMES]
    names = [value for chunk in step.chunks for value in chunk.field("node_name").to_pylist()]
    labels = [value for chunk in step.chunks for value in chunk.field("timeline_label").to_pylist()]
    keys = list(zip(names, labels, *fields, strict=True))
    aggregate = np.array([where.aggregate for where in step.places])[step.entry]
    covers = _covered(step.places)[step.entry] & ~aggregate
    available = Counter(key for key, other in zip(keys, covers.tolist(), strict=True) if other)
    keep = np.ones(len(keys), bool)
    for row in np.flatnonzero(aggregate).tolist():
        if available[keys[row]] > 0:
            available[keys[row]] -= 1
            keep[row] = False
    chunks, first = [], 0
    for chunk in step.chunks:
        chunks.append(chunk.filter(pa.array(keep[first : first + len(chunk)])))
        first += len(chunk)
    step.chunks, step.entry, step.repeated = chunks, step.entry[keep], int((~keep).sum())
    return step
