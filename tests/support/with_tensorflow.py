"""Processes that start with TensorFlow imported, because importing it is slow.

``python -m tests.support.with_tensorflow`` imports it and is forked for each started process. A
fork runs its module or its code as Python would, to the end of the interpreter.
"""

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
LOG_LEVEL = {"TF_CPP_MIN_LOG_LEVEL": "3"}


class Started:
    """A started process, with the used part of the interface of `subprocess.Popen`.

    Parameters
    ----------
    words
        The arguments of ``python``: ``-m`` and a module, or ``-c`` and code; then its own arguments.
    cwd
        Its working directory; by default the repository, so that modules of the tests can be imported.
    output, errors
        The files to which it prints; nowhere by default.
    environment
        Variables in addition to this process's; TensorFlow has already read its own.
    """

    def __init__(
        self,
        *words: str | Path,
        cwd: Path = ROOT,
        output: Path = Path(os.devnull),
        errors: Path = Path(os.devnull),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        variables = {**os.environ, **LOG_LEVEL, **(environment or {})}
        paths = {"cwd": str(cwd), "output": str(output), "errors": str(errors)}
        self.pid: int = _ask(start={"words": [*map(str, words)], "environment": variables, **paths})
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it has ended, as `subprocess.Popen` does, or None while it runs."""
        if self.returncode is None:
            self.returncode = _ask(ended=self.pid)
        return self.returncode

    def wait(self, seconds: float = 120.0) -> int:
        """Wait for its end; TimeoutError if that takes longer than this many seconds."""
        until = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"process {self.pid} takes longer than {seconds} s")
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.send_signal(9)
        self.wait()


def run(*words: str | Path, folder: Path, cwd: Path = ROOT) -> tuple[str, str]:
    """Run a process and return its standard output and errors, through files in a folder.

    Raises
    ------
    subprocess.CalledProcessError
        If it failed.
    """
    output, errors = folder / "printed", folder / "errors"
    with Started(*words, cwd=cwd, output=output, errors=errors) as process:
        code = process.wait()
    if code:
        raise subprocess.CalledProcessError(code, words, output.read_text(), errors.read_text())
    return output.read_text(), errors.read_text()


@cache
def _ready() -> subprocess.Popen[str]:
    ready = subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        env={**os.environ, **LOG_LEVEL},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    atexit.register(ready.communicate)
    return ready


def _ask(**question: Any) -> Any:
    ready = _ready()
    assert ready.stdin is not None
    assert ready.stdout is not None
    ready.stdin.write(json.dumps(question) + "\n")
    return json.loads(ready.stdout.readline())


def _become(asked: dict[str, Any]) -> None:
    """Be the process that was asked for, from here to its end."""
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, asked["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(path, flags), number)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    tempfile.tempdir = None  # found by the variables
    how, what, *arguments = asked["words"]
    sys.argv = [what if how == "-m" else how, *arguments]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})


def _ended(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _serve() -> dict[str, Any]:
    """Serve requests until there are no more; in a forked process, return its task."""
    answers = os.dup(1)
    # What libraries print is no answer, and no process that was forked is to read the next question.
    os.dup2(2, 1)
    with os.fdopen(0, "rb", buffering=0, closefd=False) as questions:
        while line := questions.readline():
            question = json.loads(line)
            if "start" in question:
                answer: int | None = os.fork()
                if not answer:
                    os.close(answers)
                    asked: dict[str, Any] = question["start"]
                    return asked
            else:
                answer = _ended(question["ended"])
            os.write(answers, json.dumps(answer).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    import keras  # noqa: F401
    import tensorflow as tf  # noqa: F401

    import tfvis_nb.recording  # noqa: F401

    _become(_serve())
