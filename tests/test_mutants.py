"""Damaged traces of every format are an error by name or survive everything, with a fixed sample of them.

``python -m benchmarks.mutants`` tries any number of others.
"""

import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.mutants import everything
from tests.mutants.attack import attack, damaged
from tests.mutants.samples import JSON, PARQUET, PICKLE, PROTOBUF, SESSION, TEXT, Sample, samples
from tfvis_nb.analysis import metrics

ROOT = Path(__file__).parents[1]
FIRST = 1_000_000
FORMS = [JSON, PARQUET, PICKLE, PROTOBUF, TEXT]


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.thorough)])
def test_a_sample_of_mutants(count: int) -> None:
    """In a process of its own, whose memory is limited: a fault must not take the machine with it."""
    numbers = [str(number) for number in range(FIRST, FIRST + count)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants.attack", *numbers],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-200:]}\n{done.stderr[-4000:]}"
    assert len(done.stdout.splitlines()) == len(numbers)
    assert "a sound trace" in done.stdout
    assert "TraceFormatError" in done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_mutants_are_reproducible_and_differ_from_their_origin(form: str) -> None:
    def made() -> list[bytes]:
        return [damaged(one.data, form, other, random.Random(seed)) for seed in range(40)]

    one, *others = [sample for sample in samples() if sample.form == form]
    other = others[0].data if others else one.data[::-1]
    first = made()
    assert first == made()
    assert sum(data != one.data for data in first) > 25
    assert len(set(first)) > 20


def test_a_number_is_always_the_same_mutant() -> None:
    chosen: list[Sample] = [attack(seed).sample for seed in range(200)]
    assert chosen == [attack(seed).sample for seed in range(200)]
    assert {one.form for one in chosen} == {one.form for one in samples()} == {*FORMS, SESSION}


def test_every_analysis_is_among_everything() -> None:
    modules = {one.name.rpartition(".")[0] for one in everything.analyses()}
    # These are asked for single instructions and for changes.
    apart = {"programs.fused_instructions", "prediction.predicted"}
    assert modules >= set(metrics.MODULES.values()) - apart
    assert {one.option for one in everything.analyses()} == {"", "by", "between"}


def test_faults_of_mutants_are_found() -> None:
    trace = tv.read_trace(samples()[0].data)
    trace.__dict__["lanes"] = trace.lanes.assign(busy_ns=-1)
    with pytest.raises(AssertionError, match="lane"):
        everything.sound_tables(trace)


def test_nested_records_without_numbers_are_the_same() -> None:
    def table(share: float) -> pa.Table:
        return pa.table({"fragmentation": [share, None]})

    assert everything.same_records(table(float("nan")), table(float("nan")))
    assert not everything.same_records(table(float("nan")), table(0.0))
    assert not everything.same_records(table(0.5), None)
