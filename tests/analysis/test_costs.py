"""Cost graphs, compared with TensorFlow's own classes."""

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tfvis_nb.analysis import costs, why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.schema import message_class

GPU = "/job:a/replica:0/task:0/device:GPU:0"


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["cpu_tf221_cost_model.pb.xz", "run_meta.v1"])
def test_same_costs_as_tensorflow_reads(name: str, data: Path) -> None:
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    content = (data / name).read_bytes()
    message = RunMetadata.FromString(lzma.decompress(content) if name.endswith(".xz") else content)
    table = tv.read_trace(data / name).costs.set_index("name")
    assert len(table) == len(message.cost_graph.node)
    ended = {row.node_name: row.op_end_rel_micros for row in message.step_stats.dev_stats[0].node_stats}
    for node in message.cost_graph.node:
        row = table.loc[node.name].to_dict()
        assert row["compute_cost_ns"] == (node.compute_cost * 1000 or None)
        assert row["output_bytes"] == sum(output.size for output in node.output_info)
        assert bool(row["count"]) == (bool(node.device) and node.name in ended)
        if row["count"]:
            assert row["measured_ns"] == pytest.approx(ended[node.name] * 1000, abs=1000)
            error = node.compute_cost * 1000 - row["measured_ns"] if node.compute_cost else None
            assert row["error_ns"] == error
    off = table["error_ns"].dropna().abs().to_numpy(np.int64)
    assert (np.diff(off) <= 0).all()


def with_costs(**estimates: int) -> Trace:
    """Return a trace of an op of 50 ns, with two kernels of 4 and 5 us, that a cost graph estimates."""
    metadata: Any = message_class("RunMetadata")()
    for name in (b"a", b"other"):
        metadata.cost_graph.node.add(name=name, device=GPU.encode(), **estimates)
    metadata.cost_graph.node[0].output_info.add(size=2**62)
    metadata.cost_graph.node[0].output_info.add(size=-1)
    columns = {
        "start_ns": [0, 10, 5_000],
        "duration_ns": [50, 4_000, 5_000],
        "kind": ["op", "kernel", "kernel"],
        "lane": ["ops", "stream:1", "stream:1"],
        "device": [GPU] * 3,
        "op": ["MatMul"] * 3,
        "name": ["a"] * 3,
    }
    return Trace(tv.events.build(columns), run_metadata=[metadata.SerializeToString()])


@pytest.mark.parametrize(
    ("estimates", "error_ns"),
    [
        ({"compute_cost": 12}, 3_000),
        ({"compute_cost": 12, "compute_time": 2, "memory_time": 7}, -2_000),
        ({"compute_cost": 12, "memory_time": 11}, 2_000),
        ({"compute_cost": 2**62}, 2**52 * 1000 - 9_000),
    ],
)
def test_an_analytical_estimate_goes_before_the_observed_cost(
    estimates: dict[str, int], error_ns: int
) -> None:
    first, other = costs(with_costs(**estimates)).to_dict("records")
    assert (first["name"], first["measured_ns"], first["error_ns"]) == ("a", 9_000, error_ns)
    assert first["output_bytes"] == 2**62
    assert (other["name"], other["count"]) == ("other", 0)
    assert tv.Trace(with_costs().events).costs.empty


def test_unknown_costs_are_missing_and_no_zeros() -> None:
    table = with_costs().costs
    assert table[["compute_cost_ns", "compute_time_ns", "memory_time_ns", "error_ns"]].isna().all(axis=None)


def test_without_a_cost_graph_there_is_a_reason(data: Path) -> None:
    assert why_not(tv.read_trace(data / "local_mlp_step1.pb").costs).id == "no_cost_graph"
    none = Trace(tv.events.build({}, rows=0), run_metadata=with_costs(compute_cost=1).run_metadata)
    assert none.costs["measured_ns"].isna().all()
