"""The process of one view: started, supplied with messages, limited in time, and killed with the view."""

import asyncio
import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, BinaryIO, cast

from tfvis_nb.file_view.frames import read_frames, write_frame

# -P, because the folder where the server was started may contain a module of any name.
_COMMAND = [sys.executable, "-P", "-m", "tfvis_nb.file_view.worker"]

MOST_WAITING = 1000
MOST_WAITING_BYTES = 32_000_000
"""Maximum messages of a view that may wait for a response, and their size."""


class FileProcess:
    """Runs `tfvis_nb.file_view.worker` for a view; made in the server's event loop.

    Parameters
    ----------
    send
        Sends a message to the view; returns when there is room for another one.
    ended
        Called when the process has ended on its own: with True if it has sent the reason.
    """

    def __init__(self, send: Callable[[bytes], Awaitable[None]], ended: Callable[[bool], None]) -> None:
        self._send = send
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[int] = deque()
        self._since = 0.0
        self._given: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own
        for target in (self._pass_on, self._hand_over):
            threading.Thread(target=target, name="tfvis-nb file view", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def waiting_s(self) -> float:
        """How long the view has been waiting for a response, in seconds; 0 if it is not waiting."""
        return time.monotonic() - self._since if self._waiting else 0.0

    def give(self, message: Mapping[str, Any]) -> bool:
        """Pass on a message of the view; return False if too many are waiting."""
        content = json.dumps(message).encode()
        if len(self._waiting) >= MOST_WAITING or sum(self._waiting) + len(content) > MOST_WAITING_BYTES:
            return False
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(len(content))
        self._given.put(content)
        return True

    def kill(self) -> None:
        """Kill the process."""
        self._ended = lambda _: None
        self._process.kill()

    def _hand_over(self) -> None:
        """Write the messages on a thread: a process that reads none must not stop the server."""
        with contextlib.suppress(OSError, ValueError):  # it has ended, and `ended` says so
            while (message := self._given.get()) is not None:
                write_frame(cast("BinaryIO", self._process.stdin), message)

    def _pass_on(self) -> None:
        with contextlib.suppress(OSError, RuntimeError, asyncio.CancelledError), self._process as process:
            for frame in read_frames(cast("BinaryIO", process.stdout)):
                if frame:
                    asyncio.run_coroutine_threadsafe(self._sent(frame), self._loop).result()
                else:
                    self._loop.call_soon_threadsafe(self._handled)
        self._given.put(None)
        # The server may have ended already.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    async def _sent(self, frame: bytes) -> None:
        await self._send(frame)

    def _end(self) -> None:
        self._ended(self._process.returncode == 0)

    def _handled(self) -> None:
        self._waiting.popleft()
        self._since = time.monotonic()
