"""Read the Parquet file of a `Trace`, without loss: events, nested records, graphs, notes, title.

The file is an ordinary Parquet table of the events, with the nested columns next to them (prefixed
``nested.``); notes, title and category lists are in its metadata, and so are graphs and sources, compressed.

Before Arrow reads a file, its footer and page headers give the memory needs of its columns. Arrow could
report those of the footer but may crash the process: `RowGroupMetaData.column` of pyarrow 26 does not declare
the C++ exception that it raises if a column's statistics do not fit its type. And it unpacks each page to the
size in the page's own header, whatever the footer says.
"""

import base64
import io
import json
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.core import annotations, counters
from tfvis_nb.core import metadata as of_metadata
from tfvis_nb.core.clock_bounds import from_json
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.nested_columns import validate_nested
from tfvis_nb.core.stacks import MOST_FRAMES, StackTable
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.reading.sources.unpacking import Allowance, inflate
from tfvis_nb.texts import Text, notes_from_json

KEY = b"tfvis_nb"
VERSION = 1
_MAGIC = b"PAR1"
NESTED = "nested."
_LAST_STEP = 2**31 - 1
_NUM_VALUES, _PACKED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 5, 7, 9, 11
_CHUNK: dict[int, Any] = {_NUM_VALUES: {}, _PACKED_SIZE: {}, _DATA_PAGE: {}, _DICTIONARY_PAGE: {}}
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_FOOTER: dict[int, Any] = {_ROW_GROUPS: {_COLUMNS: {_META_DATA: _CHUNK}}}
_UNPACKED_PAGE, _PACKED_PAGE = 2, 3
_PAGE_HEADER: dict[int, Any] = {_UNPACKED_PAGE: {}, _PACKED_PAGE: {}}
"""The numbers of the fields that are used of Parquet's FileMetaData and PageHeader."""
_SMALLEST_PAGE = 1 << 12
"""Bytes counted for any page, because a file can have very many empty ones."""
_INTEGERS, _BINARY, _LIST, _STRUCT = (4, 5, 6), 8, 9, 12
"""Types of fields in Thrift's compact protocol; Parquet has neither maps nor sets."""
_BYTES = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of types with a fixed size; true and false are types of their own, but bytes in a list."""


def is_parquet(data: Data) -> bool:
    """Return whether `data` starts like a Parquet file."""
    return bytes(data[: len(_MAGIC)]) == _MAGIC


def read(data: Data, label: str, allowance: Allowance) -> Trace:
    """Read a Parquet file written by `tfvis_nb.writing.parquet.write`."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        for size in unpacked_sizes(data, _width(file.schema)):
            allowance.take(size, label)
        schema = file.schema_arrow
        # As dictionaries, so that a long text shared by many rows is stored once.
        file = pq.ParquetFile(io.BytesIO(data), read_dictionary=_texts(file.schema))
        # One by one, because pyarrow 26 reads texts in lists as dictionaries only in single groups.
        groups = [
            _plain(file.read_row_group(n), schema, label, allowance) for n in range(file.num_row_groups)
        ]
        table = pa.concat_tables(groups) if groups else file.read()
    except (pa.ArrowException, OSError) as error:
        # The last bytes of a Parquet file are the same as the first.
        whole = bytes(data[-len(_MAGIC) :]) == _MAGIC
        raise TraceFormatError(
            Text("parquet_damaged", label=label, reason=error)
            if whole
            else ends_early(label, "a Parquet file", len(data))
        ) from None
    return from_table(table, label, allowance)


def from_table(table: pa.Table, label: str, allowance: Allowance) -> Trace:
    """Return the trace in a table with its events and nested columns, and the rest as metadata."""
    metadata = table.schema.metadata or {}
    if KEY not in metadata:
        raise TraceFormatError(Text("parquet_of_others", label=label), foreign=True)
    try:
        head = json.loads(metadata[KEY])
        version = head["version"]
    except (KeyError, TypeError, ValueError) as error:
        raise TraceFormatError(Text("parquet_table_damaged", label=label, reason=error)) from None
    if version != VERSION:
        raise TraceFormatError(Text("parquet_version", label=label, version=version, known=VERSION))
    try:
        unpacked = partial(_unpacked, label=label, allowance=allowance)
        # Files written before stacks, metadata, counters and programs were stored lack them.
        stacks, lost = _stacks(unpacked(head["stacks"])) if head.get("stacks") else (None, [])
        metadata, also_lost = _metadata(head.get("metadata", {}))
        events = _events(table, head["categories"], label, allowance)
        # Files written before they were stored lack them.
        annotated, unreadable = annotations.from_json(head.get("annotations"), events)
        trace = Trace(
            events,
            nested=_nested(table) if head["nested"] else None,
            graphs=[[unpacked(graph) for graph in step] for step in head["graphs"]],
            # Files written before it was stored lack it.
            run_metadata=[unpacked(step) for step in head.get("run_metadata", [])],
            notes=[*notes_from_json(head), *lost, *also_lost, *unreadable],
            sources=[unpacked(source) for source in head["sources"]],
            title=_title(head["title"]),
            step_labels={_step(step): str(label) for step, label in head["step_labels"]},
            # Files written before clocks were stored lack them.
            clock_bounds=from_json(head.get("clocks")),
            stacks=stacks,
            metadata=metadata,
            recorded_counters=_counters(head.get("counters"), unpacked),
            programs={name: unpacked(proto) for name, proto in dict(head.get("programs", {})).items()},
        )
        trace.annotations = annotated
    except TraceFormatError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise TraceFormatError(Text("parquet_table_damaged", label=label, reason=error)) from None
    return trace


def _stacks(data: bytes) -> tuple[StackTable | None, list[str]]:
    """Return the stacks of a trace, and notes; None if only the stacks are damaged."""
    try:
        stacks = StackTable.from_json(data.decode())
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        return None, [Text("stacks_damaged", reason=error)]
    deep = int((stacks.depths() > MOST_FRAMES).sum())
    return stacks, [Text("stacks_cut", stacks=deep)] if deep else []


def _metadata(values: Any) -> tuple[of_metadata.Metadata, list[str]]:
    try:
        return of_metadata.from_json(values), []
    except of_metadata.DAMAGED as error:
        return {}, [Text("metadata_damaged", reason=error)]


def _texts(schema: Any) -> list[str]:
    """Return the paths of all texts in the table, including those in lists."""
    leaves = [schema.column(number) for number in range(len(schema))]
    return [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]


def _width(schema: Any) -> int:
    """Return the bytes of the largest value in memory that is not a text of any length."""
    return max(8, *(schema.column(number).length or 0 for number in range(len(schema))))


def _counters(packed: Any, unpacked: Callable[[str], bytes]) -> pd.DataFrame:
    """Return the counters of a trace, whose texts are numbers in lists."""
    if packed is None:
        return counters.EMPTY
    columns: dict[str, Any] = {
        name: pd.Categorical.from_codes(
            np.frombuffer(unpacked(packed[name]), np.int32), pd.Index(map(str, packed["texts"][name]))
        )
        for name in counters.SERIES
    }
    numbers = {"time_ns": np.int64, "value": np.float64}
    columns |= {name: np.frombuffer(unpacked(packed[name]), dtype) for name, dtype in numbers.items()}
    return counters.build(columns)


def _title(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError("a title that is no text")
    return text


def _step(number: Any) -> int:
    if not isinstance(number, int) or not abs(number) <= _LAST_STEP:
        raise TypeError("the label of no step")
    return number


def _unpacked(text: str, label: str, allowance: Allowance) -> bytes:
    return inflate(base64.b64decode(text), f"{label}: a graph in it", allowance)


def _events(
    table: pa.Table, categories: dict[str, list[str]], label: str, allowance: Allowance
) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name, dtype in event_table.COLUMNS.items():
        if name in event_table.OPTIONAL and name not in table.column_names:
            continue  # the file is older than the column
        if table.column_names.count(name) != 1:
            raise ValueError(f"{table.column_names.count(name)} columns {name!r}")
        column = table[name].combine_chunks()
        if dtype == "category":
            columns[name] = _categorical(column, categories[name])
        elif dtype == "Int64":
            known = column.is_valid().to_numpy(zero_copy_only=False)
            columns[name] = pd.arrays.IntegerArray(
                column.fill_null(0).to_numpy(zero_copy_only=False).copy(), ~known
            )
        elif dtype == "str":
            allowance.take(_letters(column), label)
            columns[name] = column.cast("large_string")
        else:
            columns[name] = column.to_numpy(zero_copy_only=False)
    return event_table.build(columns, rows=table.num_rows)


def _categorical(column: pa.Array, categories: list[str]) -> Any:
    encoded = column if hasattr(column, "indices") else column.dictionary_encode()
    index = pd.Index(categories, dtype=event_table.TEXT)
    texts = pd.Series(encoded.dictionary.cast("string").to_pandas(), dtype=object)
    # The last index is for rows without a text.
    codes_of = np.append(index.get_indexer(texts), -1)
    if (codes_of[:-1] < 0).any():
        raise ValueError("a text outside the categories of its column")
    codes = codes_of[encoded.indices.fill_null(len(texts)).to_numpy()]
    return pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(index))


def _letters(column: pa.Array) -> int:
    """Return the number of bytes of a column's texts without sharing, including those in lists."""
    if isinstance(column, pa.DictionaryArray):
        lengths = pc.binary_length(column.dictionary).cast("int64")
        return pc.sum(lengths.take(column.indices)).as_py() or 0
    if isinstance(column, pa.ListArray):
        return _letters(column.flatten())
    if isinstance(column, pa.StructArray):
        return sum(map(_letters, column.flatten()))
    return int(column.nbytes)


def _plain(table: pa.Table, schema: pa.Schema, label: str, allowance: Allowance) -> pa.Table:
    """Return the rows of a group, with texts in nested columns as written."""
    for number, field in enumerate(schema):
        if field.name.startswith(NESTED) and (column := table[number]).type != field.type:
            allowance.take(sum(map(_letters, column.chunks)), label)
            table = table.set_column(number, field, column.cast(field.type))
    return table


def _nested(table: pa.Table) -> pa.Table:
    names = [name for name in table.column_names if name.startswith(NESTED)]
    columns = [table[index] for index, name in enumerate(table.column_names) if name.startswith(NESTED)]
    return validate_nested(pa.table(columns, names=[name.removeprefix(NESTED) for name in names]))


def unpacked_sizes(data: Data, width: int) -> Iterator[int]:
    """Yield the bytes that each page of a file unpacks to, and those of its column's values in memory.

    `width` is the bytes of a value in memory, or of the offset of a text: equal values take almost no space
    in the file. ArrowInvalid if the file is damaged.
    """
    length = struct.unpack("<I", data[-8:-4])[0]
    try:
        for group in _Thrift(data, len(data) - 8 - length).struct(_FOOTER)[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                chunk = column[_META_DATA]
                if chunk[_NUM_VALUES] > 0:  # of others Arrow reads nothing
                    yield width * chunk[_NUM_VALUES]
                    yield from _pages(data, chunk)
    except (IndexError, KeyError, TypeError, RecursionError):
        raise pa.ArrowInvalid("the footer or a page is not as Thrift writes it") from None


def _pages(data: Data, chunk: dict[int, int]) -> Iterator[int]:
    """Yield the unpacked size of each page of a column, with its header; it starts where Arrow does."""
    start, dictionary = chunk[_DATA_PAGE], chunk.get(_DICTIONARY_PAGE, 0)
    at = dictionary if 0 < dictionary < start else start
    end = at + chunk[_PACKED_SIZE]
    while at < end:
        header = _Thrift(data, at)
        sizes = header.struct(_PAGE_HEADER)
        yield max(header.at - at + sizes[_UNPACKED_PAGE], _SMALLEST_PAGE)
        at = header.at + max(sizes[_PACKED_PAGE], 0)


class _Thrift:
    def __init__(self, data: Data, start: int) -> None:
        if start < 0:
            raise IndexError(start)
        self._data, self.at = data, start

    def struct(self, wanted: dict[int, Any]) -> dict[int, Any]:
        """Read a struct; return the values of the wanted fields: numbers, structs, or lists of structs."""
        values: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            # If the gap to the previous field is large, the number of the field follows its type.
            number = number + (head >> 4) if head >> 4 else self._varint() >> 1
            value = self._value(head & 15, wanted.get(number, {}))
            if number in wanted:
                if number in values:  # which of them counts is up to the reader
                    raise IndexError(number)
                values[number] = value
        return values

    def _value(self, kind: int, wanted: dict[int, Any]) -> Any:
        if kind in _INTEGERS:
            number = self._varint()
            # The lowest bit is the sign.
            return (number >> 1) ^ -(number & 1)
        if kind == _STRUCT:
            return self.struct(wanted)
        if kind == _LIST:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > len(self._data) - self.at:  # each takes at least a byte
                raise IndexError(count)
            return [self._value(max(head & 15, 3), wanted) for _ in range(count)]
        length = self._varint() if kind == _BINARY else _BYTES[kind]
        self.at += length
        return None

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise IndexError(shift)
