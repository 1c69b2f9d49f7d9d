"""The server with a process that does not read, and after its end."""

import asyncio
import os
import signal
import sys

import pytest

from tfvis_nb.serving import process
from tfvis_nb.serving.process import MOST_WAITING, MOST_WAITING_BYTES, WidgetProcess

PIPE_HOLDS = 1 << 20
"""Bytes; no pipe of Linux holds more unless it is asked to."""


def test_a_process_that_reads_nothing_leaves_the_server_free(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever wrote to it would wait as long as it does.
    waits = "import signal; signal.alarm(20); signal.pause()"
    monkeypatch.setattr(process, "_COMMAND", [sys.executable, "-c", waits])

    async def test() -> None:
        ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def send(_: int, __: bytes) -> None:
            """Take nothing: it sends nothing."""

        view = WidgetProcess({"path": "a" * PIPE_HOLDS}, send, ended.set_result)
        assert view.give(1, {"path": "b"})
        assert view.waiting_s > 0
        os.kill(view.pid, signal.SIGKILL)
        assert not await asyncio.wait_for(ended, 60)
        # Its view may have sent more before it hears of the end.
        assert view.give(1, {"path": "c"})

    asyncio.run(test())


def test_the_messages_that_wait_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    # It handles one message, says so, and then none.
    handles = (
        "import signal, sys; signal.alarm(20); pipe = sys.stdin.buffer;"
        " pipe.read(int.from_bytes(pipe.read(8)[:4], 'little'));"
        " sys.stdout.buffer.write(bytes(8)); sys.stdout.flush(); signal.pause()"
    )
    monkeypatch.setattr(process, "_COMMAND", [sys.executable, "-c", handles])

    async def test() -> None:
        handled = asyncio.Event()

        async def send(_: int, frame: bytes) -> None:
            assert frame == b""
            handled.set()

        size = MOST_WAITING_BYTES // 8
        view = WidgetProcess({"path": "a" * size}, send, lambda _: None)
        try:
            await asyncio.wait_for(handled.wait(), 60)
            taken = [view.give(1, {"path": "a" * size}) for _ in range(10)]
            assert taken == [True] * 7 + [False] * 3
            assert MOST_WAITING > 10
            # A smaller one still fits.
            assert view.give(1, {"path": "b"})
        finally:
            view.kill()

    asyncio.run(test())
