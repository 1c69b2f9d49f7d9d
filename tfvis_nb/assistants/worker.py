"""The process that reads traces for an assistant, limited in memory and time.

`Worker` starts ``python -m tfvis_nb.assistants.worker`` and kills it if a call takes too long. They exchange
JSON: what a damaged or hostile trace makes of that process must not be run in the server.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from tfvis_nb.assistants.roots import Roots
from tfvis_nb.core.markup import markdown_text
from tfvis_nb.core.memory_limit import limit_memory
from tfvis_nb.texts import Text, text_of

if TYPE_CHECKING:
    from tfvis_nb.assistants.tools import Tools

SECONDS = 120
"""Limit on the time of a call."""
MEMORY_SHARE = 0.5
"""Share of the machine's memory that the process may use."""

# -P, because the folder where the server was started may contain a module of any name.
_COMMAND = [sys.executable, "-P", "-m", "tfvis_nb.assistants.worker"]
_LONGEST_ERROR = 2000

Answer = str | bytes
"""Markdown or JSON, or a PNG."""


class ToolFailedError(Exception):
    """A call failed; the message is for the assistant."""


class Worker:
    """Runs tools in a process of their own, started by the first call. Threads may share it.

    Parameters
    ----------
    roots
        The folders below which traces may be.
    seconds, memory_bytes
        Limits; by default `SECONDS`, and `MEMORY_SHARE` of the machine's memory.
    """

    def __init__(self, roots: Roots, *, seconds: float = SECONDS, memory_bytes: int | None = None) -> None:
        self._places = [[*map(str, paths)] for paths in (roots.folders, roots.names)]
        self.seconds = seconds
        self._memory_bytes = memory_bytes or int(psutil.virtual_memory().total * MEMORY_SHARE)
        self._opened = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Return the answer of a tool.

        Raises
        ------
        ToolFailedError
            If it fails, takes too long or its process ends. The next call starts another process.
        """
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            requests, answers = _pipe(process.stdin.fileno(), "w"), _pipe(process.stdout.fileno(), "r")
            self._opened += tool == "open_trace"
            try:
                requests.send_bytes(json.dumps([tool, arguments]).encode())
                if not answers.poll(self.seconds):
                    self._end()
                    raise ToolFailedError(Text("call_too_long", seconds=self.seconds))
                kind, answer = json.loads(answers.recv_bytes())
            except (EOFError, OSError):
                self._end()
                raise ToolFailedError(Text("trace_reader_ended")) from None
            finally:
                requests.close()
                answers.close()
        if kind == "error":
            raise ToolFailedError(answer)
        return base64.b64decode(answer) if kind == "picture" else str(answer)

    def close(self) -> None:
        """End the process, also during a call."""
        if self._process is not None:
            self._process.kill()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(  # noqa: S603 - our own
                [*_COMMAND, json.dumps([*self._places, self._memory_bytes, self._opened])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C in a terminal is for the server, which ends this process
            )
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _pipe(descriptor: int, mode: str) -> Connection:
    return Connection(os.dup(descriptor), readable=mode == "r", writable=mode == "w")


def main() -> None:
    """Answer calls until the input ends."""
    requests, answers = _pipe(0, "r"), _pipe(1, "w")
    # Output of libraries must not get between the answers.
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, format="tfvis-nb: %(message)s")
    sys.stderr = None  # progress lines
    given: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, given), daemon=True).start()

    from tfvis_nb.assistants.tools import Tools

    *places, memory_bytes, opened = json.loads(sys.argv[1])
    tools = Tools(Roots(*([*map(Path, paths)] for paths in places)), opened)
    limit_memory(memory_bytes)
    while True:
        answers.send_bytes(json.dumps(_answer(tools, *json.loads(given.get()))).encode())


def _receive(requests: Connection, given: queue.SimpleQueue[bytes]) -> None:
    try:
        while True:
            given.put(requests.recv_bytes())
    finally:
        os._exit(0)  # the server has gone; nobody waits for the call in progress


def _answer(tools: Tools, tool: str, arguments: dict[str, Any]) -> tuple[str, str]:
    try:
        answer: Answer = getattr(tools, tool)(**arguments)
    except MemoryError:
        return "error", Text("call_out_of_memory")
    except Exception as error:  # noqa: BLE001 - whatever a file does to its reader, the assistant waits
        return "error", markdown_text(_reason(error), _LONGEST_ERROR)
    if isinstance(answer, bytes):
        return "picture", base64.b64encode(answer).decode()
    return "text", answer


def _reason(error: Exception) -> str:
    from tfvis_nb.sql.connection import is_of_duckdb

    if is_of_duckdb(error):
        return Text("query_of_assistant_failed", reason=str(error))
    reason = text_of(error)
    return reason if reason.id else Text("call_failed", error=type(error).__name__, reason=reason)


if __name__ == "__main__":
    main()
