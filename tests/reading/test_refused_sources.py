"""Sources that read_trace rejects, with a message that names the given value."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.protobuf_bytes import field, number
from tests.support.step_stats import one_op
from tests.support.texts import raises_id, says
from tfvis_nb.session.file.database import connect
from tfvis_nb.texts import Text

GRAPH = field(1, field(1, b"dense/kernel") + field(2, b"Const")) + field(4, number(1, 1882))
SAVED_MODEL = number(1, 1) + field(2, field(1, field(4, b"serve")) + field(2, GRAPH))


@pytest.mark.parametrize(
    ("source", "key", "figures"),
    [
        (b'{"a": 1}', "json_without_events", {"keys": "'a'"}),
        (b'[{"ph" oops]', "json_damaged", {"byte": 7}),
        (b"<!DOCTYPE html><p>", "foreign_format", {"what": Text("is_web_page")}),
        (b"PK\x03\x04" + bytes(60), "foreign_format", {"what": Text("is_zip")}),
        (b"\x80\x04\x95" + bytes(20) + b".", "pickle_instruction", {"byte": 11}),
        (b"ctensorflow.core.protobuf.config_pb2\nRunMetadata\n.", "pickle_of_other", {"type": "Global"}),
        (field(1, number(8, 5) + number(10, 1)), "foreign_format", {"what": Text("is_perfetto")}),
        (SAVED_MODEL, "foreign_format", {"what": Text("is_saved_model")}),
        (GRAPH, "foreign_format", {"what": Text("is_graph")}),
        (b"version https://git-lfs.github.com/spec/v1\n", "foreign_format", {"what": Text("is_lfs_pointer")}),
        (b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal", "foreign_format", {"what": Text("is_nsys_report")}),
        (b"hello, this is a log\n", "foreign_format", {"what": Text("is_text", start="hello,")}),
        ("# Änderungen …\n".encode(), "foreign_format", {"what": Text("is_text", start="#")}),
        (b"node {\n  name: 'a'\n}", "foreign_format", {"what": Text("is_text", start="node")}),
        (b"PAR1 and then something else", "ends_early", {"what": "a Parquet file", "byte": 28}),
        (b"PAR1 and then something else PAR1", "parquet_damaged", {}),
        (b"\x1f\x8b\x08\x00 not gzip", "ends_early", {"what": "a gzip file", "byte": 13}),
        (b"\xfd7zXZ\x00 not xz", "packed_file_damaged", {"kind": "xz", "bytes": 13}),
        (b"\x7a\x03abc", "no_known_field", {"message": "RunMetadata"}),
        (b"\x0a\x05abcde", "message_damaged", {}),
        (b"\xff" * 40, "message_damaged", {}),
    ],
)
def test_foreign_bytes_are_refused_by_name(source: bytes, key: str, figures: dict[str, Any]) -> None:
    with raises_id(tv.TraceFormatError, key, **figures) as caught:
        tv.read_trace(source)
    assert not isinstance(caught.value, tv.EmptyTraceError)
    assert says(str(caught.value), key, **figures)


def test_the_message_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.pb"
    path.write_bytes(b"\x0a\x05abcde")
    with raises_id(
        tv.TraceFormatError,
        "message_damaged",
        damage=Text(
            "in_message_at_byte", path="step_stats", byte=2, reason=Text("field_too_long", number=12, bytes=4)
        ),
    ):
        tv.read_trace(path)


def test_a_truncated_file_is_refused_wherever_it_ends(data: Path) -> None:
    content = (data / "local_mlp_step1.pb").read_bytes()
    for end in range(1, len(content), 997):
        with raises_id(tv.TraceFormatError, "message_cut_off"):
            tv.read_trace(content[:end])


def test_the_offending_field_is_named() -> None:
    good = one_op()
    bad = good.replace(b"\x10\x46", b"\x15\x46")
    with raises_id(
        tv.TraceFormatError,
        "message_damaged",
        damage=Text(
            "in_message_at_byte",
            path="dev_stats[0].node_stats[0].all_start_micros",
            byte=38,
            reason=Text("wire_type_wrong", wire_type=5, wanted=0),
        ),
    ):
        tv.read_trace(bad)


@pytest.mark.parametrize("source", [b"", [b"", b""], b"\x0a\x00"])
def test_empty_sources_say_which_option_fills_them(source: object) -> None:
    with pytest.raises(tv.EmptyTraceError) as caught:
        tv.read_trace(source)
    assert Text("record_one") in str(caught.value)


def test_graphs_alone_are_an_empty_trace(data: Path) -> None:
    with raises_id(tv.EmptyTraceError, "graphs_without_run", graphs=1):
        tv.read_trace(data / "cpu_tf221_partition_graphs_only.pb.xz")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tv.read_trace(tmp_path / "nothing.pb")


@pytest.mark.parametrize("source", [7, None, {"a": 1}, object(), pd.DataFrame({"a": [1]}), [object()]])
def test_other_objects_are_refused(source: object) -> None:
    said = "no_source"
    with raises_id(TypeError, said):
        tv.read_trace(source)


@pytest.mark.tensorflow
def test_other_messages_are_refused() -> None:
    from tensorflow.core.framework.graph_pb2 import GraphDef

    with raises_id(TypeError, "unknown_message", message="GraphDef"):
        tv.read_trace(GraphDef())


def test_the_error_for_a_session_names_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "copy.tfvis"
    connect(path, create=True).close()
    with raises_id(tv.TraceFormatError, "foreign_format", what=Text("is_session")) as caught:
        tv.read_trace(path)
    assert "copy.tfvis" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        (np.zeros(3), TypeError, "no_source"),
        (pd.DataFrame({"a": [1]}), TypeError, "no_source"),
        ([], tv.EmptyTraceError, "source_empty"),
        ("", ValueError, "path_empty"),
    ],
)
def test_values_that_are_no_source(source: Any, error: type[Exception], said: str) -> None:
    with raises_id(error, said):
        tv.read_trace(source)
