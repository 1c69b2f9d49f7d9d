"""Data about the recorded trace in a predicted one, in files and in parts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.large_traces import answers_of
from tests.real_traces import DATA, real_trace
from tests.wire_reader import optional, read_container, wire_rows
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.subset import subset
from tfvis_nb.core.metadata import PREDICTED_STEPS, PREDICTION, table_of
from tfvis_nb.core.nested_columns import MOVED, RECORDED_DURATION
from tfvis_nb.core.prediction import is_predicted, moved, prediction_sentence
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.details import details
from tfvis_nb.texts import Text

TASK = "/job:worker/replica:0/task:1"


@pytest.fixture(scope="module")
def predicted() -> Any:
    return real_trace(DATA / "gpu_tf221_mlp.pb.xz").what_if(activities={"launch": 0.5})


def odd(**nested: Any) -> Trace:
    table = events.build({"start_ns": [5, 6], "duration_ns": [3, 4], "kind": ["op"] * 2})
    metadata = {PREDICTION: table_of(PREDICTION, [{"factor": -1.0}, {"name": "\u202e" * 900}])}
    return Trace(table, nested=pa.table(nested) if nested else None, metadata=metadata)


def test_a_recorded_trace_is_not_predicted() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    assert not is_predicted(trace)
    assert (moved(trace), prediction_sentence(trace)) == (None, "")
    header, columns = read_container(bar_bytes(trace))
    assert header["predicted"] == ""
    assert "changed" not in columns


def test_recorded_times_are_those_of_the_recorded_trace(predicted: Any) -> None:
    found, recorded = moved(predicted), predicted.recorded.events.iloc[predicted.rows]
    assert found is not None
    assert ((predicted.events["start_ns"] - found.later_ns).array == recorded["start_ns"].array).all()
    assert (found.duration_ns == recorded["duration_ns"].array).all()
    assert found.later_ns.any()


def test_the_sentence_has_the_times_and_the_changes(predicted: Any) -> None:
    sentence = prediction_sentence(predicted)
    assert isinstance(sentence, Text)
    assert sentence.id == "predicted_step"
    assert sentence.figures["changes"] == "launch \N{MULTIPLICATION SIGN} 0.5"
    assert sentence.figures["step"] == "step"
    assert predicted.overview["headline"] == f"{sentence}."
    again = predicted.what_if(ops={"MatMul": 2})
    assert "launch" in prediction_sentence(again)
    assert "MatMul" in prediction_sentence(again)
    assert {note.id for note in predicted.notes} >= {"times_predicted"}


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_files_keep_it(predicted: Any, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"step.{form}"
    predicted.to_parquet(path) if form == "parquet" else predicted.to_chrome_trace(path)
    read = tv.read_trace(path)
    assert prediction_sentence(read) == prediction_sentence(predicted)
    for one, other in zip(moved(predicted) or (), moved(read) or (), strict=True):
        assert (one == other).all()
    if form == "json":
        other_data = json.loads(path.read_text(encoding="utf-8"))["otherData"]
        (change,) = other_data[PREDICTION]
        assert change == {"subject": "activities", "name": "launch", "factor": 0.5, "how": None}


def test_parts_and_pictures_keep_it(predicted: Any) -> None:
    part = subset(predicted, np.arange(10, 40))
    assert prediction_sentence(part) == prediction_sentence(predicted)
    header, columns = read_container(bar_bytes(part))
    found = moved(part)
    assert found is not None
    assert header["predicted"] == prediction_sentence(part)
    rows = wire_rows(columns["slot"])
    changed = abs(part.events["duration_ns"].to_numpy() - found.duration_ns) > 1
    assert [columns["changed"][row] for row in rows] == changed.astype(int).tolist()
    outline, _ = read_container(
        answers_of(lay_out(part, order_lanes(part.events))).outline_bytes("", "windows")
    )
    assert outline["predicted"] == header["predicted"]
    header, columns = read_container(details(part))
    for name, values in (("later", found.later_ns), ("recorded_duration", found.duration_ns)):
        sent = optional(header, columns, name)
        assert [sent[row] for row in rows] == values.tolist()


@pytest.mark.parametrize(
    "nested",
    [
        {},
        {MOVED: pa.array([2**64 - 1, None], pa.uint64()), RECORDED_DURATION: pa.array([-5, 2**63 - 1])},
        {MOVED: pa.array([None, None], pa.int8())},
    ],
)
def test_odd_metadata_is_shown(nested: dict[str, pa.Array]) -> None:
    trace = odd(**nested)
    assert prediction_sentence(trace)
    assert "\u202e" not in prediction_sentence(trace)
    assert len(prediction_sentence(trace)) < 400
    assert len(bar_bytes(trace)) > 0
    assert len(details(trace)) > 0
    assert "<img" in trace._repr_html_()


def test_damaged_metadata_of_a_chrome_trace_is_left_out(predicted: Any) -> None:
    body = json.loads(predicted.to_chrome_trace())
    body["otherData"][PREDICTION] = [{"factor": "half"}]
    read = tv.read_trace(json.dumps(body).encode())
    assert not is_predicted(read)
    assert "metadata_damaged" in {note.id for note in read.notes if isinstance(note, Text)}


def test_a_task_on_time_has_its_short_name() -> None:
    rows = [{"subject": "on_time", "name": TASK}]
    steps = [{"step": 0, "recorded_ns": 20, "replayed_ns": 20, "predicted_ns": 10}]
    metadata = {PREDICTION: table_of(PREDICTION, rows), PREDICTED_STEPS: table_of(PREDICTED_STEPS, steps)}
    trace = Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}), metadata=metadata)
    sentence = prediction_sentence(trace)
    assert isinstance(sentence, Text)
    assert sentence.figures["changes"] == "worker 1 on time"
    assert (sentence.figures["predicted"], sentence.figures["recorded"]) == ("10 ns", "20 ns")


def test_the_sentence_is_about_the_recorded_median_step() -> None:
    """Predicted, another step is the median one."""
    recorded, predicted = (10, 20, 30), (10, 5, 15)
    steps = [
        {"step": step, "recorded_ns": before, "replayed_ns": before, "predicted_ns": after}
        for step, (before, after) in enumerate(zip(recorded, predicted, strict=True))
    ]
    metadata = {PREDICTION: table_of(PREDICTION, []), PREDICTED_STEPS: table_of(PREDICTED_STEPS, steps)}
    trace = Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}), metadata=metadata)
    sentence = prediction_sentence(trace)
    assert isinstance(sentence, Text)
    figures = {name: sentence.figures[name] for name in ("step", "predicted", "recorded")}
    assert figures == {"step": "recorded median step", "predicted": "5 ns", "recorded": "20 ns"}
