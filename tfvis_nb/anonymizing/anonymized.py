"""Make a trace that can be shared, with the same figures.

It keeps numbers, times except the date, op types, kernels of libraries, and names made by TensorFlow, XLA,
JAX, CUDA and Horovod; all other names are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, MutableSequence, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError

from tfvis_nb import events as event_table
from tfvis_nb.anonymizing.names import Names, public
from tfvis_nb.core import counters
from tfvis_nb.core.metadata import CODE, SUBJECTS, Metadata, moved
from tfvis_nb.core.nested_columns import EXECUTOR, HLO_OP, PROGRAM
from tfvis_nb.core.nested_lists import as_lists
from tfvis_nb.core.stacks import StackTable
from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.reading.protobuf.schema import message_class, messages, register
from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.texts import Text, catalogue

START_NS = 1_000_000_000
"""Start of the earliest event of an anonymized trace, within a microsecond: a second after 1970."""

_ROLES = {
    "task": "job",
    "device": "device",
    "lane": "thread",
    "name": "op",
    "op": "op",
    "source": "device",
    "destination": "device",
    "tensor": "tensor",
    "detail": "op",
}
_KEPT = frozenset(("vendor", "model", "compute_capability", "dtype", "shape", "subject", "how"))
"""Columns of metadata that describe hardware, or that this package writes itself."""
_WORD = re.compile(r"[^\W\d_]+")


def anonymized(traces: Sequence[Trace], names: Names | None = None) -> list[Trace]:
    """Return traces without names and code; equal names get equal replacements.

    All dates move by the same time, so traces keep their distance. Rows keep their order: event 7 of an
    anonymized trace is event 7 of the original.

    >>> from tfvis_nb import Trace, events
    >>> table = events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"], "name": ["fraud/MatMul"]})
    >>> anonymized([Trace(table)])[0].events[["start_ns", "name"]].values.tolist()
    [[1000000005, 'layer1/MatMul']]
    """
    names = Names() if names is None else names
    # Kernels of all traces are first, because more words are public in their names than in those of ops.
    for trace in traces:
        _learn_kernels(trace, names)
    starts = [int(trace.events["start_ns"].iloc[0]) for trace in traces if len(trace.events)]
    later = START_NS - min(starts, default=0) // 1000 * 1000
    return [_anonymized(trace, names, later) for trace in traces]


def _learn_kernels(trace: Trace, names: Names) -> None:
    events = trace.events
    kernels = events["kind"].isin(["kernel", "memset"]) | (
        (events["kind"] == "collective") & events["lane"].astype(str).str.startswith("stream")
    )
    for detail in events["detail"][kernels].unique():
        names.replaced(detail, "kernel", kernel=True)
    if trace.nested is not None and HLO_OP in trace.nested.column_names:
        for chunk in trace.nested[HLO_OP].chunks:
            replaced_array(chunk, partial(names.replaced, role="op", kernel=True))


def _anonymized(trace: Trace, names: Names, later: int) -> Trace:
    columns = {
        name: replaced_series(trace.events[name], _replace(names, role)) for name, role in _ROLES.items()
    }
    columns |= {name: trace.events[name] + later for name in event_table.TIMES}
    events = trace.events.assign(**columns)
    anonymous = replaced(
        trace,
        events,
        nested=None if trace.nested is None else _nested(trace.nested, names, later),
        graphs=[[replaced_graph(graph, names) for graph in step] for step in trace.graphs],
        run_metadata=[replaced_run_metadata(data, names) for data in trace.run_metadata],
        sources=[],
        profiles=[],
        title="",
        step_labels={step: names.replaced(label, "step") for step, label in trace.step_labels.items()},
        clock_bounds={names.replaced(task, "job"): bounds for task, bounds in trace.clock_bounds.items()},
        stacks=None if trace.stacks is None else _stacks(trace.stacks, names),
        metadata=_metadata(moved(trace.metadata, later), names),
        recorded_counters=_counters(trace.recorded_counters, names, later),
        programs={
            names.replaced(name, "program"): replaced_program(data, names)
            for name, data in trace.programs.items()
        },
        # Last, because words that are names in this trace are known by now.
        notes=_notes(trace.notes, names),
    )
    # Texts written by people cannot be replaced.
    anonymous.annotations = None
    return anonymous


def _replace(names: Names, role: str) -> Replace:
    return partial(names.replaced, role=role)


def _nested(nested: pa.Table, names: Names, later: int) -> pa.Table:
    roles = {PROGRAM: "program", EXECUTOR: "device", "raw_device": "thread", "tracing": "function"}
    columns = {
        name: replaced_array(nested[name].combine_chunks(), _replace(names, roles.get(name, "op")))
        for name in nested.column_names
    }
    if "memory" in columns:
        columns["memory"] = _later_records(columns["memory"], later // 1000)
    return pa.table(columns)


def _later_records(memory: pa.Array, micros: int) -> pa.Array:
    """Move the times of allocation records."""
    if pa.types.is_list(memory.type):
        return as_lists(memory, _later_records(memory.flatten(), micros))
    if not pa.types.is_struct(memory.type):
        return memory
    fields = [
        _moved(part, micros) if field.name == "micros" else _later_records(part, micros)
        for field, part in zip(memory.type, memory.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(fields, [field.name for field in memory.type], mask=memory.is_null())


def _moved(times: pa.Array, micros: int) -> pa.Array:
    return pc.add(times.cast(pa.int64()), micros).cast(times.type)


def _stacks(stacks: StackTable, names: Names) -> StackTable:
    files = stacks.files.to_pydict()
    files["name"] = [names.replaced(name, "file") for name in files["name"]]
    files["text"] = [None] * len(files["text"])
    frames = stacks.frames.to_pydict()
    frames["function"] = [
        None if name is None else names.replaced(name, "function") for name in frames["function"]
    ]
    frames["text"] = [None] * len(frames["text"])
    return StackTable(
        pa.table(files, schema=stacks.files.schema),
        pa.table(frames, schema=stacks.frames.schema),
        stacks.stacks,
    )


def _metadata(metadata: Metadata, names: Names) -> Metadata:
    tables = {}
    for subject, table in metadata.items():
        if subject in CODE:
            continue
        columns: dict[str, Any] = {}
        for name, dtype in SUBJECTS[subject].items():
            if name == "text":
                columns[name] = pd.array([pd.NA] * len(table), dtype=dtype)
            elif dtype == event_table.TEXT and name not in _KEPT:
                role = name if name in ("file", "function", "device") else "op"
                columns[name] = replaced_series(table[name], _replace(names, role))
        tables[subject] = table.assign(**columns)
    return tables


def _counters(table: pd.DataFrame, names: Names, later: int) -> pd.DataFrame:
    replace = _replace(names, "counter")
    columns: dict[str, Any] = {
        name: replaced_series(
            table[name], lambda text: text if text in counters.OF_MACHINE else replace(text)
        )
        for name in counters.SERIES
    }
    return counters.build({"value": table["value"], "time_ns": table["time_ns"] + later, **columns})


def _notes(notes: Sequence[str], names: Names) -> list[str]:
    """Return our own notes with replaced names; other notes may contain any name and are left out."""
    return [_note(note, names) for note in notes if isinstance(note, Text)]


def _note(note: Text, names: Names) -> Text:
    figures = {name: _figure(value, names) for name, value in note.figures.items()}
    if "label" not in figures or "{label" in catalogue()[note.id]:
        return Text(note.id, **figures)
    label = figures.pop("label")
    return Text(note.id, **figures).named(label)


def _figure(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [_figure(one, names) for one in value]
    return names.replaced(value, "name", known=_own_words()) if isinstance(value, str) else value


@cache
def _own_words() -> frozenset[str]:
    return frozenset(word for template in catalogue().values() for word in _WORD.findall(template))


Replace = Callable[[str], str]


def replaced_series(column: pd.Series, replace: Replace) -> pd.Series:
    """Return a column of an event table, texts or categories, with its texts replaced; missing ones stay."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        # Unused categories would also contain names.
        used, new = np.unique(codes[codes >= 0], return_inverse=True)
        categories = [replace(text) for text in column.cat.categories[used].tolist()]
        numbered = np.full(len(codes), -1, np.int64)
        numbered[codes >= 0] = new
        return pd.Series(_merged(numbered, categories), index=column.index, name=column.name)
    numbers, texts = pd.factorize(column)
    others = np.array([*(replace(text) for text in texts), None], object)
    return pd.Series(others[numbers], dtype=column.dtype, index=column.index, name=column.name)


def _merged(codes: np.ndarray, categories: list[str]) -> pd.Categorical:
    """Make categories from texts that may contain duplicates."""
    distinct = list(dict.fromkeys(categories))
    place = {text: at for at, text in enumerate(distinct)}
    of_category = np.array([*(place[text] for text in categories), -1], np.int64)
    dtype = pd.CategoricalDtype(pd.Index(distinct, dtype=event_table.TEXT))
    return pd.Categorical.from_codes(of_category[codes].tolist(), dtype=dtype)


def replaced_array(array: pa.Array, replace: Replace) -> pa.Array:
    """Return an Arrow array with all texts replaced, including those in lists and structs."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(array.indices, replaced_array(array.dictionary, replace))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        coded = array.dictionary_encode()
        texts = [None if text is None else replace(text) for text in coded.dictionary.to_pylist()]
        return pa.array(texts, kind).take(coded.indices)
    if pa.types.is_list(kind) and _has_texts(kind):
        return as_lists(array, replaced_array(array.flatten(), replace))
    if pa.types.is_struct(kind) and _has_texts(kind):
        fields = [replaced_array(one, replace) for one in array.flatten()]
        return pa.StructArray.from_arrays(fields, [field.name for field in kind], mask=array.is_null())
    return array


def _has_texts(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _has_texts(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_texts(field.type) for field in kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


_LEFT_OUT = frozenset(
    ("tensor_content", "string_val", "summary", "description", "explanation", "source_file", "step_stats")
)
"""Fields with values, descriptions or code, and fields repeated in events."""


def replaced_graph(data: bytes, names: Names) -> bytes:
    """Return a serialised ``GraphDef`` with replaced names; values of constants are left out."""
    return _replaced(data, message_class("GraphDef"), names, kernel=False)


def replaced_run_metadata(data: bytes, names: Names) -> bytes:
    """Return a serialised ``RunMetadata`` with replaced names, without its ``step_stats``."""
    return _replaced(data, message_class("RunMetadata"), names, kernel=False)


def replaced_program(data: bytes, names: Names) -> bytes:
    """Return a serialised ``HloProto`` with replaced names, without source lines and values of constants."""
    return _replaced(data, _program(), names, kernel=True)


@cache
def _program() -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(
        register("tfvis_nb.anonymized_hlo", messages("hlo_whole"), {})["HloProto"]
    )


def _replaced(data: bytes, kind: Any, names: Names, *, kernel: bool) -> bytes:
    try:
        message = kind.FromString(data)
    except DecodeError:
        # Analyses also ignore damaged messages.
        return b""
    # Fields missing in our tables, such as literals and metadata of other programs, may contain names.
    message.DiscardUnknownFields()
    _replace_fields(message, names, kernel=kernel)
    written: bytes = message.SerializeToString()
    return written


def _replace_fields(message: Any, names: Names, *, kernel: bool) -> None:
    if message.DESCRIPTOR.name == "Attr" and text(message.key) in public("attributes"):
        _replace_fields(message.value, names, kernel=kernel)
        return
    for field, value in message.ListFields():
        # `FieldDescriptor.is_repeated` came with protobuf 6.31, and `label` went with 7.
        repeated = isinstance(value, MutableSequence)
        if field.name in _LEFT_OUT or (
            message.DESCRIPTOR.name == "TensorProto" and field.name.endswith("_val")
        ):
            message.ClearField(field.name)
        elif field.type == field.TYPE_MESSAGE:
            for one in value if repeated else [value]:
                _replace_fields(one, names, kernel=kernel)
        elif field.type == field.TYPE_BYTES:
            # JAX's op names in the metadata of instructions are not names of instructions.
            is_kernel = kernel and field.name != "op_name"
            if repeated:
                value[:] = [_replaced_bytes(one, names, kernel=is_kernel) for one in value]
            else:
                setattr(message, field.name, _replaced_bytes(value, names, kernel=is_kernel))


def _replaced_bytes(value: bytes, names: Names, *, kernel: bool) -> bytes:
    return names.replaced(text(value), "op", kernel=kernel).encode()
