"""Programs with known causes state the expected results before recording."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.known_causes.__main__ import FEWEST_MEASURED, MOST_ASKED_BYTES, report
from benchmarks.known_causes.asking import ask
from benchmarks.known_causes.false_findings import Run, false_findings
from benchmarks.known_causes.judging import judged
from benchmarks.known_causes.program import MARK, load, names
from tests.support.coded_trace import coded
from tfvis_nb import Trace, events

MEASURED = "lock_of_telemetry"


@pytest.mark.parametrize("name", names())
def test_program_states_its_cause_and_lines(name: str) -> None:
    program = load(name)
    text = program.file.read_text().splitlines()
    assert all(text[line - 1].endswith(MARK) for line in program.lines)
    assert program.is_healthy or program.what is not None or program.why_not
    assert program.is_healthy or "\nREPORTED = " in program.file.read_text()


def test_a_third_of_the_programs_is_only_measured() -> None:
    measured = [name for name in names() if load(name).is_measured_only]
    assert 0.2 <= len(measured) / len(names()) <= 0.5


def record_waits(folder: Path, name: str) -> None:
    """Write recordings of a program whose step waits for input, and of its twin."""
    for variant, wait in (("slow", 8_000_000), ("fixed", 1_000)):
        steps = range(8)
        starts = [step * 20_000_000 for step in steps]
        columns = {
            "start_ns": [start for one in starts for start in (one, one + wait)],
            "duration_ns": [wait, 2_000_000] * 8,
            "kind": ["op"] * 16,
            "op": ["IteratorGetNext", "MatMul"] * 8,
            "name": ["next", "matmul"] * 8,
            "device": ["/device:CPU:0"] * 16,
            "step": [step for step in steps for _ in range(2)],
        }
        for repeat in (0, 1):
            stem = f"{name}.{variant}.{repeat}"
            Trace(events.build(columns)).to_parquet(folder / f"{stem}.parquet")
            took = [(wait + 2_000_000) / 1e9] * 8
            times = {"untraced": [took, took], "traced": took, "places": ["read.py:3"]}
            (folder / f"{stem}.json").write_text(json.dumps(times))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of two programs: the second is only measured."""
    folder = tmp_path_factory.mktemp("recordings")
    for name in ("map_without_parallel_calls", MEASURED):
        record_waits(folder, name)
    return folder


def test_judging_compares_findings_with_the_statements(recordings: Path) -> None:
    found = judged("map_without_parallel_calls", recordings)
    assert found is not None
    assert found.names_cause
    assert found.first == "input_bound.all"
    assert not found.names_line  # The trace has no stacks.
    assert found.prediction is not None
    assert found.prediction.predicted_ms == pytest.approx(2, rel=0.01)
    assert found.prediction.off == pytest.approx(0, abs=0.01)
    assert found.separated
    assert found.says_direction
    assert found.comparison is not None
    assert found.comparison.enough
    assert found.comparison.differ
    assert found.false == ()
    assert [pair.differ for pair in found.null_pairs] == [False, False]
    assert found.problems == ()


@pytest.mark.parametrize("count", [1, FEWEST_MEASURED])
def test_report_tells_nothing_of_one_measured_program(
    recordings: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    shown, measured = (judged(name, recordings) for name in ("map_without_parallel_calls", MEASURED))
    assert shown is not None
    assert measured is not None
    report([shown, *[measured] * count], texts=True)
    text, _, third = capsys.readouterr().out.partition("The measured third")
    assert "\n  map_without_parallel_calls  input_bound.all " in text
    assert MEASURED not in text + third
    assert "input_bound" not in third
    assert ("the cause is the first finding" in third) == (count >= FEWEST_MEASURED)


def test_an_assistant_finds_the_line_in_two_calls(tmp_path: Path) -> None:
    coded().to_parquet(tmp_path / "coded.parquet")
    (answer,) = ask([([tmp_path / "coded.parquet"], {"Cell [7]:2"})])
    assert answer.names_line
    assert (answer.calls, answer.size < MOST_ASKED_BYTES) == (2, True)


def test_judging_skips_programs_without_recordings(tmp_path: Path) -> None:
    assert judged("map_without_parallel_calls", tmp_path) is None


def told(step_ns: float, **finding: Any) -> Run:
    """Return a run of steps of one length with one finding."""
    row = {
        "level": "problem",
        "share": 0.5,
        "gain": np.nan,
        "title": "",
        "text": "",
        "advice": "",
        "figures": {},
    }
    trace: Any = SimpleNamespace(
        findings=pd.DataFrame([row | finding] if finding else []),
        steps=pd.DataFrame({"step": range(9), "duration_ns": [step_ns] * 9}),
        stacks=None,
    )
    return Run(trace, np.full(9, step_ns / 1e9))


@pytest.mark.parametrize(
    ("slow", "fixed", "false"),
    [
        ({"id": "input_bound.all", "gain": 0.9}, {"id": "input_bound.first"}, []),
        ({"id": "input_bound.all", "gain": 0.95}, {}, ["slow input_bound.all: gain 95% > 90%"]),
        ({"id": "input_bound.all", "share": 1.2}, {}, ["slow input_bound.all: 120%"]),
        ({"id": "communication"}, {}, ["slow communication: not there"]),
        ({"id": "communication", "level": "minor"}, {}, []),
        ({}, {"id": "input_bound.all"}, ["fixed input_bound.all: not there"]),
        *(
            ({"id": "input_bound.all", "figures": {"lines": [place]}}, {}, false)
            for place, false in (
                ("benchmarks/known_causes/programs/map_without_parallel_calls.py:1", []),
                (
                    "map_without_parallel_calls.py:9999",
                    ["slow input_bound.all: map_without_parallel_calls.py:9999"],
                ),
                ("keras/trainer.py:7", ["slow input_bound.all: keras/trainer.py:7"]),
            )
        ),
    ],
)
def test_false_findings_are_told_by_ids_figures_and_lines(
    slow: dict[str, Any], fixed: dict[str, Any], false: list[str]
) -> None:
    runs = {"slow": [told(1_000, **slow)], "fixed": [told(100, **fixed)]}
    assert [*false_findings(load("map_without_parallel_calls"), runs)] == false
