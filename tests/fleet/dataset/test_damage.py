"""Damaged files of a dataset: a clear error, or read again."""

import io
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.mutants.parquet_files import damaged_footer
from tests.support.ingests import digests
from tests.support.texts import raises_id
from tfvis_nb.fleet.dataset import levels, manifest
from tfvis_nb.fleet.dataset.layout import DETAILS, key_of, part_path
from tfvis_nb.fleet.dataset.manifest import PROBLEM, Entry, problem_of, settled
from tfvis_nb.fleet.dataset.stored_parts import StoredPart, footer_sum
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.fleet.timeline.source import DatasetSource
from tfvis_nb.texts import Text, text_of

OTHERS = [json.dumps(change).encode() for change in ({"run": "other"}, {"tasks": {"other": ""}})]
"""Changes with which an entry has the parts of something else."""


@pytest.mark.parametrize(
    "content", [*OTHERS, b"", b"{", b"[]", b"null", b'{"source": 5}', b"\xff", b"[" * 100_000]
)
def test_damaged_entry(folder: Path, content: bytes) -> None:
    before = digests(folder / "made")
    dataset = tv.open_traces(folder / "made")
    entry = min((folder / "made/manifest").iterdir())
    if content in OTHERS:
        content = json.dumps(json.loads(entry.read_bytes()) | json.loads(content)).encode()
    entry.write_bytes(content)
    # The cached listing does not change: only a file that replaces another one is noticed at once.
    dataset = tv.open_traces(folder / "made")
    assert dataset.problems[["path", "problem"]].to_numpy().tolist() == [[str(entry), "entry_damaged"]]
    assert len(dataset.steps) == 1
    assert dataset.ingest(folder / "bucket") == (1, 1, 0, 0)
    assert dataset.problems.empty
    assert digests(folder / "made") == before


def test_damaged_part(folder: Path) -> None:
    before = digests(folder / "made")
    dataset = tv.open_traces(folder / "made")
    part = min((folder / "made/events").rglob("*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(whole[:-40])
    with pytest.raises(OSError, match="parquet") as error:
        dataset.events.compute()
    assert text_of(error.value).id == "dataset_part_damaged"
    with pytest.raises(OSError, match="parquet") as error:
        dataset.trace()
    assert text_of(error.value).id == "dataset_part_damaged"
    assert dataset.ingest(folder / "bucket") == (1, 1, 0, 0)
    part.unlink()
    assert dataset.ingest(folder / "bucket") == (1, 1, 0, 0)
    assert digests(folder / "made") == before


def test_a_damaged_part_of_equal_size_can_be_deleted(folder: Path) -> None:
    before = digests(folder / "made")
    dataset = tv.open_traces(folder / "made")
    part = min((folder / "made/steps").rglob("*.parquet"))
    part.write_bytes(b"\x55" * part.stat().st_size)
    with pytest.raises(OSError, match="delete this file") as error:
        _ = dataset.steps
    Path(text_of(error.value).figures["path"]).unlink()
    with pytest.raises(FileNotFoundError) as gone:
        _ = dataset.steps
    assert text_of(gone.value).id == "dataset_part_missing"
    assert dataset.ingest(folder / "bucket") == (1, 1, 0, 0)
    assert digests(folder / "made") == before


def other_footers(whole: bytes, name: str) -> set[bytes]:
    """Return damaged footers of a file, and whole files with other rows and columns."""
    chance = random.Random(name)
    found = {damaged_footer(whole, whole, chance) for _ in range(20)} - {whole}
    table = pq.read_table(io.BytesIO(whole))
    for other in (table.slice(1), pa.concat_tables([table] * 2), table.drop_columns(table.column_names[0])):
        file = io.BytesIO()
        pq.write_table(other, file)
        found.add(file.getvalue())
    return found


@pytest.mark.parametrize("table", [*TABLES, levels.FOLDER, DETAILS])
def test_a_part_with_another_footer_is_named(folder: Path, table: str) -> None:
    dataset = tv.open_traces(folder / "made")
    part = min((folder / "made" / table).rglob("*.parquet"))
    reads: list[Callable[[], Any]] = [dataset.table(table).compute] if table in TABLES else []
    if table in ("events", levels.FOLDER):
        reads.append(dataset.show_timeline)
    if table in ("events", DETAILS):
        reads.append(dataset.trace)
    for content in other_footers(part.read_bytes(), table):
        part.write_bytes(content)
        for read in reads:
            with raises_id(OSError, "dataset_part_damaged", path=str(part)):
                read()


def of_table(dataset: tv.TraceDataset, table: str) -> list[Callable[[], Any]]:
    """Return all ways to read the parts of a table."""
    reads: list[Callable[[], Any]] = [dataset.trace] if table in ("events", DETAILS) else []
    if table in TABLES:
        reads += [lambda: dataset.table(table).compute()]
        reads += [lambda: getattr(dataset, table)] if table in ("steps", "ops", "lanes", "stacks") else []
        reads += [lambda: dataset.step_ops] if table == "ops" else []
    if table in ("events", levels.FOLDER):
        reads.append(lambda: drawn_whole(dataset))
    return reads


def drawn_whole(dataset: tv.TraceDataset) -> list[Any]:
    """Read all that a timeline may draw of a dataset."""
    sources = [DatasetSource(dataset, None, None, step) for step in dataset.sources["steps"].explode()]
    return [
        rows
        for source in sources
        for part in source.parts
        for rows in (
            *(part.drawn(group).columns for group in range(part.event_group_count)),
            *(part.bars(group).columns for group in range(len(part._levels.group_rows))),
        )
    ]


def answer_of(read: Callable[[], Any]) -> str | tuple[str, str]:
    """Return the rows, or the id of the error and the part that it names."""
    try:
        return str(read())
    except OSError as error:
        return text_of(error).id, text_of(error).figures["path"]


@pytest.mark.parametrize("table", [*TABLES, levels.FOLDER, DETAILS])
def test_a_flipped_byte_in_a_part_names_it(folder: Path, table: str) -> None:
    dataset = tv.open_traces(folder / "made")
    part = min((folder / "made" / table).rglob("*.parquet"))
    whole, chance = part.read_bytes(), random.Random(table)
    reads = of_table(dataset, table)
    before = [str(read()) for read in reads]
    failures = 0
    for at in sorted(chance.sample(range(4, len(whole)), 25)):
        part.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
        for read, right in zip(reads, before, strict=True):
            if (answer := answer_of(read)) != right:
                assert answer == ("dataset_part_damaged", str(part))
                failures += 1
    assert failures > 12


@pytest.mark.parametrize("other", ["pipe", "/dev/zero"])
def test_a_part_that_is_no_file_is_named(folder: Path, other: str) -> None:
    dataset = tv.open_traces(folder / "made")
    for table in (*TABLES, levels.FOLDER, DETAILS):
        part = min((folder / "made" / table).rglob("*.parquet"))
        kept = part.rename(folder / "kept")
        os.mkfifo(part) if other == "pipe" else part.symlink_to(other)
        for read in of_table(dataset, table):
            with raises_id(OSError, "dataset_part_damaged", path=str(part)):
                read()
        kept.replace(part)


@pytest.mark.parametrize("other", ["pipe", "/dev/zero", "sparse"])
def test_an_entry_that_is_no_small_file_is_a_problem(folder: Path, other: str) -> None:
    entry = min((folder / "made/manifest").iterdir())
    entry.unlink()
    if other == "pipe":
        os.mkfifo(entry)
    elif other == "sparse":
        with entry.open("wb") as file:
            file.truncate(1 << 40)
    else:
        entry.symlink_to(other)
    dataset = tv.open_traces(folder / "made")
    assert dataset.problems[["path", "problem"]].to_numpy().tolist() == [[str(entry), "entry_damaged"]]
    assert len(dataset.steps) == 1


def test_errors_name_a_part_without_a_column(folder: Path) -> None:
    part = min((folder / "made/steps").rglob("*.parquet"))
    pq.write_table(pq.read_table(part, partitioning=None).drop_columns("duration_ns"), part)
    for entry in (folder / "made/manifest").iterdir():
        changed = json.loads(entry.read_bytes())
        parts = changed.get("parts", {})
        for path in parts.keys() & {str(part.relative_to(folder / "made"))}:
            parts[path] = [parts[path][0], part.stat().st_size, footer_sum(part)]
            entry.write_text(json.dumps(changed))
    with raises_id(OSError, "dataset_part_damaged", path=str(part)):
        tv.open_traces(folder / "made").steps  # noqa: B018


def test_other_versions(folder: Path) -> None:
    (folder / "made/dataset.json").write_text('{"version": 99}')
    with raises_id(ValueError, "dataset_version", version=99):
        tv.open_traces(folder / "made")


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", '{"version": "1"}'])
def test_a_damaged_format_can_be_written_again(folder: Path, content: str) -> None:
    path = folder / "made/dataset.json"
    path.write_text(content)
    with raises_id(ValueError, "dataset_damaged", path=str(path)) as error:
        tv.open_traces(folder / "made")
    path.write_text(text_of(error.value).figures["content"])
    assert tv.open_traces(folder / "made").ingest(folder / "bucket") == (0, 2, 0, 0)


def test_a_dataset_is_not_read_as_a_trace(folder: Path) -> None:
    with raises_id(tv.TraceFormatError, "folder_is_dataset", path=str(folder / "made")):
        tv.show_timeline(str(folder / "made"))


def test_two_ingests_at_once(folder: Path) -> None:
    import fcntl

    with (folder / "made/dataset.json").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError) as error:
            tv.open_traces(folder / "made").ingest(folder / "bucket")
    assert text_of(error.value).id == "dataset_busy"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("../../x"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
FIELDS = [*Entry.__dataclass_fields__]


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, min_size=1, max_size=3))
def test_no_entry_leads_out_of_the_dataset(changed: dict[str, Any]) -> None:
    key = key_of("/a.pb")
    paths = part_path("events", key, "r", "t", [1]), f"{DETAILS}/{key}.parquet"
    parts = dict.fromkeys(paths, StoredPart(1, 2, 3))
    entry = Entry("/a.pb", "/", 5, "7", run="r", tasks={"t": ""}, steps=(1,), parts=parts)
    assert manifest._entry(json.loads(json.dumps(vars(entry))), entry.key) == entry
    found = json.loads(json.dumps(vars(entry) | changed))
    try:
        read = manifest._entry(found, entry.key)
    except manifest.DAMAGED:
        return
    assert all(".." not in path and not path.startswith("/") for path in read.parts)
    assert (read.status == PROBLEM) == bool(read.problem)
    if read.problem:
        assert isinstance(read.reason, Text)
    assert read.rows("events") >= 0 or read.parts


ENTRIES = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("pq"), st.sets(st.integers(0, 5), max_size=3)),
    max_size=8,
)


@given(ENTRIES)
def test_a_step_is_of_one_source(given: list[tuple[str, str, set[int]]]) -> None:
    entries = [
        Entry(f"/{number}.pb", "/", 1, "", run=run, tasks={task: task}, steps=tuple(sorted(steps)))
        for number, (run, task, steps) in enumerate(given)
    ]
    found = list(settled(entries))
    assert [one.source for one in found] == [one.source for one in entries]
    taken = [
        (one.run, task, step) for one in found if not one.problem for task in one.tasks for step in one.steps
    ]
    assert len(taken) == len(set(taken))
    # Nothing is lost: whatever is not taken is a step of another one.
    asked = {(one.run, task, step) for one in entries for task in one.tasks for step in one.steps}
    for one in found:
        if one.problem:
            assert one.problem["id"] == problem_of(Text("step_of_other_source", other="", run=""))["id"]
            assert any((one.run, task, step) in taken for task in one.tasks for step in one.steps)
    assert set(taken) <= asked
    assert list(settled(found)) == found
