"""One server for most tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.file_view.server import Server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.close()
