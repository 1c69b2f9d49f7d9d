"""The viewers of a monitor, and the one process that has its widget for all of them."""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tornado.ioloop import PeriodicCallback
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from tfvis_nb.serving.frames import EVERY_VIEW, pack
from tfvis_nb.serving.process import WidgetProcess
from tfvis_nb.texts import Text

AT_ONCE = 4
"""Maximum requests of a viewer that are being answered, or whose answers it has not received yet."""

MOST_REQUESTS = 100
MOST_REQUEST_BYTES = 16_000_000
"""Maximum further requests of a viewer that may wait, and their size."""

_STALLED_S = 60.0
_LEAST_BYTES_PER_S = 10_000
"""How long a viewer may take to receive a message before it is disconnected."""

LINGER_S = 60.0
"""How long the process goes on without viewers: a page that is loaded again needs it."""

_LOOK_MS = 1000


class Viewer:
    """One connection: its requests wait here while its answers are not received."""

    def __init__(self, socket: WebSocketHandler, give: Callable[[Mapping[str, Any]], bool]) -> None:
        self._socket = socket
        self._give = give
        self._requests: deque[tuple[Mapping[str, Any], int]] = deque()
        self._busy = 0
        self._frames: deque[list[bytes]] = deque()
        self._change: list[bytes] | None = None
        self._writing: asyncio.Task[None] | None = None
        self._is_ending = False

    def ask(self, request: Mapping[str, Any], size: int = 0) -> None:
        """Pass on a request of so many bytes in its turn; too many end the connection."""
        waiting = sum(size for _, size in self._requests)
        if len(self._requests) >= MOST_REQUESTS or waiting + size > MOST_REQUEST_BYTES:
            self.end(Text("too_many_requests"))
            return
        self._requests.append((request, size))
        self.pass_on()

    def pass_on(self) -> None:
        """Give the process as many waiting requests as it takes."""
        while self._requests and self._busy < AT_ONCE and self._give(self._requests[0][0]):
            self._requests.popleft()
            self._busy += 1

    def take(self, frame: bytes, *, is_change: bool = False) -> None:
        """Send a message of the process in its turn. A change of the state replaces one not sent yet."""
        if is_change and self._change is not None:
            self._change[0] = frame
            return
        self._frames.append([frame])
        if is_change:
            self._change = self._frames[-1]
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())

    def end(self, sentence: str = "") -> None:
        """Close the connection when all is sent, last the reason for it."""
        self._requests.clear()
        if sentence:
            self.take(pack({"method": "refused", "sentence": sentence}))
        self._is_ending = True
        if self._writing is None:
            self._socket.close()

    async def _write(self) -> None:
        try:
            while self._frames:
                held = self._frames.popleft()
                if held is self._change:
                    self._change = None
                frame = held[0]
                if frame:
                    sent = self._socket.write_message(frame, binary=True)
                    await asyncio.wait_for(sent, _STALLED_S + len(frame) / _LEAST_BYTES_PER_S)
                else:
                    self._busy -= 1
                    self.pass_on()
        except (WebSocketClosedError, TimeoutError):
            self._is_ending = True
            self._frames.clear()
        self._writing = None
        if self._is_ending:
            self._socket.close()


class SharedMonitor:
    """The monitor of a session, in a process of its own that runs while there are viewers.

    `problem` returns why the recording into the session has stopped, if this process records; else "".
    """

    def __init__(self, path: Path, problem: Callable[[], str]) -> None:
        self._path = path
        self._problem = problem
        self._reported = ""
        self._viewers: dict[int, Viewer] = {}
        self._numbers = itertools.count(EVERY_VIEW + 1)
        self._process: WidgetProcess | None = None
        self._clock = PeriodicCallback(self._look, _LOOK_MS)
        self._lingering: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the process, unless it runs; without viewers it ends after a while."""
        if self._process is None:
            request = {"path": str(self._path), "view": "monitor", "most_bytes": None, "writable": True}
            self._process = WidgetProcess(request, self._deliver, self._lost)
            self._reported = ""
            self._look()
            self._clock.start()
        self._linger()

    def join(self, socket: WebSocketHandler) -> Viewer:
        """Return a new viewer; the first message that it gets is the state."""
        self.start()
        number = next(self._numbers)
        viewer = Viewer(socket, lambda request: self._give(number, request))
        self._viewers[number] = viewer
        self._linger()
        viewer.ask({"method": "open"})
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """Forget a viewer whose connection has ended."""
        self._viewers = {number: each for number, each in self._viewers.items() if each is not viewer}
        self._linger()

    def _linger(self) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
        isolated = not self._viewers and self._process is not None
        loop = asyncio.get_running_loop()
        self._lingering = loop.call_later(LINGER_S, self._kill) if isolated else None

    async def close(self) -> None:
        """End the process, and wait for its end."""
        process = self._process
        self._kill()
        if process is not None:
            await process.wait()

    def _look(self) -> None:
        """Tell the process why the recording has stopped."""
        if (problem := self._problem()) != self._reported:
            self._reported = problem
            self._give(EVERY_VIEW, {"method": "problem", "sentence": problem})

    def _give(self, number: int, request: Mapping[str, Any]) -> bool:
        return self._process is not None and self._process.give(number, request)

    async def _deliver(self, number: int, frame: bytes) -> None:
        if number in self._viewers:
            self._viewers[number].take(frame)
        for viewer in list(self._viewers.values()):
            if not frame:
                viewer.pass_on()  # there is room for more
            elif number == EVERY_VIEW:
                viewer.take(frame, is_change=True)

    def _lost(self, has_said_why: bool) -> None:
        self._kill()
        for viewer in list(self._viewers.values()):
            viewer.end("" if has_said_why else Text("monitor_lost"))

    def _kill(self) -> None:
        self._clock.stop()
        if self._process is not None:
            self._process.kill()
            self._process = None
