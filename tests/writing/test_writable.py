"""If nothing can be written, saving fails before the work; only complete files replace existing ones."""

import os
import resource
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.apart import apart
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.core.output_path import writable
from tfvis_nb.display.pages import page

TRACE = tv.Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}))
WIDGET = tv.TimelineWidget(TRACE)
SAVING: list[Callable[[str], object]] = [
    TRACE.to_html,
    TRACE.to_chrome_trace,
    TRACE.to_parquet,
    WIDGET.to_html,
]


@pytest.mark.parametrize("save", SAVING)
def test_nothing_is_worked_out_for_a_folder_that_is_not_there(
    save: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "page_text", None)
    with raises_id(FileNotFoundError, "no_folder_to_write_to"):
        save("/no/such/x.html")


@pytest.mark.parametrize("save", SAVING)
@pytest.mark.parametrize("url", ["s3://bucket/x.html", "https://host/x.html"])
def test_only_local_paths_are_written(save: Callable[[str], object], url: str) -> None:
    with raises_id(FileNotFoundError, "only_local_paths", path=url):
        save(url)


@pytest.mark.parametrize("save", SAVING)
def test_home_is_expanded(
    save: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert save("~/saved.html") == tmp_path / "saved.html"
    assert (tmp_path / "saved.html").stat().st_size > 0


def test_asking_leaves_nothing_behind_and_changes_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there.html"
    there.write_text("kept")
    assert writable(there) == there
    assert writable(tmp_path / "new.html") == tmp_path / "new.html"
    assert [file.read_text() for file in tmp_path.iterdir()] == ["kept"]


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_id(IsADirectoryError, "folder_in_place_of_file"):
        writable(tmp_path)
    there = tmp_path / "there.html"
    there.touch()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with raises_id(PermissionError, "cannot_write", reason="permission denied"):
        writable(there)


def save_on_a_full_disk(save: str, path: Path) -> None:
    # Python <= 3.13 keeps the cut off .pyc of a module that is imported now: other processes then fail.
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # a write beyond that fails
    with pytest.raises(OSError, match="large"):
        getattr(TRACE, save)(path)


@pytest.mark.parametrize("save", ["to_html", "to_chrome_trace", "to_parquet"])
def test_existing_files_stay_if_writing_fails(save: str, tmp_path: Path) -> None:
    there = tmp_path / "there.html"
    there.write_text("kept")
    assert apart(save_on_a_full_disk, save, there).raised == ""
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("there.html", "kept")]


@pytest.mark.parametrize("save", ["to_html", "to_chrome_trace", "to_parquet"])
def test_links_modes_and_pipes_are_kept(save: str, tmp_path: Path) -> None:
    there, link, pipe = (tmp_path / name for name in ("there.html", "link.html", "pipe"))
    there.touch(0o600)
    link.symlink_to(there)
    getattr(TRACE, save)(link)
    assert link.is_symlink()
    assert stat.S_IMODE(there.stat().st_mode) == 0o600
    if save == "to_html":
        os.mkfifo(pipe)
        with ThreadPoolExecutor(1) as other:
            read = other.submit(pipe.read_bytes)
            getattr(TRACE, save)(pipe)
            assert read.result() == there.read_bytes()
