"""Only plain files below the roots are opened, whatever is put in their place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.texts import raises_id
from tfvis_nb.assistants.roots import Roots


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    folder = tmp_path / "root"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "step.pb").write_text("inside")
    return folder


def content(roots: Roots, path: str) -> str:
    with roots.open(path) as file:
        return file.read().decode()


def test_files_below_a_root_are_opened(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    roots = Roots.named([tmp_path / "root" / "inner", link])
    for path in ("step.pb", "inner/step.pb", f"{root}/inner/step.pb", f"{link}/inner/./step.pb"):
        assert content(roots, path) == "inside"


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("../secret", "path_outside"),
        ("inner/../../secret", "path_outside"),
        ("/etc/passwd", "path_outside"),
        ("~/secret", "path_outside"),
        ("https://x.org/step.pb", "path_not_local"),
        ("file:///etc/passwd", "path_not_local"),
        ("tar://a.pb::step.tar", "path_not_local"),
        ("step.pb\0", "path_not_local"),
        ("inner/*.pb", "path_missing"),
        ("~nosuchuser/secret", "path_missing"),
        ("inner", "path_of_folder"),
        ("run.tfvis-wal", "path_of_sqlite"),
        ("pipe", "path_of_no_file"),
        ("file-link", "path_through_link"),
        ("folder-link/secret", "path_through_link"),
        ("inner/step.pb/x", "path_through_link"),
    ],
)
def test_other_paths_are_refused(root: Path, path: str, key: str) -> None:
    (root / "file-link").symlink_to(root.parent / "secret")
    (root / "folder-link").symlink_to(root.parent)
    os.mkfifo(root / "pipe")
    with raises_id(Exception, key):
        Roots.named([root]).open(path)


@pytest.mark.parametrize("swapped", ["", "inner", "inner/step.pb"])
def test_links_put_there_in_between_are_not_followed(
    root: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = root.parent / "outside"
    (outside / "inner").mkdir(parents=True)
    for place in ("step.pb", "inner/step.pb"):
        (outside / place).write_text("outside")
    roots, real_open = Roots.named([root]), os.open

    def swap(path: str, *arguments: int, dir_fd: int | None = None) -> int:
        """Put a link in the place of a part of the path just before that part is opened."""
        place = root / swapped
        if path == place.name and not place.is_symlink():
            place.rename(place.with_name("moved"))
            place.symlink_to(outside / swapped)
        return real_open(path, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap)
    with raises_id(ValueError, "path_through_link"):
        content(roots, "inner/step.pb")


def test_new_files_replace_nothing(root: Path) -> None:
    roots = Roots.named([root])
    (root / "dangling").symlink_to(root.parent / "new")
    for path in ("inner/step.pb", "dangling"):
        with pytest.raises((FileExistsError, ValueError)):
            roots.create(path)
    with roots.create("inner/new.parquet") as file:
        file.write(b"x")
    assert (root / "inner" / "new.parquet").read_bytes() == b"x"
    assert not (root.parent / "new").exists()


def test_modules_import_on_systems_without_posix() -> None:
    code = """
import os, sys
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_PATH", "mkfifo"):
    delattr(os, name)
os.supports_dir_fd = set()
import tfvis_nb.assistants.server
from tfvis_nb.cli import main
sys.exit(main(["mcp"]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr.count("\n")) == (1, 1), run.stderr
