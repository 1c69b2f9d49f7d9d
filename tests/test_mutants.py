"""Damaged files of every format are an error by name or a sound table: never another error, never for ever.

``python -m benchmarks.mutants`` does the same to many more.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.mutation import at_most, content, mutant, outcome
from tests.real_traces import DATA

SAMPLES = sorted(path for path in DATA.iterdir() if path.suffix != ".md")
EACH = 10


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_damaged_files(path: Path) -> None:
    data = content(path)
    name = zlib.crc32(path.name.encode())
    other = content(SAMPLES[name % len(SAMPLES)])
    outcomes = set()
    for number in range(EACH):
        with at_most(60):
            outcomes.add(outcome(mutant(data, other, name + number)))
    assert outcomes <= {"a table", "TraceFormatError", "EmptyTraceError"}


def test_mutants_are_the_same_every_time_and_differ_from_their_origin() -> None:
    data = bytes(range(256)) * 10
    made = [mutant(data, data[::-1], seed) for seed in range(50)]
    assert made == [mutant(data, data[::-1], seed) for seed in range(50)]
    assert sum(one != data for one in made) > 40
    assert len(set(made)) > 40
