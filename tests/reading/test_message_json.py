"""RunMetadata and StepStats as protobuf's JSON, and forms of its text that are refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from tensorflow.core.protobuf.config_pb2 import RunMetadata

import tfvis_nb as tv
from tests.support import oracle
from tests.support.texts import figures_of, raises_id
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow

RUNS = (
    "cpu_tf18_dist.pb.xz",
    "cpu_tf115_dist.pb.xz",
    "gpu_tf218_mlp.pb.xz",
    "local_mlp_step1.pb",
    "run_meta.v1",
)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("options", [{}, {"preserving_proto_field_name": True, "indent": None}])
@pytest.mark.parametrize("bare", [True, False])
def test_json_of_a_message_gives_its_table(name: str, options: Any, bare: bool, data: Path) -> None:
    step = oracle.load(data / name)
    message = step if bare else RunMetadata(step_stats=step)
    text = json_format.MessageToJson(message, **options)
    found, expected = tv.read_trace(text.encode()), tv.read_trace(message)
    assert found.events.equals(expected.events)
    assert found.nested == expected.nested


def test_graphs_in_json_are_left_out_with_a_note(data: Path) -> None:
    message = RunMetadata.FromString((data / "local_mlp_step1.pb").read_bytes())
    trace = tv.read_trace(json_format.MessageToJson(message).encode())
    assert len(trace.events) == 63
    assert figures_of(trace.notes, "message_parts_left_out") == [
        {"message": "RunMetadata", "fields": "partitionGraphs"}
    ]


@pytest.mark.parametrize(
    "step", [7, {"devStats": 3}, {"devStats": [{"nodeStats": [{"allStartMicros": "x"}]}]}]
)
def test_damaged_json_of_a_message_is_refused(step: Any) -> None:
    with raises_id(tv.TraceFormatError, "message_json_damaged"):
        tv.read_trace(json.dumps({"stepStats": step}).encode())
    with raises_id(tv.TraceFormatError, "message_json_damaged"):
        tv.read_trace(b'{"stepStats": {"devStats": [')


def test_a_debug_string_is_named() -> None:
    debug = b'goo.gle/debugonly  step_stats { dev_stats { device: "/cpu:0" } }'
    with raises_id(tv.TraceFormatError, "foreign_format", what=Text("is_debug_string")):
        tv.read_trace(debug)
