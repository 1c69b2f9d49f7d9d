"""Real traces as fixtures."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.real_traces import DATA, SHARED, name_of, outside_sample, step_stats_files


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts this in the background has it ignore Ctrl-C, and with it all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "collection(*files): needs these files of ../shared/traces")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-traces", action="store_true", help="test every trace of ../shared, not a sample")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of the large collection where it is not there, and of its traces outside a sample.

    The small traces are always tested.
    """
    absent = [
        item
        for item in items
        for mark in item.iter_markers("collection")
        if not all((SHARED / name).is_file() for name in mark.args)
    ]
    if not config.getoption("all_traces"):
        absent += [item for item in items if any(map(outside_sample, _parameters(item)))]
    if absent:
        config.hook.pytest_deselected(items=absent)
        left_out = set(absent)
        items[:] = [item for item in items if item not in left_out]


def _parameters(item: pytest.Item) -> list[object]:
    call = getattr(item, "callspec", None)
    return list(call.params.values()) if call else []


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.support.two_processes import BrowserApart

    return BrowserApart(config, log)


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
