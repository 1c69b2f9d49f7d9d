"""The process that has a widget: started, given the messages of its views, limited in time, and killed."""

import asyncio
import concurrent.futures
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

from tfvis_nb.serving.frames import EVERY_VIEW, read_frames, write_frame

# -P, because the folder where the server was started may contain a module of any name.
_COMMAND = [sys.executable, "-P", "-m", "tfvis_nb.serving.worker"]

_ENDING_S = 1.0
"""How long the process may take to end with its input."""

MOST_WAITING = 1000
MOST_WAITING_BYTES = 32_000_000
"""Maximum messages that may wait for a response, and their size."""


class WidgetProcess:
    """Runs `tfvis_nb.serving.worker`; made in the server's event loop.

    Parameters
    ----------
    request
        The file to show: its `path`, the `view` ("monitor" or "timeline"), the memory that reading may take
        as `most_bytes` (None: any), and whether views may change it, as `writable`.
    send
        Sends a message to a view, by number; returns when there is room for another one. An empty message
        means that one of the view has been handled.
    ended
        Called when the process has ended on its own: with True if it has sent the reason.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        send: Callable[[int, bytes], Awaitable[None]],
        ended: Callable[[bool], None],
    ) -> None:
        self._send = send
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[int] = deque()
        self._since = 0.0
        self._over = asyncio.Event()
        self._given: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(  # noqa: S603 - our own
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the server's terminal is for the server
        )
        for target in (self._pass_on, self._hand_over):
            threading.Thread(target=target, name="tfvis-nb widget", daemon=True).start()
        self.give(EVERY_VIEW, request)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def waiting_s(self) -> float:
        """How long views have been waiting for a response, in seconds; 0 if none is waiting."""
        return time.monotonic() - self._since if self._waiting else 0.0

    def give(self, view: int, message: Mapping[str, Any]) -> bool:
        """Pass on a message of a view; return False if too many are waiting."""
        content = json.dumps(message).encode()
        if len(self._waiting) >= MOST_WAITING or sum(self._waiting) + len(content) > MOST_WAITING_BYTES:
            return False
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(len(content))
        self._given.put((view, content))
        return True

    def kill(self) -> None:
        """End the input of the process, and so the process; kill it if that takes long."""
        self._ended = lambda _: None
        self._given.put(None)
        self._loop.call_later(_ENDING_S, self._process.kill)

    async def wait(self) -> None:
        """Wait until it has ended, and nothing more comes of it."""
        try:
            await asyncio.wait_for(self._over.wait(), _ENDING_S)
        except TimeoutError:
            self._process.kill()

    def _hand_over(self) -> None:
        """Write the messages on a thread: a process that reads none must not stop the server."""
        with contextlib.suppress(OSError, ValueError):  # it has ended, and `ended` says so
            while (message := self._given.get()) is not None:
                write_frame(cast("BinaryIO", self._process.stdin), *message)
        with contextlib.suppress(OSError):
            cast("BinaryIO", self._process.stdin).close()

    def _pass_on(self) -> None:
        cancelled = (asyncio.CancelledError, concurrent.futures.CancelledError)
        with contextlib.suppress(OSError, RuntimeError, *cancelled), self._process as process:
            for view, frame in read_frames(cast("BinaryIO", process.stdout)):
                asyncio.run_coroutine_threadsafe(self._sent(view, frame), self._loop).result()
        self._given.put(None)
        # The server may have ended already.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    async def _sent(self, view: int, frame: bytes) -> None:
        if not frame:
            self._waiting.popleft()
            self._since = time.monotonic()
        await self._send(view, frame)

    def _end(self) -> None:
        self._over.set()
        self._ended(self._process.returncode == 0)
