"""Calls are limited, and a process that dies takes only the open traces with it."""

from pathlib import Path

import pytest

from tests.real_traces import DATA
from tests.support.assistants import assistant, has_ended
from tests.support.conditions import wait_until
from tests.support.session_files import filled
from tfvis_nb.assistants.roots import Roots
from tfvis_nb.assistants.worker import ToolFailedError, Worker

pytestmark = pytest.mark.slow  # a server is started

NAME = "local_mlp_step1.pb"
LONG = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 1"
MORE_MEMORY = "SELECT count(*) FROM (SELECT list(i) AS l FROM range(100000000) t(i)) WHERE len(l) > 1"


def test_a_killed_worker_is_replaced() -> None:
    with assistant(DATA) as asked:
        first = asked.open(NAME)
        worker = asked.worker
        worker.kill()
        wait_until(lambda: has_ended(worker))
        assert "open_trace" in asked.error("report", trace=first)
        second = asked.open(NAME)
        assert second != first
        assert asked.text("report", trace=second)
        assert "open_trace" in asked.error("report", trace=first)


def test_two_clients_share_nothing() -> None:
    with assistant(DATA) as one, assistant(DATA) as other:
        first, second = one.open(NAME), other.open("gpu_tf221_mlp.pb.xz")
        assert first == second
        assert one.text("report", trace=first) != other.text("report", trace=first)
        assert one.worker.pid != other.worker.pid


def test_the_worker_ends_with_its_server() -> None:
    with assistant(DATA) as asked:
        asked.open(NAME)
        worker = asked.worker
        asked.server.kill()
        wait_until(lambda: has_ended(worker))


def test_the_worker_ends_with_the_connection() -> None:
    with assistant(DATA) as asked:
        asked.open(NAME)
        worker = asked.worker
    wait_until(lambda: has_ended(worker))


def test_calls_that_take_long_end_the_process() -> None:
    worker = Worker(Roots.named([DATA]))
    try:
        opened = str(worker.call("open_trace", {"path": NAME}))
        trace = opened.split()[1].removesuffix(":")
        worker.seconds = 0.2
        with pytest.raises(ToolFailedError, match="open_trace"):
            worker.call("sql", {"trace": trace, "query": LONG})
        worker.seconds = 600
        with pytest.raises(ToolFailedError, match="open_trace"):
            worker.call("report", {"trace": trace})
        assert "t2" in str(worker.call("open_trace", {"path": NAME}))
    finally:
        worker.close()


def test_memory_is_limited() -> None:
    worker = Worker(Roots.named([DATA]), memory_bytes=400 << 20)
    try:
        worker.call("open_trace", {"path": NAME})
        with pytest.raises(ToolFailedError):
            worker.call("sql", {"trace": "t1", "query": MORE_MEMORY})
    finally:
        worker.close()


def test_sessions_in_use_are_left_alone(tmp_path: Path) -> None:
    filled(tmp_path / "run.tfvis")
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    worker = Worker(Roots.named([tmp_path]))
    try:
        assert "t1" in str(worker.call("open_trace", {"path": "run.tfvis"}))
        assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before
        (tmp_path / "run.tfvis-wal").write_bytes(b"")
        with pytest.raises(ToolFailedError, match=r"run\.tfvis"):
            worker.call("open_trace", {"path": "run.tfvis"})
    finally:
        worker.close()
