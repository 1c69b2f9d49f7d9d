"""Where sessions of tests are."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfvis_nb as tv


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tfvis"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others may enter."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def session(path: Path) -> tv.SavedSession:
    """A session whose file is not there."""
    return tv.SavedSession(path)
