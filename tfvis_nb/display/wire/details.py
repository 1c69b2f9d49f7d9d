"""The second byte string for the front end: the content of the details panel.

``js/model/wire/details.ts`` reads it after drawing the first picture. Its rows are ordered by lane, like
those of `tfvis_nb.display.wire.bars`.
"""

from collections.abc import Callable, Sequence
from typing import NotRequired, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.dataflow.edges import KINDS as EDGE_KINDS
from tfvis_nb.analysis.events.lane_order import LaneOrder, order_lanes
from tfvis_nb.analysis.findings.finding import PROBLEM
from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.programs.operand_links import operand_links
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.data_types import dtype_names
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.prediction import moved
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.card import OverviewCard, card
from tfvis_nb.display.overview.findings_block import FindingsBlock, findings_block
from tfvis_nb.display.wire.code import TEXTS, CodeHeader, code
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.display.wire.counters import CounterHeader, CounterTracks, counter_tracks
from tfvis_nb.display.wire.lane_times import number_column, optional_column, signed_column
from tfvis_nb.display.wire.memory import MemoryHeader, memory_tracks, name_columns
from tfvis_nb.display.wire.nested import NestedRows, id_texts, nested_rows, shape_texts
from tfvis_nb.display.wire.node_facts import FACTS, node_facts
from tfvis_nb.display.wire.string_table import number_texts, stored_texts
from tfvis_nb.display.wire.waiting import WaitingHeader, waiting
from tfvis_nb.events import SHOWN
from tfvis_nb.texts import Text

_NONE = 65535
_LONGEST_TASK = 400
_OWN_NAME = "\N{SUBSTITUTE}"


class Overview(OverviewCard):
    """The panel next to the timeline, for a whole run."""

    findings: FindingsBlock
    task: str  # The one of several tasks that the first problem names; else empty


class Ids(TypedDict):
    """A column of ids: its label, and the distinct ids as texts because they exceed a float64."""

    label: str
    texts: list[str]


class StepPartsHeader(TypedDict):
    """The names of activities and of tasks, in a trace of several steps."""

    parts: NotRequired[list[str]]
    parts_tasks: NotRequired[list[str]]


class DetailsHeader(TypedDict):
    """The content of the details panel."""

    count: int
    devices: list[str]
    tasks: NotRequired[list[str]]  # Of the ranks, if there are any
    allocators: list[str]
    dtypes: dict[str, str]
    own_name: str  # Placeholder in labels for the event's own name; empty without one
    ids: dict[str, Ids]  # By column
    tracks: list[MemoryHeader]
    counters: list[CounterHeader]
    counters_unsent: int  # Series after the last track
    overview: NotRequired[Overview]
    code: NotRequired[CodeHeader]
    layers: NotRequired[list[str]]  # Names that are no first parts of those of events, the empty one first


def details(
    trace: Trace,
    lanes: LaneOrder | None = None,
    *,
    waits: bool = True,
    overview: bool = True,
    operands: pd.DataFrame | None = None,
    against: Trace | None = None,
) -> bytes:
    """Write the content of the details panel for a trace, as a container.

    `waits` adds the causes of waiting, `overview` the facts about the whole trace, its steps and its lines of
    code, with their differences from a base `against`. `operands` are the `operand_links`, if already known.
    """
    rows = (lanes or order_lanes(trace.events)).rows
    events = trace.events.take(rows)
    start = events["start_ns"].to_numpy()
    end = start + events["duration_ns"].to_numpy()
    columns = {
        "queued": _optional(events["scheduled_ns"], lambda known: start - known),
        "compute_after": _optional(events["compute_start_ns"], lambda known: known - start),
        "compute_left": _optional(events["compute_end_ns"], lambda known: end - known),
        "bytes": _optional(events["bytes"]),
        **_recorded_times(trace, rows),
    }
    shown, ids = _ids(events)
    columns |= ids
    devices, columns["source"], columns["destination"] = _devices(events)
    tasks, arrived = _arrivals(trace, rows)
    columns |= arrived | _uncertain(trace, rows)
    columns |= _edges(trace, rows) | _operands(operand_links(trace) if operands is None else operands, rows)
    waited, more = waiting(trace, rows) if waits else (WaitingHeader(), {})
    columns |= more
    stepwise, more = _step_parts(trace) if overview else (StepPartsHeader(), {})
    columns |= more

    nested = None if trace.nested is None else trace.nested.take(pa.array(rows))
    outputs = nested_rows(nested, "outputs", len(events))
    allocators, memory = memory_columns(nested, len(events))
    kept = id_columns(nested)
    own_name, labels = _labels(events)
    tracks, allocated, held = memory_tracks(trace) if waits else ([], {}, events["tensor"].iloc[:0])
    counters = counter_tracks(trace) if waits else CounterTracks([], {})
    columns |= counters.columns
    node, facts = node_facts(trace, events)
    code_header, more, code_texts = code(trace, rows, totals=overview)
    columns |= more
    layers, more = _layers(trace, rows) if overview else ([], {})
    columns |= more
    (tensor, label, shape, name, *more_texts), texts = number_texts(
        [events["tensor"], labels, output_shapes(outputs), held, *facts, *kept.values(), *code_texts]
    )
    columns |= _nodes(node, more_texts[: len(facts)])
    kept_ids = more_texts[len(facts) : len(facts) + len(kept)]
    if code_header:
        columns |= {
            column: WireColumn(numbers)
            for column, numbers in zip(TEXTS, more_texts[-len(TEXTS) :], strict=True)
        }
    columns["tensor"] = WireColumn(tensor, "delta-shuffle")
    columns["detail"] = WireColumn(label, "delta-shuffle")
    columns |= allocated | name_columns(tracks, name)
    columns |= output_columns(outputs) | {"output_shape": WireColumn(shape)} | memory | stored_texts(texts)
    columns |= {column: WireColumn(numbers) for column, numbers in zip(kept, kept_ids, strict=True)}
    header: DetailsHeader = {
        "count": len(events),
        "devices": devices,
        "allocators": allocators,
        "dtypes": {str(number): name for number, name in dtype_names().items()},
        "own_name": own_name,
        "ids": shown,
        "tracks": tracks,
        "counters": counters.header,
        "counters_unsent": counters.unsent,
    }
    if tasks:
        header["tasks"] = tasks
    if overview:
        header["overview"] = _overview(trace, against)
    if code_header:
        header["code"] = code_header
    if layers:
        header["layers"] = layers
    return pack({**header, **waited, **stepwise}, columns)


def _overview(trace: Trace, against: Trace | None) -> Overview:
    """Return the overview and the findings for the details panel, with differences from a base."""
    overview, block = card(trace, against), findings_block(trace, against)
    return {**overview, "findings": block, "task": _late_task(trace)}


def _late_task(trace: Trace) -> str:
    """Return the task that the first finding names, if it is a problem of one of several tasks; else ""."""
    table = findings(trace)
    if not len(table) or table["level"].iloc[0] != PROBLEM or trace.events["task"].nunique() < 2:
        return ""
    return str(table["figures"].iloc[0].get("task", ""))


def _layers(trace: Trace, rows: np.ndarray) -> tuple[list[str], dict[str, WireColumn]]:
    """Store the layer of each event; nothing if no event has one.

    Most layers are the first parts of the event's name, and then the number of these parts is stored. Returns
    the names of the other layers.
    """
    layer, _ = event_layers(trace)
    layers: list[str] = layer.dictionary.to_pylist()
    if not any(layers):
        return [], {}
    (name,), texts = number_texts([trace.events["name"]])
    names: list[str] = texts.to_pylist()
    # Steps repeat each other, so each pair is checked only once.
    pairs, pair = np.unique(np.asarray(layer.indices).astype("u8") << 32 | name, return_inverse=True)
    parts = np.zeros(len(pairs), "i8")
    numbers = np.zeros(len(pairs), "i8")
    others = {"": 0}
    for index, number in enumerate(pairs.tolist()):
        own = layers[number >> 32]
        if own and names[number & 0xFFFFFFFF].startswith(f"{own}/"):
            parts[index] = own.count("/") + 1
        else:
            numbers[index] = others.setdefault(own, len(others))
    numbers = np.where(parts > 0, len(others) - 1 + parts, numbers)
    return list(others), {"layer": number_column(numbers[pair][rows], int(numbers.max()) + 1)}


def _optional(values: pd.Series, relative: Callable[[np.ndarray], np.ndarray] | None = None) -> WireColumn:
    """Store whole numbers with missing values; times are stored as distances, which are small."""
    whole = values.to_numpy("i8", na_value=0)
    return optional_column(whole if relative is None else relative(whole), values.notna().to_numpy())


def _ids(events: pd.DataFrame) -> tuple[dict[str, Ids], dict[str, WireColumn]]:
    """Store the columns that are shown unformatted, as texts because 64 bits exceed a float64.

    A number below 1 is none that a system gives a thread, but an address or a hash.
    """
    shown: dict[str, Ids] = {}
    columns: dict[str, WireColumn] = {}
    for name, label in SHOWN.items():
        codes, distinct = pd.factorize(events[name].mask(events[name] <= 0))
        if len(distinct):
            shown[name] = {"label": label, "texts": [str(number) for number in distinct]}
            columns[name] = optional_column(codes, codes >= 0)
    return shown, columns


def _labels(events: pd.DataFrame) -> tuple[str, pa.Array]:
    """Remove the row's own name from executor labels, ``name = op(inputs)``, because it is sent anyway.

    Returns the placeholder for the name, empty if none is possible, and the labels.
    """
    (name, label), distinct = number_texts([events["name"], events["detail"]])
    texts = distinct.to_pylist()
    # Steps repeat each other, so each pair is checked only once.
    pairs, pair = np.unique(name.astype("u8") << 32 | label, return_inverse=True)
    labels = [texts[int(number)] for number in pairs & 0xFFFFFFFF]
    if any(_OWN_NAME in text for text in labels):
        return "", distinct.take(pa.array(label))
    for index, number in enumerate(pairs >> 32):
        own = texts[int(number)]
        before, separator, after = labels[index].partition(f"{own} = ")
        # Only memory sizes in brackets precede the name.
        if own and separator and (not before or before.endswith("] ")):
            labels[index] = f"{before}{_OWN_NAME} = {after}"
    return _OWN_NAME, pa.array(labels, pa.large_string()).take(pa.array(pair))


def _nodes(node: np.ndarray, facts: Sequence[np.ndarray]) -> dict[str, WireColumn]:
    """Store for each event its row in the columns ``node_*``; nothing without graphs."""
    if not len(facts[0]):
        return {}
    texts = {f"node_{name}": WireColumn(numbers) for name, numbers in zip(FACTS, facts, strict=True)}
    return {"node": optional_column(np.maximum(node, 0), node >= 0)} | texts


def _recorded_times(trace: Trace, rows: np.ndarray) -> dict[str, WireColumn]:
    """Store how much later than recorded events of a predicted trace start, and recorded durations."""
    recorded = moved(trace)
    if recorded is None:
        return {}
    later, duration = (column[rows] for column in recorded)
    known = np.ones(len(rows), bool)
    return {
        "later": optional_column(later, known),
        "recorded_duration": optional_column(duration, known),
    }


def _devices(events: pd.DataFrame) -> tuple[list[str], WireColumn, WireColumn]:
    texts = [events[name].cat for name in ("source", "destination")]
    devices = sorted({str(value) for text in texts for value in text.categories} - {""})
    if len(devices) >= _NONE:
        raise ValueError(Text("too_many_devices", devices=len(devices), most=_NONE - 1))
    index = {device: position for position, device in enumerate(devices)}
    columns = []
    for text in texts:
        numbers = np.array([index.get(str(value), _NONE) for value in text.categories] + [_NONE], "u2")
        columns.append(WireColumn(numbers[text.codes.to_numpy()]))
    return devices, columns[0], columns[1]


def _arrivals(trace: Trace, rows: np.ndarray) -> tuple[list[str], dict[str, WireColumn]]:
    """Store for each rank's row of a collective how long after the first the last rank arrived, and its task.

    Rows of the last rank have no task, because the task of a row is not always recorded.
    """
    if not (trace.events["kind"] == "collective").any() or trace.collective_waits.empty:
        return [], {}
    known = trace.collective_waits[trace.collective_waits["spread_ns"].notna()]
    event = known["event"].to_numpy()
    tasks = [str(task) for task in known["last"].cat.categories]
    last = np.full(len(rows), _NONE, "u2")
    last[event] = np.where(known["wait_ns"] > 0, known["last"].cat.codes, _NONE)
    spread = np.zeros(len(rows), "i8")
    spread[event] = known["spread_ns"].to_numpy("i8")
    is_known = np.isin(np.arange(len(rows)), event)
    return tasks, {"last": WireColumn(last[rows]), "spread": optional_column(spread[rows], is_known[rows])}


def _uncertain(trace: Trace, rows: np.ndarray) -> dict[str, WireColumn]:
    """Store the minimum and maximum transfer time of received tensors, where they differ."""
    if not (trace.events["kind"] == "transfer").any():
        return {}
    received = trace.transfers
    least, most = (
        received[f"transfer_{name}_ns"].to_numpy(np.int64, na_value=0) for name in ("least", "most")
    )
    differ = np.flatnonzero(least < most)
    event = received["event"].to_numpy()[differ]
    is_known = np.isin(np.arange(len(rows)), event)
    columns = {}
    for name, time in (("moved_least", least), ("moved_most", most)):
        of_event = np.zeros(len(rows), "i8")
        of_event[event] = time[differ]
        columns[name] = optional_column(of_event[rows], is_known[rows])
    return columns if len(event) else {}


def _edges(trace: Trace, rows: np.ndarray) -> dict[str, WireColumn]:
    """Store each row's incoming edges: those of row i are edge_offsets[i] to edge_offsets[i + 1].

    Both ends are rows of the wire, and a source is stored as its distance to the target, because distances
    along a lane are mostly constant.
    """
    edges = trace.edges
    columns, order = _links("edge", edges, rows)
    kinds = np.array([EDGE_KINDS.index(kind) for kind in edges["kind"].cat.categories], "u1")
    return columns | {"edge_kind": WireColumn(kinds[edges["kind"].cat.codes.to_numpy()[order]])}


def _operands(links: pd.DataFrame, rows: np.ndarray) -> dict[str, WireColumn]:
    """Store which rows made the operands of each row, like `_edges`; nothing if none are known."""
    return _links("operand", links, rows)[0] if len(links) else {}


def _links(name: str, links: pd.DataFrame, rows: np.ndarray) -> tuple[dict[str, WireColumn], np.ndarray]:
    """Return the columns of links between events, and the order of the links in them."""
    row = np.empty(len(rows), "i8")
    row[rows] = np.arange(len(rows))
    source, target = (row[links[end].to_numpy("i8")] for end in ("source", "target"))
    order = np.lexsort((source, target))
    counts = np.bincount(target, minlength=len(rows))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype("u4")
    columns = {
        f"{name}_offsets": WireColumn(offsets, "delta-shuffle"),
        f"{name}_distance": signed_column((target - source)[order]),
    }
    return columns, order


def _step_parts(trace: Trace) -> tuple[StepPartsHeader, dict[str, WireColumn]]:
    """Store the parts of each task's steps, in a trace of several steps.

    Returns the entries of the details header, and the columns: for each
    step and task, in the order of `trace.breakdown`, ``parts_step``, the step's number, ``parts_task``, the
    index of the task, and ``parts_total``, the length of the step in ns; ``parts_ns`` has the times of all
    activities of the first of these rows, then those of the second.
    """
    table = trace.breakdown
    if why_not(table) or table["step"].nunique() < 2:
        return {}, {}
    table = table[table["device"].astype(str) == ""]
    times = np.stack([table[part].to_numpy("f8", na_value=0) for part in PARTS], axis=1)
    used = (times != 0).max(axis=0, initial=False)
    tasks, task = np.unique(table["task"].astype(str).to_numpy(object), return_inverse=True)
    several = len(tasks) > 1
    header: StepPartsHeader = {
        "parts": [part.removesuffix("_ns") for part, is_used in zip(PARTS, used, strict=True) if is_used],
        "parts_tasks": [printable(task_label(name), _LONGEST_TASK) if several else "" for name in tasks],
    }
    return header, {
        "parts_step": WireColumn(table["step"].to_numpy("f8")),
        "parts_task": WireColumn(task.astype("u2")),
        "parts_total": WireColumn(table["step_ns"].to_numpy("f8")),
        "parts_ns": WireColumn(times[:, used].ravel()),
    }


_IDS = {
    "persistent_ids": "persistent_allocation_ids",
    "device_persistent_ids": "device_persistent_allocation_ids",
}


def output_columns(rows: NestedRows) -> dict[str, WireColumn]:
    """Store outputs without their shapes, which are texts."""
    return {
        "output_offsets": WireColumn(rows.offsets, "delta-shuffle"),
        "output_slot": WireColumn(_narrow(rows.whole("slot"))),
        "output_dtype": WireColumn(_narrow(rows.whole("dtype"))),
        "output_bytes": WireColumn(rows.whole("requested_bytes").astype("f8")),
        **_buffers("output", rows),
    }


def output_shapes(rows: NestedRows) -> pa.Array:
    """Store the shape of each output as text."""
    shapes = rows.fields.get("shape")
    return rows.texts("shape") if shapes is None else shape_texts(shapes, rows.fields.get("dim_names"))


def memory_columns(nested: pa.Table | None, events: int) -> tuple[list[str], dict[str, WireColumn]]:
    """Store allocators' records for events, and referenced tensors: allocators' names, and columns."""
    memory, referenced = (nested_rows(nested, name, events) for name in ("memory", "referenced"))
    names = pa.concat_arrays([memory.texts("allocator"), referenced.texts("allocator")]).dictionary_encode()
    allocator = names.indices.to_numpy(zero_copy_only=False).astype("u2")
    uses = int(memory.offsets[-1])
    columns = {
        "memory_offsets": WireColumn(memory.offsets, "delta-shuffle"),
        "memory_allocator": WireColumn(allocator[:uses]),
    }
    for stored in ("total", "peak", "live"):
        columns[f"memory_{stored}"] = optional_column(memory.whole(f"{stored}_bytes"), np.ones(uses, bool))
    for name in ("temp_bytes", "persistent_bytes", "device_temp_bytes", "device_persistent_bytes"):
        if nested is not None and name in nested.column_names:
            known = nested[name].is_valid().to_numpy()
            if known.any():
                columns[name] = optional_column(_numbers(nested[name]), known)
    if referenced.offsets[-1]:
        columns |= {
            "referenced_offsets": WireColumn(referenced.offsets, "delta-shuffle"),
            "referenced_allocator": WireColumn(allocator[uses:]),
            "referenced_bytes": WireColumn(referenced.whole("requested_bytes").astype("f8")),
            **_buffers("referenced", referenced),
        }
    return names.dictionary.to_pylist(), columns


def id_columns(nested: pa.Table | None) -> dict[str, pa.Array]:
    """Store the numbers of the buffers that events kept, as texts; nothing if the source lacks them."""
    if nested is None:
        return {}
    return {name: id_texts(nested[column]) for name, column in _IDS.items() if column in nested.column_names}


def _buffers(of: str, rows: NestedRows) -> dict[str, WireColumn]:
    """Store which tensors are in numbered buffers (1, or 2 if shared), and those numbers.

    A number is stored as its distance to the previous one, because allocators count upwards.
    """
    buffer = rows.whole("allocation_id")
    known = buffer != 0
    if not known.any():
        return {}
    state = np.where(known, 2 - rows.whole("single_reference"), 0)
    return {
        f"{of}_buffer": WireColumn(state.astype("u1")),
        f"{of}_buffer_step": signed_column(np.diff(buffer[known], prepend=0)),
    }


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return whole numbers of any type as int64, missing ones as 0."""
    numbers: np.ndarray = column.fill_null(0).cast(pa.int64(), safe=False).to_numpy()
    return numbers


def _narrow(numbers: np.ndarray) -> np.ndarray:
    """Store small numbers in as few bytes as the largest needs."""
    largest = int(numbers.max()) if len(numbers) else 0
    return numbers.astype("u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4")
