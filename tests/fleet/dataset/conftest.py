"""A small bucket with its dataset, for tests that change its files."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.fleet.dataset.folders import bucket


@pytest.fixture(scope="session")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ingested")
    bucket(folder / "now/bucket", {"r/step1.pb": "local_mlp_step1.pb", "r/step2.pb": "run_meta.v1"})
    tv.open_traces(folder / "now/bucket", folder / "now/made")
    (folder / "now").rename(folder / "kept")
    return folder


@pytest.fixture
def folder(ingested: Path) -> Iterator[Path]:
    """A bucket and its ingested dataset, which holds the whole path of each source."""
    shutil.copytree(ingested / "kept", ingested / "now")
    yield ingested / "now"
    shutil.rmtree(ingested / "now")
