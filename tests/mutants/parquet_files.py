"""Damage to a Parquet file: footer, pages, our metadata token by token, columns of other types."""

import io
import random
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.mutants import extremes, raw_bytes, tokens

_KEY = b"tfvis_nb"
_TYPES = (
    *(pa.int8(), pa.int32(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.binary()),
    *(pa.large_string(), pa.timestamp("ns"), pa.date32(), pa.duration("us"), pa.decimal128(30, 3), pa.null()),
    *(pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.dictionary(pa.int32(), pa.string())),
    *(pa.list_(pa.struct([("slot", pa.string())])), pa.dictionary(pa.int8(), pa.int64())),
)


def damaged(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Damage a Parquet file in one place."""
    action = chance.randrange(8)
    if action == 0:
        return raw_bytes.damaged(data, other, chance)
    if action < 3:
        return damaged_footer(data, other, chance)
    try:
        table = pq.read_table(io.BytesIO(data))
        made = _metadata(table, chance) if action < 6 else _column(table, chance)
        file = io.BytesIO()
        pq.write_table(made, file, compression="zstd", store_schema=chance.random() < 0.7)
        return file.getvalue()
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return raw_bytes.damaged(data, other, chance)  # Arrow writes no such file


def damaged_footer(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Damage the footer; its length is right or not."""
    length = struct.unpack("<I", data[-8:-4])[0]
    if chance.random() < 0.1:
        return data[:-8] + struct.pack("<I", extremes.number(length, chance) % 2**32) + data[-4:]
    begin = len(data) - 8 - length
    footer = data[begin:-8]
    # Its first part is the schema and the row groups; our metadata comes after.
    at = chance.randrange(min(len(footer), 4000) + 1)
    part = raw_bytes.damaged(footer[at : at + 64], other, chance)
    made = footer[:at] + part + footer[at + 64 :]
    return data[:begin] + made + struct.pack("<I", len(made)) + data[-4:]


def _metadata(table: pa.Table, chance: random.Random) -> pa.Table:
    metadata: dict[bytes, bytes] = dict(table.schema.metadata or {})
    head = metadata.get(_KEY, b"{}")
    for _ in range(chance.choice((1, 1, 2))):
        head = tokens.damaged(
            head, b'{"version": 1, "notes": [[1, 2], {"a": "b"}], "clocks": {"a": [0, 1]}}', chance
        )
    return table.replace_schema_metadata({**metadata, _KEY: head})


def _column(table: pa.Table, chance: random.Random) -> pa.Table:
    at = chance.randrange(table.num_columns)
    name, column = table.column_names[at], table.column(at)
    action = chance.randrange(7)
    if action == 0:
        return table.remove_column(at)
    if action == 1:
        return table.append_column(name, column)
    if action == 2:
        return table.slice(0, chance.choice((0, 1, table.num_rows // 2)))
    if action == 3:
        return pa.concat_tables([table] * chance.choice((2, 3)))
    if action == 4:
        to = chance.randrange(table.num_columns)
        return table.set_column(at, name, table.column(to))
    kind = chance.choice((column.type, column.type, *_TYPES))
    values = [_value(value, kind, chance) if chance.random() < 0.3 else value for value in column.to_pylist()]
    try:
        made = pa.array(values, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError):
        made = pa.array([_value(None, kind, chance)] * table.num_rows, kind)
    return table.set_column(at, name, made)


def _value(near: object, kind: Any, chance: random.Random) -> Any:
    if chance.random() < 0.2 or pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        bits = kind.bit_width - (1 if not str(kind).startswith("uint") else 0)
        number = extremes.number(near if isinstance(near, int) else 7, chance)
        return number % 2**bits if number >= 0 or str(kind).startswith("uint") else -(-number % 2**bits)
    if pa.types.is_floating(kind):
        return chance.choice((float("nan"), float("inf"), -1.5, 1e30))
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_decimal(kind):
        return Decimal(chance.randrange(10**9))
    if pa.types.is_list(kind):
        return [_value(None, kind.value_type, chance) for _ in range(chance.randrange(3))]
    if pa.types.is_struct(kind):
        return {one.name: _value(None, one.type, chance) for one in kind}
    if pa.types.is_date(kind):
        return chance.randrange(20_000)
    if pa.types.is_dictionary(kind):
        return _value(near, kind.value_type, chance)
    text = extremes.text(near if isinstance(near, str) else "", chance)
    return text.encode("utf-8", "replace") if pa.types.is_binary(kind) else text
