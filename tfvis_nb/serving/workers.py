"""Threads that do the server's work in order, and that the process does not wait for."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """A thread that works in order.

    Unlike an executor's, it does not keep the process alive: after Ctrl-C, or at the end of a job, nobody
    waits until a large trace is written for a browser.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._given: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def done(self, work: Callable[[], T]) -> T:
        """Do the work and return its result; work cancelled before its turn is skipped."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._given.put((future, work))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Start no more work; running work ends on its own."""
        while True:
            try:
                item = self._given.get_nowait()
            except Empty:
                break
            if item is not None:
                item[0].cancel()
        self._given.put(None)

    def _run(self) -> None:
        while (item := self._given.get()) is not None:
            future, work = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                future.set_exception(error)
            del item, future, work  # a response may be large
