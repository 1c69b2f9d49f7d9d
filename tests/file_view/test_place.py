"""Which files may be opened: those below the root folder, as the contents manager has it. Their memory."""

import os
from pathlib import Path

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager, LargeFileManager
from jupyter_server.services.contents.manager import ContentsManager

from tfvis_nb.display.refusals import Refusal
from tfvis_nb.file_view.handler import local_file, memory_left


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("root/a/step.pb", "root/step.pb", "root/.hidden/step.pb", "root/.step.pb", "outside.pb"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(b"x")
    (root / "here.pb").symlink_to("a/step.pb")
    (root / "out.pb").symlink_to(tmp_path / "outside.pb")
    (root / "folder_out").symlink_to(tmp_path)
    (root / "to_hidden.pb").symlink_to(".step.pb")
    (root / "circle.pb").symlink_to("circle.pb")
    (root / "nowhere.pb").symlink_to("nothing.pb")
    os.mkfifo(root / "pipe.pb")
    (tmp_path / "root_of_another").mkdir()
    (tmp_path / "root_of_another" / "step.pb").write_bytes(b"x")
    return root


@pytest.mark.parametrize("manager", [LargeFileManager, AsyncLargeFileManager])
@pytest.mark.parametrize(
    "name", ["step.pb", "/step.pb", "a/step.pb", "here.pb", "a/../step.pb", "a//step.pb"]
)
def test_files_below_the_root_folder(root: Path, manager: type[LargeFileManager], name: str) -> None:
    path = local_file(manager(root_dir=str(root)), name)
    assert path.read_bytes() == b"x"
    assert path.is_relative_to(root.resolve())
    assert not path.is_symlink()


@pytest.mark.parametrize(
    "name",
    [
        *("", "a", "nothing.pb", "../outside.pb", "../root_of_another/step.pb", "a/../../outside.pb"),
        *("out.pb", "folder_out/outside.pb", "folder_out/root_of_another/step.pb"),
        *(".step.pb", ".hidden/step.pb", "to_hidden.pb"),
        *("circle.pb", "nowhere.pb", "pipe.pb", "step.pb\0", "step.pb/x", "*.pb", "x" * 5000),
        *("file:///etc/passwd", "C:\\step.pb", "step\ud800.pb"),
    ],
)
def test_nothing_else_is_told_apart(root: Path, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        local_file(LargeFileManager(root_dir=str(root)), name)
    assert (refused.value.status, refused.value.sentence.id) == (404, "file_view_missing")  # type: ignore[attr-defined]


def test_absolute_paths_are_below_the_root_folder(root: Path) -> None:
    with pytest.raises(Refusal):
        local_file(LargeFileManager(root_dir=str(root)), str(root.parent / "outside.pb"))


def test_hidden_files_where_the_server_shows_them(root: Path) -> None:
    contents = LargeFileManager(root_dir=str(root), allow_hidden=True)
    assert local_file(contents, ".hidden/step.pb").name == "step.pb"
    assert local_file(contents, "to_hidden.pb").name == ".step.pb"


def test_a_server_that_keeps_files_elsewhere() -> None:
    with pytest.raises(Refusal) as refused:
        local_file(ContentsManager(), "step.pb")
    assert refused.value.status == 501


def test_views_together_take_no_more_than_the_limit() -> None:
    taken: list[int] = []
    for _ in range(8):
        taken.append(memory_left(16_000, 8, taken))
    assert taken == [9000, *[1000] * 7]
    # The memory of a closed view is free again.
    assert memory_left(16_000, 8, taken[1:]) == 9000
