"""Reads back what display/ sends to the front end, the slow and obvious way."""

import gzip
import itertools
import json
import struct
from typing import Any

CODES = {"u8": "B", "u16": "H", "u32": "I", "f64": "d"}


def read_container(data: bytes) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The header and the columns as lists, as the front end decodes them."""
    raw = gzip.decompress(data)
    assert raw[:4] == b"TFV1"
    (size,) = struct.unpack("<I", raw[4:8])
    assert (8 + size) % 8 == 0
    header = json.loads(raw[8 : 8 + size])
    return header, {
        name: column(raw[8 + size :], **described) for name, described in header["columns"].items()
    }


def column(data: bytes, *, dtype: str, length: int, offset: int, encoding: str) -> list[Any]:
    assert offset % 8 == 0
    code = CODES[dtype]
    width = struct.calcsize(code)
    part = data[offset : offset + length * width]
    assert len(part) == length * width
    if encoding != "plain":
        planes = [part[plane * length : (plane + 1) * length] for plane in range(width)]
        part = b"".join(bytes(plane[i] for plane in planes) for i in range(length))
    values = list(struct.unpack(f"<{length}{code}", part))
    if encoding == "delta-shuffle":
        for i in range(1, length):
            values[i] = (values[i] + values[i - 1]) % 2 ** (8 * width)
    return values


def texts(data: list[int], offsets: list[int]) -> list[str]:
    return [bytes(data[a:b]).decode() for a, b in itertools.pairwise(offsets)]


def wire_rows(lane: list[int]) -> list[int]:
    """The row of each event: rows are ordered by lane, then by event."""
    order = sorted(range(len(lane)), key=lambda event: (lane[event], event))
    rows = [0] * len(lane)
    for row, event in enumerate(order):
        rows[event] = row
    return rows


def signed(header: dict[str, Any], columns: dict[str, list[Any]], name: str) -> list[int]:
    if header["columns"][name]["dtype"] == "f64":
        return [int(value) for value in columns[name]]
    return [value // 2 if value % 2 == 0 else -(value + 1) // 2 for value in columns[name]]


def optional(header: dict[str, Any], columns: dict[str, list[Any]], name: str) -> list[int | None]:
    if header["columns"][name]["dtype"] == "f64":
        return [None if value != value else int(value) for value in columns[name]]  # noqa: PLR0124 - NaN
    return [
        None if value == 0 else (value - 1) // 2 if value % 2 == 1 else -value // 2 for value in columns[name]
    ]


def read_names(columns: dict[str, list[Any]]) -> list[str]:
    parts = texts(columns["parts_bytes"], columns["parts_offsets"])
    scopes: list[str] = []
    for parent, part in zip(columns["scope_parent"], columns["scope_part"], strict=True):
        scopes.append(f"{scopes[parent - 1]}/{parts[part]}" if parent else parts[part])
    return [
        f"{scopes[scope - 1]}/{parts[part]}" if scope else parts[part]
        for scope, part in zip(columns["name_scope"], columns["name_part"], strict=True)
    ]


def read_drawn(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and one dict per event, in the order of the events; times from the origin."""
    header, columns = read_container(data)
    rows = wire_rows(columns["slot"])
    names = read_names(columns)
    gaps = signed(header, columns, "gap")
    ends = [0] * len(header["lanes"])
    events = []
    for event, row in enumerate(rows):
        slot = columns["slot"][event]
        lane = header["lanes"][slot]
        first, unit = (header["slots"][name][slot] for name in ("first", "unit"))
        start = ends[slot] + gaps[row]
        ends[slot] = start + int(columns["extent"][row])
        events.append(
            {
                "lane": (lane["task"], lane["device"], lane["lane"]),
                "start": first + start * unit,
                "duration": int(columns["extent"][row]) * unit,
                "name": names[columns["name"][row]],
                "op": header["ops"][columns["op"][row]],
                "category": header["categories"][columns["category"][row]],
                "step": header["steps"][columns["step"][row] if "step" in columns else 0]["step"],
                **{name: columns[name][row] if name in columns else 0 for name in ("wait", "tail")},
            }
        )
    return header, events
