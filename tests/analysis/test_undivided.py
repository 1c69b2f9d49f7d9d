"""Recordings that nothing divides into steps are called recordings, and runs steps."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tfvis_nb.analysis import measurements
from tfvis_nb.cli.info import lines
from tfvis_nb.core.undivided import is_undivided
from tfvis_nb.display.overview.card import card
from tfvis_nb.display.overview.findings_block import findings_block

STEP = re.compile(
    r"(?<!outside )(?<!first )(?<!Slow )(?<!into )(?<!out of the )\bsteps?\b(?! marked)", re.IGNORECASE
)
"""Mentions of steps, except steps that the recording lacks and the step of the program."""


def bars(*events: dict[str, Any]) -> bytes:
    named = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "python"}}
    every = ({"ph": "X", "pid": 1, "tid": 1, "ts": 10, "dur": 5} | event for event in events)
    return json.dumps({"traceEvents": [named, *every]}).encode()


def kineto(*marks: str, op: str = "aten::mm") -> bytes:
    work = [
        {"cat": "cpu_op", "name": op, "ts": 1000, "dur": 900},
        {"cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1100, "dur": 200, "args": {"stream": 7}},
        *({"cat": "user_annotation", "name": mark, "ts": 990, "dur": 1000} for mark in marks),
    ]
    data = json.loads(bars(*work))
    return json.dumps({"schemaVersion": 1, "deviceProperties": [], **data}).encode()


UNDIVIDED: dict[str, Any] = {
    "Horovod": DATA / "horovod_timeline.json.xz",
    "PyTorch without marks": kineto(),
    "trace events": bars({"name": "work"}, {"name": "rest", "ts": 100}),
}
RUNS: dict[str, Any] = {
    "RunMetadata": DATA / "horovod_rank0_step3.pb.xz",
    "timeline.py": DATA / "timeline_tf10_gpu.json",
    "PyTorch with a mark": kineto("ProfilerStep#7"),
}


def texts(trace: tv.Trace) -> list[str]:
    """Everything that is said of a trace, but notes of the reader and names of columns."""
    block = findings_block(trace)
    shown = card(trace)
    found = [repr(trace), str(trace.overview), str(trace.findings), *block["measured"], shown["headline"]]
    found += [f"{item['title']} {item['text']} {item['advice']} {item['of']}" for item in block["items"]]
    found += [term for term, _, _ in shown["lines"]] + [bar["label"] for bar in shown["bars"]]
    notes = {f"  {note}" for note in trace.notes}
    return [*found, *(line for line in lines(trace, 5) if line not in notes)]


@pytest.mark.parametrize("source", UNDIVIDED.values(), ids=UNDIVIDED)
def test_no_text_calls_a_recording_a_step(source: Any) -> None:
    trace = tv.read_trace(source)
    assert is_undivided(trace)
    said = texts(trace)
    assert [text for text in said if STEP.search(text)] == []
    assert any("recording" in text for text in said)


@pytest.mark.parametrize("source", RUNS.values(), ids=RUNS)
def test_a_run_is_a_step(source: Any) -> None:
    trace = tv.read_trace(source)
    assert not is_undivided(trace)
    assert not any("the recording" in text for text in texts(trace))
    assert "1 step" in repr(trace)


def test_names_that_mention_steps_are_kept() -> None:
    trace = tv.read_trace(kineto(op="read per step"))
    assert "read per step 900 µs" in str(trace.overview)
    assert trace.findings["text"].str.contains("read per step takes", regex=False).any()


def test_advice_speaks_of_the_step_of_the_program() -> None:
    found = tv.read_trace(kineto()).findings
    assert found["advice"].str.startswith("Move Python and CPU ops out of the step").any()
    assert found["text"].str.contains("of the recording", regex=False).all()


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_files_keep_whether_a_recording_has_steps(suffix: str, tmp_path: Path) -> None:
    trace = tv.read_trace(UNDIVIDED["Horovod"])
    write = trace.to_parquet if suffix == ".parquet" else trace.to_chrome_trace
    again = tv.read_trace(write(tmp_path / f"trace{suffix}"))
    assert again.overview["headline"] == trace.overview["headline"]
    assert trace.anonymized().overview["headline"] == trace.overview["headline"]


def test_recordings_read_together_are_numbered() -> None:
    trace = tv.read_trace([UNDIVIDED["trace events"], RUNS["RunMetadata"]])
    assert not is_undivided(trace)
    assert "2 steps" in repr(trace)


def test_measurements_speak_of_the_recording() -> None:
    found = measurements(tv.read_trace(UNDIVIDED["Horovod"]))["text"]
    assert any("of the recording" in text for text in found)
    assert not any("of step time" in text for text in found)
