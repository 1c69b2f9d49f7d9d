"""The tool that records a script, and the process that ends it with everything that it started.

``python -m tfvis_nb.assistants.record SECONDS COMMAND...`` runs a command until it ends, its time is over or
standard input ends, as it does when the server dies.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import anyio
import psutil
from pydantic import Field

from tfvis_nb.assistants.roots import Roots
from tfvis_nb.assistants.tools import quoted
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.texts import Text

MOST_S, _WRITING_S = 570, 30
"""Limits on the time of a script, and on that of writing its trace when it is ended: ten minutes together."""

_MARK = "TFVIS_NB_RECORDED"
"""The variable by which processes of a script are found, whatever their parents and groups are."""

_SUBREAPER = 36
"""The option of Linux's ``prctl`` that makes a process the parent of descendants that lose theirs."""

# The script's folder takes the first place later. Until then a file next to the script must not stand in for
# a module, as with -m.
_RUN = "import sys; sys.path[0] = sys.prefix; from tfvis_nb.__main__ import main; sys.exit(main())"
_TAIL_BYTES = 4000
_ENDING_S = 10
_BY_SIGNAL = 128
"""Shells add the number of the signal that ended a process to this."""


class Recorder:
    """Records scripts below some folders, one at a time."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._turn = anyio.Lock()

    async def record(
        self,
        script: Annotated[str, Field(description="Path of the Python script.")],
        output: Annotated[str, Field(description="Path of the trace to write: a new file, named .parquet.")],
        arguments: Annotated[list[str], Field(description="Arguments of the script.")] = [],  # noqa: B006
        seconds: Annotated[
            int,
            Field(ge=1, le=MOST_S, description="Time after which the script is ended and its trace written."),
        ] = MOST_S,
    ) -> str:
        """Run a Python script with your permissions, and record its TensorFlow or JAX work as a trace.

        Returns the exit code and the end of the output. open_trace opens the trace.
        """
        async with self._turn:
            with TemporaryFolder() as folder:
                trace = folder.path / "recorded.parquet"
                code, tail = await self._run(self._checked(script, output), trace, arguments, seconds)
                recorded = trace.exists()
                if recorded:
                    self._keep(trace, output)
        return quoted({"exit_code": code, "trace": output if recorded else None, "output": tail})

    def _checked(self, script: str, output: str) -> Path:
        """Return the absolute path of a script, if it exists and the output does not."""
        if Path(output).suffix != ".parquet":
            raise ValueError(Text("recording_not_parquet", path=output))
        if not self._roots.has(folder := str(Path(output).parent)):
            raise FileNotFoundError(Text("path_missing", path=folder, roots=self._roots.listed()))
        if self._roots.has(output):
            raise FileExistsError(Text("path_exists", path=output))
        with self._roots.open(script) as file:
            return Path(file.name)

    def _keep(self, trace: Path, output: str) -> None:
        with trace.open("rb") as source, self._roots.create(output) as target:
            shutil.copyfileobj(source, target)

    async def _run(
        self, script: Path, trace: Path, arguments: list[str], seconds: float
    ) -> tuple[int | None, str]:
        """Return the exit code and the end of the output."""
        root = next(root for root in self._roots.folders if script.is_relative_to(root))
        run = [sys.executable, "-c", _RUN, "run", "-o", str(trace), str(script), *arguments]
        supervised = [sys.executable, "-P", "-m", "tfvis_nb.assistants.record", str(seconds), *run]
        process = await anyio.open_process(
            supervised, stderr=subprocess.STDOUT, cwd=root, start_new_session=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        tail = b""
        try:
            # A process that was not found may keep the output open.
            with anyio.move_on_after(seconds + _WRITING_S + _ENDING_S):
                async for output in process.stdout:
                    tail = (tail + output)[-_TAIL_BYTES:]
        finally:
            # If the call is cancelled, the end of its input makes the process end the script.
            with anyio.CancelScope(shield=True), anyio.move_on_after(_ENDING_S):
                await process.stdin.aclose()
                await process.wait()
        return process.returncode, tail.decode("utf-8", "replace")


def main() -> None:
    """Run a command within limits, and end all its processes."""
    seconds, *command = sys.argv[1:]
    mark = uuid.uuid4().hex
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(  # noqa: S603 - the user has allowed it
        command, stdin=subprocess.DEVNULL, env=os.environ | {_MARK: mark}, start_new_session=True
    )
    over = threading.Event()
    for wait in (process.wait, _read_input):
        threading.Thread(target=_set_after, args=(wait, over), daemon=True).start()
    try:
        if not over.wait(float(seconds)):
            process.terminate()  # which writes the trace
            with suppress(subprocess.TimeoutExpired):
                process.wait(_WRITING_S)
    finally:
        _kill_all(mark)
    code = process.wait()
    sys.exit(code if code >= 0 else _BY_SIGNAL - code)


def _read_input() -> None:
    # Not sys.stdin, whose lock this thread would hold when Python ends.
    while os.read(0, 1024):
        pass


def _set_after(wait: Callable[[], object], over: threading.Event) -> None:
    wait()
    over.set()


def _kill_all(mark: str) -> None:
    """Kill the processes of a script until there are no more; one may start another in the meantime."""
    until = time.monotonic() + _ENDING_S
    while (running := _running(mark)) and time.monotonic() < until:
        for process in running:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.05)  # not psutil's wait, which would take the exit code of the script


def _running(mark: str) -> list[psutil.Process]:
    """Return the processes with a mark, and descendants, which may have cleared their environments."""
    below = {process.pid for process in psutil.Process().children(recursive=True)}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            is_of_script = process.pid in below or process.environ().get(_MARK) == mark
            if is_of_script and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


if __name__ == "__main__":
    main()
