"""read_trace and the slow reader on TensorFlow's own classes give the same table, event by event."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support import oracle
from tests.support.texts import figures_of
from tfvis_nb import events as event_table

pytestmark = pytest.mark.tensorflow


def rows_of(trace: tv.Trace) -> list[dict[str, Any]]:
    """Return the table as plain Python values, with None for unknown ones."""
    table = trace.events
    plain = {
        name: [None if pd.isna(value) else value for value in table[name].astype(object).tolist()]
        for name in table.columns
    }
    return [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]


def differences(trace: tv.Trace, expected: list[dict[str, Any]]) -> list[str]:
    """Return what differs, event by event."""
    found = []
    got = rows_of(trace)
    if len(got) != len(expected):
        found.append(f"{len(got)} rows instead of {len(expected)}")
    for number, (row, wanted) in enumerate(zip(got, expected, strict=False)):
        found += [
            f"event {number} {name}: {row[name]!r} instead of {wanted[name]!r} ({wanted['name']})"
            for name in event_table.COLUMNS
            if row[name] != wanted[name]
        ]
    return found


def test_same_table_as_the_oracle(step_stats_path: Path) -> None:
    expected, repeated, aside = oracle.read([oracle.load(step_stats_path)])
    trace = tv.read_trace(step_stats_path)
    assert differences(trace, expected)[:5] == []
    assert trace.nested is not None
    assert trace.nested.to_pylist() == oracle.nested(expected)
    counted = [
        note["rows"]
        for key in ("aggregate_rows_left_out", "rows_set_aside")
        for note in figures_of(trace.notes, key)
    ]
    assert sum(counted) == repeated + aside
