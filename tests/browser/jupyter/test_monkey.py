"""Random walks at a live timeline, a live dashboard and a trace file in JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.conftest import FAILED, WINDOW, Lab
from tests.browser.jupyter_server import JupyterServer
from tests.browser.monkey import LENGTH, walk
from tests.browser.monkey_hosts import FileHost, NotebookHost


@pytest.fixture
def walked(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """JupyterLab, left as other tests need it."""
    yield lab
    for page in lab.pages:
        page.set_viewport_size(WINDOW)
        page.emulate_media(reduced_motion="no-preference")
    lab.tidy(keep=not request.node.stash.get(FAILED, False))


@pytest.mark.parametrize(
    ("shown", "count"),
    [("show_timeline", 80), pytest.param("show_dashboard", LENGTH, marks=pytest.mark.thorough)],
)
def test_random_gestures_keep_the_invariants(walked: Lab, shown: str, count: int) -> None:
    walk(NotebookHost(walked, shown), seed=1, count=count)


def test_a_trace_file_keeps_the_invariants(context: BrowserContext, jupyter: JupyterServer) -> None:
    walk(FileHost(context.new_page(), jupyter), seed=1, count=60)


@pytest.mark.thorough
@pytest.mark.parametrize("shown", ["show_timeline", "show_dashboard"])
def test_long_walks_keep_the_invariants(walked: Lab, shown: str) -> None:
    host = NotebookHost(walked, shown)
    for seed in range(100, 105):
        walk(host, seed, LENGTH)
