"""A Jupyter server with a token and our extension, and a client of a view's WebSocket."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.serving.client import unpacked

TOKEN = "a-token-of-these-tests"
EXTENSION = "--ServerApp.jpserver_extensions={'tfvis_nb.file_view': True}"


class Server:
    """One running server without JupyterLab; its files are below `root`."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.log = folder / "server.log"
        command = [
            *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", EXTENSION),
            f"--ServerApp.root_dir={self.root}",
            f"--ServerApp.port={self.address.rpartition(':')[2]}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={TOKEN}",
            *options,
        ]
        private = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **private}, start_new_session=True
            )
        deadline = time.monotonic() + 60
        while not self._is_up():
            assert self.process.poll() is None, self.log.read_text(errors="replace")
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _is_up(self) -> bool:
        request = urllib.request.Request(
            f"http://{self.address}/api/status", headers={"Authorization": f"token {TOKEN}"}
        )
        try:
            urllib.request.urlopen(request, timeout=30).close()
        except (urllib.error.URLError, ConnectionError):
            return False
        return True

    def workers(self) -> list[psutil.Process]:
        """The processes of its views."""
        return workers(self.process.pid)

    def close(self) -> None:
        """End it, and whatever it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(15)


class View:
    """One connection, as the view in the browser has it."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def connect(
        cls, server: Server, *, token: str | None = TOKEN, headers: dict[str, str] | None = None
    ) -> Self:
        """Connect; an HTTPClientError has the status if the server refuses."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"token {token}"
        request = HTTPRequest(f"ws://{server.address}/tfvis-nb/file", headers=sent)
        return cls(await websocket_connect(request))

    @classmethod
    async def open(cls, server: Server, path: object) -> tuple[Self, dict[str, Any]]:
        """Connect and open a file; return the view and its first message."""
        view = await cls.connect(server)
        await view.send({"path": path})
        answer = await view.next()
        assert answer is not None
        return view, answer

    async def send(self, message: object) -> None:
        """Send a message."""
        await self._socket.write_message(json.dumps(message))

    async def next(self) -> dict[str, Any] | None:
        """Return the next message with its binary parts; None once the connection has ended."""
        data = await asyncio.wait_for(self._socket.read_message(), 60)
        if data is None:
            return None
        assert isinstance(data, bytes)
        return unpacked(data)

    async def ask(self, content: dict[str, Any]) -> dict[str, Any]:
        """Send a message of the widget's own, and return the reply; changes of its state go by."""
        await self.send({"method": "custom", "content": {**content, "id": "1"}})
        while (answer := await self.next()) is not None:
            if answer["method"] == "custom":
                return {**answer["content"], "buffers": answer["buffers"]}
        raise AssertionError("the connection has ended")

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def workers(server: int) -> list[psutil.Process]:
    """Return the processes of the views of a server, by the number of its own process."""
    children: list[psutil.Process] = psutil.Process(server).children()
    # Only after its setup, because its parent waits for that.
    return [child for child in children if _is_worker(child)]


async def started(server: Server, count: int) -> list[psutil.Process]:
    """Return the processes of a server's views, once there are so many."""
    for _ in range(2000):
        if len(found := server.workers()) >= count:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("they were not started")


async def ends(processes: Sequence[psutil.Process]) -> bool:
    """Whether all of some processes end within seconds."""
    for _ in range(400):
        if not any(map(_runs, processes)):
            return True
        await asyncio.sleep(0.05)
    return False


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "tfvis_nb.serving.worker" in list[str](process.cmdline())
    except psutil.Error:
        return False
