"""The server with a process that does not read, and after its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from tfvis_nb.file_view import process
from tfvis_nb.file_view.handler import memory_left
from tfvis_nb.file_view.process import MOST_WAITING, MOST_WAITING_BYTES, FileProcess

PIPE_HOLDS = 1 << 20
"""Bytes; no pipe of Linux holds more unless it is asked to."""


def test_a_process_that_reads_nothing_leaves_the_server_free(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever wrote to it would wait as long as it does.
    waits = "import signal; signal.alarm(20); signal.pause()"
    monkeypatch.setattr(process, "_COMMAND", [sys.executable, "-c", waits])

    async def test() -> None:
        ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def send(_: bytes) -> None:
            """Take nothing: it sends nothing."""

        view = FileProcess(send, ended.set_result)
        assert view.give({"path": "a" * PIPE_HOLDS})
        assert view.give({"path": "b"})
        assert view.waiting_s > 0
        os.kill(view.pid, signal.SIGKILL)
        assert not await asyncio.wait_for(ended, 60)
        # Its view may have sent more before it hears of the end.
        assert view.give({"path": "c"})

    asyncio.run(test())


def test_the_messages_that_wait_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    # It handles one message, says so, and then none.
    handles = (
        "import signal, sys; signal.alarm(20); pipe = sys.stdin.buffer;"
        " pipe.read(int.from_bytes(pipe.read(4), 'little'));"
        " sys.stdout.buffer.write(bytes(4) + b'\\1\\0\\0\\0!'); sys.stdout.flush(); signal.pause()"
    )
    monkeypatch.setattr(process, "_COMMAND", [sys.executable, "-c", handles])

    async def test() -> None:
        handled = asyncio.Event()

        async def send(_: bytes) -> None:
            handled.set()

        view = FileProcess(send, lambda _: None)
        try:
            size = MOST_WAITING_BYTES // 8
            assert view.give({"path": "a" * size})
            await asyncio.wait_for(handled.wait(), 60)
            taken = [view.give({"path": "a" * size}) for _ in range(10)]
            assert taken == [True] * 7 + [False] * 3
            assert MOST_WAITING > 10
            # A smaller one still fits.
            assert view.give({"path": "b"})
        finally:
            view.kill()

    asyncio.run(test())


def test_views_together_take_no_more_than_the_limit() -> None:
    taken: list[int] = []
    for _ in range(8):
        taken.append(memory_left(16_000, 8, taken))
    assert taken == [9000, *[1000] * 7]
    # The memory of a closed view is free again.
    assert memory_left(16_000, 8, taken[1:]) == 9000
