"""Parquet tables of our own format that nothing of ours wrote: refused, or traces like any other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.examples import sample
from tests.support.texts import raises_id
from tfvis_nb import events as event_table

pytestmark = pytest.mark.slow

KEY = b"tfvis_nb"
Change = Callable[[pa.Table, dict[str, Any]], pa.Table]

VALUES: dict[str, Any] = {
    "numbers": 7,
    "fractions": 1.5,
    "nothing": None,
    "texts": "a",
    "bytes": b"\xff",
    "lists": [1, 2],
    "structs": {"a": 1},
    "flags": True,
    "huge": pa.scalar(2**64 - 1, pa.uint64()),
    "times": pa.scalar(5, pa.timestamp("ns")),
}


def with_column(table: pa.Table, name: str, value: Any) -> pa.Table:
    scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value)
    return table.set_column(table.column_names.index(name), name, pa.repeat(scalar, table.num_rows))


def head_with(**changes: Any) -> Change:
    def change(table: pa.Table, head: dict[str, Any]) -> pa.Table:
        head.update(changes)
        return table

    return change


def of_value(name: str, value: Any) -> Change:
    return lambda table, _: with_column(table, name, value)


def lacking(name: str) -> Change:
    return lambda table, _: table.drop_columns([name])


HEADS = {
    "no notes": head_with(notes=None),
    "notes that are numbers": head_with(notes=[7]),
    "notes that are one text": head_with(notes="note"),
    "a title of a number": head_with(title=7),
    "graphs that are texts": head_with(graphs=["a"]),
    "graphs of no base64": head_with(graphs=[["!"]]),
    "graphs of no zlib": head_with(graphs=[["AAAA"]]),
    "sources that are numbers": head_with(sources=[1]),
    "labels of no steps": head_with(step_labels=[["a", "b"]]),
    "labels of huge steps": head_with(step_labels=[[10**30, "b"]]),
    "labels without texts": head_with(step_labels=[[0]]),
    "annotations that are numbers": head_with(annotations=[1, 2]),
    "annotations that are one text": head_with(annotations="note"),
    "annotations of no event": head_with(annotations=[{"name": "a", "event": 10**30}]),
    "no categories": head_with(categories={}),
    "categories of numbers": head_with(categories={name: [1, 2] for name in event_table.COLUMNS}),
    "categories twice": head_with(categories={name: ["", ""] for name in event_table.COLUMNS}),
    "no words in categories": head_with(categories={name: [] for name in event_table.COLUMNS}),
    "a list of versions": head_with(version=[1]),
    "nested of a text": head_with(nested="yes"),
    "clocks of texts": head_with(clocks=["a", {"task": 1}]),
}


def twice(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return table.append_column("start_ns", table["start_ns"])


def turned(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return table.take(pa.array(range(table.num_rows)[::-1]))


def emptied(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return table.slice(0, 0)


CHANGES: dict[str, Change] = {
    **{
        f"{name} of {what}": of_value(name, value)
        for name in ("start_ns", "step", "kind", "lane", "name", "bytes", "nested.outputs", "nested.memory")
        for what, value in VALUES.items()
    },
    **{
        f"without {name}": lacking(name)
        for name in ("start_ns", "kind", "detail", "thread", "nested.outputs")
    },
    **HEADS,
    "a column twice": twice,
    "rows in another order": turned,
    "no rows": emptied,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    path = tmp_path_factory.mktemp("table") / "trace.parquet"
    return pq.read_table(tv.read_trace(DATA / "local_mlp_step1.pb").to_parquet(path)).slice(0, 20)


def used(trace: tv.Trace) -> None:
    """Ask a trace for what its readers ask for."""
    event_table.check(trace.events)
    assert len(trace.lanes) > 0 or trace.events.empty
    assert len(trace.transfers) <= len(trace.events)
    assert all(isinstance(note, str) for note in trace.notes)
    trace.edges, trace.memory, trace.steps, trace.findings  # noqa: B018
    assert "</html>" in trace.to_html()
    trace.to_chrome_trace()


@pytest.mark.parametrize("what", sample(CHANGES, [*CHANGES][::8]))
def test_a_handmade_table_is_refused_or_sound(what: str, written: pa.Table, tmp_path: Path) -> None:
    head = json.loads(written.schema.metadata[KEY])
    table = CHANGES[what](written, head)
    path = tmp_path / "other.parquet"
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(head).encode()}), path)
    try:
        trace = tv.read_trace(path)
    except tv.TraceFormatError as error:
        assert "other.parquet" in str(error)  # noqa: PT017 - either is right
        return
    used(trace)


def test_a_long_text_of_many_rows_is_counted_as_often(written: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    rows = pa.concat_tables([written.slice(0, 1)] * 100_000).combine_chunks()
    long = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), len(rows)), ["a" * 100_000])
    pq.write_table(rows.set_column(rows.column_names.index("detail"), "detail", long), path)
    with raises_id(tv.TraceFormatError, "unpacks_beyond_limit"):
        tv.read_trace(path)
    pq.write_table(rows.set_column(rows.column_names.index("lane"), "lane", long), path)
    with pytest.raises(tv.TraceFormatError):
        tv.read_trace(path)
