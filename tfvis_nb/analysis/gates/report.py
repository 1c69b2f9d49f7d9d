"""The table of a check, formatted for people."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tfvis_nb.core.format import MINUS, format_amount, format_bytes, format_duration
from tfvis_nb.core.labels import printable

OK, WORSE, UNKNOWN = ("ok", "worse", "unknown")
"""The result of a check."""

HEAD = ("metric", "value", "limit", "change", "result")
"""The head of each column."""

_LONGEST = 300
_NS_PER_MS = 1_000_000


def verdict(table: pd.DataFrame) -> str:
    """Return the result of a table: ``worse`` if one check is, else ``unknown`` if a required one is.

    It is also ``unknown`` if nothing could be checked.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import check
    >>> from tfvis_nb.analysis.gates.report import verdict
    >>> trace = Trace(events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"]}))
    >>> verdict(check(trace, {"kernels": 9})), verdict(check(trace, {"kernels": 9, "ops": 0}))
    ('unknown', 'worse')
    """
    results = set(_failed(table)["result"])
    return WORSE if WORSE in results else UNKNOWN if results or table.empty else OK


def _failed(table: pd.DataFrame) -> pd.DataFrame:
    result = table["result"]
    failed = table[(result == WORSE) | ((result == UNKNOWN) & table["required"])]
    return failed if (result == OK).any() or len(failed) else table


def headline(table: pd.DataFrame) -> str:
    """Name the metrics that are worse, and required ones that are unknown."""
    names = _failed(table).groupby("result")["metric"].agg(lambda metrics: ", ".join(dict.fromkeys(metrics)))
    return "; ".join(f"{result}: {names[result]}" for result in (WORSE, UNKNOWN) if result in names)


def cells(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the cells of each check under `HEAD`."""
    return [_cells(row) for row in table.to_dict("records")]


def as_text(table: pd.DataFrame) -> str:
    """Format the checks in aligned columns."""
    rows = [HEAD, *cells(table)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: Mapping[Any, Any]) -> tuple[str, ...]:
    value, allowed = (_amount(row[name], row["unit"]) for name in ("value", "allowed"))
    reason = printable(" ".join(row["reason"].split()), _LONGEST)
    return (
        row["metric"],
        value,
        f"at most {allowed}" if row["bound"] == "limit" else f"base {allowed}",
        _change(row),
        f"{row['result']}: {reason}" if reason else row["result"],
    )


def _amount(value: float, unit: str) -> str:
    if unit == "bytes" or math.isnan(value):
        return format_bytes(value)
    if unit == "joules":
        return format_amount(value, "J")
    return format_duration(value * _NS_PER_MS) if unit == "ms" else f"{value:,.10g}"


def _change(row: Mapping[Any, Any]) -> str:
    """Return by how much the value exceeds the allowed one, with the interval of a time."""
    if math.isnan(row["value"]) or math.isnan(row["allowed"]) or not row["allowed"]:
        return ""
    change = _percent(row["value"] / row["allowed"])
    if math.isnan(row["low"]):
        return change if row["bound"] == "base" else ""
    return f"{change} ({_percent(row['low'])} to {_percent(row['high'])})"


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+,.1f} %".replace("-", MINUS)
