"""A session to watch, and a check that no widget continues after its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.conditions import wait_until
from tests.support.monitor_widget import pushing
from tests.support.stored_writer import METADATA
from tfvis_nb.display.monitor import monitor_widget as monitor
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tfvis"


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    """A process that has run `train` twice and kept a trace of both."""
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train", "loss:0"))
    for run in (1, 2):
        writer.add_trace(number, Recording("run_metadata", METADATA, run, 10**18, 5_000), None)
    writer.count(slot, Counts(2, 0, 10_000, 5_000, 10**18, 10**18))
    yield writer
    writer.close({number: Counts(2)})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "LOOK_S", 0.02)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    for widget in list(monitor._open):
        widget.close()
    wait_until(lambda: pushing() == 0)
