"""docs/formats.md describes the result of reading each sample."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.real_traces import SAMPLES
from tests.support.step_stats import one_op
from tests.support.texts import raises_id
from tfvis_nb.core.nested_columns import validate_nested
from tfvis_nb.events import COLUMNS, KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_table_of_samples(path: Path) -> None:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{path.name}` |")]
    try:
        trace = tv.read_trace(path)
    except tv.EmptyTraceError:
        assert line.endswith("| `EmptyTraceError` |")
        return
    counts = trace.events["kind"].astype(str).value_counts()
    steps = int((trace.steps["step"] >= 0).sum())
    rows = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if kind in counts)
    cells = [steps, trace.lanes["device"].nunique(), len(trace.lanes), rows]
    assert line == f"| `{path.name}` | " + " | ".join(map(str, cells)) + " |"


def test_no_sample_is_listed_that_is_not_there() -> None:
    samples = PAGE.partition("## The samples")[2]
    listed = {line.split("`")[1] for line in samples.splitlines() if line.startswith("| `")}
    assert {path.name for path in SAMPLES} == listed


def fields_listed() -> dict[str, set[str]]:
    """Return the fields of each message in the table of a RunMetadata's fields; "all" for all of them."""
    listed: dict[str, set[str]] = {}
    messages: list[str] = []
    for line in table_of_fields():
        first, fields, _ = cells(line)
        messages = re.findall(r"`([^`]+)`", first) or messages
        for message in messages:
            listed.setdefault(message, set()).update(re.findall(r"`([^`]+)`", fields) or [fields])
    return listed


def table_of_fields() -> list[str]:
    section = PAGE.partition("## Fields of a RunMetadata")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.tensorflow
def test_every_field_of_a_run_metadata_is_in_the_table() -> None:
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    defined: dict[str, set[str]] = {}

    def walk(message: Any) -> None:
        name = message.full_name.removeprefix("tensorflow.")
        # A graph is kept unchanged, with any content.
        if name in defined or name == "GraphDef" or message.GetOptions().map_entry:
            return
        defined[name] = {field.name for field in message.fields}
        for field in message.fields:
            if field.message_type is not None:
                walk(field.message_type)

    walk(RunMetadata.DESCRIPTOR)
    listed = fields_listed()
    assert {
        name: fields if listed.get(name) == {"all"} else listed.get(name) for name, fields in defined.items()
    } == defined
    assert set(listed) == set(defined)


def test_places_in_the_table_of_fields_exist() -> None:
    places = [place for line in table_of_fields() for place in re.findall(r"`([^`]+)`", cells(line)[2])]
    trace = tv.read_trace(one_op())
    for place in places:
        table, _, name = place.partition(".")
        if table == "events":
            assert name in COLUMNS
        elif table == "nested" and name:
            with raises_id(ValueError, "nested_type"):
                validate_nested(pa.table({name: [1.5]}))
        elif table == "trace":
            assert hasattr(trace, name)
