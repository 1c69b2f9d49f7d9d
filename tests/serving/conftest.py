"""A session with a trace, and a server of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_traces import DATA
from tfvis_nb.serving import MonitorServer
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

METADATA = (DATA / "local_mlp_step1.pb").read_bytes()


def write_session(path: Path, traces: int = 1) -> None:
    """Write a session as of a job that ran one signature, and has ended."""
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train", "train:0"))
    for run in range(1, traces + 1):
        writer.add_trace(number, Recording("run_metadata", METADATA, run, 10**18 + run, 5), None)
    counts = Counts(traces, 0, 5 * traces, 5, 1, traces)
    writer.count(slot, counts)
    writer.close({number: counts})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a session with one signature and one trace."""
    path = tmp_path / "run.tfvis"
    write_session(path)
    return path


@pytest.fixture
def server(path: Path) -> Iterator[MonitorServer]:
    with MonitorServer(path) as server:
        yield server
