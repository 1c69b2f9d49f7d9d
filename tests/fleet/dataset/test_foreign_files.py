"""An ingest leaves files of users in the dataset's folders alone, and names them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.ingests import digests
from tests.support.texts import raises_id
from tfvis_nb.fleet.dataset import own_files
from tfvis_nb.fleet.dataset.layout import key_of

NAMES = [
    "events/my_notes.txt",
    "ops/run=mine/0123.parquet",
    "events/run=x/task=y/steps=1-1/0123.parquet",
    "levels/.tfvis-nb-0123456789abcdef0123456789abcdef",
    "details/0123456789abcdef0123.parquet",
    "details/.tfvis-nb-0123456789abcdef0123456789abcdef",
    "manifest/.tfvis-nb-0123456789abcdef0123456789abcdef",
    "manifest/notes.json",
    "manifest/notes.txt",
    "manifest/0123456789abcdef0123-0123456789abcdef0123456789abcdef.intent",
]


def ingest_after_a_change(folder: Path) -> tv.TraceDataset:
    """Ingest a bucket after one source was rewritten, and the other removed."""
    shutil.copyfile(folder / "bucket/r/step1.pb", folder / "bucket/r/step2.pb")
    dataset = tv.open_traces(folder / "made")
    assert dataset.ingest(folder / "bucket")[:3] == (1, 1, 0)
    return dataset


@pytest.mark.parametrize("name", NAMES)
def test_foreign_files_stay_and_are_named(folder: Path, name: str) -> None:
    own = [*digests(folder / "made")]
    mine = folder / "made" / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    sizes = len(tv.open_traces(folder / "made").events), len(tv.open_traces(folder / "made").sources)
    dataset = ingest_after_a_change(folder)
    assert mine.read_text() == "mine"
    problems = dataset.problems
    assert problems["path"].tolist() == [str(mine)]
    assert problems["problem"].tolist() == ["dataset_file_of_others"]
    assert repr(dataset).endswith("0 problems>")
    assert (len(dataset.sources), sizes[1]) == (2, 2)
    assert {*digests(folder / "made")} == {*own, name}


def test_links_pipes_and_folders_stay(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.parquet").write_text("mine")
    events = folder / "made/events"
    (events / "link").symlink_to(tmp_path)
    (events / "dangling.parquet").symlink_to(tmp_path / "nowhere")
    (events / "empty").mkdir()
    os.mkfifo(events / "pipe")
    dataset = ingest_after_a_change(folder)
    assert [Path(path).name for path in dataset.problems["path"]] == ["dangling.parquet", "link", "pipe"]
    assert (tmp_path / "kept.parquet").read_text() == "mine"
    assert {path.name for path in events.iterdir()} >= {"link", "dangling.parquet", "empty", "pipe"}
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["manifest", "transfers", "levels", "details"])
def test_a_link_in_the_place_of_a_folder_is_refused(folder: Path, name: str, tmp_path: Path) -> None:
    place = folder / "made" / name
    shutil.copytree(place, tmp_path / "mine", dirs_exist_ok=True)
    (tmp_path / "mine/notes.txt").write_text("mine")
    shutil.rmtree(place)
    place.symlink_to(tmp_path / "mine")
    before = digests(tmp_path)
    with raises_id(NotADirectoryError, "dataset_folder_in_the_way", path=str(place)):
        tv.open_traces(folder / "made").ingest(folder / "bucket")
    assert digests(tmp_path) == before
    assert str(place) in tv.open_traces(folder / "made").problems["path"].tolist()


def by_link(part: Path, mine: Path) -> None:
    part.symlink_to(mine)


def by_link_to_folder(part: Path, mine: Path) -> None:
    part.parent.rmdir()
    part.parent.symlink_to(mine.parent)
    mine.rename(mine.with_name(part.name))


def by_text(part: Path, mine: Path) -> None:
    mine.rename(part)


@pytest.mark.parametrize("put", [by_link, by_link_to_folder, by_text])
def test_a_file_in_the_place_of_a_part_stays(
    folder: Path, put: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    key = key_of(str(folder / "bucket/r/step2.pb"))
    (part,) = (folder / "made/events").rglob(f"{key}.parquet")
    part.unlink()
    (folder / f"made/manifest/{key}.json").unlink()
    (tmp_path / "mine.txt").write_text("mine")
    put(part, tmp_path / "mine.txt")
    dataset = tv.open_traces(folder / "made")
    assert dataset.ingest(folder / "bucket") == (0, 1, 1, 0)
    (problem,) = dataset.problems.loc[dataset.problems["problem"] != "dataset_file_of_others", "problem"]
    assert problem in ("dataset_part_in_the_way", "dataset_folder_in_the_way")
    assert part.read_text() == "mine"
    part.parent.unlink() if part.parent.is_symlink() else part.unlink()
    assert dataset.ingest(folder / "bucket") == (1, 1, 0, 0)


def test_an_entry_is_not_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    key = key_of(str(folder / "bucket/r/step2.pb"))
    entry = folder / f"made/manifest/{key}.json"
    entry.unlink()
    (tmp_path / "mine.json").write_text("mine")
    entry.symlink_to(tmp_path / "mine.json")
    with raises_id(FileExistsError, "dataset_unwritable"):
        tv.open_traces(folder / "made").ingest(folder / "bucket")
    assert (tmp_path / "mine.json").read_text() == "mine"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_no_folder_with_a_pipe_or_link_becomes_a_dataset(
    tmp_path: Path, make: Callable[[Path], None], folder: Path
) -> None:
    make(tmp_path / "dataset.json")
    with raises_id(FileExistsError, "dataset_not_one"):
        tv.open_traces(folder / "bucket", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dataset.json"]


def test_files_named_by_an_intent_are_removed(folder: Path) -> None:
    before = digests(folder / "made")
    made = folder / "made"
    key = "0123456789abcdef0123"
    parts = [f"{table}/run=x/task=y/steps=1-1/{key}.parquet" for table in ("events", "levels")]
    intent = own_files.begin(made, key, parts)
    for part in (*parts, f"{parts[0].rpartition('/')[0]}/{intent.unfinished}"):
        (made / part).parent.mkdir(parents=True, exist_ok=True)
        (made / part).write_bytes(b"half")
    (made / f"manifest/{intent.unfinished}").write_bytes(b"half")
    own_files.begin(made, key, parts)
    cut = own_files.begin(made, key, parts)
    (made / cut.file).write_text("")
    assert tv.open_traces(made).problems.empty
    assert tv.open_traces(made).ingest(folder / "bucket") == (0, 2, 0, 0)
    assert digests(made) == before
    assert not list(made.glob("*/run=x"))


def test_parts_that_moved_are_removed(folder: Path) -> None:
    dataset = tv.open_traces(folder / "made")
    assert dataset.ingest(folder / "bucket", run="another") == (2, 0, 0, 0)
    assert not list((folder / "made").glob("*/run=r"))
    assert dataset.problems.empty
    (folder / "bucket/r/step2.pb").write_bytes(b"no trace")
    assert dataset.ingest(folder / "bucket").problems == 1
    key = key_of(str(folder / "bucket/r/step2.pb"))
    assert [path.name for path in (folder / "made").rglob(f"{key}*")] == [f"{key}.json"]
