"""A monitor of a session of three signatures, on a page that its server sends."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.monitor import Monitor, monitor_on
from tests.browser.session_of_three import write_session
from tests.browser.watched import Watched
from tests.serving.conftest import server
from tfvis_nb.serving import MonitorServer

__all__ = ["server"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.tfvis"
    write_session(path)
    return path


@pytest.fixture
def monitor(page: Page, server: MonitorServer) -> Iterator[Monitor]:
    watched = Watched(page, own=server.address)
    page.goto(server.url)
    yield monitor_on(page)
    watched.end()
