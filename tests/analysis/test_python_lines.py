"""Samples of Python code, counted by line and by their pause between steps."""

from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tfvis_nb import events
from tfvis_nb.analysis import python_lines, why_not
from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, table_of

# Before the steps, in one, between, in the other, after them.
TIMES = {"before": [1, 5], "in_steps": [10, 20, 55], "between": [21, 30, 40, 49], "after": [61]}


def trace(samples: list[dict[str, Any]], pauses: list[dict[str, Any]] | None = None) -> tv.Trace:
    columns = {
        "start_ns": [0, 10, 50, 90],
        "duration_ns": [1, 10, 10, 10],
        "kind": ["op"] * 4,
        "step": [-1, 0, 1, -1],
    }
    metadata = {PYTHON_SAMPLES: table_of(PYTHON_SAMPLES, samples)}
    if pauses is not None:
        metadata[GC_PAUSES] = table_of(GC_PAUSES, pauses)
    return tv.Trace(events.build(columns), metadata=metadata)


def sample(time: int, line: int | None = 7) -> dict[str, Any]:
    known = {} if line is None else {"file": "train.py", "line": line, "function": "main"}
    return {"time_ns": time, **known}


def test_samples_count_for_their_stretch() -> None:
    table = python_lines(trace([sample(time) for times in TIMES.values() for time in times]))
    assert table[[*TIMES]].to_dict("records") == [{name: len(times) for name, times in TIMES.items()}]
    assert table[["share", "between_share"]].values.tolist() == [[1.0, 1.0]]


def test_samples_without_a_line_count_in_shares() -> None:
    lines = [sample(30, 8), sample(31, 8), sample(32, 9), sample(33, None), sample(5, 9)]
    table = trace(lines).python_lines
    assert table["line"].tolist()[:2] == [8, 9]
    assert table["line"].isna().tolist() == [False, False, True]
    assert table["between_share"].tolist() == [0.5, 0.25, 0.25]
    assert table["share"].tolist() == [0.4, 0.4, 0.2]


def test_missing_samples_or_steps_have_a_reason() -> None:
    assert why_not(python_lines(trace([]))).id == "no_python_samples"
    without = trace([sample(30)])
    assert why_not(python_lines(tv.Trace(without.events))).id == "no_python_samples"
    loose = without.events.assign(step=without.events["step"] * 0 - 1)
    assert why_not(python_lines(tv.Trace(loose, metadata=without.metadata))).id == "no_steps"


@pytest.mark.parametrize("shared", [True, False], ids=["anonymized", "without source"])
def test_shared_traces_have_pauses_but_no_samples(shared: bool, tmp_path: Path) -> None:
    made = trace([sample(30)], [{"time_ns": 22, "duration_ns": 3, "generation": 2}])
    made.to_parquet(tmp_path / "t.parquet")
    words = "--anonymize" if shared else "--no-source"
    from tfvis_nb.cli import main

    assert main(["export", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "s.parquet"), words]) == 0
    read = tv.read_trace(tmp_path / "s.parquet")
    assert PYTHON_SAMPLES not in read.metadata
    assert b"train.py" not in (tmp_path / "s.parquet").read_bytes()
    later = int(read.events["start_ns"].iloc[0])
    assert read.metadata[GC_PAUSES][["time_ns", "duration_ns"]].values.tolist() == [[22 + later, 3]]


def test_samples_of_many_recordings_are_thinned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tfvis_nb.core.metadata.MOST_ROWS", 10)
    several = [trace([sample(100 * number + time, 7 + time % 2) for time in range(8)]) for number in range(3)]
    merged = tv.read_trace(several)
    read = tv.read_trace(merged.to_parquet(tmp_path / "t.parquet"))
    assert read.metadata[PYTHON_SAMPLES]["time_ns"].tolist() == [*range(0, 8, 3), 101, 104, 107, 202, 205]


def test_times_move_with_those_of_events() -> None:
    from tfvis_nb.clocks.shift import moved_later

    moved = moved_later(trace([sample(30)], [{"time_ns": 22}]), 1000)
    assert [moved.metadata[name]["time_ns"].tolist() for name in (PYTHON_SAMPLES, GC_PAUSES)] == [
        [1030],
        [1022],
    ]
