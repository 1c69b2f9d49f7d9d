"""All fields of nested records are kept, in all formats."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf import text_format
from hypothesis import example, given
from hypothesis import strategies as st
from tensorflow.core.framework.step_stats_pb2 import StepStats
from tensorflow.core.protobuf.config_pb2 import RunMetadata

import tfvis_nb as tv
from tests.support import oracle
from tests.wire_reader import read_container
from tfvis_nb.core.nested_lists import with_same_fields
from tfvis_nb.display.wire.details import details
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
NOW = 1_795_211_642_650_805
WHOLE = st.integers(0, 2**63 - 1)
IDS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)
ALLOCATION = st.fixed_dictionaries(
    {},
    optional={
        "requested_bytes": WHOLE,
        "allocated_bytes": WHOLE,
        "allocator_name": st.sampled_from(["cpu", "GPU_0_bfc"]),
        "allocation_id": WHOLE,
        "has_single_reference": st.booleans(),
        "ptr": WHOLE,
    },
)
DIM = st.fixed_dictionaries(
    {}, optional={"size": st.integers(-1, 64), "name": st.sampled_from(["batch", "\u03bb"])}
)
SHAPE = st.fixed_dictionaries({}, optional={"dim": st.lists(DIM, max_size=3), "unknown_rank": st.booleans()})
TENSOR = st.fixed_dictionaries({}, optional={"shape": SHAPE, "allocation_description": ALLOCATION})
MEMORY_STATS = st.fixed_dictionaries(
    {},
    optional={
        **{
            f"{where}{kind}_memory_size": WHOLE
            for where in ("", "device_")
            for kind in ("temp", "persistent")
        },
        **{f"{where}persistent_tensor_alloc_ids": IDS for where in ("", "device_")},
    },
)
NODE = st.fixed_dictionaries(
    {},
    optional={
        "output": st.lists(st.fixed_dictionaries({}, optional={"tensor_description": TENSOR}), max_size=2),
        "referenced_tensor": st.lists(ALLOCATION, max_size=2),
        "memory_stats": MEMORY_STATS,
    },
)


def run(*nodes: dict[str, Any]) -> RunMetadata:
    """A step of ops that run one after the other."""
    times = [{"node_name": f"op{at}", "all_start_micros": NOW + at, **node} for at, node in enumerate(nodes)]
    return RunMetadata(step_stats=StepStats(dev_stats=[{"device": CPU, "node_stats": times}]))


def nested(trace: tv.Trace) -> list[dict[str, Any]]:
    assert trace.nested is not None
    rows: list[dict[str, Any]] = trace.nested.to_pylist()
    return rows


EVERYTHING: dict[str, Any] = {
    "output": [
        {
            "tensor_description": {
                "shape": {"dim": [{"size": 32, "name": "batch"}, {"size": 3}]},
                "allocation_description": {"allocation_id": 7, "has_single_reference": True},
            }
        },
        {"slot": 1, "tensor_description": {"allocation_description": {"allocation_id": 8}}},
    ],
    "referenced_tensor": [{"allocator_name": "cpu", "requested_bytes": 64, "allocation_id": 9}],
    "memory_stats": {
        "temp_memory_size": 1,
        "device_temp_memory_size": 2,
        "persistent_memory_size": 3,
        "device_persistent_memory_size": 4,
        "persistent_tensor_alloc_ids": [5, 6],
        "device_persistent_tensor_alloc_ids": [7],
    },
}
ALONE = {"raw_device", "outputs", "memory", "temp_bytes", "persistent_bytes"}


@example([{"memory_stats": {"device_persistent_tensor_alloc_ids": [0]}}])
@given(st.lists(NODE, min_size=1, max_size=3))
def test_any_records_are_those_of_the_official_classes(nodes: list[dict[str, Any]]) -> None:
    made = run(*nodes)
    rows, _, _ = oracle.read([made.step_stats])
    assert nested(tv.read_trace(made.SerializeToString())) == oracle.nested(rows)
    assert nested(tv.read_trace(text_format.MessageToString(made).encode())) == oracle.nested(rows)


def test_text_format_leaves_none_of_them_out() -> None:
    trace = tv.read_trace(text_format.MessageToString(run(EVERYTHING)).encode())
    assert [id_of(note) for note in trace.notes] == ["labels_unknown"]
    assert nested(trace) == nested(tv.read_trace(run(EVERYTHING).SerializeToString()))


def test_columns_follow_the_source() -> None:
    row = nested(tv.read_trace(run({}).SerializeToString()))[0]
    assert set(row) == ALONE
    plain = {"output": [{"tensor_description": {"allocation_description": {"ptr": 64}}}]}
    outputs = nested(tv.read_trace(run(plain).SerializeToString()))[0]["outputs"]
    assert {"allocation_id", "single_reference", "dim_names"}.isdisjoint(outputs[0])


def test_files_with_and_without_them_are_one_trace(tmp_path: Path) -> None:
    without: dict[str, Any] = {"output": [{"slot": 2}]}
    both = [
        tv.read_trace(run(nodes).SerializeToString()).to_parquet(tmp_path / f"{name}.parquet")
        for name, nodes in (("with", EVERYTHING), ("without", without))
    ]
    trace = tv.read_trace(both)
    rows = nested(trace)
    assert [output["allocation_id"] for row in rows for output in row["outputs"]] == [7, 8, None]
    assert [row["referenced"] and row["referenced"][0]["allocation_id"] for row in rows] == [9, None]
    assert nested(tv.read_trace(trace.to_parquet(tmp_path / "both.parquet"))) == rows
    header, columns = read_container(details(trace))
    assert header["allocators"][columns["referenced_allocator"][0]] == "cpu"
    assert columns["output_buffer"] == [1, 2, 0]


def test_the_fields_of_structs_are_united_and_absent_ones_null() -> None:
    left = pa.table({"a": pa.array([[{"x": 1}], None]), "only": pa.array([1, 2])})
    right = pa.table({"a": pa.array([[], [{"y": "text", "x": 2}]])})
    one, other = with_same_fields([left, right])
    assert one.schema.field("a") == other.schema.field("a")
    assert one["a"].to_pylist() == [[{"x": 1, "y": None}], None]
    assert other["a"].to_pylist() == [[], [{"x": 2, "y": "text"}]]


def test_parquet_older_than_a_field_reads_as_before(tmp_path: Path) -> None:
    trace = tv.read_trace(run(EVERYTHING).SerializeToString())
    path = trace.to_parquet(tmp_path / "trace.parquet")
    table = pq.read_table(path)
    outputs = table["nested.outputs"].combine_chunks()
    fields = [
        field.name
        for field in outputs.type.value_type
        if field.name not in ("allocation_id", "single_reference")
    ]
    structs = pa.StructArray.from_arrays([outputs.values.field(name) for name in fields], fields)
    older = table.set_column(
        table.column_names.index("nested.outputs"),
        "nested.outputs",
        pa.ListArray.from_arrays(outputs.offsets, structs),
    ).drop_columns(["nested.referenced", "nested.persistent_allocation_ids"])
    pq.write_table(older, path)
    _, columns = read_container(details(tv.read_trace(path)))
    assert "output_buffer" not in columns
    assert columns["output_slot"] == [0, 1]


def test_the_wire_holds_all_values_of_the_details() -> None:
    header, columns = read_container(details(tv.read_trace(run({}, EVERYTHING).SerializeToString())))
    assert (columns["output_buffer"], columns["output_buffer_step"]) == ([1, 2], [14, 2])
    assert (columns["referenced_buffer"], columns["referenced_buffer_step"]) == ([2], [18])
    assert (columns["referenced_offsets"], columns["referenced_bytes"]) == ([0, 0, 1], [64])
    assert header["allocators"] == ["cpu"]
    strings = bytes(columns["strings_bytes"]).decode()
    for text in ("[batch=32, 3]", "5, 6", "7"):
        assert text in strings
