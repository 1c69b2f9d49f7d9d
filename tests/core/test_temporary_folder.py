"""Temporary folders of processes that died are removed, and nothing else is."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tfvis_nb.core.temporary_folder import PREFIX, TemporaryFolder

DIES = """
import os
from tfvis_nb.core.temporary_folder import TemporaryFolder
folder = TemporaryFolder()
(folder.path / "content").mkdir()
print(folder.path, flush=True)
os._exit(0)
"""
FORKS = """
import os
from tfvis_nb.core.temporary_folder import TemporaryFolder
with TemporaryFolder() as folder:
    if not os.fork():
        raise SystemExit
    os.wait()
    TemporaryFolder().close()
    print(folder.path.is_dir())
print(folder.path.is_dir())
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_next_folder_removes_those_of_dead_processes(scratch: Path) -> None:
    dead = Path(run(DIES).strip())
    assert dead.parent == scratch
    assert dead.is_dir()
    with TemporaryFolder() as folder:
        assert [*scratch.iterdir()] == [folder.path]
    assert [*scratch.iterdir()] == []


def test_folders_of_others_stay(scratch: Path) -> None:
    target = scratch / "target"
    target.mkdir()
    (target / ".tfvis_nb").touch()
    (scratch / f"{PREFIX}link").symlink_to(target)
    (scratch / f"{PREFIX}file").touch()
    os.mkfifo(scratch / f"{PREFIX}fifo")
    (scratch / f"{PREFIX}unmarked").mkdir(mode=0o700)
    readable = scratch / f"{PREFIX}readable"
    readable.mkdir()
    readable.chmod(0o755)
    (readable / ".tfvis_nb").touch()
    before = sorted(scratch.rglob("*"))
    with TemporaryFolder() as living:
        TemporaryFolder().close()
        assert living.path.is_dir()
    assert sorted(scratch.rglob("*")) == before


def test_forked_child_leaves_the_folder_to_its_parent(scratch: Path) -> None:
    assert run(FORKS).split() == ["True", "False"]
    assert [*scratch.iterdir()] == []
