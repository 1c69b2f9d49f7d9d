"""A trace written by to_parquet is read back unchanged."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tfvis_nb as tv
from tests.support.texts import raises_id
from tfvis_nb import events as event_table


def assert_equal(one: tv.Trace, other: tv.Trace) -> None:
    pd.testing.assert_frame_equal(one.events, other.events)
    for name, dtype in event_table.COLUMNS.items():
        if dtype == "category":
            assert one.events[name].cat.categories.tolist() == other.events[name].cat.categories.tolist()
    assert (one.nested is None) == (other.nested is None)
    if one.nested is not None and other.nested is not None:
        assert one.nested.schema.equals(other.nested.schema)
        assert one.nested.to_pylist() == other.nested.to_pylist()
    assert (one.graphs, one.notes, one.sources, one.title) == (
        other.graphs,
        other.notes,
        other.sources,
        other.title,
    )
    assert one.run_metadata == other.run_metadata
    assert one.step_labels == other.step_labels
    assert one.clock_bounds == other.clock_bounds


@pytest.mark.parametrize(
    "name", ["local_mlp_step1.pb", "gpu_tf218_dist.pb.xz", "simple_stepstats.pbtxt", "cpu_jax.xplane.pb"]
)
def test_round_trip(data: Path, tmp_path: Path, name: str) -> None:
    trace = tv.read_trace([data / name, data / name])
    trace.sources = [b"one", b"two"]
    trace.run_metadata = [b"", b"graphs"]
    path = trace.to_parquet(tmp_path / "trace.parquet")
    assert_equal(trace, tv.read_trace(path))
    assert tv.read_trace(path, title="other").title == "other"


def test_several_row_groups(data: Path, tmp_path: Path) -> None:
    trace = tv.read_trace(data / "local_mlp_step1.pb")
    path = trace.to_parquet(tmp_path / "trace.parquet")
    pq.write_table(pq.read_table(path), path, row_group_size=7)
    assert pq.ParquetFile(path).num_row_groups > 1
    assert_equal(trace, tv.read_trace(path))


def test_empty_table_and_unused_categories(tmp_path: Path) -> None:
    table = event_table.build({"start_ns": [1, 2], "duration_ns": [1, 1], "kind": ["op", "host"]})
    part = tv.Trace(table.iloc[:1])
    assert_equal(part, tv.read_trace(part.to_parquet(tmp_path / "part.parquet")))
    none = tv.Trace(event_table.build({}, rows=0), notes=["nothing"])
    assert_equal(none, tv.read_trace(none.to_parquet(tmp_path / "none.parquet")))


def test_other_programs_see_a_plain_table(data: Path, tmp_path: Path) -> None:
    trace = tv.read_trace(data / "local_mlp_step1.pb")
    table = pd.read_parquet(trace.to_parquet(tmp_path / "trace.parquet"))
    assert table["name"].tolist() == trace.events["name"].tolist()
    assert table["op"].astype(str).tolist() == trace.events["op"].astype(str).tolist()


HEAD = [
    *("version", "title", "notes", "note_ids", "nested", "categories", "graphs", "run_metadata", "sources"),
    *("step_labels", "clocks", "metadata", "counters", "programs", "annotations", "stacks"),
]
VALUES: list[object] = [
    None,
    True,
    -1,
    1.5,
    2**70,
    "x",
    "\ud800",
    [None],
    ["a"],
    [[1, None]],
    [{}],
    {},
    {"a": None},
]


@pytest.mark.parametrize("key", HEAD)
def test_metadata_of_other_types_are_refused_or_can_be_shown(key: str, tmp_path: Path) -> None:
    table = event_table.build({"start_ns": [1, 2], "duration_ns": [1, 1], "kind": ["op"] * 2})
    trace = tv.Trace(table, title="two")
    path = trace.to_parquet(tmp_path / "trace.parquet")
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"tfvis_nb"])
    assert [*head] == HEAD
    for value in VALUES:
        changed = json.dumps(head | {key: value}).encode()
        pq.write_table(table.replace_schema_metadata({b"tfvis_nb": changed}), path)
        try:
            read = tv.read_trace(path)
        except tv.TraceFormatError:
            continue
        repr(read)
        read.to_html()


@pytest.mark.parametrize("name", event_table.OPTIONAL)
def test_a_file_older_than_a_column(name: str, data: Path, tmp_path: Path) -> None:
    trace = tv.read_trace(data / "local_mlp_step1.pb")
    path = trace.to_parquet(tmp_path / "trace.parquet")
    pq.write_table(pq.read_table(path).drop_columns([name]), path)
    older = tv.read_trace(path).events
    pd.testing.assert_frame_equal(older.drop(columns=name), trace.events.drop(columns=name))
    assert (older[name].isna() | (older[name] == "")).all()


def test_other_tables_and_damaged_ones_are_refused(data: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with raises_id(tv.TraceFormatError, "parquet_of_others"):
        tv.read_trace(tmp_path / "other.parquet")
    path = tv.read_trace(data / "local_mlp_step1.pb").to_parquet(tmp_path / "trace.parquet")
    content = path.read_bytes()
    with raises_id(tv.TraceFormatError, "ends_early"):
        tv.read_trace(content[: len(content) // 2])
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["start_ns"]), tmp_path / "lacking.parquet")
    with raises_id(tv.TraceFormatError, "parquet_table_damaged"):
        tv.read_trace(tmp_path / "lacking.parquet")
    pq.write_table(table.append_column("thread", table["thread"]), tmp_path / "twice.parquet")
    with raises_id(tv.TraceFormatError, "parquet_table_damaged"):
        tv.read_trace(tmp_path / "twice.parquet")
    pq.write_table(
        table.replace_schema_metadata({b"tfvis_nb": b'{"version": 99}'}), tmp_path / "later.parquet"
    )
    with raises_id(tv.TraceFormatError, "parquet_version", version=99):
        tv.read_trace(tmp_path / "later.parquet")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("memory", [{"slot": "a"}]),
        ("memory", [{"allocator": "cpu", "records": [{"micros": "soon", "bytes": 1}]}]),
        ("memory", "cpu"),
        ("outputs", [{"slot": "first"}]),
        ("outputs", [3]),
        ("temp_bytes", "many"),
        ("raw_device", 7),
    ],
)
def test_nested_columns_of_other_types_are_refused(
    data: Path, tmp_path: Path, name: str, values: object
) -> None:
    table = pq.read_table(tv.read_trace(data / "local_mlp_step1.pb").to_parquet(tmp_path / "trace.parquet"))
    place = table.column_names.index(f"nested.{name}")
    made = table.set_column(place, f"nested.{name}", pa.array([values] * table.num_rows))
    pq.write_table(made, tmp_path / "other.parquet")
    with raises_id(tv.TraceFormatError, "parquet_table_damaged"):
        tv.read_trace(tmp_path / "other.parquet")


def test_memory_of_unnamed_allocators_is_in_the_chrome_trace() -> None:
    table = event_table.build({"start_ns": [0], "duration_ns": [9000], "kind": ["op"], "name": ["a"]})
    records = [{"micros": 1, "bytes": 64}, {"micros": 5, "bytes": -64}]
    uses = [{"allocator": "cpu", "records": records[:1]}, {"allocator": None, "records": records}]
    nested = pa.table({"memory": [uses]})
    text = tv.Trace(table, nested=nested).to_chrome_trace()
    assert [one["args"]["bytes"] for one in json.loads(text)["traceEvents"] if one["ph"] == "C"] == [
        64,
        64,
        0,
    ]
