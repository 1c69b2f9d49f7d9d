"""Real traces as fixtures."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.real_traces import DATA, SHARED, name_of, step_stats_files

BROWSER = Path(__file__).parent / "browser"


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts this in the background has it ignore Ctrl-C, and with it all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "collection(*files): needs these files of ../shared/traces")


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of the large collection where it is not there; say what runs in one process."""
    absent = [
        item
        for item in items
        for mark in item.iter_markers("collection")
        if not all((SHARED / name).is_file() for name in mark.args)
    ]
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in absent]
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item.path)))


def _group(path: Path) -> str:
    """What one process runs: two browsers, or two kernels, would wait for each other."""
    shown = path.suffix == ".ipynb" or BROWSER in path.parents
    return "shown" if shown else str(path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "step_stats_path" in metafunc.fixturenames:
        paths = step_stats_files()
        metafunc.parametrize("step_stats_path", paths, ids=[name_of(path) for path in paths])


@pytest.fixture
def data() -> Path:
    """The folder of small traces."""
    return DATA


@pytest.fixture
def shared() -> Path:
    """The folder of the large collection; mark a test with ``collection`` to use it."""
    return SHARED
