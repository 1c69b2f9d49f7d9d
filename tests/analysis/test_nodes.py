"""The nodes of graphs, compared with TensorFlow's own classes."""

import lzma
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import step_stats_files
from tests.support.registered_kernels import register
from tests.wire_reader import optional, read_container, texts, wire_rows
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.graph.gpu_kernels import has_gpu_kernel
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.details import details
from tfvis_nb.reading.protobuf.schema import message_class
from tfvis_nb.texts import id_of

GRAPHS = [path for path in step_stats_files() if path.suffix in (".pb", ".xz") and path.parent.name == "data"]
FUNCTION = """
node {
  name: "a" op: "Unique" device: "/job:a/task:0/device:CPU:0"
  attr { key: "T" value { type: DT_INT64 } }
}
node { name: "b" op: "Relu" }
"""


def message_of(path: Path) -> Any:
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    data = path.read_bytes()
    return RunMetadata.FromString(lzma.decompress(data) if path.suffix == ".xz" else data)


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.name)
def test_same_nodes_as_tensorflow_reads(path: Path) -> None:
    from tensorflow.python.framework.dtypes import as_dtype

    table = tv.read_trace(path).nodes
    nodes = [node for graph in message_of(path).partition_graphs for node in graph.node]
    for name in ("name", "op", "device"):
        assert table[name].astype(str).tolist() == [getattr(node, name) for node in nodes]
    texts = zip(table["attributes"], table["colocation"], table["original_names"], strict=True)
    for node, (attributes, colocation, original_names) in zip(nodes, texts, strict=True):
        classes = [name.decode().removeprefix("loc:@") for name in node.attr["_class"].list.s]
        assert colocation == ", ".join(classes)
        original = list(node.experimental_debug_info.original_node_names)
        assert original_names == ("" if original == [node.name] else ", ".join(original))
        for key, value in node.attr.items():
            kind = value.WhichOneof("value")
            if key.startswith("_"):
                assert f"{key}=" not in attributes
            elif kind in ("b", "i", "type"):
                known: dict[str, Any] = {
                    "b": str(value.b).lower(),
                    "i": value.i,
                    "type": as_dtype(value.type or 1).name,
                }
                assert f"{key}={known[kind]}" in attributes.replace("_ref", "").split(", ")


def test_shapes_lists_and_tensors_are_short(data: Path) -> None:
    table = tv.read_trace(data / "cpu_tf221_cost_model.pb.xz").nodes
    attributes, colocation = (
        table.set_index("name")[name].to_dict() for name in ("attributes", "colocation")
    )
    assert attributes["filter"] == "dtype=float32, shape=[3,3,3,8]"
    assert "strides=[1,2,2,1]" in attributes["relu"].split(", ")
    assert attributes["scaled/y"] == "dtype=float32, value=float32[]"
    assert colocation["scaled"] == "relu"
    assert table["requested_device"].isna().all()


def with_function(damaged: bytes = b"") -> Trace:
    """Return a trace of one op whose function was requested on a GPU before optimisation."""
    from google.protobuf import text_format

    graph = text_format.Parse(FUNCTION, message_class("GraphDef")())
    before = graph.SerializeToString().replace(b"/job:a/task:0/device:CPU:0", b"/device:GPU:0".ljust(26))
    metadata = message_class("RunMetadata")()
    metadata.function_graphs.add().pre_optimization_graph.MergeFromString(before)
    device = ["/job:a/task:0/device:CPU:0", "/job:a/task:0/device:GPU:0"]
    columns = {"start_ns": [0, 1], "duration_ns": [1, 1], "kind": ["op"] * 2, "lane": ["ops"] * 2}
    table = tv.events.build({**columns, "name": ["a", "c"], "op": ["Unique", "C"], "device": device})
    graphs = [[graph.SerializeToString(), *([damaged] if damaged else [])]]
    return Trace(table, graphs=graphs, run_metadata=[metadata.SerializeToString()])


def test_requested_and_assigned_devices() -> None:
    table = with_function().nodes
    assert table["requested_device"].str.strip().tolist() == ["/device:GPU:0", ""]
    assert table["device"].tolist() == ["/job:a/task:0/device:CPU:0", ""]


def test_nodes_of_called_functions_have_requested_devices() -> None:
    from google.protobuf import text_format

    metadata = message_class("RunMetadata")()
    before = text_format.Parse(
        """
        node { name: "x/call" op: "StatefulPartitionedCall" device: "/device:CPU:0"
               attr { key: "f" value { func { name: "outer" } } } }
        library {
          function { signature { name: "outer" }
                     node_def { name: "a" op: "Relu" }
                     node_def { name: "PartitionedCall" op: "PartitionedCall"
                                attr { key: "f" value { func { name: "inner" } } } } }
          function { signature { name: "inner" }
                     node_def { name: "s/b" op: "Relu" device: "/device:GPU:0" } }
        }
        """,
        metadata.function_graphs.add().pre_optimization_graph,
    )
    graph = message_class("GraphDef")()
    ends = {"a": "/device:CPU:0", "PartitionedCall/s/b": "/device:GPU:0", "PartitionedCall/b": "", "b/a": ""}
    for end in ends:
        graph.node.add(name=f"x/call/{end}".encode(), op=b"Relu")
    table = tv.events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})

    def nodes() -> list[str]:
        trace = Trace(
            table, graphs=[[graph.SerializeToString()]], run_metadata=[metadata.SerializeToString()]
        )
        return list(trace.nodes["requested_device"].astype(object).fillna(""))

    assert nodes() == list(ends.values())
    # Two functions that disagree about a node.
    other = metadata.function_graphs.add().pre_optimization_graph
    other.CopyFrom(before)
    other.node[0].device = b"/device:CPU:1"
    assert nodes() == ["", "/device:GPU:0", "", ""]


def test_a_damaged_graph_costs_itself() -> None:
    trace = with_function(b"\x0a\xff")
    assert trace.nodes["name"].tolist() == ["a", "b"]
    assert [id_of(note) for note in trace.notes] == ["damaged_graphs_left_out"]


def test_no_graphs_no_nodes(data: Path) -> None:
    table = tv.read_trace(data / "simple_stepstats.pbtxt").nodes
    assert (len(table), tv.analysis.why_not(table).id) == (0, "no_graphs")


@pytest.fixture
def gpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, {("Unique", "GPU"): [3], ("Unique", "CPU"): [3, 9]})


@pytest.mark.usefixtures("gpu_build")
def test_gpu_kernels_of_an_imported_tensorflow() -> None:
    def node(op: bytes, dtype: int) -> Any:
        made = message_class("NodeDef")(op=op)
        made.attr.add(key=b"T").value.type = dtype
        return made

    asked = [(b"Unique", 3), (b"Unique", 9), (b"MatMul", 101), (b"Other", 1)]
    assert [has_gpu_kernel(node(*one)) for one in asked] == [True, False, True, None]


@pytest.mark.usefixtures("gpu_build")
def test_details_have_the_facts_of_the_graph() -> None:
    trace = with_function()
    header, columns = read_container(details(trace))
    row = wire_rows(order_lanes(trace.events).of_event.tolist())
    index = optional(header, columns, "node")
    assert [index[row[event]] for event in (0, 1)] == [0, None]
    strings = texts(columns["strings_bytes"], columns["strings_offsets"])
    facts = {name: strings[columns[f"node_{name}"][0]].strip() for name in ("requested_device", "gpu_kernel")}
    assert facts == {"requested_device": "/device:GPU:0", "gpu_kernel": "none registered"}
    assert strings[columns["node_attributes"][0]] == "T=int64"


@pytest.mark.usefixtures("gpu_build")
@pytest.mark.parametrize(
    ("requested", "dtype", "reasons"),
    [
        ("/device:CPU:0", 9, [["Unique"], []]),
        ("/job:a/task:0/cpu:0", 3, [["Unique"], []]),
        ("/device:GPU:0", 9, [[], ["Unique"]]),
        ("", 9, [[], ["Unique"]]),
        ("/device:GPU:0", 3, [[], []]),
    ],
)
def test_a_finding_says_why_an_op_is_on_the_cpu(requested: str, dtype: int, reasons: list[list[str]]) -> None:
    graph, metadata = (message_class(name)() for name in ("GraphDef", "RunMetadata"))
    node = graph.node.add(name=b"a", op=b"Unique")
    node.attr.add(key=b"T").value.type = dtype
    before = metadata.function_graphs.add().pre_optimization_graph
    before.node.add(name=b"a", device=requested.encode())
    columns = {
        "start_ns": [0, 5, 50],
        "duration_ns": [5, 45, 5],
        "kind": ["kernel", "op", "kernel"],
        "lane": ["stream:1", "ops", "stream:1"],
        "device": ["/device:GPU:0", "/device:CPU:0", "/device:GPU:0"],
        "op": ["", "Unique", ""],
        "name": ["", "a", ""],
    }
    graphs, rest = [[graph.SerializeToString()]], [metadata.SerializeToString()]
    table = Trace(tv.events.build(columns), graphs=graphs, run_metadata=rest).findings
    (figures,) = table[table["id"] == "cpu_ops"]["figures"]
    assert [figures["requested_cpu"], figures["no_gpu_kernel"]] == reasons
