"""read_trace and the slow reader on TensorFlow's own classes give the same events of an XSpace."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import each, xspace_files
from tests.support import xspace_oracle

pytestmark = pytest.mark.tensorflow

FILES = xspace_files()
SMALL = [path for path in FILES if "60steps" not in path.name]
COLUMNS = ("step", "kind", "name", "op", "start_ns", "duration_ns", "scheduled_ns", "bytes", "detail")


def plain(trace: tv.Trace) -> list[dict[str, Any]]:
    """Return the events as plain Python values, with None for unknown ones."""
    table = trace.events[list(COLUMNS)].astype(object)
    assert trace.nested is not None
    values = [table[name].where(table[name].notna(), None).tolist() for name in COLUMNS]
    names = (*COLUMNS, "raw_device")
    raw = trace.nested["raw_device"].to_pylist()
    return [dict(zip(names, row, strict=True)) for row in zip(*values, raw, strict=True)]


def key_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the comparable values of a row; fields unknown to the oracle are left out of both."""
    return tuple(str(row[name]) for name in (*COLUMNS, "raw_device"))


@pytest.mark.parametrize("path", each(FILES))
def test_each_line_of_each_plane(path: Path) -> None:
    space = xspace_oracle.load(path)
    trace = tv.read_trace(path, threadpool=True)
    assert trace.nested is not None
    raw = trace.nested["raw_device"].combine_chunks()
    counts = np.bincount(raw.indices, minlength=len(raw.dictionary))
    durations = pd.Series(trace.events["duration_ns"].to_numpy()).groupby(raw.indices.to_numpy()).sum()
    got = {
        name: (int(counts[place]), int(durations.get(place, 0)))
        for place, name in enumerate(raw.dictionary.to_pylist())
    }
    assert got == xspace_oracle.sums(space)


@pytest.mark.parametrize("threadpool", [False, True])
@pytest.mark.parametrize("path", each(SMALL))
def test_each_event(path: Path, threadpool: bool) -> None:
    expected = xspace_oracle.read(xspace_oracle.load(path), threadpool=threadpool)
    got = plain(tv.read_trace(path, threadpool=threadpool))
    assert len(got) == len(expected)
    of_jax = any(row["name"].startswith("PjitFunction(") for row in got)
    for row, wanted in zip(got, expected, strict=True):
        if of_jax:
            # Steps of compiled functions of JAX are tried in tests of their own.
            row["step"] = wanted["step"] = None
        if wanted["kind"] is None:
            # Lines of XLA are tried in tests of their own.
            row["kind"] = row["detail"] = row["bytes"] = None
    wrong = [
        (key_of(row), key_of(wanted))
        for row, wanted in zip(sorted(got, key=key_of), sorted(expected, key=key_of), strict=True)
        if key_of(row) != key_of(wanted)
    ]
    assert wrong[:3] == []
