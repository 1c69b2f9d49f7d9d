"""A session with a trace, a server of it, and a viewer."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_traces import DATA
from tests.serving.client import Viewer
from tfvis_nb.serving import MonitorServer, process
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


@pytest.fixture
def viewer(server: MonitorServer) -> Iterator[Viewer]:
    with Viewer(server) as viewer:
        viewer.now()
        yield viewer


def command_after(code: str) -> list[str]:
    """Return the command of a process that has a widget and runs this before it begins."""
    return [sys.executable, "-P", "-c", f"{code}\nfrom tfvis_nb.serving import worker\nworker.main()"]


def worker_after(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the processes that have widgets run this before they begin."""
    monkeypatch.setattr(process, "_COMMAND", command_after(code))


@pytest.fixture
def slow_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Traces are opened only when there is this file."""
    file = tmp_path / "go on"
    worker_after(
        monkeypatch,
        "import pathlib, time\n"
        "from tfvis_nb.display.monitor import trace_files\n"
        "payload = trace_files.timeline_payload\n"
        "def slow(session, trace):\n"
        f"    while not pathlib.Path({str(file)!r}).exists(): time.sleep(0.01)\n"
        "    return payload(session, trace)\n"
        "trace_files.timeline_payload = slow",
    )
    return file
