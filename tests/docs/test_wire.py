"""docs/wire.md is what pages hold: its reader reads them, its tables have all columns and fields."""

import base64
import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, SAMPLES

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")
DTYPES = {
    "code": {"u8", "u16", "u32"},
    "code or number": {"u8", "u16", "u32", "f64"},
    "length": {"u32", "f64"},
    "signed": {"u32", "f64"},
    "optional": {"u32", "f64"},
    "text": {"u32"},
    "offsets": {"u32"},
    "number": {"f64"},
    "bytes": {"u8"},
}
FILES = (
    "local_mlp_step1.pb",
    "dist_inproc_ps_2workers_step0.pb",
    "gpu_tf218_function.xplane.pb.xz",
    "recordings/cpu_tf221_out_of_memory.parquet",
)


@cache
def html(name: str) -> str:
    return tv.read_trace(DATA / name).to_html()


def header(page: str, part: str) -> dict[str, Any]:
    found = re.search(rf'id="tfvis-{part}">([^<]*)<', page)
    assert found
    raw = gzip.decompress(base64.b64decode(found[1]))
    value: dict[str, Any] = json.loads(raw[8 : 8 + int.from_bytes(raw[4:8], "little")])
    return value


def listed(part: str) -> dict[str, str]:
    """The kind of each column of a container, by the tables of the page."""
    table = PAGE.partition(f"| column of {part} |")[2].partition("\n\n")[0]
    kinds: dict[str, str] = {}
    for row in table.splitlines()[2:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        names, kind = re.findall(r"`(\w+)`", cells[0]), cells[2].split(", ")
        kinds |= dict(zip(names, kind * len(names) if len(kind) == 1 else kind, strict=False))
    return kinds


def fields(part: str) -> set[str]:
    section = PAGE.partition(
        "## Columns of the drawn events" if part == "drawn" else "## Columns of the details"
    )[2]
    table = section.partition("| header |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("name", FILES)
def test_the_reader_of_the_page_reads_a_page(name: str) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    reader: dict[str, Any] = {}
    exec(source, reader)
    expected = tv.read_trace(DATA / name).events
    found = reader["events"](html(name))
    columns = ["device", "lane", "name", "op", "step", "start_ns", "duration_ns"]
    assert [tuple(each[column] for column in columns) for each in found] == [
        tuple(row) for row in expected[columns].astype(object).itertuples(index=False, name=None)
    ]


def check(page: str) -> set[str]:
    """Check the columns and fields of a page; return the listed columns."""
    seen = set()
    for part in ("drawn", "details"):
        described = header(page, part)
        kinds = listed(part)
        for name, column in described.pop("columns").items():
            general = re.sub(r"^(track|counter)_\d+_", r"\1_N_", name)
            assert column["dtype"] in DTYPES[kinds[general]], name
            seen.add(f"{part}.{general}")
        assert set(described) <= fields(part)
    return seen


@pytest.mark.parametrize("name", FILES)
def test_every_column_and_field_is_in_the_tables(name: str) -> None:
    check(html(name))


@pytest.mark.thorough
def test_every_listed_column_is_in_some_page() -> None:
    seen: set[str] = set()
    for path in SAMPLES:
        try:
            trace = tv.read_trace(path)
        except tv.EmptyTraceError:
            continue
        seen |= check(trace.to_html())
    recorded = tv.read_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    seen |= check(recorded.what_if(activities={"launch": 0}).to_html())
    both = [DATA / f"gpu_tf221_worker{number}.xplane.pb.xz" for number in (0, 1)]
    seen |= check(tv.read_trace(both).to_html()) | check(html(FILES[-1]))
    # No sample has them: operands need fusions whose operands ran, the others TensorFlow before 1.15.
    rare = r"details\.(operand_|referenced_|device_|node_fused)"
    missing = {f"{part}.{name}" for part in ("drawn", "details") for name in listed(part)} - seen
    assert {name for name in missing if not re.match(rare, name)} == set()
