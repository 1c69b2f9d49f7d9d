"""The parts of a RunMetadata other than its step, compared with TensorFlow's own classes."""

import lzma
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

import tfvis_nb as tv
from tests.support.texts import figures_of, raises_id
from tfvis_nb.reading.stepstats import decode
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow


@pytest.fixture
def recorded(data: Path) -> Any:
    """Return a real run with its cost graph, and with graphs of a function as the eager context has them."""
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    message = RunMetadata.FromString(lzma.decompress((data / "cpu_tf221_cost_model.pb.xz").read_bytes()))
    # Text files lose these.
    graph = message.partition_graphs[0]
    for node in [*graph.node, *(node for function in graph.library.function for node in function.node_def)]:
        node.ClearField("experimental_type")
    function = graph.library.function.add()
    function.signature.name = "called"
    function.signature.input_arg.add(name="x", type=1).handle_data.add(dtype=1)
    function.signature.attr.add(name="T", type="type").default_value.type = 1
    function.node_def.add(name="y", op="Relu", device="/device:GPU:0").attr["T"].type = 1
    function.ret["y"] = "y:activations:0"
    function.arg_attr[0].attr["_user_specified_name"].s = b"x"
    function.resource_arg_unique_id[0] = 7
    graph.library.gradient.add(function_name="called", gradient_func="grad")
    message.session_metadata.name = "serving"
    function = message.function_graphs.add()
    function.partition_graphs.add().CopyFrom(message.partition_graphs[0])
    function.pre_optimization_graph.node.add(name="unique", op="Unique", device="/device:GPU:0")
    function.post_optimization_graph.node.add(name="unique", op="Unique")
    return message


def rest_of(message: Any) -> Any:
    """Return what `Trace.run_metadata` has to hold."""
    rest = type(message)()
    rest.CopyFrom(message)
    for name in ("step_stats", "partition_graphs"):
        rest.ClearField(name)
    for function in rest.function_graphs:
        function.ClearField("partition_graphs")
    return rest


@pytest.mark.parametrize("text", [False, True], ids=["binary", "text"])
def test_graphs_and_costs_are_kept(recorded: Any, text: bool, tmp_path: Path) -> None:
    file = text_format.MessageToString(recorded).encode() if text else recorded.SerializeToString()
    trace = tv.read_trace([file, file])
    assert [len(step) for step in trace.graphs] == [1, 1]
    assert type(recorded.partition_graphs[0]).FromString(trace.graphs[1][0]) == recorded.partition_graphs[0]
    assert [type(recorded).FromString(step) for step in trace.run_metadata] == [rest_of(recorded)] * 2
    assert not any(id_of(note) in ("message_parts_left_out", "fields_skipped") for note in trace.notes)
    again = tv.read_trace(trace.to_parquet(tmp_path / "kept.parquet"))
    assert (again.graphs, again.run_metadata) == (trace.graphs, trace.run_metadata)


def test_graphs_of_functions_are_used_if_there_are_no_others(recorded: Any) -> None:
    recorded.ClearField("partition_graphs")
    trace = tv.read_trace(recorded.SerializeToString())
    (graph,) = trace.graphs[0]
    assert (
        type(recorded.function_graphs[0].partition_graphs[0]).FromString(graph)
        == (recorded.function_graphs[0].partition_graphs[0])
    )
    assert type(recorded).FromString(trace.run_metadata[0]) == rest_of(recorded)


def test_graphs_of_functions_alone_are_no_partition_graphs(recorded: Any) -> None:
    for name in ("step_stats", "partition_graphs"):
        recorded.ClearField(name)
    with raises_id(tv.EmptyTraceError, "graphs_without_run", graphs=1) as refused:
        tv.read_trace(recorded)
    assert "partition" not in str(refused.value)


def test_a_damaged_function_costs_itself(recorded: Any) -> None:
    content = recorded.SerializeToString()
    trace = tv.read_trace(content + b"\x22\x02\x0a\xff")
    assert [id_of(note) for note in trace.notes].count("damaged_graphs_left_out") == 1
    assert trace.run_metadata == tv.read_trace(content).run_metadata


def test_parts_beyond_the_limit_are_left_out(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    size = recorded.cost_graph.ByteSize()
    monkeypatch.setattr(decode, "_MOST_BYTES", size + 10)
    trace = tv.read_trace(recorded.SerializeToString())
    (found,) = figures_of(trace.notes, "message_parts_left_out")
    assert found["fields"] == "function_graphs, session_metadata"
    assert type(recorded).FromString(trace.run_metadata[0]).cost_graph == recorded.cost_graph
